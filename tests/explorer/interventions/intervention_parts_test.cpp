// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QRegularExpression>
#include <QTableView>
#include <QTest>
#include <QTextEdit>
#include <fstream>

#include "explorer/interventions/decoder_edits.h"
#include "explorer/interventions/interventions_view_fixture.h"
#include "explorer/interventions/parts_figure.h"
#include "explorer/interventions/text_editor.h"
#include "explorer/widgets/theme.h"
#include "store/capture_reader.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

/// The view over a LLaMA of three layers and four heads, which has no routes.
class InterventionPartsTest : public InterventionsViewTest {
 protected:
  InterventionPartsTest() {
    lime::testing::write_tiny_checkpoint(folder_ / "llama", lime::testing::tiny_config("llama"));
  }
  void openLlama() { open({toQString(folder_ / "llama")}); }
  FigureView& map() {
    return childCalled<FigureView>(view_, "attention, MLPs and heads of the decoder");
  }
  QComboBox& site() {
    return childCalled<QComboBox>(
        view_, "activations of the entropies, or the ablation of every component");
  }
  const std::vector<PartEdit>& parts() const { return view_.parts().edits(); }
};

TEST_F(InterventionPartsTest, ClicksSelectPartsAndButtonsEditThem) {
  openLlama();
  ASSERT_TRUE(map().isVisible());
  const auto& drawn = std::get<HeatmapPanel>(map().figure()->panels.front().content);
  EXPECT_EQ(drawn.values.rows(), 3);
  EXPECT_EQ(drawn.values.cols(), 2 + lime::testing::tiny_config("llama").num_attention_heads);
  click(map(), 1, 1);
  button("Skip").click();
  ASSERT_EQ(parts().size(), 1U);
  EXPECT_EQ(parts()[0], (PartEdit{.part = DecoderPart::kMlp, .layer = 1, .head = 0, .scale = 0}));
  EXPECT_EQ(undo_.undoText(), "Skip MLP of layer 1");
  click(map(), 2, 3);
  childCalled<QDoubleSpinBox>(view_, "scale of the part").setValue(0.5);
  EXPECT_EQ(parts()[1],
            (PartEdit{.part = DecoderPart::kHead, .layer = 2, .head = 1, .scale = 0.5}));
  const auto& marked = std::get<HeatmapPanel>(map().figure()->panels.front().content);
  ASSERT_EQ(marked.marks.size(), 2U);
  EXPECT_TRUE(marked.marks[0].is_crossed);
  EXPECT_FALSE(marked.marks[1].is_crossed);
  undo_.undo();
  EXPECT_EQ(parts().size(), 1U);
  undo_.redo();
  const Json state = view_.state();
  action("Reset").trigger();
  EXPECT_TRUE(parts().empty());
  view_.setState(state);
  EXPECT_EQ(parts().size(), 2U);
  EXPECT_EQ(view_.state(), state);
}

TEST_F(InterventionPartsTest, KeysSelectAndEditParts) {
  openLlama();
  map().setFocus();
  QTest::keyClick(&map(), Qt::Key_Up);
  EXPECT_EQ(workspace_.selection().layer, 1);
  QTest::keyClick(&map(), Qt::Key_Right);
  QTest::keyClick(&map(), Qt::Key_Delete);
  ASSERT_EQ(parts().size(), 1U);
  EXPECT_EQ(parts()[0].part, DecoderPart::kMlp);
  EXPECT_EQ(status_, "MLP of layer 1: scale 1");
  QTest::keyClick(&map(), Qt::Key_1);
  EXPECT_TRUE(parts().empty());
  auto& part = childCalled<QComboBox>(view_, "edited part");
  part.setCurrentIndex(static_cast<int>(DecoderPart::kLayer));
  Q_EMIT part.activated(part.currentIndex());
  QTest::keyClick(&map(), Qt::Key_0);
  EXPECT_EQ(parts()[0].part, DecoderPart::kLayer);
  auto& list = childCalled<QTableView>(view_, "edits of parts");
  list.selectRow(0);
  QTest::keyClick(&list, Qt::Key_Delete);
  EXPECT_TRUE(parts().empty());
}

