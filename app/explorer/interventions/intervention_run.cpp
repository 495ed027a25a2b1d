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

constexpr int kChildStages = 2;          // the weights, then the text
constexpr int kListedTokens = 40;        // that each model expects behind every token
constexpr int kNewTokens = 40;           // of the generated text
constexpr qsizetype kMaxReadings = 256;  // lines that are kept with what was read of them

/// @throws IoError
std::shared_ptr<QTemporaryDir> newFolder() {
  auto folder =
      std::make_shared<QTemporaryDir>(QDir::temp().filePath(u"lime-interventions-XXXXXX"_s));
  throw_if<IoError>(!folder->isValid(), "'{}': cannot create a temporary folder: {}",
                    folder->path().toStdString(), folder->errorString().toStdString());
  return folder;
}

constexpr int kMaxTypedLines = 40;             // in a command line
constexpr qsizetype kFewestForIntervals = 10;  // lines of a sweep

/// Returns the first words of the command that ablates every component of the model.
QStringList sweepCommand(const QString& over, qsizetype num_lines) {
  QStringList words{"sweep", "--over", over};
  if (num_lines < kFewestForIntervals) words << u"--bootstrap"_s << u"0"_s;
  return words;
}

/// Returns the command that writes `lines` into a file.
QString writeLine(const QStringList& lines, const QString& file) {
  return shellLine(QStringList{"printf", "%s\\n"} + lines) + u" > "_s + file;
}

constexpr const char* kWhere = "lime-generate --each-token";

std::vector<Prediction> predictionsOf(const Json& list) {
  std::vector<Prediction> predictions;
  for (const Json& prediction : list) {
    predictions.push_back({prediction.at("id").get<std::int64_t>(),
                           toQString(prediction.at("token").get<std::string>()),
                           prediction.at("probability").get<double>()});
  }
  return predictions;
}

}  // namespace

QString sweptOver(const QString& site) {
  if (site == kSweepSite) return u"routes"_s;
  if (site == kPartSweepSite) return u"sublayers"_s;
  return site == kHeadSweepSite ? u"heads"_s : QString();
}

QString visibleToken(const QString& token) {
  QString shown = token;
  shown.replace(u'\n', u"\\n"_s);
  shown.replace(u'\t', u"\\t"_s);
  shown.replace(u' ', QChar(0x00B7));  // middle dot
  return shown.isEmpty() ? u"?"_s : shown;
}

LineReading parseReading(const QByteArray& json) {
  const Json read = parse_json(json.toStdString(), kWhere);
  LineReading reading;
  try {
    for (const Json& token : read.at("tokens")) {
      TokenReading token_reading;
      token_reading.id = token.at("id").get<std::int64_t>();
      token_reading.token = toQString(token.at("token").get<std::string>());
      if (!token.at("log_probability").is_null()) {
        token_reading.log_probability = token.at("log_probability").get<double>();
      }
      token_reading.next = predictionsOf(token.at("next_tokens"));
      reading.push_back(std::move(token_reading));
    }
  } catch (const Json::exception& error) {
    throw FormatError("{}: the output must contain tokens with their predictions, got: {}", kWhere,
                      error.what());
  }
  if (reading.empty()) throw FormatError("{}: the output must contain a token, got none", kWhere);
  reading.back().continuation = toQString(read.value("continuation", std::string()));
  return reading;
}

