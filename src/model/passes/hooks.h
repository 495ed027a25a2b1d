// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/passes/hook_points.h"

namespace lime {

/// Reads an activation. The tensor, perhaps a strided view, is valid only during the call.
using HookReader = std::function<void(const HookPoint&, const at::Tensor&)>;

/// Returns the replacement of an activation: a tensor of the same shape, dtype and device, or an
/// undefined tensor to leave the activation unchanged. Must not modify its argument.
using HookEditor = std::function<at::Tensor(const HookPoint&, const at::Tensor&)>;

/// Removes a hook with its last copy. May outlive the HookSet.
class [[nodiscard]] ScopedHook {
 public:
  ScopedHook() = default;
  explicit ScopedHook(std::function<void()> remove)
      : hook_(nullptr, [callback = std::move(remove)](std::nullptr_t) { callback(); }) {}

  /// Removes the hook now.
  void release() { hook_.reset(); }

 private:
  std::shared_ptr<void> hook_;
};

/// Hooks registered for the points of a forward pass.
///
///   HookSet hooks;
///   const ScopedHook reader = hooks.read({HookKind::kV, 3}, [&](const HookPoint&, auto& v) {...});
///   decoder.forward(ids, {.hooks = &hooks});
///
/// Hooks of one point are called in the order of registration; each sees the replacements of the
/// earlier ones. A point without hooks costs the pass one test. Not thread-safe: register and run
/// on one thread, or give each thread its own set.
class HookSet {
 public:
  HookSet();

  ScopedHook read(const HookPoint& point, HookReader reader);
  ScopedHook edit(const HookPoint& point, HookEditor editor);
  /// Sets what is called at the begin of a pass, with its ids and the number of cached tokens.
  void on_begin(std::function<void(const at::Tensor& ids, std::int64_t cached)> begin) {
    begin_ = std::move(begin);
  }
  void begin(const at::Tensor& ids, std::int64_t cached) const {
    if (begin_) begin_(ids, cached);
  }

  /// Returns true if the point has a hook.
  bool wants(HookKind kind, int layer) const {
    const auto index = static_cast<std::size_t>(layer);
    return index < kinds_by_layer_->size() &&
           ((*kinds_by_layer_)[index] >> static_cast<unsigned>(kind) & 1U) != 0;
  }

  /// Returns true if the point has a hook that may replace the activation.
  bool edits(HookKind kind, int layer) const;

  /// Calls the hooks of a point. @return the activation, or its replacement by an editor.
  /// @throws InvalidArgument  if a replacement has another shape, dtype or device.
  at::Tensor run(HookKind kind, int layer, const at::Tensor& activation) const;

 private:
  struct Listeners;

  ScopedHook add(const HookPoint& point, HookEditor editor, bool is_reader);

  std::function<void(const at::Tensor&, std::int64_t)> begin_;
  std::shared_ptr<Listeners> listeners_;
  std::vector<std::uint64_t>* kinds_by_layer_;  // per layer one bit per kind; stored in listeners_
};

}  // namespace lime
