// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_run.h"

#include <QDir>
#include <QTemporaryDir>
#include <QTimer>

#include "analysis/engine/run_analysis.h"
#include "analysis/entropy/entropy_analysis.h"
#include "core/files/atomic_file.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

constexpr int kChildStages = 2;                // the weights, then the text
constexpr int kListedTokens = 40;              // that each model expects behind every token
constexpr int kNewTokens = 40;                 // of the generated text
constexpr qsizetype kFewestForIntervals = 10;  // lines of a sweep
constexpr std::size_t kMaxSecond = 4;          // captures of the second text that are kept
constexpr qsizetype kMaxReadings = 256;        // lines that are kept with what was read of them

/// @throws IoError
std::shared_ptr<QTemporaryDir> newFolder() {
  auto folder =
      std::make_shared<QTemporaryDir>(QDir::temp().filePath(u"lime-interventions-XXXXXX"_s));
  throw_if<IoError>(!folder->isValid(), "'{}': cannot create a temporary folder: {}",
                    folder->path().toStdString(), folder->errorString().toStdString());
  return folder;
}

/// Checks that lines of the second text have as many tokens as those of the text.
/// @param first_line  number of the first of them, for the message @throws InvalidArgument
void checkLengths(const std::filesystem::path& second, const std::vector<std::int64_t>& expected,
                  int first_line) {
  const CaptureReader reader(second);
  const std::vector<std::int64_t>& offsets = reader.offsets();
  throw_if(offsets.size() != expected.size() + 1,
           "the second text has {} lines, the text {}; a patch needs as many", offsets.size() - 1,
           expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::int64_t tokens = offsets[i + 1] - offsets[i];
    throw_if(tokens != expected[i],
             "line {} has {} tokens in the second text, but {} in the text; a patch needs equal "
             "lengths: change one of them",
             first_line + static_cast<int>(i) + 1, tokens, expected[i]);
  }
}

std::vector<std::int64_t> lengthsOf(const CaptureReader& capture) {
  const std::vector<std::int64_t>& offsets = capture.offsets();
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    lengths.push_back(offsets[i + 1] - offsets[i]);
  }
  return lengths;
}

}  // namespace

QStringList sweepCommand(const QString& over, qsizetype num_lines) {
  QStringList words{"sweep", "--over", over};
  if (num_lines < kFewestForIntervals) words << u"--bootstrap"_s << u"0"_s;
  return words;
}

QString sweptOver(const QString& site) {
  if (site == kSweepSite) return u"routes"_s;
  if (site == kPartSweepSite) return u"sublayers"_s;
  return site == kHeadSweepSite ? u"heads"_s : QString();
}

QString InterventionRequest::problem() const {
  if (!edits.patches() || second.size() == lines.size()) return {};
  const auto counted = [](qsizetype count) {
    return count == 1 ? u"1 line"_s : u"%1 lines"_s.arg(count);
  };
  const QString problem =
      u"A part is patched from the second text, which needs a line for each line of the text. The "
      u"text has %1, the second text %2."_s;
  return problem.arg(counted(lines.size()), counted(second.size()));
}

InterventionRun::InterventionRun(JobRunner& jobs) : jobs_(jobs) {
  connect(&jobs_, &JobRunner::jobRemoved, this, &InterventionRun::jobRemoved);
  connect(&jobs_, &JobRunner::jobChanged, this, [this](JobId id) {
    if (id == job_) Q_EMIT progressed();
  });
}

InterventionRun::~InterventionRun() = default;

void InterventionRun::clear() {
  cancel();
  readings_.clear();
  request_.reset();
  original_.reset();
  second_.clear();
  sweeps_.clear();
  dropEdited();
  Q_EMIT changed();
}

void InterventionRun::dropEdited() {
  edited_.reset();
  score_.reset();
  entropies_.reset();
  problem_.clear();
}

void InterventionRun::start(const InterventionRequest& request) {
  cancel();
  if (!request_ || !request_->isSameText(request)) {
    original_.reset();
    sweeps_.clear();
  }
  dropEdited();
  request_ = request;
  waiting_ = {
      Step::kReadOriginal,  Step::kCaptureSecondLine, Step::kReadEdited, Step::kCaptureOriginal,
      Step::kCaptureSecond, Step::kCaptureEdited,     Step::kCompare,    Step::kSweep};
  if (request.sweep.isEmpty()) std::erase(waiting_, Step::kSweep);
  std::erase_if(waiting_, [this](Step step) { return isKnown(step); });
  // The only line of a text is all of it.
  if (request.lines.size() == 1 &&
      std::ranges::find(waiting_, Step::kCaptureSecondLine) != waiting_.end()) {
    std::erase(waiting_, Step::kCaptureSecond);
  }
  num_steps_ = static_cast<int>(waiting_.size());
  next();
}

