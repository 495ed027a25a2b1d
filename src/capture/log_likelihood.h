// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "capture/input/input.h"
#include "model/decoders/decoder.h"
#include "model/passes/token_scores.h"
#include "store/capture_info.h"

namespace lime {

/// Scores every token of sequences that was not prepended and has a predecessor.
/// @param hidden, sequences  as score_sequences()
/// @return a list per sequence of the batch
std::vector<std::vector<TokenScore>> score_each_token(const Decoder& decoder,
                                                      const at::Tensor& hidden,
                                                      const CaptureInput& input,
                                                      std::span<const std::int64_t> sequences);

/// Sums the log-probabilities of the tokens of sequences.
///
///   log P(s) = sum over scored t of  logit_{t-1}[id_t] - log sum_v exp(logit_{t-1}[v])
///
/// A token is scored if it was not prepended and has a predecessor. Logits have the model's compute
/// type; everything else is double. They are computed for some rows at a time, and not for padding,
/// so that memory does not grow with the batch times the vocabulary.
///
/// @param hidden     [batch, seq, hidden_size], ForwardResult::hidden of all layers
/// @param sequences  indices of the batch's sequences in `input`
/// @return one score per sequence of the batch; not finite if the logits are not.
/// Bit-identical for any number of threads.
std::vector<SequenceScore> score_sequences(const Decoder& decoder, const at::Tensor& hidden,
                                           const CaptureInput& input,
                                           std::span<const std::int64_t> sequences);

}  // namespace lime
