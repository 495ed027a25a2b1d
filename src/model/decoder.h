// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/model_config.h"
#include "core/progress.h"
#include "model/compute_type.h"
#include "model/decoder_weights.h"
#include "model/device_link.h"
#include "model/hooks.h"
#include "model/key_value_cache.h"
#include "model/rms_norm.h"
#include "model/workspace.h"

namespace lime {

class ForwardPass;

struct DecoderOptions {
  /// Several share the layers in this order, each a stretch of about equally many bytes. All GPUs,
  /// or all the processor, to try such a plan where there are no GPUs.
  std::vector<c10::Device> devices = {c10::Device(c10::kCPU)};
  ComputeType dtype = ComputeType::kFloat32;
  RmsNormCast rms_norm_cast = RmsNormCast::kBeforeWeight;
};

/// For which tokens the output projection is computed.
enum class LogitsFor { kNone, kLastToken, kAllTokens };

struct ForwardOptions {
  /// Listeners; nullptr for none.
  const HookSet* hooks = nullptr;
  /// Ends the pass after this layer (from 0): no later layer, no final norm, no logits.
  std::optional<int> stop_after_layer = std::nullopt;
  LogitsFor logits = LogitsFor::kAllTokens;
  /// int64 [batch, seq], the token after each of `ids` or kIgnoredTarget: asks for the loss, which
  /// needs no logits. Undefined for none.
  at::Tensor targets = {};
  /// With gradients: keep only what goes into each branch of a block and compute the rest again in
  /// the backward pass. Less memory, the same gradients. The decoder must outlive the backward
  /// pass. Attention that reads other layers' values keeps its own where it cannot (ResFormer;
  /// routers with weights per token or per dimension), and everything does where there are
  /// listeners.
  bool recompute_blocks = false;
  /// Tokens seen before; `ids` then go on from there. Inference only.
  KeyValueCache* cache = nullptr;
  /// Memory to reuse from pass to pass; nullptr allocates anew.
  Workspace* workspace = nullptr;
};

struct ForwardResult {
  /// [batch, seq, vocab], or [batch, 1, vocab] for kLastToken; undefined where not computed.
  at::Tensor logits;
  /// [batch, seq, hidden]: the residual stream after the last layer that ran, before the final
  /// norm.
  at::Tensor hidden;
  /// Summed cross-entropy of the targets, a scalar; see summed_cross_entropy().
  at::Tensor loss;
};

/// A LLaMA-type decoder, or one of its relatives (docs/decoders.md).
///
///   x <- x + W_O attention(rms_norm(x)),
///   x <- x + W_down (silu(W_gate h) * W_up h),    h = rms_norm(x)
///
/// What differs between them: the keys and values that attention reads (LimeRouter, ValueResidual),
/// and what carries a pass from block to block (DepthAverage, HyperConnections).
///
/// Where gradients are enabled and a parameter requires them, forward() builds the autograd graph;
/// else it runs without one, in reused memory. Over several devices it goes from one to the next,
/// for inference only; Pipeline keeps all of them busy. Listeners get activations on the device of
/// their layer. Right-padded batches need no mask: with causal attention no token sees what stands
/// behind it. forward() is thread-safe for different workspaces, caches and hook sets.
class Decoder {
 public:
  /// Random weights for training, see initialize_weights(). The same seed gives the same weights on
  /// every machine.
  Decoder(const ModelConfig& config, std::uint64_t seed, const DecoderOptions& options = {});
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  const ModelConfig& config() const;
  const DecoderOptions& options() const;
  /// At least one, in the order of the layers.
  const std::vector<DecoderStage>& stages() const;
  /// What passes carried from stage i to stage i + 1 so far.
  std::vector<DeviceLink::Traffic> traffic() const;

  /// The weights by canonical name, in a fixed order; a tied lm_head is not listed twice. The
  /// tensors share memory with the decoder: change them in place (under NoGradGuard) to train.
  /// They are leaves and can require gradients.
  const std::vector<NamedTensor>& parameters() const;
  /// @throws InvalidArgument  if there is no such parameter.
  const at::Tensor& parameter(std::string_view name) const;
  void set_requires_grad(bool requires_grad);

  /// Runs the decoder.
  /// @param ids  int64 [batch, seq], on any device, each in [0, vocab_size).
  /// @throws InvalidArgument  for ids outside the vocabulary (the first offender and its place),
  ///         an empty input, a stop_after_layer that the model lacks, or gradients with a
  ///         cache or several devices.
  ForwardResult forward(const at::Tensor& ids, const ForwardOptions& options = {}) const;

  /// The same without gradients in steps, of which each may be another thread's: run_stage() for
  /// stages 0 to last_stage(), then ForwardPass::end().
  /// @param options  must name a workspace, which belongs to the pass until it ends
  std::unique_ptr<ForwardPass> begin_pass(const at::Tensor& ids,
                                          const ForwardOptions& options) const;
  /// Computes the layers of a stage and, if it `goes_on`, starts what the next one needs on its way
  /// there.
  void run_stage(ForwardPass& pass, std::size_t stage, bool goes_on) const;
  /// The stage of the last layer of such a pass.
  std::size_t last_stage(std::optional<int> stop_after_layer) const;

  /// The final norm and the output projection of rows of ForwardResult::hidden, for whoever needs
  /// the logits of some tokens only. Inference only.
  /// @param hidden  [rows, hidden_size]
  /// @return [rows, vocab_size]
  at::Tensor logits_of(const at::Tensor& hidden) const;

 private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  friend Decoder load_decoder(const Checkpoint& checkpoint, const DecoderOptions& options,
                              const ProgressFn& on_progress);

  std::unique_ptr<Impl> impl_;
};

/// Loads the weights of a checkpoint: each tensor is converted and moved to the device of its layer
/// on its own, so the whole model is never in memory twice, nor on one of several devices.
/// @param on_progress  in bytes of the decoder's weights.
/// @throws FormatError  if a tensor is missing, left over, or has a shape at odds with the config.
Decoder load_decoder(const Checkpoint& checkpoint, const DecoderOptions& options = {},
                     const ProgressFn& on_progress = {});

}  // namespace lime