void InterventionRun::showLine(int line) {
  if (!request_ || line == request_->line || line < 0 || line >= request_->lines.size()) return;
  request_->line = line;
  std::erase_if(waiting_, isOfLine);
  if (job_ != 0 && isOfLine(current_)) {
    const JobId outdated = job_;
    job_ = 0;
    jobs_.cancel(outdated);
  }
  for (const Step step : {Step::kReadEdited, Step::kCaptureSecondLine, Step::kReadOriginal}) {
    if (!isKnown(step)) waiting_.push_front(step);
  }
  num_steps_ = static_cast<int>(waiting_.size()) + (job_ != 0 ? 1 : 0);
  if (job_ == 0) {
    next();
  } else {
    Q_EMIT changed();
  }
}

void InterventionRun::cancel() {
  waiting_.clear();
  if (job_ == 0) return;
  const JobId stopped = job_;
  job_ = 0;
  problem_ = u"stopped"_s;
  jobs_.cancel(stopped);
  Q_EMIT changed();
}

void InterventionRun::jobRemoved(JobId id) {
  if (id != job_) return;
  // A job that has ended and is still registered was cancelled in the list of jobs.
  QTimer::singleShot(0, this, [this, id] {
    if (job_ != id) return;
    job_ = 0;
    failed(u"stopped"_s);
  });
}

QString InterventionRun::nameOf(Step step) {
  constexpr std::array kNames = {"Original: reading the line",
                                 "Original: capturing the line of the second text",
                                 "Edited: reading the line",
                                 "Original: capturing the text",
                                 "Original: capturing the second text",
                                 "Edited: capturing the text",
                                 "Loss without each part",
                                 "Entropies of both models"};
  return QString::fromUtf8(kNames[static_cast<std::size_t>(step)]);
}

QString InterventionRun::titleOf(Step step) const {
  return u"%1 (%2)"_s.arg(nameOf(step), toQString(request_->checkpoint.filename()));
}

QString InterventionRun::stepText() const {
  if (job_ == 0) return {};
  const int step = num_steps_ - static_cast<int>(waiting_.size());
  const QString text = u"%1 of %2: %3"_s.arg(step).arg(num_steps_).arg(nameOf(current_));
  const std::optional<JobInfo> job = jobs_.find(job_);
  if (!job || !job->seconds_left) return text;
  return u"%1, %2 left"_s.arg(text, toQString(human_duration(*job->seconds_left)));
}

double InterventionRun::share() const {
  if (job_ == 0 || num_steps_ == 0) return 0.0;
  double done = num_steps_ - static_cast<int>(waiting_.size()) - 1;
  if (const std::optional<JobInfo> job = jobs_.find(job_)) {
    const double share = job->share().value_or(0.0);
    done += job->stages_started == 0
                ? share
                : std::min((job->stages_started - 1 + share) / kChildStages, 1.0);
  }
  return done / num_steps_;
}

QString InterventionRun::note(const std::optional<InterventionRequest>& now) const {
  if (!problem_.isEmpty() && !isRunning()) return problem_;
  if (now && request_ && !now->isSameBut(*request_)) {
    return u"The results are for other edits, another text or other tokens; press Run "
           u"(Ctrl+Return) to update them."_s;
  }
  if (request_ && request_->edits.isEmpty() && !isRunning()) {
    return u"There are no edits yet: both models are the same."_s;
  }
  return {};
}

QByteArray InterventionRun::readingKey(bool is_edited) const {
  QByteArray key = QByteArray::fromStdString(request_->checkpoint.string() + '\n');
  if (is_edited && !request_->edits.isEmpty()) {
    key += QByteArray::fromStdString(editsFile(request_->edits));
    if (request_->edits.patches())
      key += secondLines(Step::kReadEdited).join(u'\n').toUtf8() + '\n';
  }
  return key + request_->lines[request_->line].toUtf8();
}

const LineReading* InterventionRun::readingOf(bool is_edited) const {
  if (!request_ || request_->line >= request_->lines.size()) return nullptr;
  const auto found = readings_.constFind(readingKey(is_edited));
  return found == readings_.constEnd() ? nullptr : &*found;
}

const LineReading* InterventionRun::originalReading() const { return readingOf(false); }
const LineReading* InterventionRun::editedReading() const { return readingOf(true); }

