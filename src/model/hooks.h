// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/hook_points.h"

namespace lime {

/// Reads an activation. The tensor is valid during the call only, and may be a strided view: the
/// pass writes over its memory later, so copy what you keep.
using HookReader = std::function<void(const HookPoint&, const at::Tensor&)>;

/// Returns what shall take the place of an activation: a tensor of the same shape, dtype and
/// device, or an undefined tensor to leave the activation as it is. Must not write into its
/// argument.
using HookEditor = std::function<at::Tensor(const HookPoint&, const at::Tensor&)>;

/// Keeps one listener registered; letting go of it removes the listener. Movable. May outlive the
/// HookSet.
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

  /// Removes the listener now.
  void release() {
    if (remove_) std::exchange(remove_, nullptr)();
  }

 private:
  std::function<void()> remove_;
};

/// Who listens to which point of a forward pass.
///
///   HookSet hooks;
///   const ScopedHook reader = hooks.read({HookKind::kV, 3}, [&](const HookPoint&, auto& v) {...});
///   decoder.forward(ids, {.hooks = &hooks});
///
/// Listeners of one point are called in the order of their registration; each sees what the ones
/// before it put in place. A point nobody listens to costs the pass one test.
/// Not thread-safe: register and run on one thread, or give each thread a set of its own.
class HookSet {
 public:
  HookSet();

  ScopedHook read(const HookPoint& point, HookReader reader);
  ScopedHook edit(const HookPoint& point, HookEditor editor);

  /// True if somebody listens to the point.
  bool wants(HookKind kind, int layer) const {
    const auto index = static_cast<std::size_t>(layer);
    return index < wanted_->size() && ((*wanted_)[index] >> static_cast<unsigned>(kind) & 1U) != 0;
  }

  /// Calls the listeners of a point.
  /// @return the activation, or what an editor put in its place.
  /// @throws InvalidArgument  if a replacement has another shape, dtype or device.
  at::Tensor run(HookKind kind, int layer, const at::Tensor& activation) const;

  /// The points that somebody listens to, in the order in which a pass reaches them.
  std::vector<HookPoint> points() const;

 private:
  struct Listeners;

  ScopedHook add(const HookPoint& point, HookReader reader, HookEditor editor);

  std::shared_ptr<Listeners> listeners_;
  std::vector<std::uint32_t>* wanted_;  // per layer one bit per kind; lives in listeners_
};

}  // namespace lime
