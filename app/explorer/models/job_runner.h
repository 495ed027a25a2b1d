// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QThreadPool>
#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/progress.h"

namespace lime {
struct Analysis;
struct ProgressReport;
struct Report;
struct RunOptions;
}  // namespace lime

namespace lime::explorer {

using JobId = std::uint64_t;

/// Where a job waits for its turn.
enum class JobLane {
  kQuick,  ///< files, tables: several at once, never behind a long one
  kLong,   ///< analyses, one after another: each takes all processors
};

/// What a job is about.
struct JobSpec {
  QString title;  ///< in the list: "Entropy of lime.h5"
  /// Whose question it answers. A newer job of the same key makes it outdated: it is asked to stop,
  /// and whatever it still gives is dropped. Empty: stands for itself.
  QString key = {};
  JobLane lane = JobLane::kQuick;
  /// Shown in the list. Those that only take a moment are not.
  bool is_shown = true;
};

/// What a job sees of its surroundings; used on its own thread.
struct JobContext {
  ProgressFn on_progress;
  std::stop_token stop;
};

/// A job as the list shows it.
struct JobInfo {
  JobId id = 0;
  JobSpec spec;
  Progress progress;
  /// What a child process is at, and what it counts; empty where it does not say.
  std::string stage;
  std::string unit;
  int stages_begun = 0;
  bool is_running = false;  ///< else it waits
  bool is_stopping = false;
  /// Of its stage, if it has any. Unset until enough is done to tell.
  std::optional<double> seconds_left = {};

  /// Of the work, or the stage, that is done, [0, 1]; nothing where that is not known.
  std::optional<double> share() const;
};

/// Runs work on threads of its own and hands results over on the GUI thread, where this object
/// lives.
///
///   jobs.start<Routers>(this, {.title = "Routers"},
///                       [checkpoint](const JobContext&) { return routers_of(*checkpoint); },
///                       [this](Routers routers) { show(std::move(routers)); },
///                       [this](const QString& error) { showError(error); });
///
/// The result of a job that was cancelled, that is outdated, or whose owner is gone, is dropped. An
/// exception becomes one line of text. Work must hold what it uses by value or shared pointer.
class JobRunner : public QObject {
  Q_OBJECT

 public:
  explicit JobRunner(QObject* parent = nullptr);
  /// Asks all jobs to stop and waits for them.
  ~JobRunner() override;

  /// @param owner   whose functions `done` and `failed` are; must not be null.
  /// @param failed  gets the library's line; cancelled jobs call neither.
  template <typename Result>
  JobId start(QObject* owner, JobSpec spec,
              std::type_identity_t<std::function<Result(const JobContext&)>> work,
              std::type_identity_t<std::function<void(Result)>> done,
              std::function<void(const QString&)> failed = {}) {
    return startAny(
        owner, std::move(spec),
        [work = std::move(work)](const JobContext& context) {
          return std::make_shared<std::any>(std::make_shared<Result>(work(context)));
        },
        [done = std::move(done)](std::any& result) {
          done(std::move(*std::any_cast<std::shared_ptr<Result>&>(result)));
        },
        std::move(failed));
  }

  /// Prepares an analysis and runs it in the long lane: run_analysis() with progress and cancel.
  JobId startAnalysis(QObject* owner, JobSpec spec, std::function<Analysis()> prepare,
                      const RunOptions& run, std::function<void(Report)> done,
                      std::function<void(const QString&)> failed = {});

  /// What a child process left when it ended well.
  using ProcessDone = std::function<void(const QByteArray& output)>;

  /// Runs `program` as a child process; cancelling ends it. It is asked for its progress
  /// (kProgressVariable); of one that tells none the last line of standard error is shown. Where it
  /// dies or ends with another status than 0, `failed` gets its last lines.
  JobId startProcess(QObject* owner, JobSpec spec, const QString& program,
                     const QStringList& arguments, ProcessDone done,
                     std::function<void(const QString&)> failed = {});

  void cancel(JobId id);
  void cancelAll();

  /// Jobs that wait or run, oldest first, those of is_shown false included.
  std::vector<JobInfo> jobs() const;
  /// One of them; nothing if it is over.
  std::optional<JobInfo> find(JobId id) const;
  bool isIdle() const { return jobs_.empty(); }

 Q_SIGNALS:
  void jobAdded(JobId id);
  /// Progress came, or it began to run.
  void jobChanged(JobId id);
  /// It is over, whether its result was used or dropped.
  void jobRemoved(JobId id);
  /// A job failed that has no `failed` of its own.
  void jobFailed(const QString& title, const QString& error);

 private:
  using Outcome = std::shared_ptr<std::any>;
  struct Job;

  JobId startAny(QObject* owner, JobSpec spec, std::function<Outcome(const JobContext&)> work,
                 std::function<void(std::any&)> done, std::function<void(const QString&)> failed);
  JobId addJob(QObject* owner, JobSpec spec, std::function<void(const QString&)> failed);
  void work(JobId id, const std::shared_ptr<Job>& job,
            const std::function<Outcome(const JobContext&)>& work);
  void began(JobId id);
  void progressed(JobId id, const Progress& progress);
  void finished(JobId id, const Outcome& outcome, const QString& error);
  void hear(JobId id, const QByteArray& bytes);
  void heard(JobId id, const ProgressReport& report);
  void processFinished(JobId id, int status, bool crashed);
  void outdate(const QString& key);

  QThreadPool quick_;
  QThreadPool long_;
  JobId next_ = 1;
  std::map<JobId, std::shared_ptr<Job>> jobs_;
};

}  // namespace lime::explorer
