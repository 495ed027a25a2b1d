// SPDX-License-Identifier: Apache-2.0
// A text is captured from the window, by the real lime-capture.
#include <QCheckBox>
#include <QDir>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QTest>
#include <QTimer>
#include <filesystem>
#include <thread>

#include "checkpoint/model_config.h"
#include "explorer/capture/capture_dialog.h"
#include "explorer/explorer_fixture.h"
#include "explorer/widgets/job_line.h"
#include "explorer/widgets/notice_bar.h"
#include "explorer/window/main_window.h"
#include "explorer/window/view_kinds.h"
#include "store/capture_reader.h"
#include "support/refusal.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

const QString kText = u"the cat is here\n\nthe dogs are there and it is late\nthey were here\n"_s;

class CaptureTest : public WorkspaceTest {
 protected:
  CaptureTest() { QSettings().clear(); }

  QString at(const std::string& name) { return toQString(folder_ / name); }
  QString plainCheckpoint() {
    lime::testing::write_tiny_checkpoint(folder_ / "plain", lime::testing::tiny_config("llama"));
    return at("plain");
  }
  CaptureRequest request(const QStringList& models) {
    CaptureRequest made{.text = kText, .output = at("text.h5"), .threads = 1};
    for (const QString& model : models) made.models.push_back({QDir(model).dirName(), model});
    return made;
  }
  static void openIn(MainWindow& window, const QStringList& paths) {
    window.workspace().open(paths);
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
  /// Presses the button of the present page, and fills in the dialog that it opens.
  static void captureFrom(MainWindow& window, const QString& output) {
    QTimer::singleShot(0, &window, [output] {
      auto* const dialog = qobject_cast<CaptureDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      childCalled<QPlainTextEdit>(*dialog, "text to capture").setPlainText(kText);
      childCalled<QLineEdit>(*dialog, "capture file").setText(output);
      dialog->accept();
      EXPECT_EQ(dialog->problem().toStdString(), "");
      if (dialog->isVisible()) dialog->reject();
    });
    window.findChild<OfferPage*>()->findChild<QPushButton*>()->click();
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
  static bool offers(const MainWindow& window) {
    return window.findChild<OfferPage*>()->isVisible();
  }
};

TEST_F(CaptureTest, EveryEmptyViewOffersOneButton) {
  MainWindow window;
  window.show();
  openIn(window, {plainCheckpoint()});
  for (const ViewKind& kind : allViews()) {
    window.showView(kind.id);
    // Router shows what a plain model writes, Interventions its parts.
    const bool shows = kind.id == "router" || kind.id == "interventions";
    EXPECT_EQ(offers(window), !shows) << kind.id.toStdString();
  }
  window.workspace().closeAll();
  openIn(window, {captureFile()});
  window.showView("router");
  EXPECT_TRUE(offers(window));
  window.showView("text");
  EXPECT_FALSE(offers(window));
}

TEST_F(CaptureTest, AnEmptyViewShowsTheProgressOfTheCaptureThatFillsIt) {
  MainWindow window;
  window.show();
  openIn(window, {plainCheckpoint()});
  window.showView("collapse");
  const auto* const line = window.findChild<OfferPage*>()->findChild<JobLine*>();
  EXPECT_TRUE(line->isHidden());
  window.jobs().start<int>(
      &window, {.title = u"Capture of a.txt by plain"_s, .key = kCaptureJobs + u"a.h5"_s},
      [](const JobContext& context) {
        while (!context.stop.stop_requested()) std::this_thread::yield();
        return 0;
      },
      [](int) {});
  EXPECT_FALSE(line->isHidden());
  window.jobs().cancelAll();
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  EXPECT_TRUE(line->isHidden());
}

TEST_F(CaptureTest, AUserWithAModelAloneIsOfferedACaptureOfAnExample) {
  MainWindow window;
  window.show();
  openIn(window, {plainCheckpoint()});
  const auto* const notice = window.findChild<NoticeBar*>();
  EXPECT_TRUE(notice->isVisible());
  EXPECT_TRUE(notice->text().endsWith("capture a text (Ctrl+T)")) << notice->text().toStdString();
  CaptureRun run(jobs_);
  CaptureDialog dialog(run, request({}));
  for (QPushButton* const button : dialog.findChildren<QPushButton*>()) {
    if (button->text().remove('&') == "Insert an example") button->click();
  }
  const QString text = childCalled<QPlainTextEdit>(dialog, "text to capture").toPlainText();
  EXPECT_GE(text.trimmed().split('\n').size(), 20) << "fewer have too narrow intervals";
}

TEST_F(CaptureTest, AViewIsFilledFromACheckpointAndAText) {
  for (const char* const id : {"collapse", "text", "probes"}) {
    MainWindow window;
    window.show();
    openIn(window, {checkpointFolder()});
    window.showView(id);
    ASSERT_NO_FATAL_FAILURE(captureFrom(window, at(std::string(id) + ".h5")));
    EXPECT_FALSE(offers(window)) << id;
    EXPECT_EQ(window.workspace().documents().size(), 2U) << id;
    EXPECT_FALSE(window.findChild<NoticeBar*>()->isVisible()) << id;
    EXPECT_EQ(window.currentView()->accessibleName().section(' ', 0, 0).toLower(), id);
    if (std::string(id) == "collapse") {
      EXPECT_TRUE(window.currentView()->figure());
    }
  }
  const CaptureReader words(folder_ / "probes.h5");
  EXPECT_EQ(words.info().class_names.size(), 4U) << "the most frequent words of the text";
  const CaptureReader lines(folder_ / "text.h5");
  EXPECT_EQ(lines.sequences().size(), 3U) << "blank lines are none";
  EXPECT_TRUE(lines.info().command.find(at("text.txt").toStdString()) != std::string::npos);
}

TEST_F(CaptureTest, ResultsAreMeasuredAfterTheCapture) {
  MainWindow window;
  window.show();
  openIn(window, {checkpointFolder()});
  window.showView("results");
  ASSERT_NO_FATAL_FAILURE(captureFrom(window, at("run.h5")));
  EXPECT_EQ(window.currentView()->title(), "Results");
  EXPECT_TRUE(window.currentView()->figure());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run.entropy.json"));
}

TEST_F(CaptureTest, SeveralCheckpointsWriteAFileEach) {
  CaptureRun run(jobs_);
  QStringList written;
  QObject::connect(&run, &CaptureRun::finished, [&](const QStringList& files) { written = files; });
  run.start(request({checkpointFolder("one"), checkpointFolder("two")}));
  EXPECT_EQ(lime::testing::refusal_of<InvalidArgument>([&] { run.start(request({})); }),
            "capture: a capture is already running; wait, or cancel it in the list of jobs");
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle() && !run.isRunning(); }));
  EXPECT_EQ(written, (QStringList{at("text-one.h5"), at("text-two.h5")}));
  EXPECT_EQ(CaptureReader(folder_ / "text-two.h5").sites(),
            (std::vector<std::string>{"values", "routed_values", "hidden"}));
}

