// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "viz/figure_file.h"
#include "viz/figure_pgfplots.h"
#include "viz/figure_refusal.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using testing::figure_refusal;
using ::testing::HasSubstr;

TEST(AccuracyFiguresTest, ATableSaysOfWhatItIsAndWhatItsSpreadIs) {
  FigureSource source = testing::sample_blimp(4);
  source.results.options["folds"] = 5;
  source.results.options["confidence"] = 0.9;
  for (ResultRow& row : source.results.rows)
    row.add(ResultRow{{col::kTasks, 67}, {col::kPairs, 67000}});
  const auto table_of = [&](const std::vector<int>& layer, std::optional<BlimpGroups> by) {
    return make_figure(std::vector<FigureSource>{source},
                       {.kind = "blimp-table", .layer = layer, .by = by, .layer_base = 1});
  };
  const auto first_cell = [](const Figure& figure) {
    return cell_text(std::get<TablePanel>(figure.panels.at(0).content).rows.at(0).at(1));
  };
  const Figure all = table_of({}, {});
  // 0.58 and 0, 2, 4, 6 per cent over the layers, with deviation sqrt(5).
  EXPECT_EQ(first_cell(all), "61.0 \xC2\xB1 2.2");
  EXPECT_EQ(
      all.note,
      "probes, layers 1-4, 67 tasks, 67,000 pairs, 5 folds; means \xC2\xB1 standard deviation "
      "over the layers");
  EXPECT_THAT(figure_to_pgfplots(all, {}), HasSubstr("61.0 $\\pm$ 2.2"));
  EXPECT_THAT(table_of({1, 3}, {}).note, HasSubstr("layers 1, 3, "));
  const Figure one = table_of({2}, {});
  EXPECT_EQ(first_cell(one), "60.0 [56.0, 63.0]");
  EXPECT_THAT(one.note, HasSubstr("layer 2, 67 tasks, 67,000 pairs, 5 folds; [ ]: 90% intervals"));
  for (ResultRow& row : source.results.rows) {
    if (row.cell(col::kLevel) != "linguistics_term") continue;
    row.add(ResultRow{{col::kLevel, "task"},
                      {col::kStd, 0.013},
                      {col::kCiLow, nullptr},
                      {col::kCiHigh, nullptr}});
  }
  const Figure tasks = table_of({2}, BlimpGroups::kTask);
  EXPECT_EQ(first_cell(tasks), "60.0 \xC2\xB1 1.3");
  EXPECT_THAT(tasks.note, HasSubstr("\xC2\xB1: standard deviation over the folds"));
  const FigureSource zero_shot = testing::sample_blimp(0);
  EXPECT_EQ(make_figure(std::vector<FigureSource>{zero_shot}, {.kind = "blimp-table"}).note,
            "zero-shot; [ ]: 95% intervals");
}

TEST(AccuracyFiguresTest, ATableOfOneGroupDoesNotSayItTwice) {
  FigureSource source = testing::sample_blimp(0);
  std::erase_if(source.results.rows, [](const ResultRow& row) {
    return row.cell(col::kLevel) != "all" && row.cell(col::kName) != "syntax";
  });
  for (ResultRow& row : source.results.rows) {
    row.set(col::kMean, 0.5).set(col::kCiLow, 0.5).set(col::kCiHigh, 0.5);
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source},
                                    {.kind = "blimp-table", .by = BlimpGroups::kField});
  EXPECT_EQ(std::get<TablePanel>(figure.panels.at(0).content).rows.size(), 1U);
}

TEST(AccuracyFiguresTest, BlimpIsCurvesBarsOrATable) {
  const Figure curves = make_figure(std::vector<FigureSource>{testing::sample_blimp(4)}, {});
  const auto& panel = std::get<CurvePanel>(curves.panels.at(0).content);
  EXPECT_DOUBLE_EQ(panel.curves.at(1).y[0], 0.77);
  EXPECT_EQ(panel.references.at(0).label, "chance");
  const Figure fields =
      make_figure(std::vector<FigureSource>{testing::sample_blimp(4)}, {.by = BlimpGroups::kField});
  EXPECT_EQ(fields.panels.size(), 2U);
  const Figure bars = make_figure(std::vector<FigureSource>{testing::sample_blimp(0)}, {});
  EXPECT_EQ(
      std::get<BarPanel>(bars.panels.at(0).content).groups,
      (std::vector<std::string>{"mean over tasks", "island effects", "determiner noun agreement"}));
  const Figure table =
      make_figure(std::vector<FigureSource>{testing::sample_blimp(0)}, {.kind = "blimp-table"});
  const auto& cells = std::get<TablePanel>(table.panels.at(0).content);
  EXPECT_EQ(cells.head, (std::vector<std::string>{"accuracy (%)", "LLaMA", "LIMe"}));
  std::vector<std::string> last;
  for (const TableCell& cell : cells.rows.back()) last.push_back(cell_text(cell));
  EXPECT_EQ(last, (std::vector<std::string>{"mean over tasks", "72.0 [68.0, 75.0]",
                                            "77.0 [73.0, 80.0]"}));
  EXPECT_THAT(figure_refusal({testing::sample_blimp(0)}, {.by = BlimpGroups::kTask}),
              HasSubstr("no rows by task (their levels: all, field, linguistics_term)"));
}

TEST(AccuracyFiguresTest, ZeroShotBarsHaveStarsWhereTheModelsWereCompared) {
  FigureSource source = testing::sample_blimp(0);
  source.results.rows.push_back({{col::kKind, "comparison"},
                                 {col::kLabel, "LIMe"},
                                 {col::kBaseline, "LLaMA"},
                                 {col::kQuantity, "accuracy"},
                                 {col::kPHolm, 0.004}});
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
  const auto& bars = std::get<BarPanel>(figure.panels.at(0).content);
  EXPECT_TRUE(bars.series.at(0).stars.empty());
  EXPECT_EQ(bars.series.at(1).stars, (std::vector<std::string>{"**", "", ""}));
  EXPECT_THAT(figure.note, HasSubstr("difference to LLaMA over all pairs"));
}

}  // namespace
}  // namespace lime
