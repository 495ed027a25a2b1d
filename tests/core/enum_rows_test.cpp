// SPDX-License-Identifier: Apache-2.0
#include "core/enum_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace lime {
namespace {

enum class Colour { kRed, kGreen, kBlue };

struct ColourRow {
  Colour colour;
  std::string_view name;
};

constexpr std::array<ColourRow, 3> kAll = {
    {{Colour::kRed, "red"}, {Colour::kGreen, "green"}, {Colour::kBlue, "blue"}}};
constexpr std::array<ColourRow, 3> kSwapped = {
    {{Colour::kRed, "red"}, {Colour::kBlue, "blue"}, {Colour::kGreen, "green"}}};
constexpr std::array<ColourRow, 2> kShort = {{{Colour::kRed, "red"}, {Colour::kGreen, "green"}}};

TEST(EnumRowsTest, AreOnePerEnumeratorInTheirOrder) {
  EXPECT_TRUE(has_row_per_enumerator(kAll, &ColourRow::colour, Colour::kBlue));
  EXPECT_FALSE(has_row_per_enumerator(kSwapped, &ColourRow::colour, Colour::kBlue));
  EXPECT_FALSE(has_row_per_enumerator(kShort, &ColourRow::colour, Colour::kBlue));
}

TEST(EnumRowsTest, GiveTheNames) {
  const auto names = names_of_rows(kAll, &ColourRow::colour, &ColourRow::name);
  EXPECT_EQ(names[1].first, Colour::kGreen);
  EXPECT_EQ(names[1].second, "green");
}

}  // namespace
}  // namespace lime
