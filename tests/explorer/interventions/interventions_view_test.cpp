// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/interventions_view.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QTableView>
#include <QTest>
#include <algorithm>
#include <filesystem>

#include "core/json.h"
#include "explorer/interventions/interventions_view_fixture.h"
#include "explorer/models/text.h"
#include "explorer/window/export_dialog.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

namespace fs = std::filesystem;

TEST_F(InterventionsViewTest, SaysWhatToDoWithoutACheckpoint) {
  EXPECT_FALSE(view_.figure());
  EXPECT_TRUE(view_.commandLines().isEmpty());
  EXPECT_TRUE(layers().message().contains("Open the folder of a checkpoint"));
  QTest::keyClick(&layers(), Qt::Key_0);
  EXPECT_FALSE(button("Run").isEnabled());
  const auto label = [&]() -> const QLabel& {
    for (const QLabel* const each : view_.findChildren<QLabel*>()) {
      if (each->text() == "&Checkpoint") return *each;
    }
    throw std::runtime_error("there is no label");
  };
  EXPECT_FALSE(label().isEnabled()) << "grey like the box beside it";
  open({checkpointFolder()});
  EXPECT_TRUE(label().isEnabled());
}

TEST_F(InterventionsViewTest, ClicksSelectRoutesAndButtonsEditThem) {
  open({checkpointFolder()});
  ASSERT_TRUE(view_.figure());
  click(layers(), 0, 1);  // of layers 2 (at the bottom) and 1
  button("Ablate").click();
  EXPECT_EQ(lastEdit(), (Json{{"layer", 2}, {"source", 1}, {"scale", 0.0}}));
  const auto& map = std::get<HeatmapPanel>(layers().figure()->panels[0].content);
  EXPECT_EQ(map.values(0, 1), 0.0);
  ASSERT_EQ(map.marks.size(), 1U);
  EXPECT_TRUE(map.marks[0].is_crossed);
  click(weights(), 0, 3);  // head 1 (at the bottom) reads head 1 of layer 1
  childCalled<QDoubleSpinBox>(view_, "scale of the routes").setValue(-0.5);
  EXPECT_EQ(lastEdit(),
            (Json{{"layer", 2}, {"head", 1}, {"source", 1}, {"source_head", 1}, {"scale", -0.5}}));
  EXPECT_EQ(edits().size(), 2U);
  button("Restore").click();
  EXPECT_EQ(edits().size(), 1U);
}

TEST_F(InterventionsViewTest, EveryEditIsAStepOfUndo) {
  open({checkpointFolder()});
  click(layers(), 0, 0);
  button("Ablate").click();
  click(layers(), 1, 0);
  button("Ablate").click();
  ASSERT_EQ(edits().size(), 2U);
  EXPECT_EQ(undo_.undoText(), "Ablate layer 1 from layer 0");
  undo_.undo();
  EXPECT_EQ(edits().size(), 1U);
  undo_.undo();  // the selection of the other route
  EXPECT_EQ(edits().size(), 1U);
  undo_.undo();
  EXPECT_TRUE(edits().empty());
  EXPECT_TRUE(std::get<HeatmapPanel>(layers().figure()->panels[0].content).marks.empty());
  for (int step = 0; step < 3; ++step) undo_.redo();
  EXPECT_EQ(edits().size(), 2U);
  action("Reset").trigger();
  EXPECT_TRUE(edits().empty());
  undo_.undo();
  EXPECT_EQ(edits().size(), 2U);
}