TEST_F(InterventionPartsTest, RunsAPlainDecoderWithSkippedPartsAndSweepsOverThem) {
  openLlama();
  click(map(), 1, 1);
  button("Skip").click();
  text().setPlainText("the cat is here\nthe dogs were there");
  EXPECT_EQ(site().currentText(), "loss without attention or MLP") << "the first figure";
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "") << note().toStdString();
  const InterventionRun& run = view_.interventions();
  ASSERT_TRUE(run.score());
  EXPECT_NE(run.score()->before, run.score()->after);
  ASSERT_TRUE(run.entropies());
  ASSERT_TRUE(run.sweep("sublayers"));
  const PartEdit mlp{.part = DecoderPart::kMlp, .layer = 1};
  const ResultRow* const row = sweptPart(*run.sweep("sublayers"), mlp);
  ASSERT_NE(row, nullptr);
  // The loss of a sweep is the mean over lines of their means.
  double effect = 0.0;
  for (const LineScore& line : run.score()->lines) effect += line.change() / 2.0;
  EXPECT_NEAR(row->number(col::kEffect), effect, 1e-5);
  const auto& drawn = std::get<HeatmapPanel>(map().figure()->panels.front().content);
  EXPECT_EQ(drawn.values(1, 1), row->number(col::kEffect));
  EXPECT_TRUE(std::isnan(drawn.values(1, 2))) << "heads were not swept";
  auto& sweep = childCalled<FigureView>(view_, "entropies over layers");
  ASSERT_NE(sweep.figure(), nullptr);
  EXPECT_GE(std::get<CurvePanel>(sweep.figure()->panels.front().content).curves.size(), 2U);
  site().setCurrentText("loss without each head");
  Q_EMIT site().activated(site().currentIndex());
  button("Run").click();
  ASSERT_TRUE(finishes());
  ASSERT_TRUE(run.sweep("heads"));
  ASSERT_NE(sweep.figure(), nullptr);
  click(sweep, 2, 1);
  EXPECT_EQ(workspace_.selection().layer, 2);
  EXPECT_EQ(workspace_.selection().head, 1);
  EXPECT_EQ(childCalled<QComboBox>(view_, "edited part").currentText(), "head 1 of layer 2");
}

TEST_F(InterventionPartsTest, CopiesCommandsWithItsEdits) {
  openLlama();
  click(map(), 1, 1);
  button("Skip").click();
  text().setPlainText("the cat is here");
  const QString commands = view_.commandLines().join('\n');
  EXPECT_TRUE(commands.contains("--edit 'skip mlp layers=1'")) << commands.toStdString();
  EXPECT_TRUE(commands.contains("--sites hidden ")) << commands.toStdString();
}

TEST_F(InterventionPartsTest, EditsPartsOfALimeBesideItsRoutes) {
  open({checkpointFolder()});
  ASSERT_TRUE(layers().isVisible());
  click(layers(), 0, 0);
  button("Ablate").click();
  auto& kind = childCalled<QComboBox>(view_, "Edit");
  kind.setCurrentIndex(1);
  Q_EMIT kind.activated(1);
  ASSERT_TRUE(map().isVisible());
  click(map(), 2, 0);
  button("Skip").click();
  EXPECT_EQ(edits().size(), 1U);
  EXPECT_EQ(parts().size(), 1U);
  const QString file = toQString(folder_ / "edit.json");
  view_.saveEdits(file);
  action("Reset").trigger();
  EXPECT_TRUE(edits().empty() && parts().empty());
  view_.loadEdits(file);
  EXPECT_EQ(note(), "");
  EXPECT_EQ(edits().size(), 1U);
  EXPECT_EQ(parts().size(), 1U);
  text().setPlainText("the cat is here");
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "") << note().toStdString();
  EXPECT_NE(view_.interventions().score()->before, view_.interventions().score()->after);
}

