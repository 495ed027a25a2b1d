// SPDX-License-Identifier: Apache-2.0
#include "store/results/columns.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "support/test_data.h"

namespace lime {
namespace {

std::string_view name_of(CellType type) {
  constexpr std::array<std::string_view, 6> kNames = {"string",  "integer",          "number",
                                                      "boolean", "array of numbers", "matrix"};
  return kNames[static_cast<std::size_t>(type)];
}

/// Returns the reference tables of docs/results_format.md.
std::string reference() {
  std::string text;
  for (const ColumnGroup& group : column_groups()) {
    text += fmt::format("### {}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
                        group.title);
    for (const Column& column : group.columns) {
      text += fmt::format("| `{}` | {} | {} | {} |\n", column.name, name_of(column.type),
                          column.unit, column.meaning);
    }
    text += "\n";
  }
  return text;
}

TEST(ColumnsTest, TheFormatPageListsThemAll) {
  const std::string page = testing::read_text(testing::source_file("docs/results_format.md"));
  EXPECT_THAT(page, ::testing::HasSubstr(reference()))
      << "replace the tables of docs/results_format.md by\n"
      << reference();
}

TEST(ColumnsTest, ANameHasOneDeclaration) {
  std::set<std::string_view> names;
  for (const ColumnGroup& group : column_groups()) {
    for (const Column& column : group.columns) {
      EXPECT_TRUE(names.insert(column.name).second) << column.name;
      EXPECT_EQ(find_column(column.name)->meaning, column.meaning);
    }
  }
  EXPECT_EQ(find_column("ci-low"), nullptr);
  const std::string header =
      testing::read_text(testing::source_file("src/store/results/columns.h"));
  const auto count = [&](const char* declaration) {
    const std::regex pattern(declaration);
    return std::distance(std::sregex_iterator(header.begin(), header.end(), pattern), {});
  };
  // A measured column declares its value and both ends of its interval.
  EXPECT_EQ(count("inline constexpr") + 2 * count("inline constexpr Measured"), std::ssize(names))
      << "a declared column is in no group";
}

}  // namespace
}  // namespace lime
