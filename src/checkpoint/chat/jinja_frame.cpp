// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_frame.h"

#include <algorithm>

#include "checkpoint/chat/jinja_operators.h"
#include "core/errors.h"

namespace lime::jinja {
namespace {

constexpr std::int64_t kMaxSteps = 200'000;
constexpr std::size_t kBytesPerStep = 1024;

}  // namespace

void Scope::set(std::string_view name, Value value) {
  const auto found = std::ranges::find(
      variables_, name, [](const auto& variable) { return std::string_view(variable.first); });
  if (found != variables_.end()) {
    found->second = std::move(value);
  } else {
    variables_.emplace_back(std::string(name), std::move(value));
  }
}

Value Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
    for (const auto& [key, value] : scope->variables_) {
      if (key == name) return value;
    }
  }
  return Undefined{std::string(name)};
}

void Rendering::step(std::size_t bytes) {
  num_steps += 1 + static_cast<std::int64_t>(bytes / kBytesPerStep);
  throw_if<FormatError>(num_steps > kMaxSteps, "the template needs more than {} steps", kMaxSteps);
}

Value Rendering::made(Value value) {
  const std::size_t items = value.list() != nullptr ? value.list()->items.size() : 0;
  step(value.text() != nullptr ? value.text()->size() : items * sizeof(Value));
  return value;
}

void Frame::write(std::string_view text) const {
  throw_if<FormatError>(output.size() + text.size() > kMaxTextBytes,
                        "the text must have at most {} bytes", kMaxTextBytes);
  output += text;
}

Flow run(const Block& block, Frame& frame) {
  for (const Statement& statement : block) {
    if (const Flow flow = statement(frame); flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

}  // namespace lime::jinja