TextScore compareScores(const CaptureReader& before, const CaptureReader& after) {
  const std::vector<Sequence>& trained = before.sequences();
  const std::vector<Sequence>& edited = after.sequences();
  throw_if<FormatError>(
      trained.size() != edited.size(), "'{}': must contain the {} sequences of '{}', got {}",
      after.path().string(), trained.size(), before.path().string(), edited.size());
  TextScore score;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    throw_if<FormatError>(
        !trained[i].is_scored() || trained[i].scored_tokens != edited[i].scored_tokens,
        "'{}': sequence {} must be scored as in '{}'; capture --log-likelihood",
        after.path().string(), i, before.path().string());
    if (trained[i].scored_tokens == 0) continue;
    score.lines.push_back({.line = static_cast<int>(i),
                           .text = toQString(trained[i].text),
                           .before = trained[i].log_likelihood,
                           .after = edited[i].log_likelihood,
                           .tokens = trained[i].scored_tokens});
    score.before += trained[i].log_likelihood;
    score.after += edited[i].log_likelihood;
    score.tokens += trained[i].scored_tokens;
  }
  return score;
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
  waiting_ = {Step::kReadOriginal,  Step::kReadEdited, Step::kCaptureOriginal,
              Step::kCaptureEdited, Step::kCompare,    Step::kSweep};
  if (request.sweep.isEmpty()) std::erase(waiting_, Step::kSweep);
  std::erase_if(waiting_, [this](Step step) { return isKnown(step); });
  num_steps_ = static_cast<int>(waiting_.size());
  next();
}

