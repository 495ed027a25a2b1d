// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/job_runner.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QProgressBar>
#include <QSignalSpy>
#include <QThread>
#include <atomic>
#include <memory>
#include <semaphore>

#include "core/errors.h"
#include "explorer/explorer_fixture.h"
#include "explorer/window/job_panel.h"

namespace lime::explorer::testing {
namespace {

class JobRunnerTest : public ::testing::Test {
 protected:
  bool idle() {
    return waitUntil([this] { return jobs_.isIdle(); });
  }

  QObject owner_;
  JobRunner jobs_;
};

TEST_F(JobRunnerTest, WorksElsewhereAndDeliversHere) {
  QThread* worked = nullptr;
  QThread* delivered = nullptr;
  int result = 0;
  jobs_.start<int>(
      &owner_, {.title = "sum"},
      [&](const JobContext&) {
        worked = QThread::currentThread();
        return 42;
      },
      [&](int number) {
        delivered = QThread::currentThread();
        result = number;
      });
  ASSERT_TRUE(idle());
  EXPECT_EQ(result, 42);
  EXPECT_NE(worked, QThread::currentThread());
  EXPECT_EQ(delivered, QThread::currentThread());
}

TEST_F(JobRunnerTest, DropsWhatWasCancelled) {
  bool delivered = false;
  const JobId id = jobs_.start<int>(
      &owner_, {.title = "long"},
      [](const JobContext& context) {
        while (!context.stop.stop_requested()) QThread::msleep(1);
        return 1;
      },
      [&](int) { delivered = true; }, [&](const QString&) { delivered = true; });
  jobs_.cancel(id);
  ASSERT_TRUE(idle());
  EXPECT_FALSE(delivered);
}

TEST_F(JobRunnerTest, DropsWhatIsOutdated) {
  QStringList delivered;
  const auto start = [&](const QString& name) {
    jobs_.start<QString>(
        &owner_, {.title = name, .key = "question"}, [name](const JobContext&) { return name; },
        [&](const QString& text) { delivered << text; });
  };
  for (const QString name : {"first", "second", "third"}) start(name);
  ASSERT_TRUE(idle());
  EXPECT_EQ(delivered, QStringList{"third"});
}

TEST_F(JobRunnerTest, DropsWhatNobodyOwnsAnyMore) {
  auto owner = std::make_unique<QObject>();
  std::binary_semaphore go(0);
  bool delivered = false;
  jobs_.start<int>(
      owner.get(), {.title = "orphan"},
      [&](const JobContext&) {
        go.acquire();
        return 1;
      },
      [&](int) { delivered = true; });
  owner.reset();
  go.release();
  ASSERT_TRUE(idle());
  EXPECT_FALSE(delivered);
}

TEST_F(JobRunnerTest, PassesOnTheLibrarysLine) {
  QString line;
  jobs_.start<int>(
      &owner_, {.title = "bad"},
      [](const JobContext&) -> int { throw InvalidArgument("alpha: must be > 0, got {}", -1); },
      [](int) {}, [&](const QString& error) { line = error; });
  QSignalSpy failed(&jobs_, &JobRunner::jobFailed);
  jobs_.start<int>(
      &owner_, {.title = "nobody listens"},
      [](const JobContext&) -> int { throw IoError("gone: {}", 1); }, [](int) {});
  ASSERT_TRUE(idle());
  EXPECT_EQ(line, "alpha: must be > 0, got -1");
  ASSERT_EQ(failed.count(), 1);
  EXPECT_EQ(failed.front().at(1).toString(), "gone: 1");
}

TEST_F(JobRunnerTest, ReportsProgressAndTimeLeft) {
  std::binary_semaphore go(0);
  jobs_.start<int>(
      &owner_, {.title = "slow"},
      [&](const JobContext& context) {
        QThread::msleep(600);
        context.on_progress({5, 10, "layer 5"});
        go.acquire();
        return 0;
      },
      [](int) {});
  ASSERT_TRUE(waitUntil([this] { return jobs_.jobs().front().progress.done == 5; }));
  const JobInfo info = jobs_.jobs().front();
  EXPECT_TRUE(info.is_running);
  ASSERT_TRUE(info.seconds_left);
  EXPECT_GT(*info.seconds_left, 0.4);
  go.release();
  ASSERT_TRUE(idle());
}

TEST_F(JobRunnerTest, LongOnesNeverHoldUpQuickOnes) {
  std::binary_semaphore go(0);
  jobs_.start<int>(
      &owner_, {.title = "long", .lane = JobLane::kLong},
      [&](const JobContext&) {
        go.acquire();
        return 0;
      },
      [](int) {});
  bool done = false;
  jobs_.start<int>(
      &owner_, {.title = "quick"}, [](const JobContext&) { return 0; }, [&](int) { done = true; });
  EXPECT_TRUE(waitUntil([&] { return done; }));
  go.release();
  ASSERT_TRUE(idle());
}

TEST_F(JobRunnerTest, HandsOverWhatAChildPrinted) {
  QByteArray output;
  jobs_.startProcess(&owner_, {.title = "echo"}, "/bin/sh", {"-c", "echo hello"},
                     [&](const QByteArray& bytes) { output = bytes; });
  ASSERT_TRUE(idle());
  EXPECT_EQ(output, "hello\n");
}

TEST_F(JobRunnerTest, ShowsTheLastLinesOfAChildThatDies) {
  QString error;
  const auto keep = [&](const QString& text) { error = text; };
  jobs_.startProcess(
      &owner_, {.title = "dies"}, "/bin/sh", {"-c", "echo one >&2; echo two >&2; exit 3"},
      [](const QByteArray&) {}, keep);
  ASSERT_TRUE(idle());
  EXPECT_EQ(error, "'/bin/sh': ended with status 3; its last lines:\none\ntwo");
  jobs_.startProcess(
      &owner_, {.title = "killed"}, "/bin/sh", {"-c", "echo three >&2; kill -9 $$"},
      [](const QByteArray&) {}, keep);
  ASSERT_TRUE(idle());
  EXPECT_EQ(error, "'/bin/sh': was killed or crashed; its last lines:\nthree");
  jobs_.startProcess(
      &owner_, {.title = "absent"}, "/absent/program", {}, [](const QByteArray&) {}, keep);
  ASSERT_TRUE(idle());
  EXPECT_TRUE(error.startsWith("'/absent/program': cannot be started")) << error.toStdString();
}

TEST_F(JobRunnerTest, ReportsProgressAndTimeLeftOfAChild) {
  const JobPanel panel(jobs_);
  const auto detail = [&] { return panel.findChildren<QLabel*>().last()->text(); };
  QStringList details;
  QObject::connect(&jobs_, &JobRunner::jobChanged, [&] { details << detail(); });
  const QString report =
      R"(echo '{"progress":"%1","unit":"%2","done":%3,"total":%4,"note":""}' >&2;)";
  const JobId id = jobs_.startProcess(
      &owner_, {.title = "child"}, "/bin/sh",
      {"-c", "[ \"$LIME_PROGRESS\" = json ] || exit 1;" +
                 report.arg("load", "bytes").arg(1048576).arg(3145728) +
                 report.arg("capture", "tokens").arg(100).arg(400) + "sleep 0.7;" +
                 report.arg("capture", "tokens").arg(300).arg(400) + "exec sleep 60"},
      [](const QByteArray&) {});
  ASSERT_TRUE(waitUntil([&] { return jobs_.find(id)->progress.done == 300; }));
  const JobInfo info = *jobs_.find(id);
  EXPECT_EQ(info.stage, "capture");
  EXPECT_EQ(info.stages_started, 2);
  EXPECT_EQ(info.share(), 0.75);
  // Half as many remain as were done since the stage began.
  ASSERT_TRUE(info.seconds_left);
  EXPECT_GT(*info.seconds_left, 0.3);
  EXPECT_EQ(childCalled<QProgressBar>(panel, "child").value(), 750);
  EXPECT_TRUE(details.contains("load: 1 MiB of 3 MiB")) << details.join('|').toStdString();
  EXPECT_TRUE(detail().startsWith("capture: 300 of 400 tokens, ")) << detail().toStdString();
  EXPECT_TRUE(detail().endsWith(" left")) << detail().toStdString();
  jobs_.cancel(id);
  ASSERT_TRUE(idle());
  EXPECT_FALSE(jobs_.find(id));
}

TEST_F(JobRunnerTest, ProgressOfAChildIsNotAmongItsLastLines) {
  QString error;
  jobs_.startProcess(
      &owner_, {.title = "dies"}, "/bin/sh",
      {"-c",
       R"(echo one >&2; echo '{"progress":"load","unit":"bytes","done":1,"total":2,"note":""}' >&2;
          printf 'two, cut sh' >&2; exit 3)"},
      [](const QByteArray&) {}, [&](const QString& text) { error = text; });
  ASSERT_TRUE(idle());
  EXPECT_EQ(error, "'/bin/sh': ended with status 3; its last lines:\none\ntwo, cut sh");
}

TEST_F(JobRunnerTest, ShowsTheLastLineOfAChildThatReportsNoProgress) {
  const JobId id =
      jobs_.startProcess(&owner_, {.title = "old"}, "/bin/sh",
                         {"-c", R"(echo begun >&2; printf 'half\rwhole' >&2; exec sleep 60)"},
                         [](const QByteArray&) {});
  EXPECT_TRUE(waitUntil([&] { return jobs_.find(id)->progress.note == "whole"; }));
  EXPECT_FALSE(jobs_.find(id)->share());
  jobs_.cancel(id);
  ASSERT_TRUE(idle());
}

TEST_F(JobRunnerTest, CancelEndsAChild) {
  bool told = false;
  const JobId id = jobs_.startProcess(
      &owner_, {.title = "sleeps"}, "/bin/sleep", {"60"}, [&](const QByteArray&) { told = true; },
      [&](const QString&) { told = true; });
  ASSERT_TRUE(waitUntil([this] { return jobs_.jobs().front().is_running; }));
  jobs_.cancel(id);
  ASSERT_TRUE(idle());
  EXPECT_FALSE(told);
}

TEST_F(JobRunnerTest, ThePanelListsJobsThatAreNotHidden) {
  const JobPanel panel(jobs_);
  const auto num_jobs = [&] { return panel.findChildren<QProgressBar*>().size(); };
  std::counting_semaphore<2> go(0);
  for (const QString name : {"a", "b"}) {
    jobs_.start<int>(
        &owner_, {.title = name},
        [&](const JobContext& context) {
          context.on_progress({1, 4, ""});
          go.acquire();
          return 0;
        },
        [](int) {});
  }
  jobs_.start<int>(
      &owner_, {.title = "unseen", .is_shown = false}, [](const JobContext&) { return 0; },
      [](int) {});
  ASSERT_EQ(num_jobs(), 2);
  EXPECT_TRUE(waitUntil([&] { return childCalled<QProgressBar>(panel, "b").value() == 250; }));
  EXPECT_TRUE(panel.findChildren<QLabel*>().last()->text().startsWith("1 of 4"));
  go.release(2);
  ASSERT_TRUE(idle());
  EXPECT_EQ(num_jobs(), 0);
  EXPECT_FALSE(panel.isVisibleTo(nullptr));
}

}  // namespace
}  // namespace lime::explorer::testing