TEST_F(InterventionsViewTest, KeysSelectAndEditRoutes) {
  open({checkpointFolder()});
  layers().setFocus();
  QTest::keyClick(&layers(), Qt::Key_Up);
  EXPECT_EQ(workspace_.selection().layer, 1);
  QTest::keyClick(&layers(), Qt::Key_Up);
  EXPECT_EQ(workspace_.selection().layer, 1) << "layer 0 has no router";
  QTest::keyClick(&layers(), Qt::Key_Left);
  QTest::keyClick(&layers(), Qt::Key_Left);
  EXPECT_EQ(workspace_.selection().source_layer, 0);
  QTest::keyClick(&layers(), Qt::Key_0);
  EXPECT_EQ(lastEdit(), (Json{{"layer", 1}, {"source", 0}, {"scale", 0.0}}));
  QTest::keyClick(&layers(), Qt::Key_BracketRight);
  EXPECT_EQ(lastEdit()["scale"], 0.25);
  auto& scope = childCalled<QComboBox>(view_, "edited routes");
  QTest::keyClick(&layers(), Qt::Key_Space);
  EXPECT_EQ(scope.currentText(), "layer 1 from all sources");
  QTest::keyClick(&layers(), Qt::Key_Delete);
  EXPECT_EQ(lastEdit(), (Json{{"layer", 1}, {"scale", 0.0}}));
  weights().setFocus();
  QTest::keyClick(&weights(), Qt::Key_Down);
  QTest::keyClick(&weights(), Qt::Key_Right);
  EXPECT_EQ(workspace_.selection().head, 1);
  EXPECT_EQ(workspace_.selection().source_head, 1);
  EXPECT_TRUE(status_.startsWith("head 1 of layer 1 reads head 1 of layer 0: weight"))
      << status_.toStdString();
  QTest::keyClick(&weights(), Qt::Key_2);
  EXPECT_EQ(lastEdit(),
            (Json{{"layer", 1}, {"head", 1}, {"source", 0}, {"source_head", 1}, {"scale", 2.0}}));
  auto& list = childCalled<QTableView>(view_, "edits");
  list.selectRow(0);
  QTest::keyClick(&list, Qt::Key_Delete);
  EXPECT_EQ(edits().size(), 2U);
}

TEST_F(InterventionsViewTest, LoadsAndSavesEditsAndSaysWhatIsWrongWithAFile) {
  open({checkpointFolder()});
  click(layers(), 0, 1);
  button("Ablate").click();
  const QString path = toQString(folder_ / "edit.json");
  view_.saveEdits(path);
  action("Reset").trigger();
  EXPECT_TRUE(edits().empty());
  view_.loadEdits(path);
  ASSERT_EQ(edits().size(), 1U);
  EXPECT_EQ(lastEdit(), (Json{{"layer", 2}, {"source", 1}, {"scale", 0.0}}));

  const auto refuses = [&](const std::string& content, const QString& what) {
    lime::testing::write_text(folder_ / "bad.json", content);
    view_.loadEdits(toQString(folder_ / "bad.json"));
    EXPECT_TRUE(note().contains(what)) << note().toStdString();
    EXPECT_EQ(edits().size(), 1U);
  };
  refuses("no JSON", "bad.json");
  refuses("{}", "must be an object with \"format\"");
  refuses(R"({"format": "lime-router-edit/1", "edits": [{"layer": 9, "scale": 0}]})",
          "layer must be from 1 to 2 because layer 0 has no router, got 9");
  view_.loadEdits("/absent.json");
  EXPECT_TRUE(note().contains("/absent.json"));
  view_.saveEdits("/absent/edit.json");
  EXPECT_TRUE(note().contains("/absent")) << note().toStdString();
  action("Reset").trigger();
  view_.saveEdits(path);
  EXPECT_TRUE(note().contains("there are no edits to save")) << note().toStdString();
}

TEST_F(InterventionsViewTest, ExportsThePaneThatWasUsedLast) {
  open({checkpointFolder()});
  click(layers(), 0, 1);
  button("Ablate").click();
  EXPECT_EQ(view_.figure()->name, "router-edited");
  click(weights(), 0, 1);
  EXPECT_EQ(view_.figure()->name, "router-edited-layer");
  for (const std::string name : {"e.pdf", "e.svg", "e.png", "e.csv"}) {
    ExportDialog dialog(*view_.figure(), view_.provenance());
    dialog.setPath(toQString(folder_ / name));
    dialog.accept();
    EXPECT_TRUE(fs::exists(folder_ / name)) << dialog.problem().toStdString();
  }
}

