// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

TEST(CostFigureTest, CostSaysOverHowManyTokensEachRowIs) {
  FigureSource source = testing::sample_cost();
  source.results.rows.back().set(col::kSequenceLength, 512);
  EXPECT_THAT(make_figure(std::vector<FigureSource>{source}, {}).note,
              HasSubstr("over the given number of tokens"));
}

TEST(CostFigureTest, CostIsATableWithoutColumnsThatSayNothing) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_cost()}, {});
  const auto& table = std::get<TablePanel>(figure.panels.at(0).content);
  EXPECT_EQ(table.head, (std::vector<std::string>{"decoder", "parameters", "router parameters",
                                                  "MACs", "mixing MACs", "KV cache"}));
  std::vector<std::string> lime;
  for (const TableCell& cell : table.rows.at(1)) lime.push_back(cell_text(cell));
  EXPECT_EQ(lime, (std::vector<std::string>{"LIMe", "1.07608 B", "8,640", "2.7638 T", "0.08%",
                                            "128 MiB"}));
}

}  // namespace
}  // namespace lime
