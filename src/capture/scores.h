// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "capture/input/input.h"
#include "capture/sites.h"
#include "model/decoders/decoder.h"
#include "model/passes/generate.h"
#include "store/capture_info.h"

namespace lime {

/// Compares the next-token distribution of every layer with the final one, token by token: the
/// layer's residual stream through the final norm and the output projection.
///
/// A row has kLensSize values: KL(final || layer) and the entropy of the layer's distribution, in
/// nats; 1 if both distributions have the same most probable token, else 0; the loss -ln p(next
/// token) and its rank from 1, the number of tokens with a larger logit plus 1, both 0 for the last
/// token of a sequence, which has no next one; and the most probable token of the layer, as
/// id / kLensIdBase and id % kLensIdBase.
///
/// During a pass keep() stores the streams, at its end finish() computes the rows, for some tokens
/// at a time, so that memory does not grow with the batch times the vocabulary. On the CPU
/// bit-identical for any number of threads. Source: nostalgebraist (2020), "interpreting GPT: the
/// logit lens".
class LogitLens {
 public:
  using Receive = std::function<void(std::size_t point, const at::Tensor& rows)>;

  /// @param points  of the capture; those of other kinds are ignored. All must outlive this.
  LogitLens(const Decoder& decoder, const CaptureInput& input,
            const std::vector<CapturePoint>& points)
      : decoder_(decoder), input_(input), points_(points) {}

  bool is_lens(std::size_t point) const {
    return points_[point].point.kind == HookKind::kLogitLens;
  }
  /// Copies the residual stream at a point, [batch, seq, hidden].
  void keep(std::size_t point, const at::Tensor& activation);
  /// Computes the rows of every kept point, [batch, seq, kLensSize].
  /// @param hidden     ForwardResult::hidden of all layers
  /// @param sequences  of the batch, indices in the input
  void finish(const at::Tensor& hidden, std::span<const std::int64_t> sequences,
              const Receive& receive);

 private:
  struct Kept {
    std::size_t point = 0;
    at::Tensor stream;  ///< [batch * seq, hidden]
    at::Tensor rows;    ///< [batch * seq, kLensSize], float32
  };

  const Decoder& decoder_;
  const CaptureInput& input_;
  const std::vector<CapturePoint>& points_;
  std::vector<Kept> kept_;
};

/// Scores the tokens CaptureInput::scored_of() of sequences.
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
/// The scored tokens are CaptureInput::scored_of(). Logits have the model's compute
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