TEST_F(InterventionsViewTest, EachCheckpointHasItsOwnEdits) {
  const QString first = checkpointFolder("first");
  open({first, checkpointFolder("second")});
  auto& box = childCalled<QComboBox>(view_, "Checkpoint");
  const auto select = [&](const QString& name) {
    box.setCurrentIndex(box.findText(name));
    Q_EMIT box.activated(box.currentIndex());
    ASSERT_TRUE(finishes());
  };
  select("first");
  click(layers(), 0, 1);
  button("Ablate").click();
  select("second");
  EXPECT_TRUE(edits().empty()) << "they are of the first";
  click(layers(), 1, 0);
  button("Ablate").click();
  EXPECT_EQ(lastEdit(), (Json{{"layer", 1}, {"source", 0}, {"scale", 0.0}}));
  workspace_.setCurrent(workspace_.documentAt(toPath(first))->id);
  EXPECT_EQ(lastEdit(), (Json{{"layer", 2}, {"source", 1}, {"scale", 0.0}}));
  workspace_.close(workspace_.documentAt(toPath(first))->id);
  EXPECT_EQ(lastEdit(), (Json{{"layer", 1}, {"source", 0}, {"scale", 0.0}}));
  open({first});
  EXPECT_EQ(lastEdit(), (Json{{"layer", 2}, {"source", 1}, {"scale", 0.0}})) << "opened again";
}

TEST_F(InterventionsViewTest, UndoReturnsToTheCheckpointOfTheEdit) {
  const QString first = checkpointFolder("first");
  const QString second = checkpointFolder("second");
  open({first, second});
  const auto show = [&](const QString& path) {
    workspace_.setCurrent(0);  // undo leaves the current document
    workspace_.setCurrent(workspace_.documentAt(toPath(path))->id);
    ASSERT_TRUE(finishes());
  };
  show(first);
  click(layers(), 0, 1);
  button("Ablate").click();
  show(second);
  undo_.undo();
  EXPECT_EQ(view_.edits().checkpoint(), first.toStdString());
  EXPECT_TRUE(edits().empty());
  show(second);
  undo_.redo();
  EXPECT_EQ(view_.edits().checkpoint(), first.toStdString());
  EXPECT_EQ(edits().size(), 1U);
  show(second);
  EXPECT_TRUE(edits().empty());
}

TEST_F(InterventionsViewTest, StateReadsItselfBackAndForgetsEditsThatDoNotFit) {
  const QString path = checkpointFolder();
  open({path});
  const Json own = {{{"layer", 2}, {"head", 0}, {"scale", 0.5}}};
  const Json state = {{"checkpoint", path.toStdString()},
                      {"edits", {{path.toStdString(), own}}},
                      {"parts", Json::object()},
                      {"edits_parts", false},
                      {"part", "attention"},
                      {"scope", "head"},
                      {"text", "the cat"},
                      {"second_text", "the dog"},
                      {"lines", 1000},
                      {"scored", 1},
                      {"scored_text", "="},
                      {"site", "hidden"},
                      {"live", true}};
  view_.setState(state);
  EXPECT_EQ(view_.state(), state);
  EXPECT_EQ(edits().size(), 1U);
  view_.setState(Json{{"unknown", 1}});
  EXPECT_EQ(view_.state(), state);
  view_.setState(Json{{"edits", {{{"layer", 9}, {"scale", 0.0}}}}});
  EXPECT_TRUE(edits().empty());
  EXPECT_TRUE(note().contains("the edits were discarded")) << note().toStdString();
}

}  // namespace
}  // namespace lime::explorer::testing
