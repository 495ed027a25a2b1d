// SPDX-License-Identifier: Apache-2.0
#include <QCoreApplication>
#include <QLabel>
#include <QListView>
#include <QProgressBar>
#include <QTableView>
#include <QTest>
#include <algorithm>
#include <semaphore>
#include <set>

#include "core/json.h"
#include "explorer/models/text.h"
#include "explorer/surgery_view_fixture.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/surgery_effect.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

namespace fs = std::filesystem;

TEST_F(SurgeryViewTest, RunsATextBeforeAndAfterInChildren) {
  open({checkpointFolder()});
  click(layers(), 0, 0);
  button("Switch off").click();
  text().setPlainText("the cat is here\n\nthe dogs were there");
  text().setFocus();
  QTest::keyClick(&text(), Qt::Key_Return, Qt::ControlModifier);
  ASSERT_TRUE(view_.surgery().isRunning() || finishes());
  EXPECT_EQ(button("Stop").text(), "S&top");
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "") << note().toStdString();
  const SurgeryRun& run = view_.surgery();
  ASSERT_TRUE(run.score());
  EXPECT_EQ(run.score()->lines.size(), 2U);
  EXPECT_NE(run.score()->before, run.score()->after);
  ASSERT_NE(run.trainedReading(), nullptr);
  ASSERT_NE(run.editedReading(), nullptr);
  EXPECT_EQ(run.trainedReading()->size(), run.editedReading()->size());
  EXPECT_NE((*run.trainedReading())[3].next, (*run.editedReading())[3].next);
  // The log-likelihood of the line is the sum over its tokens.
  double sum = 0.0;
  for (const TokenReading& token : *run.editedReading()) sum += token.log_probability.value_or(0.0);
  EXPECT_NEAR(sum, run.score()->lines[0].after, 1e-3);
  ASSERT_TRUE(run.entropies());
  EXPECT_EQ(run.entropies()->rows.size(), 2U * 3U * 3U) << "two models, three sites and layers";
  EXPECT_TRUE(childCalled<QLabel>(view_, "Loss, nats per token").text().contains(QChar(0x2192)));
  ASSERT_NE(childCalled<FigureView>(view_, "tokens that the models expect").figure(), nullptr);
  ASSERT_NE(childCalled<FigureView>(view_, "entropies over layers").figure(), nullptr);
}

TEST_F(SurgeryViewTest, ReadsTheLineAndTheTokenThatAreChosen) {
  open({checkpointFolder()});
  click(layers(), 0, 0);
  button("Switch off").click();
  text().setPlainText("the cat is here\nthe dogs were there");
  button("Run").click();
  ASSERT_TRUE(finishes());
  auto& tokens =
      childCalled<QListView>(view_, "tokens of the line, coloured by what the edits cost");
  FigurePane& next = *view_.findChild<FigurePane*>("tokens that the models expect");
  EXPECT_EQ(next.caption(), "Expected next");
  tokens.setCurrentIndex(tokens.model()->index(2, 0));
  EXPECT_TRUE(next.caption().startsWith("Expected in place of '")) << next.caption().toStdString();
  EXPECT_TRUE(status_.contains("as trained")) << status_.toStdString();
  auto& table = childCalled<QTableView>(view_, "lines with their losses");
  const int other = view_.surgery().question()->line == 0 ? 1 : 0;
  for (int row = 0; row < 2; ++row) {
    if (table.model()->index(row, 0).data().toInt() != other + 1) continue;
    Q_EMIT table.clicked(table.model()->index(row, 0));
  }
  EXPECT_EQ(view_.surgery().question()->line, other);
  ASSERT_TRUE(finishes());
  EXPECT_NE(view_.surgery().editedReading(), nullptr);
}

