// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/decoder.h"
#include "model/device_link.h"
#include "model/key_value_mixer.h"
#include "model/residual_stream.h"
#include "model/rotary.h"

namespace lime {

/// One run of a decoder over one batch: the layers of Decoder::forward(), step by step.
///
///   pass.begin(ids);
///   pass.run_layers(layers) for each stage, and between two of them pass.depart(link), then
///   pass.arrive(), from where on another thread may go on;
///   pass.end();
///
/// On the processor and without gradients it works in the workspace and in place; whatever an
/// editor returned is copied before anything is written over it. Elsewhere every step makes a new
/// tensor.
class ForwardPass {
 public:
  /// What a pass takes from its decoder.
  struct Model {
    const ModelConfig& config;
    const DecoderOptions& options;
    const DecoderWeights& weights;
    const std::vector<double>& rotary_frequencies;
  };

  /// @param workspace  memory to work in; nullptr to build an autograd graph
  ForwardPass(const Model& model, const ForwardOptions& options, Workspace* workspace);

  /// @param ids  int64 [batch, seq] on the first stage's device, within the vocabulary
  void begin(const at::Tensor& ids);
  /// Those of them that stop_after_layer leaves.
  void run_layers(const LayerRange& layers);
  /// Begins to carry all that later layers need.
  void depart(DeviceLink& link);
  void arrive();
  ForwardResult end();

 private:
  /// Runs the listeners of a point.
  at::Tensor hook(HookKind kind, int layer, const at::Tensor& activation) const;
  /// The same for an activation that the pass will write over: never the listener's own tensor.
  at::Tensor hook_owned(HookKind kind, int layer, const at::Tensor& activation) const;
  bool wants(HookKind kind, int layer) const;

  /// Shows the residual stream to the listeners of a point, who may replace it.
  void hook_stream(HookKind kind, int layer);

  void block(int layer);
  /// One of the two below, which may be done again in the backward pass.
  using BranchFn = at::Tensor (ForwardPass::*)(int layer, const at::Tensor& x);
  at::Tensor branch(BranchFn function, int layer, const at::Tensor& x);
  bool can_recompute(BranchFn function) const;

  at::Tensor self_attention(int layer, const at::Tensor& x);
  at::Tensor attend(int layer, const at::Tensor& q, const KeysAndValues& read);
  at::Tensor mlp(int layer, const at::Tensor& x);
  at::Tensor final_norm(const at::Tensor& x);

  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;
  at::Tensor project(Workspace::Slot slot, const at::Tensor& x, const LinearWeights& weights) const;
  /// The products of one fused matrix, or of its parts where they need gradients of their own.
  std::vector<at::Tensor> project_parts(Workspace::Slot slot, const at::Tensor& x,
                                        const LinearWeights& whole,
                                        const std::vector<const LinearWeights*>& parts) const;
  at::Tensor rotated(const at::Tensor& x) const;

  const Model model_;
  const ForwardOptions options_;
  Workspace* const workspace_;
  bool in_place_ = false;
  std::int64_t num_tokens_ = 0;  // per sequence
  int next_layer_ = 0;
  int first_layer_on_device_ = 0;
  std::optional<Crossing> crossing_;  // between depart() and arrive()
  RotaryAngles angles_;
  std::unique_ptr<ResidualStream> stream_;
  std::unique_ptr<KeyValueMixer> mixer_;  // null for a LLaMA
  std::shared_ptr<ForwardPass> replay_;   // computes branches again; lives as long as the graph
};

}  // namespace lime
