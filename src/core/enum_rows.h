// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

// Tables with a row per enumerator, which is found by its enumerator's number.

namespace lime {

/// Returns true if the rows are those of the enumerators from the first to `last`, in their order.
/// A static_assert of it beside a table lets no enumerator without a row compile.
template <typename Row, std::size_t kCount, typename Enum>
constexpr bool has_row_per_enumerator(const std::array<Row, kCount>& rows, Enum Row::*enumerator,
                                      Enum last) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (rows[i].*enumerator != static_cast<Enum>(i)) return false;
  }
  return rows.back().*enumerator == last;
}

/// Returns the enumerators and names of the rows, as enum_table() has them.
template <typename Row, std::size_t kCount, typename Enum>
constexpr auto names_of_rows(const std::array<Row, kCount>& rows, Enum Row::*enumerator,
                             std::string_view Row::*name) {
  std::array<std::pair<Enum, std::string_view>, kCount> names{};
  for (std::size_t i = 0; i < kCount; ++i) names[i] = {rows[i].*enumerator, rows[i].*name};
  return names;
}

}  // namespace lime
