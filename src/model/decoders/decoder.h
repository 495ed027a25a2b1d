// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/model_config.h"
#include "core/program/progress.h"
#include "model/decoders/decoder_weights.h"
#include "model/decoders/stage_plan.h"
#include "model/kernels/compute_type.h"
#include "model/kernels/norm.h"
#include "model/kernels/workspace.h"
#include "model/passes/device_link.h"
#include "model/passes/hooks.h"
#include "model/passes/key_value_cache.h"

namespace lime {

class ForwardPass;
class PrefixTree;
struct RouterEdit;

struct DecoderOptions {
  /// Devices that share the layers, in this order; each gets consecutive layers of about equal
  /// total size in bytes. Either all GPUs, or all the CPU, to test a plan without GPUs.
  std::vector<c10::Device> devices = {c10::Device(c10::kCPU)};
  ComputeType dtype = ComputeType::kFloat32;
  RmsNormCast rms_norm_cast = RmsNormCast::kBeforeWeight;
};

/// Tokens for which the output projection is computed.
enum class LogitsFor { kNone, kLastToken, kAllTokens };

struct ForwardOptions {
  /// Registered hooks; nullptr for none.
  const HookSet* hooks = nullptr;
  /// Ends the pass after this layer (from 0): no later layer, no final norm, no logits.
  std::optional<int> stop_after_layer = std::nullopt;
  LogitsFor logits = LogitsFor::kAllTokens;
  /// int64 [batch, seq], the token after each of `ids` or kIgnoredTarget; undefined: no loss.
  at::Tensor targets = {};
  /// Activation checkpointing: keeps only the input of each branch of a block and recomputes the
  /// rest in the backward pass; less memory, same gradients. The decoder must outlive that pass.
  /// Not applied to attention that cannot be replayed (ResFormer; routers with weights per token or
  /// per dimension), nor if hooks are registered.
  bool recompute_blocks = false;
  /// Keeps what layers read of each other, so that a fork of the pass can edit its weights over
  /// depth. Passes whose own hooks do need no option.
  bool keeps_sources = false;
  /// Cache of the preceding tokens; `ids` continue that sequence. Inference only.
  KeyValueCache* cache = nullptr;
  /// Number of padding tokens at the start of each sequence, [batch]; empty: none. No other token
  /// attends to them. For rotary positions, which are relative; inference only.
  std::vector<std::int64_t> padding = {};
  /// The sequences whose shared beginnings `ids`, the tree's own, hold once; nullptr: one after
  /// another as usual. Without cache and padding, for inference only.
  const PrefixTree* tree = nullptr;
  /// Memory to reuse across passes; nullptr allocates new memory.
  Workspace* workspace = nullptr;
};

struct ForwardResult {
  /// [batch, seq, vocab], or [batch, 1, vocab] for kLastToken; undefined if not computed.
  at::Tensor logits;
  /// [batch, seq, hidden]: residual stream after the last layer that ran, before the final norm.
  at::Tensor hidden;
  /// Summed cross-entropy of the targets, a scalar; see summed_cross_entropy().
  at::Tensor loss;
};

/// Decoder of any family that DecoderSpec describes (docs/decoders.md). LLaMA's is
///
///   x <- x + W_O attention(rms_norm(x)),
///   x <- x + W_down (silu(W_gate h) * W_up h),    h = rms_norm(x)
///
/// Routings over depth change the keys and values that attention reads (LimeRouter, ValueResidual)
/// or the residual stream (DepthAverage, HyperConnections).
///
/// If gradients are enabled and a parameter requires them, forward() builds the autograd graph;
/// otherwise it reuses memory. With several devices, forward() runs their stages one after another,
/// for inference only; Pipeline keeps all of them busy. Hooks receive activations on their layer's
/// device. Right-padded batches need no mask: causal attention never reads later tokens. forward()
/// is thread-safe for different workspaces, caches and hook sets.
class Decoder {
 public:
  /// Creates a decoder with random weights, see initialize_weights().
  Decoder(const ModelConfig& config, std::uint64_t seed, const DecoderOptions& options = {});
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  const ModelConfig& config() const;
  const DecoderOptions& options() const;
  /// Returns at least one stage, in the order of the layers.
  const std::vector<DecoderStage>& stages() const;
  /// Returns the data transferred from stage i to stage i + 1 so far.
  std::vector<DeviceLink::Traffic> traffic() const;

  /// Returns the weights by canonical name, in a fixed order; a tied lm_head is not listed twice.
  /// The tensors share memory with the decoder: change them in place (under NoGradGuard) to train.
  /// They are leaves and can require gradients.
  const std::vector<NamedTensor>& parameters() const;
  const at::Tensor& parameter(std::string_view name) const;
  void set_requires_grad(bool requires_grad);

  /// Runs the decoder.
  /// @param ids  int64 [batch, seq], on any device, each in [0, vocab_size).
  /// @throws InvalidArgument  for ids outside the vocabulary (names the first), no ids, a
  /// stop_after_layer that the model lacks, or gradients with a cache or several devices.
  ForwardResult forward(const at::Tensor& ids, const ForwardOptions& options = {}) const;

  /// Begins an inference pass that runs in steps, each of which may be on another thread:
  /// run_stage() for stages 0 to last_stage(), then ForwardPass::end().
  /// @param options  must contain a workspace, which belongs to the pass until it ends
  std::unique_ptr<ForwardPass> begin_pass(const at::Tensor& ids,
                                          const ForwardOptions& options) const;
  /// Computes the layers of a stage. If `has_next`, also starts copying what the next stage needs.
  void run_stage(ForwardPass& pass, std::size_t stage, bool has_next) const;
  /// Returns the stage that contains the last layer of such a pass.
  std::size_t last_stage(std::optional<int> stop_after_layer) const;

  /// Applies the final norm and the output projection to rows of ForwardResult::hidden. Inference
  /// only.
  /// @param hidden  [rows, hidden_size] @return [rows, vocab_size]
  at::Tensor logits_of(const at::Tensor& hidden) const;

 private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  friend Decoder load_decoder(const Checkpoint& checkpoint, const DecoderOptions& options,
                              const ProgressFn& on_progress);

  std::unique_ptr<Impl> impl_;
};

/// Loads the weights of a checkpoint. Each tensor is converted and moved to the device of its layer
/// separately, so the whole model is never in memory twice, nor all on one of several devices.
/// @param on_progress  in bytes. @throws FormatError  if the tensors do not fit the config.
Decoder load_decoder(const Checkpoint& checkpoint, const DecoderOptions& options = {},
                     const ProgressFn& on_progress = {});

/// Loads the blocks of a decoder with a routing from a checkpoint without it; the parameters of the
/// routing keep their values.
/// @throws InvalidArgument  if another parameter exists in only one of the two, so that the routing
///         could not start from these blocks. @throws FormatError  as load_decoder().
void load_blocks(const Checkpoint& checkpoint, const Decoder& decoder);

/// Scales the routers of a decoder in place. Throws as check_router_edits().
void apply_router_edits(const std::vector<RouterEdit>& edits, const Decoder& decoder);

}  // namespace lime
