// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "checkpoint/router_layout.h"
#include "core/layer_selection.h"
#include "model/passes/hooks.h"
#include "store/capture_reader.h"

namespace lime {

enum class EditOperation {
  kZero,
  kMean,      ///< over the tokens of the pass, or of another capture
  kResample,  ///< of other tokens or sequences of the pass
  kPatch,     ///< from another capture
  kScale,
  kProject,  ///< removes the component along a direction
  kSkip,     ///< attention, MLP or both add nothing to the residual stream
};

constexpr auto names_of(EditOperation) {
  return names_in_order<EditOperation>("zero", "mean", "resample", "patch", "scale", "project",
                                       "skip");
}

/// Replaces activations at a site, at the selected layers, heads and tokens.
struct ActivationEdit {
  std::string text = {};  ///< as it was given
  EditOperation operation = EditOperation::kZero;
  std::string site = {};             ///< as in captures
  std::vector<HookKind> kinds = {};  ///< one; of a skipped layer attn_out and mlp_out
  LayerSelection layers = {};
  LayerSelection heads = {};
  LayerSelection positions = {};     ///< in the sequence, from 0
  LayerSelection tokens = {};        ///< ids
  LayerSelection sources = {};       ///< of routes
  LayerSelection source_heads = {};  ///< of routes
  double factor = 0.0;               ///< of kScale
  bool resamples_sequences = false;  ///< else tokens
  std::int64_t seed = 0;             ///< of kResample
  std::filesystem::path from = {};   ///< capture of kMean (optional) and kPatch; direction
  std::vector<double> direction = {};

  /// Returns true if the replacement depends on all tokens of a text, which generation lacks.
  bool needs_whole_texts() const {
    return operation == EditOperation::kResample || operation == EditOperation::kPatch ||
           (operation == EditOperation::kMean && from.empty());
  }
};

/// Interventions on one model: on activations, and on the weights of routers.
struct ModelEdits {
  std::vector<ActivationEdit> activations;
  std::vector<RouterEdit> routes;
};

/// Reads edits, `OPERATION[=VALUE] SITE [KEY=LIST ...]` (docs/interventions.md).
/// @param specs  such texts, or files: {"format": "lime-edit/1", "edits": ["zero hidden", ...]} or
///               those of read_router_edits()
/// @throws InvalidArgument, IoError, FormatError  that names the edit and its first fault; unknown
///         names with the closest one.
ModelEdits read_edits(const std::vector<std::string>& specs);

/// Checks that the model has every layer, head, token and route, and that directions have the size
/// of a row or of a head. @param generates  token by token @throws InvalidArgument
void check_edits(const ModelEdits& edits, const ModelConfig& config, bool generates = false);

/// Checks that edited positions are in the context of the model, or in a sequence beyond it.
/// @param longest  tokens of the longest sequence @throws InvalidArgument
void check_edited_positions(const ModelEdits& edits, const ModelConfig& config,
                            std::int64_t longest);

/// Returns the edits with the SHA-256 of the files that they read, for provenance.
Json edits_to_json(const ModelEdits& edits);

/// Applies edits of activations to the passes of a decoder, each alone or one after another.
///
///   EditHooks edited(edits, config);
///   const auto registered = edited.attach(hooks);   // before hooks that read the edited values
///   edited.begin_batch(sequences, lengths);
///   decoder.forward(ids, {.hooks = &hooks});
///
/// Means, sums and projections are computed in double. A permutation of kResample depends on the
/// seed, the point and the first sequence of the batch. Not thread-safe.
class EditHooks {
 public:
  EditHooks(std::vector<ActivationEdit> edits, const ModelConfig& config)
      : edits_(std::move(edits)), config_(config) {}

  const std::vector<ActivationEdit>& edits() const { return edits_; }
  std::vector<HookPoint> points_of(const ActivationEdit& edit) const;
  /// Registers the edits; `this` must outlive the result and the hooks.
  std::vector<ScopedHook> attach(HookSet& hooks);
  /// Describes the next pass. Without it, the pass is one sequence, the first of captures.
  /// @param lengths  without padding
  void begin_batch(std::vector<std::int64_t> sequences, std::vector<std::int64_t> lengths) {
    sequences_ = std::move(sequences);
    lengths_ = std::move(lengths);
  }
  /// Sets the tokens of the pass; the hooks do it themselves. @param cached  tokens before them
  void begin_pass(const at::Tensor& ids, std::int64_t cached) {
    ids_ = ids.to(at::kCPU).contiguous();
    cached_ = cached;
  }

  /// Returns the activation after one edit of a point, a new tensor.
  /// @throws InvalidArgument, FormatError  if a capture lacks the site or has other sequences.
  at::Tensor edited(const ActivationEdit& edit, const HookPoint& point, const at::Tensor& x);

 private:
  std::int64_t length(std::int64_t row) const {
    return lengths_.empty() ? ids_.size(1) : lengths_[static_cast<std::size_t>(row)];
  }
  /// Returns which tokens of the pass are selected, bool [batch, seq].
  at::Tensor mask_of(const LayerSelection& positions, const LayerSelection& tokens) const;
  at::Tensor replacement(const ActivationEdit& edit, const HookPoint& point, const at::Tensor& x);
  at::Tensor resampled(const ActivationEdit& edit, const HookPoint& point, const at::Tensor& x);
  at::Tensor patched(const ActivationEdit& edit, const HookPoint& point, const at::Tensor& x);
  const CaptureReader& capture(const ActivationEdit& edit) {
    return captures_.try_emplace(edit.from, edit.from).first->second;
  }

  const std::vector<ActivationEdit> edits_;
  const ModelConfig config_;
  std::map<std::filesystem::path, CaptureReader> captures_;
  std::vector<std::int64_t> sequences_ = {0};
  std::vector<std::int64_t> lengths_;  // empty: all of the pass
  at::Tensor ids_;
  std::int64_t cached_ = 0;
};

}  // namespace lime
