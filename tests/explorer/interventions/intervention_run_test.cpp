// SPDX-License-Identifier: Apache-2.0
#include <QLabel>
#include <QListView>
#include <QProgressBar>
#include <QTableView>
#include <QTest>
#include <QTextEdit>
#include <algorithm>
#include <semaphore>
#include <set>

#include "core/json.h"
#include "explorer/interventions/intervention_effect.h"
#include "explorer/interventions/interventions_view_fixture.h"
#include "explorer/models/text.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/figure_view.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

namespace fs = std::filesystem;

TEST_F(InterventionsViewTest, RunsATextBeforeAndAfterInChildren) {
  open({checkpointFolder()});
  click(layers(), 0, 0);
  button("Ablate").click();
  text().setPlainText("the cat is here\n\nthe dogs were there");
  text().setFocus();
  QTest::keyClick(&text(), Qt::Key_Return, Qt::ControlModifier);
  ASSERT_TRUE(view_.interventions().isRunning() || finishes());
  EXPECT_EQ(button("Stop").text(), "S&top");
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "") << note().toStdString();
  const InterventionRun& run = view_.interventions();
  ASSERT_TRUE(run.score());
  EXPECT_EQ(run.score()->lines.size(), 2U);
  EXPECT_NE(run.score()->before, run.score()->after);
  ASSERT_NE(run.originalReading(), nullptr);
  ASSERT_NE(run.editedReading(), nullptr);
  EXPECT_EQ(run.originalReading()->size(), run.editedReading()->size());
  EXPECT_NE((*run.originalReading())[3].next, (*run.editedReading())[3].next);
  // The log-likelihood of the line is the sum over its tokens.
  double sum = 0.0;
  for (const TokenReading& token : *run.editedReading()) sum += token.log_probability.value_or(0.0);
  EXPECT_NEAR(sum, run.score()->lines[0].after, 1e-3);
  ASSERT_TRUE(run.entropies());
  EXPECT_EQ(run.entropies()->rows.size(), 2U * 3U * 3U) << "two models, three sites and layers";
  EXPECT_TRUE(childCalled<QLabel>(view_, "Loss, nats per token").text().contains(QChar(0x2192)));
  ASSERT_NE(childCalled<FigureView>(view_, "next-token predictions").figure(), nullptr);
  ASSERT_NE(childCalled<FigureView>(view_, "entropies over layers").figure(), nullptr);
}

TEST_F(InterventionsViewTest, ReadsTheLineAndTheTokenThatAreSelected) {
  open({checkpointFolder()});
  click(layers(), 0, 0);
  button("Ablate").click();
  text().setPlainText("the cat is here\nthe dogs were there");
  button("Run").click();
  ASSERT_TRUE(finishes());
  auto& tokens =
      childCalled<QListView>(view_, "tokens of the line, coloured by the change in loss");
  FigurePane& next = *view_.findChild<FigurePane*>("next-token predictions");
  EXPECT_EQ(next.caption(), "Predicted next token");
  tokens.setCurrentIndex(tokens.model()->index(2, 0));
  EXPECT_TRUE(next.caption().startsWith("Predicted in place of '")) << next.caption().toStdString();
  EXPECT_TRUE(status_.contains("original")) << status_.toStdString();
  auto& table = childCalled<QTableView>(view_, "lines with their losses");
  const int other = view_.interventions().request()->line == 0 ? 1 : 0;
  for (int row = 0; row < 2; ++row) {
    if (table.model()->index(row, 0).data().toInt() != other + 1) continue;
    Q_EMIT table.clicked(table.model()->index(row, 0));
  }
  EXPECT_EQ(view_.interventions().request()->line, other);
  ASSERT_TRUE(finishes());
  EXPECT_NE(view_.interventions().editedReading(), nullptr);
}

TEST_F(InterventionsViewTest, ShowsTheGeneratedTextsFromTheFirstDifferenceOn) {
  open({checkpointFolder()});
  auto& generated = childCalled<QTextEdit>(view_, "text that both models generate");
  text().setPlainText("the cat is here");
  button("Run").click();
  ASSERT_TRUE(finishes());
  const auto& original = view_.interventions().originalReading()->back().continuation;
  ASSERT_FALSE(original.isEmpty());
  EXPECT_EQ(generated.toPlainText().count("Original:"), 1);
  EXPECT_FALSE(generated.toHtml().contains("font-weight:7")) << "both are the same";
  view_.setState(Json{{"edits", Json::parse(R"([{"layer": 2, "scale": -3}])")}});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_NE(view_.interventions().editedReading()->back().continuation, original);
  EXPECT_TRUE(generated.toHtml().contains("font-weight:7")) << generated.toHtml().toStdString();
}

