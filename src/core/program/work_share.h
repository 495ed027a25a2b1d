// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "core/errors.h"
#include "core/json.h"
#include "core/options.h"

namespace lime {

/// Selects the part of the work of one of several processes; written `I/N`, I from 0.
struct WorkShare {
  int index = 0;
  int count = 1;

  bool is_whole() const { return count == 1; }
  /// Items are assigned in turn: neighbouring items often have similar cost.
  template <typename Integer> bool holds(Integer item) const {
    return item % static_cast<Integer>(count) == static_cast<Integer>(index);
  }
  bool operator==(const WorkShare&) const = default;
};

template <> struct OptionCodec<WorkShare> {
  static std::string type() { return "I/N"; }
  static WorkShare parse(const std::string& text, const std::string& name) {
    const std::size_t slash = text.find('/');
    throw_if(slash == std::string::npos, OptionName(name), "expected I/N such as 0/4, got '{}'",
             text);
    WorkShare share;
    share.index = OptionCodec<int>::parse(text.substr(0, slash), name);
    share.count = OptionCodec<int>::parse(text.substr(slash + 1), name);
    throw_if(share.count < 1 || share.index < 0 || share.index >= share.count, OptionName(name),
             "I/N must have 0 <= I < N, got '{}'", text);
    return share;
  }
  static Json to_json(const WorkShare& value) {
    return fmt::format("{}/{}", value.index, value.count);
  }
};

}  // namespace lime
