// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probe_curves.h"

#include <gtest/gtest.h>

#include "store/results/columns.h"

namespace lime::explorer::testing {
namespace {

FigureSource accuracies(const std::string& model, int num_layers) {
  FigureSource source;
  source.path = model + ".json";
  source.results.metric = "separability";
  for (int layer = 0; layer < num_layers; ++layer) {
    source.results.rows.push_back({{col::kLabel, model},
                                   {col::kSite, "hidden"},
                                   {col::kLayer, layer},
                                   {col::kLabels, "words"},
                                   {col::kMethod, "logistic"},
                                   {col::kMean, 0.5},
                                   {col::kStd, 0.1},
                                   {col::kMajority, 0.25}});
  }
  return source;
}

TEST(ProbeCurvesTest, GiveExperimentsOfDifferentDepthTheirOwnPanels) {
  const std::vector<FigureSource> sources = {accuracies("aet-llama", 4), accuracies("lm-llama", 6),
                                             accuracies("aet-lime", 4)};
  const FigureOrMessage drawn = probeCurves(sources, "hidden", "", 0);
  ASSERT_TRUE(drawn.figure) << drawn.message.toStdString();
  ASSERT_EQ(drawn.figure->panels.size(), 2U);
  const auto curves = [&](std::size_t panel) {
    return std::get<CurvePanel>(drawn.figure->panels[panel].content).curves;
  };
  EXPECT_EQ(drawn.figure->panels[0].title, "4 layers");
  ASSERT_EQ(curves(0).size(), 2U);
  EXPECT_EQ(curves(0)[1].label, "aet-lime");
  EXPECT_EQ(drawn.figure->panels[1].title, "6 layers");
  ASSERT_EQ(curves(1).size(), 1U);
  EXPECT_EQ(curves(1)[0].x.size(), 6U);
}

}  // namespace
}  // namespace lime::explorer::testing