TEST_F(InterventionsViewTest, CountsTheLossOfSelectedTokens) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here\nthe dogs were there");
  auto& choice = childCalled<QComboBox>(view_, "Loss of");
  auto& value = childCalled<QLineEdit>(view_, "text, words or positions of the tokens of the loss");
  EXPECT_FALSE(value.isVisible());
  button("Run").click();
  ASSERT_TRUE(finishes());
  const std::int64_t all = view_.interventions().score()->tokens;
  choice.setCurrentText("tokens after");
  Q_EMIT choice.activated(choice.currentIndex());
  EXPECT_TRUE(value.isVisible());
  value.setText("cat");
  Q_EMIT value.editingFinished();
  EXPECT_TRUE(note().contains("other tokens")) << note().toStdString();
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_LT(view_.interventions().score()->tokens, all);
  EXPECT_EQ(view_.interventions().score()->lines.size(), 1U);
  EXPECT_TRUE(view_.commandLines().at(3).contains("--log-likelihood --score-after=cat"))
      << view_.commandLines().join('\n').toStdString();
  const Json state = view_.state();
  view_.setState(Json{{"scored", 0}, {"scored_text", ""}});
  EXPECT_FALSE(value.isVisible());
  view_.setState(state);
  EXPECT_EQ(view_.state(), state);
  view_.setState(Json{{"scored", 3}, {"scored_text", "100-200"}});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "No line has a token to score; select others.");
}

TEST_F(InterventionsViewTest, KeepsWhatTheTrainedModelGaveAndSaysWhatIsOutdated) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(note().contains("both models are the same")) << note().toStdString();
  EXPECT_EQ(view_.interventions().score()->before, view_.interventions().score()->after);
  click(layers(), 0, 0);
  button("Ablate").click();
  EXPECT_TRUE(note().contains("other edits")) << note().toStdString();
  QStringList started;
  QObject::connect(&jobs_, &JobRunner::jobAdded, [&](JobId id) {
    if (jobs_.find(id)->spec.is_shown) started << jobs_.find(id)->spec.title;
  });
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(started,
            (QStringList{"Edited: reading the line (tiny)", "Edited: capturing the text (tiny)",
                         "Entropies of both models (tiny)"}));
  EXPECT_EQ(note(), "");
}

TEST_F(InterventionsViewTest, ShowsTheLastLinesOfAChildThatDies) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  const QString dying = script("echo loading >&2; echo 'no memory for this' >&2; kill -9 $$");
  view_.interventions().setPrograms({dying, dying});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(
      note().contains("was killed or crashed; its last lines:\nloading\nno memory for this"))
      << note().toStdString();
  EXPECT_FALSE(view_.interventions().score());
  view_.interventions().setPrograms({"/absent/lime-generate", "/absent/lime-capture"});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(note().contains("cannot be started")) << note().toStdString();
  view_.interventions().setPrograms({script("echo '{}'"), dying});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(note().contains("lime-generate --each-token: the output must contain tokens"))
      << note().toStdString();
}

TEST_F(InterventionsViewTest, StopEndsTheChildAndLeavesNoFiles) {
  const QStringList before = temporaryFolders();
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  const QString slow = script("exec sleep 60");
  view_.interventions().setPrograms({slow, slow});
  click(layers(), 0, 0);
  button("Ablate").click();
  button("Run").click();
  ASSERT_TRUE(waitUntil([this] { return jobs_.jobs().front().is_running; }));
  EXPECT_GT(temporaryFolders().size(), before.size());
  button("Stop").click();
  EXPECT_FALSE(view_.interventions().isRunning());
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "stopped");
  EXPECT_EQ(temporaryFolders(), before);
  // The same from the job list.
  button("Run").click();
  ASSERT_TRUE(waitUntil([this] { return !jobs_.isIdle() && jobs_.jobs().front().is_running; }));
  jobs_.cancel(jobs_.jobs().front().id);
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "stopped");
  EXPECT_FALSE(view_.interventions().score());
}

