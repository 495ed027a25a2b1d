// SPDX-License-Identifier: Apache-2.0
#include "model/passes/hooks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/errors.h"

namespace lime {

struct HookSet::Listeners {
  struct Listener {
    std::uint64_t id;
    HookReader reader;
    HookEditor editor;
  };

  void remove(const HookPoint& point, std::uint64_t id) {
    const auto found = by_point.find(point);
    if (found == by_point.end()) return;
    std::erase_if(found->second, [id](const Listener& listener) { return listener.id == id; });
    if (!found->second.empty()) return;
    by_point.erase(found);
    wanted[static_cast<std::size_t>(point.layer)] &= ~(1U << static_cast<unsigned>(point.kind));
  }

  std::map<HookPoint, std::vector<Listener>> by_point;
  std::vector<std::uint32_t> wanted;
  std::uint64_t next_id = 0;
};

namespace {

/// Orders points as a pass reaches them: hook_embed, the layers, ln_final.
bool reached_before(const HookPoint& a, const HookPoint& b) {
  const auto stage = [](const HookPoint& point) {
    if (point.kind == HookKind::kEmbed) return 0;
    return point.kind == HookKind::kFinalNormalized ? 2 : 1;
  };
  return std::tuple(stage(a), a.layer, a.kind) < std::tuple(stage(b), b.layer, b.kind);
}

void check_replacement(const HookPoint& point, const at::Tensor& before, const at::Tensor& after) {
  if (after.sizes() != before.sizes()) {
    throw InvalidArgument("hooks: a replacement for '{}' must have shape [{}], got [{}]",
                          hook_name(point), fmt::join(before.sizes(), ", "),
                          fmt::join(after.sizes(), ", "));
  }
  if (after.scalar_type() != before.scalar_type() || after.device() != before.device()) {
    throw InvalidArgument("hooks: a replacement for '{}' must be {} on {}, got {} on {}",
                          hook_name(point), c10::toString(before.scalar_type()),
                          before.device().str(), c10::toString(after.scalar_type()),
                          after.device().str());
  }
}

}  // namespace

HookSet::HookSet() : listeners_(std::make_shared<Listeners>()), wanted_(&listeners_->wanted) {}

ScopedHook HookSet::read(const HookPoint& point, HookReader reader) {
  return add(point, std::move(reader), nullptr);
}

ScopedHook HookSet::edit(const HookPoint& point, HookEditor editor) {
  return add(point, nullptr, std::move(editor));
}

ScopedHook HookSet::add(const HookPoint& point, HookReader reader, HookEditor editor) {
  if (point.layer < 0) {
    throw InvalidArgument("hooks: a layer must be >= 0, got {}", point.layer);
  }
  const auto index = static_cast<std::size_t>(point.layer);
  if (wanted_->size() <= index) wanted_->resize(index + 1, 0);
  (*wanted_)[index] |= 1U << static_cast<unsigned>(point.kind);
  const std::uint64_t id = listeners_->next_id++;
  listeners_->by_point[point].push_back({id, std::move(reader), std::move(editor)});
  return ScopedHook([weak = std::weak_ptr<Listeners>(listeners_), point, id] {
    if (const auto listeners = weak.lock()) listeners->remove(point, id);
  });
}

at::Tensor HookSet::run(HookKind kind, int layer, const at::Tensor& activation) const {
  const HookPoint point{kind, layer};
  const auto found = listeners_->by_point.find(point);
  if (found == listeners_->by_point.end()) return activation;
  at::Tensor current = activation;
  for (const Listeners::Listener& listener : found->second) {
    if (listener.reader) {
      listener.reader(point, current);
      continue;
    }
    const at::Tensor replacement = listener.editor(point, current);
    if (!replacement.defined()) continue;
    check_replacement(point, current, replacement);
    current = replacement;
  }
  return current;
}

std::vector<HookPoint> HookSet::points() const {
  std::vector<HookPoint> points;
  for (const auto& entry : listeners_->by_point) points.push_back(entry.first);
  std::sort(points.begin(), points.end(), reached_before);
  return points;
}

}  // namespace lime
