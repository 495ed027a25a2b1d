// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/decoders/decoder.h"
#include "model/decoders/key_value_routing.h"
#include "model/decoders/residual_stream.h"
#include "model/decoders/stage_plan.h"
#include "model/kernels/attention.h"
#include "model/kernels/experts.h"
#include "model/kernels/rotary.h"
#include "model/passes/crossing.h"
#include "model/passes/device_link.h"

namespace lime {

/// One run of a decoder over one batch: the layers of Decoder::forward(), step by step.
///
///   pass.begin(ids);
///   pass.run_layers(layers) for each stage, and between two of them pass.depart(link), then
///   pass.arrive(), after which another thread may continue;
///   pass.end();
///
/// On the CPU without gradients it computes in the workspace and in place; the result of an editor
/// is copied before it is overwritten. Elsewhere every step allocates a new tensor.
class ForwardPass {
 public:
  /// References to the parts of a decoder that a pass uses.
  struct Model {
    const ModelConfig& config;
    const DecoderOptions& options;
    const DecoderWeights& weights;
    /// Frequencies of each of DecoderSpec::ropes for short sequences.
    const std::vector<at::Tensor>& rotary_frequencies;
  };

  ForwardPass(const Model& model, const ForwardOptions& options, Workspace* workspace);

  /// @param ids  int64 [batch, seq] on the first stage's device, within the vocabulary
  void begin(const at::Tensor& ids);
  /// Runs these layers, up to stop_after_layer.
  void run_layers(const LayerRange& layers);
  /// Starts the transfer of everything that later layers need.
  void depart(DeviceLink& link);
  void arrive();
  ForwardResult end();

  /// Returns a pass with hooks of its own that continues from here, between layers, for inference.
  /// Both can continue in the same workspace, one after the other.
  std::unique_ptr<ForwardPass> fork(const HookSet* hooks) const;

 private:
  /// Runs the hooks of a point.
  at::Tensor hook(HookKind kind, int layer, const at::Tensor& activation) const;
  /// Runs the hooks for an activation that the pass will overwrite; copies a hook's own tensor.
  at::Tensor hook_owned(HookKind kind, int layer, const at::Tensor& activation) const;
  bool wants(HookKind kind, int layer) const;
  /// Returns true if the pass has gradients and the config asks for the load balancing loss.
  bool balances_load() const;
  /// Runs the hooks of a point that cannot be replaced.
  void show(HookKind kind, int layer, const at::Tensor& weights) const;
  /// Runs the hooks of what tokens and heads write through W_O.
  void show_results(int layer, const at::Tensor& values, const at::Tensor& z) const;
  /// Runs the hooks of the weights of depth, after the block.
  void show_depth_weights(int layer);
  /// Runs the hooks of the parallel streams, which they may replace, and of their weights.
  void hook_streams(int layer);
  void show_stream_weights(int layer);

  /// Returns true if a hook replaces weights over depth.
  bool edits_sources() const;
  /// Records what the hooks of weights over depth need.
  void begin_sources();
  /// @throws InvalidArgument  if hooks replace weights of sources that were not kept.
  void check_sources() const;
  /// Returns a tensor that the pass will not overwrite.
  at::Tensor kept(const at::Tensor& x) const;
  /// Keeps the embedding, or the output of attention or MLP.
  void keep_source(const at::Tensor& output);
  /// Returns the input of a branch with the weights over depth that hooks return.
  at::Tensor edited_input(int layer, Branch branch, const at::Tensor& x);
  /// Does the same with the input of the final norm; returns its weights.
  at::Tensor edited_final_trace();
  /// Returns keys and values mixed with the weights that hooks return.
  KeysAndValues edited_route(int layer, const KeysAndValues& read, const at::Tensor& normalized);

  /// Runs the hooks of a point on the residual stream, which they may replace.
  void hook_stream(HookKind kind, int layer);

  void block(int layer);
  /// One of the two branches below, which may be recomputed in the backward pass.
  using BranchFn = at::Tensor (ForwardPass::*)(int layer, const at::Tensor& x);
  at::Tensor branch(BranchFn function, int layer, const at::Tensor& x);
  bool can_recompute(BranchFn function) const;