QStringList InterventionRun::secondLines(Step step) const {
  const bool is_line = step == Step::kCaptureSecondLine || step == Step::kReadEdited;
  return is_line ? request_->second.mid(request_->line, 1) : request_->second;
}

QByteArray InterventionRun::secondKey(const QStringList& lines) const {
  return QByteArray::fromStdString(request_->checkpoint.string() + '\n') +
         (patchedSites(request_->edits) + lines).join(u'\n').toUtf8();
}

const InterventionRun::Captured* InterventionRun::secondOf(const QStringList& lines) const {
  const auto found = std::ranges::find(second_, secondKey(lines), &Second::key);
  return found == second_.end() ? nullptr : &found->captured;
}

bool InterventionRun::isKnown(Step step) const {
  const bool is_edited = isEdited(step);
  if (is_edited && request_->edits.isEmpty()) return true;
  if (step == Step::kCaptureSecondLine || step == Step::kCaptureSecond) {
    return !request_->edits.patches() || secondOf(secondLines(step)) != nullptr;
  }
  if (isReading(step)) return readingOf(is_edited) != nullptr;
  if (step == Step::kCompare) return entropies_.has_value();
  if (step == Step::kSweep) return sweeps_.contains(request_->sweep);
  return (is_edited ? edited_ : original_).has_value();
}

void InterventionRun::next() {
  if (waiting_.empty()) {
    Q_EMIT changed();
    return;
  }
  current_ = waiting_.front();
  waiting_.pop_front();
  try {
    if (current_ == Step::kCompare) {
      compare();
    } else if (current_ == Step::kSweep) {
      ablateComponents();
    } else if (isReading(current_)) {
      read(current_);
    } else if (current_ == Step::kCaptureSecondLine || current_ == Step::kCaptureSecond) {
      captureSecond(current_);
    } else {
      capture(current_);
    }
  } catch (const Error& error) {
    failed(toQString(error));
    return;
  }
  Q_EMIT changed();
}

QStringList InterventionRun::modelArguments(Step step, const QTemporaryDir& folder) const {
  QStringList arguments = {u"--checkpoint"_s, toQString(request_->checkpoint), u"--threads"_s,
                           QString::number(request_->threads)};
  if (isEdited(step) && !request_->edits.isEmpty()) {
    const Captured* const second = secondOf(secondLines(step));
    arguments << u"--edit"_s << folder.filePath(u"edit.json"_s);
    write_file_atomically(
        toPath(arguments.back()),
        editsFile(request_->edits, second == nullptr ? kPatchFile : toQString(second->path)));
  }
  return arguments;
}

void InterventionRun::read(Step step) {
  const std::shared_ptr<QTemporaryDir> folder = newFolder();
  // With "=", or a line that begins with a minus would be taken for an option.
  const QStringList arguments =
      modelArguments(step, *folder) + QStringList{u"--prompt="_s + request_->lines[request_->line],
                                                  u"--next-tokens"_s,
                                                  QString::number(kListedTokens),
                                                  u"--each-token"_s,
                                                  u"--continuation"_s,
                                                  u"--max-new-tokens"_s,
                                                  QString::number(kNewTokens)};
  answer<LineReading>(
      step, programs_.generate, arguments,
      [folder](const QByteArray& output) { return parseReading(output); },
      [this, key = readingKey(isEdited(step))](LineReading reading) {
        if (readings_.size() >= kMaxReadings) readings_.clear();
        readings_.insert(key, std::move(reading));
      });
}

template <typename Result>
void InterventionRun::answer(Step step, const QString& program, const QStringList& arguments,
                             std::function<Result(const QByteArray&)> parse,
                             std::function<void(Result)> keep) {
  const auto failure = [this](const QString& problem) { failed(problem); };
  const auto read = [this, step, parse, keep, failure](const QByteArray& output) {
    job_ = jobs_.start<Result>(
        this, {.title = titleOf(step), .is_shown = false},
        [parse, output](const JobContext&) { return parse(output); },
        [this, step, keep](Result result) {
          keep(std::move(result));
          finished(step);
        },
        failure);
  };
  job_ = jobs_.startProcess(this, {.title = titleOf(step)}, program, arguments, read, failure);
}

QString InterventionRun::writeText(const QStringList& lines, const QTemporaryDir& folder) {
  QString text = folder.filePath(u"text.txt"_s);
  write_file_atomically(toPath(text), (lines.join(u'\n') + u'\n').toStdString());
  return text;
}

