// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "capture/input.h"
#include "model/decoder.h"
#include "store/capture_info.h"

namespace lime {

/// Sums the log-probabilities of the tokens of sequences.
///
///   log P(s) = sum over scored t of  logit_{t-1}[id_t] - log sum_v exp(logit_{t-1}[v])
///
/// A token is scored if it was not prepended and has a token before it. Logits are of the model's
/// compute type; from there on everything is double. They are formed for some rows at a time, and
/// not for padding, so that memory does not grow with the batch times the vocabulary.
///
/// @param hidden     [batch, seq, hidden_size], ForwardResult::hidden of all layers
/// @param sequences  numbers of the batch's sequences in `input`
/// @return one score per sequence of the batch; not finite where the logits are not.
/// The bits do not depend on the number of threads.
std::vector<SequenceScore> score_sequences(const Decoder& decoder, const at::Tensor& hidden,
                                           const CaptureInput& input,
                                           std::span<const std::int64_t> sequences);

}  // namespace lime