TEST_F(InterventionsViewTest, ShowsProgressAndTimeLeftOfItsChildren) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  std::set<std::string> stages;
  QObject::connect(&jobs_, &JobRunner::jobChanged, [&](JobId id) {
    if (const std::optional<JobInfo> job = jobs_.find(id)) stages.insert(job->stage);
  });
  click(layers(), 0, 0);
  button("Ablate").click();
  button("Run").click();
  ASSERT_TRUE(finishes());
  for (const char* const stage : {"load", "read", "capture"}) {
    EXPECT_TRUE(stages.contains(stage)) << stage;
  }
  const QString slow = script(
      R"(report() { echo "{\"progress\":\"$1\",\"unit\":\"x\",\"done\":$2,\"total\":4,\"note\":\"\"}" >&2; }
report load 4; report read 0; sleep 0.7; report read 2; exec sleep 60)");
  view_.interventions().setPrograms({slow, slow});
  text().setPlainText("the dogs were there");
  button("Run").click();
  ASSERT_TRUE(waitUntil([this] { return view_.interventions().stepText().endsWith(" left"); }));
  EXPECT_TRUE(view_.interventions().stepText().startsWith("1 of 5: Original: reading the line, "));
  // One of two stages, and half of the other, of the first of five steps.
  EXPECT_DOUBLE_EQ(view_.interventions().share(), 0.75 / 5.0);
  EXPECT_EQ(childCalled<QProgressBar>(view_, "progress of the run").value(), 15);
  EXPECT_EQ(childCalled<QLabel>(view_, "step of the run").text(), view_.interventions().stepText());
  button("Stop").click();
  ASSERT_TRUE(finishes());
}

TEST_F(InterventionsViewTest, DropsAnswersThatWereStoppedWhileTheyWereRead) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  // The results of child processes are read in the quick lane, which this blocks.
  std::counting_semaphore<8> go(0);
  for (int i = 0; i < 4; ++i) {
    jobs_.start<int>(
        &view_, {.title = "before it"},
        [&](const JobContext&) {
          go.acquire();
          return 0;
        },
        [](int) {});
  }
  button("Run").click();
  const auto isReading = [this] {
    const std::vector<JobInfo> all = jobs_.jobs();
    return std::any_of(all.begin(), all.end(), [](const JobInfo& job) {
      return !job.spec.is_shown && job.spec.title.startsWith("Original: reading the line");
    });
  };
  ASSERT_TRUE(waitUntil(isReading));
  button("Stop").click();
  go.release(4);
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "stopped");
  EXPECT_EQ(view_.interventions().originalReading(), nullptr);
}

TEST_F(InterventionsViewTest, DropsTheAnswerToAnOutdatedQuestion) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  const ModelPrograms real;
  const QString slow =
      script("trap '' TERM; sleep 1; exec '" + real.generate.toStdString() + "' \"$@\"");
  view_.interventions().setPrograms({slow, real.capture});
  button("Run").click();
  ASSERT_TRUE(waitUntil([this] { return jobs_.jobs().front().is_running; }));
  view_.interventions().setPrograms(real);
  text().setPlainText("the dogs were there");
  button("Stop").click();
  button("Run").click();
  ASSERT_TRUE(finishes());
  ASSERT_TRUE(view_.interventions().score());
  EXPECT_EQ(view_.interventions().score()->lines[0].text, "the dogs were there");
  EXPECT_EQ(view_.interventions().request()->lines, QStringList{"the dogs were there"});
}

TEST_F(InterventionsViewTest, TakesATextFromAFileAndCommandLinesRepeatTheRun) {
  const QString folder = checkpointFolder();
  open({folder});
  lime::testing::write_text(folder_ / "t.txt", "the cat is here\nit's there\n");
  view_.loadText(toQString(folder_ / "t.txt"));
  EXPECT_EQ(text().toPlainText(), "the cat is here\nit's there\n");
  view_.loadText("/absent.txt");
  EXPECT_TRUE(note().contains("'/absent.txt': cannot be read")) << note().toStdString();
  click(layers(), 0, 1);
  button("Ablate").click();
  QStringList lines = view_.commandLines();
  // The heatmap of layers is active, which no recipe draws.
  ASSERT_EQ(lines.size(), 6);
  EXPECT_EQ(lines[0],
            R"(printf '%s\n' '{"format":"lime-router-edit/1","edits":[{"layer":2,"source":1,)"
            R"("scale":0.0}]}' > edit.json)");
  EXPECT_TRUE(lines[2].contains("--edit edit.json")) << lines[2].toStdString();
  EXPECT_TRUE(lines[3].contains("--lines " + toQString(folder_ / "t.txt") + " --max-sequences 2"));
  text().setPlainText("it's there");
  lines = view_.commandLines();
  EXPECT_EQ(lines[1], R"(printf '%s\n' 'it'\''s there' > text.txt)");
  EXPECT_TRUE(lines[2].contains(R"(--prompt='it'\''s there')")) << lines[2].toStdString();
}

