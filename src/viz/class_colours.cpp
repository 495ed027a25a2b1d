// SPDX-License-Identifier: Apache-2.0
#include "viz/class_colours.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lime {
namespace {

constexpr std::string_view kOther = "other";

/// Returns the number that a name is, with or without spaces around it.
std::optional<double> number_in(std::string_view name) {
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  double number = 0.0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_whole = end.ec == std::errc() && end.ptr == name.data() + name.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<std::size_t> class_colours(std::span<const std::string> names) {
  std::vector<std::pair<double, std::size_t>> order;  // of the classes that have a colour
  bool are_numbers = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == kOther) continue;
    const std::optional<double> number = number_in(names[i]);
    are_numbers = are_numbers && number;
    order.emplace_back(number.value_or(0.0), i);
  }
  if (are_numbers) std::ranges::sort(order);
  const bool are_steps = order.size() > 1 && (are_numbers || order.size() > kGroupColours);
  std::vector<std::size_t> colours(names.size(), kMutedColour);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    colours[order[rank].second] =
        are_steps ? step_colour(static_cast<double>(rank) / static_cast<double>(order.size() - 1))
                  : group_colour(rank);
  }
  return colours;
}

}  // namespace lime
