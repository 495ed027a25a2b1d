// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/job_runner.h"

#include <QCoreApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QPointer>
#include <QProcess>
#include <QProcessEnvironment>
#include <QStandardPaths>
#include <QTimer>
#include <atomic>

#include "core/errors.h"

namespace lime::explorer {
namespace {

constexpr int kQuickThreads = 4;
constexpr qsizetype kLastBytes = 4000;  // of a child's standard error that are kept
constexpr int kLastLines = 5;           // of it that are shown
constexpr double kFirstEstimate = 0.5;  // seconds of work before the time left is estimated
constexpr auto kProgressPause = std::chrono::milliseconds(40);
constexpr int kKillAfterMs = 2000;

/// The last lines of what a child printed; what a progress line drew over is not shown.
QString lastLines(const QByteArray& bytes) {
  QStringList lines;
  for (const QByteArray& line : bytes.split('\n')) {
    const QString text = QString::fromUtf8(line.mid(line.lastIndexOf('\r') + 1)).trimmed();
    if (!text.isEmpty()) lines << text;
  }
  return lines.mid(std::max<qsizetype>(0, lines.size() - kLastLines)).join(u'\n');
}

}  // namespace

struct JobRunner::Job {
  JobInfo info;
  QPointer<QObject> owner;
  std::stop_source stop;
  std::function<void(const QString&)> failed;
  QElapsedTimer since;             ///< it, or its stage, began
  std::int64_t done_at_first = 0;  ///< when its stage began
  // For child processes only.
  QPointer<QProcess> process;
  QByteArray partial_line;  ///< that has no end yet
  QByteArray last_bytes;    ///< of whole lines that are no progress
  ProcessDone process_done;
};

std::optional<double> JobInfo::share() const {
  if (!is_running || progress.total <= 0) return std::nullopt;
  return static_cast<double>(progress.done) / static_cast<double>(progress.total);
}

JobRunner::JobRunner() {
  quick_.setMaxThreadCount(kQuickThreads);
  long_.setMaxThreadCount(1);
}

JobRunner::~JobRunner() {
  for (auto& [id, job] : jobs_) {
    job->stop.request_stop();
    if (job->process) {
      job->process->disconnect(this);
      job->process->kill();
      job->process->waitForFinished(kKillAfterMs);
    }
  }
  quick_.clear();
  long_.clear();
  quick_.waitForDone();
  long_.waitForDone();
}

std::shared_ptr<JobRunner::Job> JobRunner::jobOf(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second;
}

std::shared_ptr<JobRunner::Job> JobRunner::addJob(QObject* owner, JobSpec spec,
                                                  std::function<void(const QString&)> failed) {
  for (const JobInfo& job : jobs()) {
    if (!spec.key.isEmpty() && job.spec.key == spec.key) cancel(job.id);
  }
  const auto job = std::make_shared<Job>();
  job->info.id = next_++;
  job->info.spec = std::move(spec);
  job->owner = owner;
  job->failed = std::move(failed);
  jobs_.emplace(job->info.id, job);
  return job;
}

JobId JobRunner::startAny(QObject* owner, JobSpec spec,
                          std::function<Delivery(const JobContext&)> function,
                          std::function<void(const QString&)> failed) {
  const std::shared_ptr<Job> job = addJob(owner, std::move(spec), std::move(failed));
  const JobId id = job->info.id;
  QThreadPool& pool = job->info.spec.lane == JobLane::kQuick ? quick_ : long_;
  pool.start([this, id, job, function = std::move(function)] { work(id, job, function); });
  Q_EMIT jobAdded(id);
  return id;
}

void JobRunner::work(JobId id, const std::shared_ptr<Job>& job,
                     const std::function<Delivery(const JobContext&)>& function) {
  // Uses only constant members of `job`, which belongs to the GUI thread.
  const std::stop_token stop = job->stop.get_token();
  const auto post = [this](auto&& what) {
    QMetaObject::invokeMethod(this, std::forward<decltype(what)>(what), Qt::QueuedConnection);
  };
  Delivery deliver;
  QString error;
  if (!stop.stop_requested()) {
    post([this, id] { began(id); });
    const auto last = std::make_shared<std::atomic<std::int64_t>>(0);
    const auto on_progress = [this, id, post, last](const Progress& progress) {
      using std::chrono::milliseconds;
      const auto now = std::chrono::duration_cast<milliseconds>(
          std::chrono::steady_clock::now().time_since_epoch());
      if (now.count() - last->load() < kProgressPause.count()) return;
      last->store(now.count());
      post([this, id, progress] { progressed(id, progress); });
    };
    const auto deliver_part = [this, id, post](std::function<void()> part) {
      post([this, id, part = std::move(part)] {
        const std::shared_ptr<Job> own = jobOf(id);
        if (own && !own->stop.stop_requested() && !own->owner.isNull()) part();
      });
    };
    try {
      deliver = function(JobContext{on_progress, stop, deliver_part});
    } catch (const Interrupted&) {
      // A stop was requested.
    } catch (const std::bad_alloc&) {
      error = u"out of memory; select fewer rows, layers or resamples"_s;
    } catch (const std::exception& caught) {
      error = toQString(caught);
    }
  }
  post([this, id, deliver, error] { finished(id, deliver, error); });
}

void JobRunner::began(JobId id) {
  const std::shared_ptr<Job> job = jobOf(id);
  if (!job) return;
  job->info.is_running = true;
  job->since.start();
  Q_EMIT jobChanged(id);
}

void JobRunner::progressed(JobId id, const Progress& progress) {
  const std::shared_ptr<Job> job = jobOf(id);
  if (!job) return;
  job->info.progress = progress;
  const double seconds = static_cast<double>(job->since.elapsed()) / 1000.0;
  const std::int64_t done = progress.done - job->done_at_first;
  if (done > 0 && progress.total > 0 && seconds > kFirstEstimate) {
    job->info.seconds_left =
        seconds * static_cast<double>(progress.total - progress.done) / static_cast<double>(done);
  }
  Q_EMIT jobChanged(id);
}

void JobRunner::finished(JobId id, const Delivery& deliver, const QString& error) {
  const std::shared_ptr<Job> job = jobOf(id);
  if (!job) return;
  jobs_.erase(id);
  const bool is_dropped = job->stop.stop_requested() || job->owner.isNull();
  if (!is_dropped && deliver) {
    deliver();
  } else if (!is_dropped && job->failed) {
    job->failed(error);
  } else if (!is_dropped) {
    Q_EMIT jobFailed(job->info.spec.title, error);
  }
  Q_EMIT jobRemoved(id);
}

JobId JobRunner::startProcess(QObject* owner, JobSpec spec, const QString& program,
                              const QStringList& arguments, ProcessDone done,
                              std::function<void(const QString&)> failed) {
  const std::shared_ptr<Job> job = addJob(owner, std::move(spec), std::move(failed));
  const JobId id = job->info.id;
  auto* const process = new QProcess(this);
  job->process = process;
  job->process_done = std::move(done);
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QLatin1String(kProgressVariable), u"json"_s);
  process->setProcessEnvironment(environment);
  connect(process, &QProcess::readyReadStandardError, this,
          [this, id, process] { onOutput(id, process->readAllStandardError()); });
  connect(process, &QProcess::started, this, [this, id] { began(id); });
  connect(process, &QProcess::finished, this, [this, id](int status, QProcess::ExitStatus how) {
    processFinished(id, status, how == QProcess::CrashExit);
  });
  connect(
      process, &QProcess::errorOccurred, this, [this, id, process](QProcess::ProcessError what) {
        if (what != QProcess::FailedToStart) return;  // the others end in finished()
        process->deleteLater();
        finished(
            id, {},
            u"'%1': cannot be started: %2; it must be in the folder of lime-explorer or in PATH "
            u"(scripts/build.sh builds it)"_s.arg(process->program(), process->errorString()));
      });
  process->start(program, arguments, QIODevice::ReadOnly);
  Q_EMIT jobAdded(id);
  return id;
}

