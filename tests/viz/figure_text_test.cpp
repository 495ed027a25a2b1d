// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "viz/figure_file.h"
#include "viz/figure_pgfplots.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::sample_entropy;

TEST(FigureTextTest, LatexSaysWhatLettersMeanToIt) {
  const Figure figure =
      make_figure(std::vector<FigureSource>{testing::sample_comparison()}, {.kind = "comparison"});
  const std::string tex = figure_to_pgfplots(figure, {});
  EXPECT_THAT(tex, HasSubstr("ylabel={$\\Delta$ entropy (nats)}"));
  EXPECT_THAT(
      tex, HasSubstr("LIMe $-$ LLaMA; error bars: paired 95\\% intervals; * p \\textless{} 0.05"));
  EXPECT_THAT(tex, HasSubstr("{***}"));
  // LaTeX does not support letters beyond ASCII by default.
  EXPECT_TRUE(std::all_of(tex.begin(), tex.end(), [](char c) { return c > 0; }));
}

TEST(FigureTextTest, LatexLeavesAGapWhereALayerIsMissing) {
  std::vector<FigureSource> sources = {sample_entropy(5)};
  std::erase_if(sources[0].results.rows,
                [](const ResultRow& row) { return row.cell(col::kLayer) == 2; });
  EXPECT_THAT(figure_to_pgfplots(make_figure(sources, {}), {}), HasSubstr("(2,nan)"));
}

TEST(FigureTextTest, CsvHoldsWhatIsDrawn) {
  const std::vector<FigureSource> sources = {sample_entropy(2)};
  const std::string csv = figure_to_csv(make_figure(sources, {}));
  EXPECT_THAT(csv, HasSubstr("panel,title,series,x,y,low,high\n0,values,LLaMA,0,2,1.95,2.05\n"));
  Figure two_lines = make_figure(sources, {});
  two_lines.panels.front().title = "all\rvalues";
  EXPECT_THAT(figure_to_csv(two_lines), HasSubstr("\n0,\"all\rvalues\",LLaMA,0,"));
}

}  // namespace
}  // namespace lime
