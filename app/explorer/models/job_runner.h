// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QThreadPool>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/program/progress.h"
#include "explorer/models/text.h"

namespace lime {
struct ProgressReport;
}  // namespace lime

namespace lime::explorer {

using JobId = std::uint64_t;

enum class JobLane {
  kQuick,  ///< files, tables: several at once, never behind a long one
  kLong,   ///< analyses, one after another: each uses all CPUs
};

struct JobSpec {
  QString title;  ///< in the list: "Entropy of lime.h5"
  /// A newer job of the same key makes this one outdated: its stop is requested, and its result is
  /// dropped. Empty: no job replaces it.
  QString key = {};
  JobLane lane = JobLane::kQuick;
  /// Jobs that take only a moment are not listed.
  bool is_shown = true;
};

/// Progress and cancellation of a job, for use on its own thread.
struct JobContext {
  ProgressFn on_progress;
  std::stop_token stop;
  /// Runs a function on the GUI thread, to show a first part of the result. It is dropped where the
  /// result would be: if the job was cancelled, is outdated, or its owner is gone.
  std::function<void(std::function<void()>)> deliver;
};

/// A job as the list shows it.
struct JobInfo {
  JobId id = 0;
  JobSpec spec;
  Progress progress;
  /// Stage of a child process and the unit of its progress; empty where it reports none.
  std::string stage;
  std::string unit;
  int stages_started = 0;
  bool is_running = false;  ///< else it waits
  bool is_stopping = false;
  /// Estimate for its stage, if it has any. Unset until enough is done to estimate it.
  std::optional<double> seconds_left = {};

  /// Returns the finished fraction of the work, or of the stage; nothing where it is unknown.
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
  JobRunner();
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
        [work = std::move(work), done = std::move(done)](const JobContext& context) -> Delivery {
          const auto result = std::make_shared<Result>(work(context));
          return [result, done] { done(std::move(*result)); };
        },
        std::move(failed));
  }

  /// Receives the output of a child process that succeeded.
  using ProcessDone = std::function<void(const QByteArray& output)>;

  /// Runs `program` as a child process; cancelling terminates it. The child is asked for its
  /// progress (kProgressVariable); where it reports none, the last line of standard error is shown.
  /// If it crashes or fails, `failed` gets its last lines.
  JobId startProcess(QObject* owner, JobSpec spec, const QString& program,
                     const QStringList& arguments, ProcessDone done,
                     std::function<void(const QString&)> failed = {});

  void cancel(JobId id);
  void cancelAll();

  /// Returns waiting and running jobs, oldest first, unlisted ones included.
  std::vector<JobInfo> jobs() const;
  std::optional<JobInfo> find(JobId id) const;
  bool isIdle() const { return jobs_.empty(); }

 Q_SIGNALS:
  void jobAdded(JobId id);
  /// Progress came, or it began to run.
  void jobChanged(JobId id);
  /// A job is over. If its result was used, that has happened by now.
  void jobRemoved(JobId id);
  /// A job failed that has no `failed` of its own.
  void jobFailed(const QString& title, const QString& error);

 private:
  /// Hands a result over, on the GUI thread.
  using Delivery = std::function<void()>;
  struct Job;

  JobId startAny(QObject* owner, JobSpec spec, std::function<Delivery(const JobContext&)> work,
                 std::function<void(const QString&)> failed);
  std::shared_ptr<Job> jobOf(JobId id) const;  ///< null if it is over
  std::shared_ptr<Job> addJob(QObject* owner, JobSpec spec,
                              std::function<void(const QString&)> failed);
  void work(JobId id, const std::shared_ptr<Job>& job,
            const std::function<Delivery(const JobContext&)>& work);
  void began(JobId id);
  void progressed(JobId id, const Progress& progress);
  void finished(JobId id, const Delivery& deliver, const QString& error);
  void onOutput(JobId id, const QByteArray& bytes);
  void onReport(JobId id, const ProgressReport& report);
  void processFinished(JobId id, int status, bool crashed);

  QThreadPool quick_;
  QThreadPool long_;
  JobId next_ = 1;
  std::map<JobId, std::shared_ptr<Job>> jobs_;
};

/// Returns the path of a program of the toolkit, beside the explorer or in the search path; its
/// bare name where there is none.
QString findProgram(const QString& name);

}  // namespace lime::explorer