  at::Tensor self_attention(int layer, const at::Tensor& x);
  /// Returns the projections of queries, keys and, if the layer has its own, values.
  std::vector<at::Tensor> project_attention(int layer, const at::Tensor& normalized) const;
  /// Bounds projections, if the family does before their norms.
  void clip(std::vector<at::Tensor>& projections) const;
  /// Lets the routing replace keys and values.
  KeysAndValues mixed(int layer, const at::Tensor& q, const KeysAndValues& own,
                      const at::Tensor& normalized);
  at::Tensor attend(int layer, const at::Tensor& q, const KeysAndValues& read);
  /// Attends from each segment of the tree to itself and its ancestors.
  at::Tensor attend_in_tree(const AttentionInput& input) const;
  at::Tensor mlp(int layer, const at::Tensor& x);
  /// Applies the MLP of a layer, or its shared expert, which has no hooks.
  at::Tensor dense_mlp(int layer, const at::Tensor& normalized, bool is_shared);
  /// Applies the mixture of experts of a layer.
  at::Tensor expert_mlp(int layer, const at::Tensor& normalized);
  /// Selects the experts of all tokens; runs the hooks of the router.
  ExpertChoice choose_experts_of(int layer, const at::Tensor& normalized);
  at::Tensor final_norm(const at::Tensor& x);

  /// Starts with the embeddings of tokens and, if they are learned, positions.
  void begin_stream(const at::Tensor& ids, std::int64_t seen);
  /// Returns the learned embeddings of the positions, [seq, hidden].
  at::Tensor learned_positions(std::int64_t seen) const;
  /// Computes the cosines and sines of all rotary embeddings.
  void begin_rotation(std::int64_t seen);
  /// Returns true if attention and MLP normalise their input.
  bool has_input_norms() const;
  /// Returns the norm of a branch's output, and its multiple that is added to the stream.
  at::Tensor finished(const at::Tensor& output, const NormWeights& weights) const;
  /// Adds a branch's output to the stream and, for a post-LN, normalises the sum.
  void add_to_stream(const at::Tensor& output, const NormWeights& weights);
  at::Tensor norm(const at::Tensor& x, const NormWeights& weights) const;
  /// Normalises queries or keys, [batch, seq, heads, head_dim], if the family does.
  at::Tensor head_norm(Workspace::Slot slot, const at::Tensor& x, const NormWeights& weights) const;
  at::Tensor project(Workspace::Slot slot, const at::Tensor& x, const LinearWeights& weights) const;
  /// Projects with one fused matrix, or with its parts if they need separate gradients.
  std::vector<at::Tensor> project_parts(Workspace::Slot slot, const at::Tensor& x,
                                        const LinearWeights& whole,
                                        const std::vector<const LinearWeights*>& parts) const;
  at::Tensor rotated(int layer, const at::Tensor& x) const;
  /// Returns memory for the output of attention, or an undefined tensor.
  at::Tensor attention_memory(const at::Tensor& q) const;

  const Model model_;
  const ForwardOptions options_;
  Workspace* const workspace_;
  bool in_place_ = false;
  std::int64_t num_tokens_ = 0;  // per sequence
  int next_layer_ = 0;
  int first_layer_on_device_ = 0;
  std::optional<Crossing> crossing_;  // between depart() and arrive()
  std::vector<RotaryAngles> angles_;  // of DecoderSpec::ropes
  std::unique_ptr<ResidualStream> stream_;
  std::unique_ptr<KeyValueRouting> routing_;  // null for LLaMA
  bool keeps_sources_ = false;
  std::vector<at::Tensor> sources_;               // the embedding, outputs of attention and MLP
  std::vector<KeysAndValues> key_value_sources_;  // that later layers read, by layer
  ResidualStream::KeyValueInputs edited_inputs_;  // of the current attention, else undefined
  at::Tensor final_input_;                        // edited input of the final norm, else undefined
  std::vector<at::Tensor> router_logits_, expert_indices_;  // of the load balancing loss
  std::shared_ptr<ForwardPass> replay_;  // recomputes branches; lives as long as the graph
};

}  // namespace lime
