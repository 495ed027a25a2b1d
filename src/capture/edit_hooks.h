// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "capture/edits.h"
#include "model/passes/hooks.h"
#include "store/capture_reader.h"

namespace lime {

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
  /// Describes the next pass. Without it, the pass is one sequence, the first of captures: the
  /// first pass is a prompt, and kPatch edits its tokens only, also where passes continue it.
  /// @param lengths  without padding
  void begin_batch(std::vector<std::int64_t> sequences, std::vector<std::int64_t> lengths) {
    sequences_ = std::move(sequences);
    lengths_ = std::move(lengths);
  }
  /// Sets the tokens of the pass; the hooks do it themselves. @param cached  tokens before them
  void begin_pass(const at::Tensor& ids, std::int64_t cached) {
    ids_ = ids.to(at::kCPU).contiguous();
    cached_ = cached;
    if (prompt_ == 0) prompt_ = cached + ids.size(1);
  }

  /// Sets the experts that the tokens of the pass select in a layer; the hooks do it themselves.
  void set_choice(int layer, const at::Tensor& indices) { choices_[layer] = indices.clone(); }

  /// Returns the activation after one edit of a point, a new tensor.
  /// @throws InvalidArgument, FormatError  if a capture lacks the site or has other sequences, or
  ///         if a token has too few experts left to select.
  at::Tensor edited(const ActivationEdit& edit, const HookPoint& point, const at::Tensor& x);

 private:
  std::int64_t length(std::int64_t row) const {
    return lengths_.empty() ? ids_.size(1) : lengths_[static_cast<std::size_t>(row)];
  }
  /// Returns which tokens of the pass are selected, bool [batch, seq].
  at::Tensor mask_of(const LayerSelection& positions, const LayerSelection& tokens) const;
  /// Returns which of its numbers are edited, bool, to be broadcast to x.
  at::Tensor mask_of(const ActivationEdit& edit, const HookPoint& point, const at::Tensor& x) const;
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
  std::map<int, at::Tensor> choices_;  // of experts, by layer
  std::int64_t cached_ = 0;
  std::int64_t prompt_ = 0;  // tokens of the first pass
};

}  // namespace lime
