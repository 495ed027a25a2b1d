// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "capture/edit_hooks.h"
#include "capture/input/input.h"
#include "core/matrix.h"
#include "model/decoders/decoder.h"
#include "store/results/columns.h"

namespace lime {

/// Components of a decoder that a sweep edits in turn.
enum class SweepOver {
  kEdits,
  kLayers,
  kSublayers,
  kHeads,
  kRoutes,
  kHeadRoutes,
  kPositions,
  kDepthWeights,
  kExperts,
  kStreams
};

constexpr auto names_of(SweepOver) {
  using enum SweepOver;
  return enum_table<SweepOver>({{kEdits, "edits"},
                                {kLayers, "layers"},
                                {kSublayers, "sublayers"},
                                {kHeads, "heads"},
                                {kRoutes, "routes"},
                                {kHeadRoutes, "head-routes"},
                                {kPositions, "positions"},
                                {kDepthWeights, "depth-weights"},
                                {kExperts, "experts"},
                                {kStreams, "streams"}});
}

/// One intervention, and the columns that name what it edits.
struct SweepItem {
  ModelEdits edits;
  ResultRow key;
  int first_layer = 0;  ///< below it, the pass equals that of the original model

  /// Returns true if first-order estimates of the effect exist: experts are masked or not.
  bool has_estimate() const;
};

/// Returns the intervention on every component, by layer; those of kEdits are one.
///
///   layers, sublayers    hook_attn_out, hook_mlp_out or both
///   heads                attn.hook_z of a head
///   routes, head-routes  weights with which a layer (a head) reads another; always zero
///   positions            hook_resid_pre at one position
///   depth-weights        the weight of one source in what one part reads, of the routing over
///   depth:
///                        of layers in keys and values, else of outputs in the residual stream
///   experts              one expert: mlp.hook_expert_weights or, "mask", mlp.hook_router_logits
///   streams              hook_streams: one stream, all others ("rescue": one stream is left), all
///
/// @param edits      of kEdits
/// @param operation  "zero", "mean=capture.h5", ...: as in read_edits()
/// @param positions  that all sequences have
/// @throws InvalidArgument  as check_edits(), or if the decoder has no such component
std::vector<SweepItem> sweep_items(SweepOver over, const ModelEdits& edits,
                                   const std::string& operation, const ModelConfig& config,
                                   std::int64_t positions);

/// Effects on some sequences; [1 + items, sequences], the original model first.
struct SweepResult {
  MatrixD loss;              ///< mean -ln p of the scored tokens, nats
  MatrixD logit_difference;  ///< mean logit of the right token minus the largest other one
  MatrixD attribution;       ///< first-order estimate of the change of the loss; 0 in the first row
  /// If requested, [items * layers, sequences]: mean over the tokens of
  /// |change of w| / |w|, w = attn_out + mlp_out what a layer writes; 0 below the intervention.
  MatrixD later;
};

/// Returns the fraction of passes through layers that measure_sweep() saves.
double saved_passes(const std::vector<SweepItem>& items, const ModelConfig& config);

/// Measures interventions on a decoder, each alone, on the sequences of one pass.
///
/// The layers below the first edited one run once: an intervention continues from there
/// (ForwardPass::fork()). First-order estimates come from a backward pass:
///
///   L(edited) - L ~= sum (x' - x) dL/dx,    x: activations, or weights of routers
///
/// Routers are scaled meanwhile.
/// @param decoder  on one device
/// @param measures_later  also measure the change of what every layer writes
/// @param on_item  called after each intervention
/// @throws InvalidArgument  as EditHooks; if a sequence has no token to score.
SweepResult measure_sweep(const Decoder& decoder, const CaptureInput& input,
                          const std::vector<SweepItem>& items,
                          const std::vector<std::int64_t>& sequences,
                          const std::function<void()>& on_item, bool measures_later = false);

}  // namespace lime
