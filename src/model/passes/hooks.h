// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/passes/hook_points.h"

namespace lime {

/// Reads an activation. The tensor is valid only during the call and may be a strided view. The
/// pass later overwrites its memory, so copy what you keep.
using HookReader = std::function<void(const HookPoint&, const at::Tensor&)>;

/// Returns the replacement of an activation: a tensor of the same shape, dtype and device, or an
/// undefined tensor to leave the activation unchanged. Must not modify its argument.
using HookEditor = std::function<at::Tensor(const HookPoint&, const at::Tensor&)>;

/// Keeps one hook registered and removes it on destruction. Movable. May outlive the HookSet.
class [[nodiscard]] ScopedHook {
 public:
  ScopedHook() = default;
  explicit ScopedHook(std::function<void()> remove) : remove_(std::move(remove)) {}
  ~ScopedHook() { release(); }
  ScopedHook(ScopedHook&& other) noexcept : remove_(std::exchange(other.remove_, nullptr)) {}
  ScopedHook& operator=(ScopedHook&& other) noexcept {
    if (this != &other) {
      release();
      remove_ = std::exchange(other.remove_, nullptr);
    }
    return *this;
  }

  /// Removes the hook now.
  void release() {
    if (remove_) std::exchange(remove_, nullptr)();
  }

 private:
  std::function<void()> remove_;
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

  /// Returns true if the point has a hook.
  bool wants(HookKind kind, int layer) const {
    const auto index = static_cast<std::size_t>(layer);
    return index < wanted_->size() && ((*wanted_)[index] >> static_cast<unsigned>(kind) & 1U) != 0;
  }

  /// Calls the hooks of a point.
  /// @return the activation, or its replacement by an editor.
  /// @throws InvalidArgument  if a replacement has another shape, dtype or device.
  at::Tensor run(HookKind kind, int layer, const at::Tensor& activation) const;

  /// Returns the points that have hooks, in the order of a forward pass.
  std::vector<HookPoint> points() const;

 private:
  struct Listeners;

  ScopedHook add(const HookPoint& point, HookReader reader, HookEditor editor);

  std::shared_ptr<Listeners> listeners_;
  std::vector<std::uint32_t>* wanted_;  // per layer one bit per kind; stored in listeners_
};

}  // namespace lime