TEST_F(InterventionPartsTest, MarksChangedWordsBehindThePromptAndColoursTheChange) {
  openLlama();
  for (int layer = 0; layer < 3; ++layer) {
    click(map(), layer, 0);
    button("Skip").click();
  }
  text().setPlainText("the cat is here");
  button("Run").click();
  ASSERT_TRUE(finishes());
  const auto& generated = childCalled<QTextEdit>(view_, "text that both models generate");
  EXPECT_EQ(generated.toPlainText().count("the cat is here"), 2) << "the prompt, twice";
  EXPECT_TRUE(generated.toHtml().contains("font-weight:7"));
  const QString loss = childCalled<QLabel>(view_, "Loss, nats per token").text();
  const TextScore& score = *view_.interventions().score();
  const bool is_worse = score.after < score.before;
  EXPECT_TRUE(loss.contains(lossColour(is_worse, view_.palette()).name())) << loss.toStdString();
}

TEST_F(InterventionPartsTest, PatchesPartsFromASecondText) {
  openLlama();
  auto& second = childCalled<QPlainTextEdit>(view_, "second text, from which parts are patched");
  text().setPlainText("the cat is here\nthe dogs were there");
  click(map(), 1, 1);
  EXPECT_FALSE(second.isVisible());
  button("Patch").click();
  EXPECT_TRUE(second.isVisible()) << "it is empty, so it is shown";
  ASSERT_EQ(parts().size(), 1U);
  EXPECT_TRUE(parts()[0].is_patched);
  EXPECT_EQ(undo_.undoText(), "Patch MLP of layer 1");
  EXPECT_EQ(view_.parts().index(0, PartEdits::kScale).data(), "patched");
  EXPECT_FALSE(button("Patch").isEnabled());
  button("Run").click();
  EXPECT_TRUE(note().contains("The text has 2 lines, the second text 0 lines"))
      << note().toStdString();
  second.setPlainText("the cat is here\nthe dog was there");
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(note().contains("line 2 has 13 tokens in the second text, but 14 in the text"))
      << note().toStdString();
  // Its own text as the second one changes nothing.
  second.setPlainText(text().toPlainText());
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "");
  const InterventionRun& run = view_.interventions();
  ASSERT_TRUE(run.score());
  EXPECT_NEAR(run.score()->before, run.score()->after, 1e-4);
  EXPECT_EQ(run.originalReading()->back().next.front().id,
            run.editedReading()->back().next.front().id);
  second.setPlainText("the dog is here\nthe cats were there");
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "");
  EXPECT_GT(std::abs(run.score()->before - run.score()->after), 1e-4);
  EXPECT_NE(run.originalReading()->back().next, run.editedReading()->back().next);
  EXPECT_EQ(run.score()->lines.size(), 2U);
  // Every edit is a step of undo, and part of the session.
  const Json state = view_.state();
  EXPECT_EQ(state["second_text"], "the dog is here\nthe cats were there");
  undo_.undo();
  while (!parts().empty() && undo_.canUndo()) undo_.undo();
  EXPECT_TRUE(parts().empty());
  view_.setState(state);
  ASSERT_EQ(parts().size(), 1U);
  EXPECT_TRUE(parts()[0].is_patched);
  EXPECT_EQ(view_.state(), state);
  map().setFocus();
  QTest::keyClick(&map(), Qt::Key_Right);
  QTest::keyClick(&map(), Qt::Key_P);
  ASSERT_EQ(parts().size(), 2U);
  EXPECT_EQ(parts()[1], (PartEdit{DecoderPart::kHead, 1, 0, 1.0, true}));
  button("Restore").click();
  EXPECT_EQ(parts().size(), 1U);
}