TEST_F(SurgeryViewTest, KeepsWhatTheTrainedModelGaveAndSaysWhatIsOutdated) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(note().contains("before and after are the same")) << note().toStdString();
  EXPECT_EQ(view_.surgery().score()->before, view_.surgery().score()->after);
  click(layers(), 0, 0);
  button("Switch off").click();
  EXPECT_TRUE(note().contains("other edits")) << note().toStdString();
  QStringList started;
  QObject::connect(&jobs_, &JobRunner::jobAdded, [&](JobId id) {
    if (jobs_.find(id)->spec.is_shown) started << jobs_.find(id)->spec.title;
  });
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_EQ(started,
            (QStringList{"Reading the line with the edits", "Capturing the text with the edits",
                         "Entropies as trained and with the edits"}));
  EXPECT_EQ(note(), "");
}

TEST_F(SurgeryViewTest, ShowsTheLastLinesOfAChildThatDies) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  const QString dying = script("echo loading >&2; echo 'no memory for this' >&2; kill -9 $$");
  view_.surgery().setPrograms({dying, dying});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(
      note().contains("was killed or crashed; its last lines:\nloading\nno memory for this"))
      << note().toStdString();
  EXPECT_FALSE(view_.surgery().score());
  view_.surgery().setPrograms({"/absent/lime-generate", "/absent/lime-capture"});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(note().contains("cannot be started")) << note().toStdString();
  view_.surgery().setPrograms({script("echo '{}'"), dying});
  button("Run").click();
  ASSERT_TRUE(finishes());
  EXPECT_TRUE(note().contains("lime-generate --each-token: the output must hold tokens"))
      << note().toStdString();
}

TEST_F(SurgeryViewTest, StopEndsTheChildAndLeavesNoFiles) {
  const QStringList before = temporaryFolders();
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  const QString slow = script("exec sleep 60");
  view_.surgery().setPrograms({slow, slow});
  click(layers(), 0, 0);
  button("Switch off").click();
  button("Run").click();
  ASSERT_TRUE(waitUntil([this] { return jobs_.jobs().front().is_running; }));
  EXPECT_GT(temporaryFolders().size(), before.size());
  button("Stop").click();
  EXPECT_FALSE(view_.surgery().isRunning());
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "stopped");
  EXPECT_EQ(temporaryFolders(), before);
  // The same from the job list.
  button("Run").click();
  ASSERT_TRUE(waitUntil([this] { return !jobs_.isIdle() && jobs_.jobs().front().is_running; }));
  jobs_.cancel(jobs_.jobs().front().id);
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "stopped");
  EXPECT_FALSE(view_.surgery().score());
}

TEST_F(SurgeryViewTest, ShowsProgressAndTimeLeftOfItsChildren) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  std::set<std::string> stages;
  QObject::connect(&jobs_, &JobRunner::jobChanged, [&](JobId id) {
    if (const std::optional<JobInfo> job = jobs_.find(id)) stages.insert(job->stage);
  });
  click(layers(), 0, 0);
  button("Switch off").click();
  button("Run").click();
  ASSERT_TRUE(finishes());
  for (const char* const stage : {"load", "read", "capture"}) {
    EXPECT_TRUE(stages.contains(stage)) << stage;
  }
  const QString slow = script(
      R"(report() { echo "{\"progress\":\"$1\",\"unit\":\"x\",\"done\":$2,\"total\":4,\"note\":\"\"}" >&2; }
report load 4; report read 0; sleep 0.7; report read 2; exec sleep 60)");
  view_.surgery().setPrograms({slow, slow});
  text().setPlainText("the dogs were there");
  button("Run").click();
  ASSERT_TRUE(waitUntil([this] { return view_.surgery().stepText().endsWith(" left"); }));
  EXPECT_TRUE(view_.surgery().stepText().startsWith("1 of 5: Reading the line as trained, "));
  // One of two stages, and half of the other, of the first of five steps.
  EXPECT_DOUBLE_EQ(view_.surgery().share(), 0.75 / 5.0);
  EXPECT_EQ(childCalled<QProgressBar>(view_, "part of the run that is done").value(), 15);
  EXPECT_EQ(childCalled<QLabel>(view_, "step of the run").text(), view_.surgery().stepText());
  button("Stop").click();
  ASSERT_TRUE(finishes());
}