void InterventionRun::showLine(int line) {
  if (!request_ || line == request_->line || line < 0 || line >= request_->lines.size()) return;
  request_->line = line;
  std::erase_if(waiting_, isReading);
  if (job_ != 0 && isReading(current_)) {
    const JobId outdated = job_;
    job_ = 0;
    jobs_.cancel(outdated);
  }
  for (const Step step : {Step::kReadEdited, Step::kReadOriginal}) {
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
  constexpr std::array kNames = {"Original: reading the line",   "Edited: reading the line",
                                 "Original: capturing the text", "Edited: capturing the text",
                                 "Ablating every component",     "Entropies of both models"};
  return QString::fromUtf8(kNames[static_cast<std::size_t>(step)]);
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

QByteArray InterventionRun::readingKey(bool is_edited) const {
  QByteArray key = QByteArray::fromStdString(request_->checkpoint.string() + '\n');
  if (is_edited && request_->hasEdits()) {
    key += QByteArray::fromStdString(editsFile({request_->edits, request_->parts}));
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

bool InterventionRun::isKnown(Step step) const {
  const bool is_edited = isEdited(step);
  if (is_edited && !request_->hasEdits()) return true;
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
  if (isEdited(step) && request_->hasEdits()) {
    arguments << u"--edit"_s << folder.filePath(u"edit.json"_s);
    write_file_atomically(toPath(arguments.back()), editsFile({request_->edits, request_->parts}));
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
        this, {.title = nameOf(step), .is_shown = false},
        [parse, output](const JobContext&) { return parse(output); },
        [this, step, keep](Result result) {
          keep(std::move(result));
          finished(step);
        },
        failure);
  };
  job_ = jobs_.startProcess(this, {.title = nameOf(step)}, program, arguments, read, failure);
}

QString InterventionRun::writeText(const QTemporaryDir& folder) const {
  QString text = folder.filePath(u"text.txt"_s);
  write_file_atomically(toPath(text), (request_->lines.join(u'\n') + u'\n').toStdString());
  return text;
}

void InterventionRun::ablateComponents() {
  const std::shared_ptr<QTemporaryDir> folder = newFolder();
  const QString output = folder->filePath(u"sweep.json"_s);
  answer<Results>(
      Step::kSweep, programs_.capture,
      sweepCommand(request_->sweep, request_->lines.size()) +
          modelArguments(Step::kSweep, *folder) +
          QStringList{u"--lines"_s, writeText(*folder), u"--output"_s, output} + request_->score,
      [folder, output](const QByteArray&) { return read_results(toPath(output)); },
      [this, over = request_->sweep](Results results) {
        sweeps_[over] = std::make_shared<const Results>(std::move(results));
      });
}

void InterventionRun::capture(Step step) {
  const std::shared_ptr<QTemporaryDir> folder = newFolder();
  const QString output = folder->filePath(u"capture.h5"_s);
  const QStringList arguments =
      modelArguments(step, *folder) +
      QStringList{
          u"--lines"_s,          writeText(*folder), u"--sites"_s, request_->sites.join(u','),
          u"--log-likelihood"_s, u"--output"_s,      output} +
      request_->score;
  job_ = jobs_.startProcess(
      this, {.title = nameOf(step)}, programs_.capture, arguments,
      [this, step, captured = Captured{folder, toPath(output)}](const QByteArray&) {
        (step == Step::kCaptureOriginal ? original_ : edited_) = captured;
        finished(step);
      },
      [this](const QString& problem) { failed(problem); });
}

void InterventionRun::compare() {
  const Captured before = *original_;
  const Captured after = request_->hasEdits() ? *edited_ : before;
  job_ = jobs_.start<TextScore>(
      this, {.title = nameOf(Step::kCompare), .is_shown = false},
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
  options.captures.label = {kOriginal.toStdString(), kEdited.toStdString()};
  RunOptions run;
  run.threads = request_->threads;
  job_ = jobs_.start<Results>(
      this, {.title = nameOf(Step::kCompare), .lane = JobLane::kLong},
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

QStringList interventionCommandLines(const InterventionCommand& command) {
  const InterventionRequest& request = command.request;
  const QStringList& lines = request.lines;
  QStringList commands, edit, text = {"--lines", "text.txt"};
  const bool writes_edits = !request.edits.empty() && command.edit_file.isEmpty();
  if (request.hasEdits()) edit << "--edit";
  if (!command.edit_file.isEmpty() && request.hasEdits()) {
    edit << command.edit_file;
  } else {
    if (writes_edits) {
      edit << "edit.json";
      commands << writeLine({toQString(router_edits_to_json(request.edits).dump())}, edit[1]);
    }
    edit += editOptions(request.parts);
  }
  if (lines.isEmpty()) return commands;
  if (!command.text_file.isEmpty()) {
    text = {"--lines", command.text_file, "--max-sequences", QString::number(lines.size())};
  } else {
    commands << (lines.size() > kMaxTypedLines ? u"# save the text as text.txt"_s
                                               : writeLine(lines, text[1]));
  }
  const QStringList model = {"--checkpoint", toQString(request.checkpoint)};
  const QString over = sweptOver(command.site);
  if (command.draws_entropies && !over.isEmpty()) {
    if (writes_edits) commands.removeFirst();
    const QStringList draw = {"lime-figure", "sweep.json", "--kind", "sweep"};
    return commands << shellLine(QStringList{"lime-capture"} + sweepCommand(over, lines.size()) +
                                 model + text + request.score + QStringList{"-o", "sweep.json"})
                    << shellLine(draw + command.figure_options + QStringList{"-o", "sweep.pdf"});
  }
  // With "=", or a line that begins with a minus would be taken for an option.
  const QString read = shellLine(QStringList{"lime-generate"} + model) + u" --prompt="_s +
                       quotedForShell(lines[request.line]) +
                       u" --next-tokens 40 --each-token --continuation --max-new-tokens 40"_s;
  const QStringList capture = QStringList{"lime-capture"} + model + text +
                              QStringList{"--sites", request.sites.join(u','), "--log-likelihood"} +
                              request.score;
  const QString with_edit = edit.isEmpty() ? QString() : u' ' + shellLine(edit);
  commands
      << read + u" > original.json"_s << read + with_edit + u" > edited.json"_s
      << shellLine(capture + QStringList{"-o", "original.h5"})
      << shellLine(capture + edit + QStringList{"-o", "edited.h5"})
      << u"lime-metrics entropy original.h5 edited.h5 --label original edited -o entropy.json"_s;
  if (!command.draws_entropies) return commands;
  const QStringList draw = {"lime-figure", "entropy.json", "--kind",
                            "entropy",     "--site",       command.site};
  return commands << shellLine(draw + command.figure_options + QStringList{"-o", "entropy.pdf"});
}

}  // namespace lime::explorer