TEST_F(InterventionPartsTest, CopiedCommandsRepeatAPatch) {
  openLlama();
  text().setPlainText("the cat is here\nthe dogs were there");
  childCalled<QPlainTextEdit>(view_, "second text, from which parts are patched")
      .setPlainText("the dog is here\nthe cats were there");
  map().setFocus();
  for (const int key : {Qt::Key_Right, Qt::Key_P, Qt::Key_Up, Qt::Key_0}) {
    QTest::keyClick(&map(), static_cast<Qt::Key>(key));
  }
  site().setCurrentText("hidden");
  Q_EMIT site().activated(site().currentIndex());
  button("Run").click();
  ASSERT_TRUE(finishes());
  ASSERT_TRUE(view_.interventions().score()) << note().toStdString();
  QString commands = view_.commandLines().join('\n');
  EXPECT_TRUE(commands.contains("--sites hook_mlp_out --layers 0")) << commands.toStdString();
  commands.replace(QRegularExpression(u"^lime-"_s, QRegularExpression::MultilineOption),
                   u"'%1'/lime-"_s.arg(QLatin1String(LIME_PROGRAMS)));
  const QStringList lines = commands.split('\n');
  const lime::testing::TemporaryFolder folder;
  for (const QString& line : lines) {
    if (line.contains("lime-metrics") || line.contains("lime-figure")) continue;
    const auto ran =
        lime::testing::run_command("cd '" + folder.path().string() + "' && " + line.toStdString());
    ASSERT_EQ(ran.status, 0) << line.toStdString() << ran.errors;
  }
  const InterventionRun& run = view_.interventions();
  const TextScore score = compareScores(CaptureReader(folder.path() / "original.h5"),
                                        CaptureReader(folder.path() / "edited.h5"));
  EXPECT_NEAR(score.before, run.score()->before, 1e-4);
  EXPECT_NEAR(score.after, run.score()->after, 1e-4);
  std::ifstream edited(folder.path() / "edited.json");
  const std::string json((std::istreambuf_iterator<char>(edited)), {});
  EXPECT_EQ(parseReading(QByteArray::fromStdString(json)).back().continuation,
            run.editedReading()->back().continuation);
}

TEST(DecoderEditsTest, WritesWhatEditReadsAndReadsItBack) {
  const std::vector<PartEdit> parts = {{DecoderPart::kAttention, 0, 0, 0.0},
                                       {DecoderPart::kMlp, 3, 0, 0.5},
                                       {DecoderPart::kLayer, 2, 0, 0.0},
                                       {DecoderPart::kHead, 1, 4, 0.0},
                                       {DecoderPart::kMlp, 5, 0, 1.0, true}};
  EXPECT_EQ(
      editTexts({.parts = parts}),
      QStringList({"skip attention layers=0", "scale=0.5 hook_mlp_out layers=3", "skip layers=2",
                   "zero attn.hook_z layers=1 heads=4", "patch=second.h5 hook_mlp_out layers=5"}));
  EXPECT_EQ(editTexts({.parts = {{DecoderPart::kLayer, 2, 0, 1.0, true}}}, u"b.h5"_s),
            QStringList({"patch=b.h5 hook_attn_out layers=2", "patch=b.h5 hook_mlp_out layers=2"}));
  EXPECT_EQ(patchedSites({.parts = {{DecoderPart::kLayer, 2, 0, 1.0, true},
                                    {DecoderPart::kHead, 4, 1, 1.0, true},
                                    {DecoderPart::kMlp, 5}}}),
            QStringList({"--sites", "attn.hook_z,hook_attn_out,hook_mlp_out", "--layers", "2,4"}));
  lime::testing::TemporaryFolder folder;
  const RouterEdit route{.layer = 2, .head = {}, .source = 0, .source_head = {}, .scale = 0.25};
  const DecoderEdits edits{{route}, parts};
  std::ofstream(folder / "edit.json") << editsFile(edits);
  EXPECT_EQ(readEditsFile(folder / "edit.json"), edits);
  std::ofstream(folder / "other.json")
      << R"({"format": "lime-edit/1", "edits": ["mean hidden layers=1"]})";
  EXPECT_THROW(readEditsFile(folder / "other.json"), FormatError);
  std::ofstream(folder / "other.json") << R"({"format": "lime-edit/1", "edits": ["zerro mlp"]})";
  EXPECT_THROW(readEditsFile(folder / "other.json"), FormatError);
}

}  // namespace
}  // namespace lime::explorer::testing
