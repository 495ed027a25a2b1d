// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/command_line.h"
#include "core/options.h"

namespace lime {

/// What can be trained.
enum class Task { kArithmeticExpressions };

template <>
struct EnumNames<Task> {
  static constexpr std::array<std::pair<Task, std::string_view>, 1> kNames = {
      {{Task::kArithmeticExpressions, "aet"}}};
};

/// `lime-train --task ... -o DIR`
void set_up_training(CommandLine& line);
/// `lime-train generate --task ... -o FILE`
void add_generate_command(CommandLine& line);

}  // namespace lime
