// SPDX-License-Identifier: Apache-2.0
#include "model/passes/hooks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/errors.h"

namespace lime {

struct HookSet::Listeners {
  struct Listener {
    std::uint64_t id;
    HookEditor editor;
    bool is_reader = false;
  };

  void remove(const HookPoint& point, std::uint64_t id) {
    const auto found = by_point.find(point);
    if (found == by_point.end()) return;
    std::erase_if(found->second, [id](const Listener& listener) { return listener.id == id; });
    if (!found->second.empty()) return;
    by_point.erase(found);
    kinds_by_layer[point.layer] &= ~(std::uint64_t{1} << static_cast<unsigned>(point.kind));
  }

  std::map<HookPoint, std::vector<Listener>> by_point;
  std::vector<std::uint64_t> kinds_by_layer;
  std::uint64_t next_id = 0;
};

namespace {

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

HookSet::HookSet()
    : listeners_(std::make_shared<Listeners>()), kinds_by_layer_(&listeners_->kinds_by_layer) {}

ScopedHook HookSet::read(const HookPoint& point, HookReader reader) {
  const auto run = [callback = std::move(reader)](const HookPoint& place, const at::Tensor& x) {
    callback(place, x);
    return at::Tensor();
  };
  return add(point, run, true);
}

ScopedHook HookSet::edit(const HookPoint& point, HookEditor editor) {
  return add(point, std::move(editor), false);
}

bool HookSet::edits(HookKind kind, int layer) const {
  const auto found = listeners_->by_point.find({kind, layer});
  return found != listeners_->by_point.end() &&
         !std::ranges::all_of(found->second, &Listeners::Listener::is_reader);
}

ScopedHook HookSet::add(const HookPoint& point, HookEditor editor, bool is_reader) {
  throw_if(point.layer < 0, "hooks: a layer must be >= 0, got {}", point.layer);
  const auto index = static_cast<std::size_t>(point.layer);
  if (kinds_by_layer_->size() <= index) kinds_by_layer_->resize(index + 1, 0);
  (*kinds_by_layer_)[index] |= std::uint64_t{1} << static_cast<unsigned>(point.kind);
  const std::uint64_t id = listeners_->next_id++;
  listeners_->by_point[point].push_back({id, std::move(editor), is_reader});
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
    const at::Tensor replacement = listener.editor(point, current);
    if (!replacement.defined()) continue;
    check_replacement(point, current, replacement);
    current = replacement;
  }
  return current;
}

}  // namespace lime