void InterventionRun::captureSecond(Step step) {
  const std::shared_ptr<QTemporaryDir> folder = newFolder();
  const Captured captured{folder, toPath(folder->filePath(u"second.h5"_s))};
  const bool is_line = step == Step::kCaptureSecondLine;
  std::vector<std::int64_t> lengths;
  std::optional<Captured> original;  // has the lengths of all lines
  if (!is_line) original = original_;
  if (is_line) lengths = {std::ssize(*originalReading())};
  answer<Captured>(
      step, programs_.capture,
      modelArguments(step, *folder) +
          QStringList{u"--lines"_s, writeText(secondLines(step), *folder)} +
          patchedSites(request_->edits) + QStringList{u"--output"_s, toQString(captured.path)},
      [captured, original, lengths, line = request_->line](const QByteArray&) {
        if (original) {
          checkLengths(captured.path, lengthsOf(CaptureReader(original->path)), 0);
        } else {
          checkLengths(captured.path, lengths, line);
        }
        return captured;
      },
      [this, key = secondKey(secondLines(step))](Captured result) {
        if (second_.size() >= kMaxSecond) second_.erase(second_.begin());
        second_.push_back({key, std::move(result)});
      });
}

void InterventionRun::ablateComponents() {
  const std::shared_ptr<QTemporaryDir> folder = newFolder();
  const QString output = folder->filePath(u"sweep.json"_s);
  answer<Results>(
      Step::kSweep, programs_.capture,
      sweepCommand(request_->sweep, request_->lines.size()) +
          modelArguments(Step::kSweep, *folder) +
          QStringList{u"--lines"_s, writeText(request_->lines, *folder), u"--output"_s, output} +
          request_->score,
      [folder, output](const QByteArray&) { return read_results(toPath(output)); },
      [this, over = request_->sweep](Results results) {
        sweeps_[over] = std::make_shared<const Results>(std::move(results));
      });
}

void InterventionRun::capture(Step step) {
  const std::shared_ptr<QTemporaryDir> folder = newFolder();
  const QString output = folder->filePath(u"capture.h5"_s);
  const QStringList arguments = modelArguments(step, *folder) +
                                QStringList{u"--lines"_s,
                                            writeText(request_->lines, *folder),
                                            u"--sites"_s,
                                            request_->sites.join(u','),
                                            u"--log-likelihood"_s,
                                            u"--output"_s,
                                            output} +
                                request_->score;
  job_ = jobs_.startProcess(
      this, {.title = titleOf(step)}, programs_.capture, arguments,
      [this, step, captured = Captured{folder, toPath(output)}](const QByteArray&) {
        (step == Step::kCaptureOriginal ? original_ : edited_) = captured;
        finished(step);
      },
      [this](const QString& problem) { failed(problem); });
}

void InterventionRun::compare() {
  const Captured before = *original_;
  const Captured after = !request_->edits.isEmpty() ? *edited_ : before;
  job_ = jobs_.start<TextScore>(
      this, {.title = titleOf(Step::kCompare), .is_shown = false},
      // The folders stay until it has read them.
      [before, after](const JobContext&) {
        return compareScores(CaptureReader(before.path), CaptureReader(after.path));
      },
      [this, before, after](TextScore score) {
        if (score.tokens == 0) {
          problem_ = u"No line has a token to score; select others."_s;
          std::erase(waiting_, Step::kSweep);
        }
        score_ = std::move(score);
        measure(before, after);
        Q_EMIT changed();
      },
      [this](const QString& problem) { failed(problem); });
}

void InterventionRun::measure(const Captured& before, const Captured& after) {
  EntropyAnalysisOptions options;
  options.captures.captures = {before.path, after.path};
  options.captures.notes_massive_rows = false;
  options.captures.label = {kOriginal.toStdString(), kEdited.toStdString()};
  RunOptions run;
  run.threads = request_->threads;
  job_ = jobs_.start<Results>(
      this, {.title = titleOf(Step::kCompare), .lane = JobLane::kLong},
      [options, run, before, after](const JobContext& context) {
        return compute(prepare_entropy(options, run), run, context.on_progress, context.stop)
            .table();
      },
      [this](Results results) {
        entropies_ = std::move(results);
        finished(Step::kCompare);
      },
      [this](const QString& problem) {
        const bool is_zero = problem.contains(u"representations must not all be zero"_s);
        failed(is_zero ? u"There are no entropies: all routes of a layer are ablated, so that its "
                         u"attention reads zeros. Restore one of them."_s
                       : problem);
      });
}

void InterventionRun::finished(Step step) {
  if (step != current_) return;
  job_ = 0;
  next();
}

void InterventionRun::failed(const QString& problem) {
  job_ = 0;
  waiting_.clear();
  problem_ = problem;
  Q_EMIT changed();
}

}  // namespace lime::explorer