TEST_F(CaptureTest, ABoxCapturesTheLogitLensThatTheTextViewShows) {
  CaptureRun run(jobs_);
  CaptureDialog dialog(run, request({checkpointFolder()}));
  auto& box = *dialog.findChild<QCheckBox*>(u"logit_lens"_s);
  EXPECT_FALSE(box.isChecked()) << "it takes time if the vocabulary is large";
  box.setChecked(true);
  dialog.accept();
  EXPECT_EQ(dialog.problem().toStdString(), "");
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle() && !run.isRunning(); }));
  MainWindow window;
  window.show();
  openIn(window, {at("text.h5")});
  window.showView("text");
  window.setStates({{"text", {{"measure", "lens_probability"}}}});
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  EXPECT_TRUE(window.currentView()->figure());
}

TEST_F(CaptureTest, SaysInOneLineWhatIsWrong) {
  CaptureRun run(jobs_);
  const QString model = checkpointFolder();
  const auto refusal = [&](CaptureRequest wrong) {
    CaptureDialog dialog(run, std::move(wrong));
    dialog.accept();
    EXPECT_NE(dialog.result(), QDialog::Accepted);
    return dialog.problem().replace(toQString(folder_.path()), "DIR").toStdString();
  };
  CaptureRequest wrong = request({model});
  wrong.text = " \n";
  EXPECT_EQ(refusal(wrong), "text: must not be empty; type a text or select a file");
  wrong.text_file = at("absent.txt");
  EXPECT_TRUE(refusal(wrong).starts_with("'DIR/absent.txt': ")) << refusal(wrong);
  wrong.text = kText;
  EXPECT_EQ(refusal(wrong), "text: must be typed or in a file, got both");
  wrong = request({model});
  wrong.form.values = wrong.form.routed_values = wrong.form.hidden = false;
  EXPECT_EQ(refusal(wrong), "values, routed values, hidden: one must be selected, got none");
  wrong = request({model});
  wrong.output = at("absent/text.h5");
  EXPECT_EQ(refusal(wrong),
            "'DIR/absent/text.h5': cannot be written; 'DIR/absent' must be a folder with write "
            "permission");
  lime::testing::write_text(folder_ / "text.txt", "another text");
  EXPECT_EQ(refusal(request({model})), "'DIR/text.txt': already exists; select another name");
  lime::testing::write_text(folder_ / "text.h5", "");
  EXPECT_EQ(refusal(request({model})), "'DIR/text.h5': already exists; select another name");
  EXPECT_EQ(refusal(request({})), "checkpoint: one must be selected, got none");
}

TEST_F(CaptureTest, ACancelledCaptureLeavesNoFileAndCanBeRepeated) {
  CaptureRun run(jobs_);
  QString problem;
  QStringList written;
  QObject::connect(&run, &CaptureRun::failed, [&](const QString& text) { problem = text; });
  QObject::connect(&run, &CaptureRun::finished, [&](const QStringList& files) { written = files; });
  const CaptureRequest wanted = request({checkpointFolder("one"), checkpointFolder("two")});
  run.start(wanted);
  jobs_.cancelAll();
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle() && !run.isRunning(); }));
  EXPECT_EQ(problem, "capture: cancelled; capture again with the same settings to resume");
  EXPECT_TRUE(written.isEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "text-one.h5"));
  run.start(wanted);
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle() && !run.isRunning(); }));
  EXPECT_EQ(written.size(), 2);
}

TEST_F(CaptureTest, TheDemoIsAllThatItsScriptWrites) {
  std::filesystem::create_directory(folder_ / "out");
  lime::testing::write_text(folder_ / "out" / "word-embeddings.json", "{}");
  const QString before = QDir::currentPath();
  QDir::setCurrent(at("."));
  const QStringList demo = findDemo();
  QDir::setCurrent(before);
  EXPECT_FALSE(demo.filter("out/word-embeddings.json").isEmpty());
}

}  // namespace
}  // namespace lime::explorer::testing