TEST_F(SurgeryViewTest, DropsAnswersThatWereStoppedWhileTheyWereRead) {
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
      return !job.spec.is_shown && job.spec.title == "Reading the line as trained";
    });
  };
  ASSERT_TRUE(waitUntil(isReading));
  button("Stop").click();
  go.release(4);
  ASSERT_TRUE(finishes());
  EXPECT_EQ(note(), "stopped");
  EXPECT_EQ(view_.surgery().trainedReading(), nullptr);
}

TEST_F(SurgeryViewTest, DropsTheAnswerToAnOutdatedQuestion) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  const SurgeryPrograms real = SurgeryPrograms::find(QCoreApplication::applicationDirPath());
  const QString slow =
      script("trap '' TERM; sleep 1; exec '" + real.generate.toStdString() + "' \"$@\"");
  view_.surgery().setPrograms({slow, real.capture});
  button("Run").click();
  ASSERT_TRUE(waitUntil([this] { return jobs_.jobs().front().is_running; }));
  view_.surgery().setPrograms(real);
  text().setPlainText("the dogs were there");
  button("Stop").click();
  button("Run").click();
  ASSERT_TRUE(finishes());
  ASSERT_TRUE(view_.surgery().score());
  EXPECT_EQ(view_.surgery().score()->lines[0].text, "the dogs were there");
  EXPECT_EQ(view_.surgery().question()->lines, QStringList{"the dogs were there"});
}

TEST_F(SurgeryViewTest, TakesATextFromAFileAndCommandLinesRepeatTheRun) {
  const QString folder = checkpointFolder();
  open({folder});
  lime::testing::write_text(folder_ / "t.txt", "the cat is here\nit's there\n");
  view_.loadText(toQString(folder_ / "t.txt"));
  EXPECT_EQ(text().toPlainText(), "the cat is here\nit's there\n");
  view_.loadText("/absent.txt");
  EXPECT_TRUE(note().contains("'/absent.txt': cannot be read")) << note().toStdString();
  click(layers(), 0, 1);
  button("Switch off").click();
  QStringList lines = view_.commandLines();
  ASSERT_EQ(lines.size(), 7);
  EXPECT_EQ(lines[0],
            R"(printf '%s\n' '{"format":"lime-router-edit/1","edits":[{"layer":2,"source":1,)"
            R"("scale":0.0}]}' > edit.json)");
  EXPECT_TRUE(lines[2].contains("--router-edit edit.json")) << lines[2].toStdString();
  EXPECT_TRUE(lines[3].contains("--lines " + toQString(folder_ / "t.txt") + " --max-sequences 2"));
  text().setPlainText("it's there");
  lines = view_.commandLines();
  EXPECT_EQ(lines[1], R"(printf '%s\n' 'it'\''s there' > text.txt)");
  EXPECT_TRUE(lines[2].contains(R"(--prompt='it'\''s there')")) << lines[2].toStdString();
}

TEST_F(SurgeryViewTest, RunsAsManyLinesAsAreChosen) {
  const auto& effect = *view_.findChild<SurgeryEffect*>();
  QString many;
  for (int i = 0; i < 150; ++i) many += QStringLiteral("line\n\n");
  text().setPlainText(many);
  EXPECT_EQ(effect.lines().size(), 100);
  view_.setState(Json{{"lines", 0}});
  EXPECT_EQ(effect.lines().size(), 150);
}

TEST_F(SurgeryViewTest, RunsAtEveryEditWhereThatIsWanted) {
  open({checkpointFolder()});
  text().setPlainText("the cat is here");
  view_.setState(Json{{"live", true}});
  click(layers(), 0, 0);
  button("Switch off").click();
  EXPECT_TRUE(waitUntil([this] { return view_.surgery().isRunning(); }));
  ASSERT_TRUE(finishes());
  ASSERT_TRUE(view_.surgery().score());
}

TEST_F(SurgeryViewTest, SurvivesClosingWhatItShowsWhileItRuns) {
  open({checkpointFolder("a")});
  text().setPlainText("the cat is here");
  button("Run").click();
  workspace_.closeAll();
  ASSERT_TRUE(finishes());
  EXPECT_FALSE(view_.figure());
  EXPECT_FALSE(view_.surgery().score());
  EXPECT_FALSE(view_.grab().isNull());
}

}  // namespace
}  // namespace lime::explorer::testing