TEST_F(InterventionsViewTest, AblatesEveryRouteInTurn) {
  open({checkpointFolder()});
  FigurePane& pane = *view_.findChild<FigurePane*>("entropies over layers");
  text().setPlainText("the cat is here\nthe dogs were there");
  view_.setState(Json{{"site", "sweep"}});
  EXPECT_TRUE(pane.plot().message().contains("Press Run")) << pane.plot().message().toStdString();
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "There are no edits yet: both models are the same.");
  ASSERT_TRUE(view_.interventions().sweep(u"routes"_s));
  EXPECT_EQ(view_.interventions().sweep(u"routes"_s)->rows.size(), 1U + 5U)
      << "two and three routes";
  ASSERT_NE(pane.plot().figure(), nullptr);
  EXPECT_EQ(pane.caption(), "Loss without each route");
  const auto map = std::get<HeatmapPanel>(pane.plot().figure()->panels[0].content);
  EXPECT_TRUE(map.marks.empty()) << "two lines have no intervals";
  // The cell is the change of the loss that a run with the edit has.
  click(pane.plot(), 1, 1);  // of layers 2 (on top) and 1
  EXPECT_EQ(workspace_.selection().layer, 2);
  EXPECT_EQ(workspace_.selection().source_layer, 1);
  EXPECT_EQ(map.values.rows(), 2) << "layer 0 has no routes";
  click(pane.plot(), 0, 0);
  EXPECT_EQ(workspace_.selection().layer, 1);
  click(pane.plot(), 1, 1);
  button("Ablate").click();
  QStringList started;
  QObject::connect(&jobs_, &JobRunner::jobAdded,
                   [&](JobId id) { started << jobs_.find(id)->spec.title; });
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_FALSE(started.join(u' ').contains("Loss without each part")) << "the text is the same";
  double change = 0.0;
  for (const LineScore& line : view_.interventions().score()->lines) change += line.change() / 2.0;
  EXPECT_NEAR(map.values(1, 1), change, 1e-4);
  QTest::mouseMove(&pane.plot(), pane.plot().toPixel(0, QPointF(1, 1)).toPoint());
  EXPECT_TRUE(status_.startsWith("without the route from layer 1 to layer 2: loss "))
      << status_.toStdString();
  const QStringList commands = view_.commandLines();
  ASSERT_EQ(commands.size(), 3);
  EXPECT_TRUE(commands[1].startsWith("lime-capture sweep --over routes --bootstrap 0 --checkpoint"))
      << commands[1].toStdString();
  EXPECT_EQ(commands[2], "lime-figure sweep.json --kind sweep -o sweep.pdf");
}

TEST_F(InterventionsViewTest, MarksRoutesWithoutEffectWhereThereAreEnoughLines) {
  open({checkpointFolder()});
  QString lines;
  for (int i = 0; i < 10; ++i) lines += i % 2 == 0 ? "the cat is here\n" : "the dogs were there\n";
  text().setPlainText(lines);
  view_.setState(Json{{"site", "sweep"}});
  button("Run").click();
  ASSERT_TRUE(finishes());
  ASSERT_TRUE(view_.interventions().sweep(u"routes"_s)) << note().toStdString();
  const ResultRow& last = view_.interventions().sweep(u"routes"_s)->rows.back();
  EXPECT_LE(last.number(col::kEffect.low), last.number(col::kEffect));
  EXPECT_GE(last.number(col::kEffect.high), last.number(col::kEffect));
}

TEST_F(InterventionsViewTest, SaysWhyThereAreNoEntropiesWithoutTheRoutesOfALayer) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  view_.setState(Json{{"edits", Json::parse(R"([{"layer": 2, "scale": 0}])")}});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(),
            "There are no entropies: all routes of a layer are ablated, so that its attention "
            "reads zeros. Restore one of them.");
  EXPECT_TRUE(view_.interventions().score());
  EXPECT_FALSE(view_.interventions().entropies());
}

TEST_F(InterventionsViewTest, RunsAsManyLinesAsAreSelected) {
  const auto& effect = *view_.findChild<InterventionEffect*>();
  QString many;
  for (int i = 0; i < 150; ++i) many += QStringLiteral("line\n\n");
  text().setPlainText(many);
  EXPECT_EQ(effect.lines().size(), 100);
  view_.setState(Json{{"lines", 0}});
  EXPECT_EQ(effect.lines().size(), 150);
}

TEST_F(InterventionsViewTest, RunsAtEveryEditWhereThatIsWanted) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  view_.setState(Json{{"live", true}});
  click(layers(), 0, 0);
  button("Ablate").click();
  EXPECT_TRUE(waitUntil([this] { return view_.interventions().isRunning(); }));
  ASSERT_TRUE(finishes());
  ASSERT_TRUE(view_.interventions().score());
}

TEST_F(InterventionsViewTest, SurvivesClosingWhatItShowsWhileItRuns) {
  open({checkpointFolder("a")});
  text().setPlainText("the cat is here");
  button("Run").click();
  workspace_.closeAll();
  ASSERT_TRUE(finishes());
  EXPECT_FALSE(view_.figure());
  EXPECT_FALSE(view_.interventions().score());
  EXPECT_FALSE(view_.grab().isNull());
}

}  // namespace
}  // namespace lime::explorer::testing
