// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/written_figure.h"

#include <QUndoStack>

#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/router/router_view.h"
#include "store/results/columns.h"
#include "store/results_file.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

class WrittenFigureTest : public WorkspaceTest {
 protected:
  WrittenFigureTest() {
    view_.resize(1000, 700);
    view_.show();
  }
  Preferences preferences_;
  QUndoStack undo_;
  RouterView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
};

TEST_F(WrittenFigureTest, APlainModelShowsWhatSkippingItsPartsCauses) {
  lime::testing::write_tiny_checkpoint(folder_ / "llama");
  Results sweep;
  sweep.metric = "sweep";
  sweep.inputs = {{"llama", "", "llama"}};
  for (const char* const part : {"attention", "mlp"}) {
    for (int layer = 0; layer < 2; ++layer) {
      sweep.rows.push_back({{col::kLabel, "llama"},
                            {col::kPart, part},
                            {col::kLayer, layer},
                            {col::kEffect, 0.5 + layer},
                            {col::kEffect.low, 0.25 + layer},
                            {col::kEffect.high, 0.75 + layer}});
    }
  }
  write_results(folder_ / "sweep.json", sweep);
  sweep.inputs = {{"other", "", "other"}};
  for (ResultRow& row : sweep.rows) row.set(col::kLabel, "other");
  write_results(folder_ / "other.json", sweep);
  open({toQString(folder_ / "other.json"), toQString(folder_ / "llama")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_FALSE(view_.figure()) << "the sweep is of another model";
  open({toQString(folder_ / "sweep.json")});
  workspace_.setCurrent(workspace_.documentAt(folder_ / "llama")->id);
  const std::optional<Figure> figure = view_.figure();
  ASSERT_TRUE(figure);
  const auto& effects = std::get<CurvePanel>(figure->panels.front().content).curves;
  ASSERT_EQ(effects.size(), 2U);
  EXPECT_EQ(effects[1].label, "mlp");
  EXPECT_EQ(effects[1].y[1], 1.5);
}

}  // namespace
}  // namespace lime::explorer::testing
