// SPDX-License-Identifier: Apache-2.0
#include <QLabel>
#include <QSettings>
#include <QTest>
#include <QThread>
#include <atomic>

#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/widgets/job_line.h"
#include "explorer/window/job_panel.h"
#include "explorer/window/main_window.h"
#include "explorer/window/view_kinds.h"

namespace lime::explorer::testing {
namespace {

class JobNamesTest : public WorkspaceTest {
 protected:
  JobNamesTest() { QSettings().clear(); }
};

TEST_F(JobNamesTest, EveryListedJobSaysWhatItMeasuresOnWhat) {
  MainWindow window;
  window.resize(1024, 700);
  window.show();
  QStringList titles;
  QObject::connect(&window.jobs(), &JobRunner::jobAdded, &window, [&](JobId id) {
    const std::optional<JobInfo> job = window.jobs().find(id);
    if (job && job->spec.is_shown) titles << job->spec.title;
  });
  window.workspace().open({checkpointFolder("model"), captureFile("first.h5"),
                           captureFile("second.h5"), resultsFile("numbers.json")});
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  Selection selection = window.workspace().selection();
  selection.layer = 1;
  window.workspace().setSelection(selection);
  for (const ViewKind& view : allViews()) {
    window.showView(view.id);
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
  EXPECT_GT(titles.size(), 8);
  for (const QString& title : std::as_const(titles)) {
    const bool names_what = title.contains("model") || title.contains("first") ||
                            title.contains("second") || title.contains("numbers");
    EXPECT_TRUE(names_what && title.section(u' ', 0, 0).size() > 2) << title.toStdString();
  }
  for (const char* const expected :
       {"Entropy of first", "Causes of collapse in hidden of second",
        "Spectrum of layer 1 of first", "Norms and entropy contributions of sequence 0 of first"}) {
    EXPECT_TRUE(std::ranges::any_of(
        titles, [&](const QString& title) { return title.contains(QLatin1String(expected)); }))
        << expected << " in " << titles.join(u'\n').toStdString();
  }
}

TEST_F(JobNamesTest, ProgressIsShownWhereTheResultWillAppear) {
  JobLine line(jobs_, u"collapse/curves/"_s);
  line.show();
  line.hide();
  QObject owner;
  std::atomic<bool> may_end = false;
  const auto work = [&may_end](const JobContext& context) {
    context.on_progress({3, 4, ""});
    while (!may_end) QThread::msleep(5);
    return 1;
  };
  jobs_.start<int>(
      &owner, {.title = u"other"_s, .key = u"collapse/layer/1"_s},
      [](const JobContext&) { return 1; }, [](int) {});
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle(); }));
  EXPECT_FALSE(line.isVisible());
  jobs_.start<int>(&owner, {.title = u"own"_s, .key = u"collapse/curves/a"_s}, work, [](int) {});
  EXPECT_TRUE(waitUntil([&] { return line.isVisible() && line.value() == 750; }));
  may_end = true;
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle(); }));
  EXPECT_FALSE(line.isVisible());
}

TEST_F(JobNamesTest, ALongNameKeepsBothItsEndsAndIsWholeInItsToolTip) {
  JobPanel panel(jobs_);
  panel.resize(150, 80);
  panel.show();
  const QString title = u"Entropy contributions of sequence 17 of a-capture-with-a-long-name"_s;
  QObject owner;
  jobs_.start<int>(
      &owner, {.title = title}, [](const JobContext&) { return 1; }, [](int) {});
  const auto labels = panel.findChildren<QLabel*>();
  EXPECT_TRUE(
      std::ranges::any_of(labels, [&](const QLabel* label) { return label->toolTip() == title; }));
  EXPECT_LE(panel.width(), 400) << "the name does not widen the side bar";
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle(); }));
}

}  // namespace
}  // namespace lime::explorer::testing