void JobRunner::onOutput(JobId id, const QByteArray& bytes) {
  const std::shared_ptr<Job> job = jobOf(id);
  if (!job) return;
  QByteArrayList lines = (job->partial_line + bytes).split('\n');
  job->partial_line = lines.takeLast().right(kLastBytes);
  for (const QByteArray& line : std::as_const(lines)) {
    const std::string_view text(line.constData(), static_cast<std::size_t>(line.size()));
    if (const std::optional<ProgressReport> report = parse_progress_report(text)) {
      onReport(id, *report);
    } else {
      job->last_bytes = (job->last_bytes + line + '\n').right(kLastBytes);
    }
  }
  if (job->info.stages_started > 0) return;
  const QString line = lastLines(job->last_bytes + job->partial_line).section(u'\n', -1);
  progressed(id, {0, 0, line.toStdString()});
}

void JobRunner::onReport(JobId id, const ProgressReport& report) {
  Job& job = *jobs_.at(id);
  if (job.info.stages_started == 0 || job.info.stage != report.stage) {
    job.info.stage = report.stage;
    job.info.unit = report.unit;
    ++job.info.stages_started;
    job.info.seconds_left.reset();
    job.since.start();
    job.done_at_first = report.progress.done;
  }
  progressed(id, report.progress);
}

void JobRunner::processFinished(JobId id, int status, bool crashed) {
  const std::shared_ptr<Job> job = jobOf(id);
  if (!job) return;
  QProcess* const process = job->process;
  process->deleteLater();
  onOutput(id, process->readAllStandardError());
  if (!crashed && status == 0) {
    const QByteArray output = process->readAllStandardOutput();
    finished(id, [job, output] { job->process_done(output); }, {});
    return;
  }
  const QString how = crashed ? u"was killed or crashed"_s : u"ended with status %1"_s.arg(status);
  const QString lines = lastLines(job->last_bytes + job->partial_line);
  finished(id, {},
           u"'%1': %2%3"_s.arg(process->program(), how,
                               lines.isEmpty() ? QString() : u"; its last lines:\n"_s + lines));
}

QString findProgram(const QString& name) {
  const QFileInfo beside(QDir(QCoreApplication::applicationDirPath()).filePath(name));
  if (beside.isExecutable()) return beside.filePath();
  const QString found = QStandardPaths::findExecutable(name);
  return found.isEmpty() ? name : found;
}

void JobRunner::cancel(JobId id) {
  const std::shared_ptr<Job> job = jobOf(id);
  if (!job) return;
  job->stop.request_stop();
  job->info.is_stopping = true;
  if (job->process) {
    job->process->terminate();
    // One that does not listen, e.g. while it loads a model, must not hold up what comes next.
    QTimer::singleShot(kKillAfterMs, job->process.data(), &QProcess::kill);
  }
  Q_EMIT jobChanged(id);
}

void JobRunner::cancelAll() {
  for (const JobInfo& job : jobs()) cancel(job.id);
}

std::vector<JobInfo> JobRunner::jobs() const {
  std::vector<JobInfo> infos;
  infos.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_) infos.push_back(job->info);
  return infos;
}

std::optional<JobInfo> JobRunner::find(JobId id) const {
  const std::shared_ptr<Job> job = jobOf(id);
  return job ? std::optional(job->info) : std::nullopt;
}

}  // namespace lime::explorer
