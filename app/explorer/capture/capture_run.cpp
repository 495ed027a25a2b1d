// SPDX-License-Identifier: Apache-2.0
#include "explorer/capture/capture_run.h"

#include <QDir>
#include <QFileInfo>
#include <QTimer>
#include <cctype>

#include "checkpoint/tokenizer.h"
#include "core/files/atomic_file.h"
#include "core/files/input_file.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kNumWords = 4;                        // classes of the probes
constexpr std::size_t kSampledText = std::size_t{1} << 20;  // bytes in which they are counted

/// Returns `path` with `suffix` before its extension: "a.h5" becomes "a-lime.h5".
QString withSuffix(const QString& path, const QString& suffix, const QString& extension = {}) {
  const QFileInfo file(path);
  const QString name =
      file.completeBaseName() + suffix + (extension.isEmpty() ? u'.' + file.suffix() : extension);
  return file.dir().filePath(name);
}

/// Returns the lines that are not blank, each with its end.
QByteArray linesOf(const QString& text) {
  QByteArray lines;
  for (const QString& line : text.split(u'\n')) {
    if (!line.trimmed().isEmpty()) lines += line.toUtf8() + '\n';
  }
  return lines;
}

/// @throws IoError  if a file cannot be made at `path`, or is there
void checkIsFree(const QString& path) {
  const QFileInfo file(path);
  const QFileInfo folder(file.path());
  if (file.exists()) throw IoError("'{}': already exists; select another name", path.toStdString());
  throw_if<IoError>(!folder.isDir() || !folder.isWritable(),
                    "'{}': cannot be written; '{}' must be a folder with write permission",
                    path.toStdString(), folder.filePath().toStdString());
}

QStringList sitesOf(const CaptureForm& form) {
  QStringList sites;
  if (form.values) sites << u"values"_s;
  if (form.routed_values) sites << u"routed_values"_s;
  if (form.hidden) sites << u"hidden"_s;
  if (form.attention_patterns) sites << u"attn.hook_pattern"_s;
  if (form.logit_lens) sites << u"logit_lens"_s;
  return sites;
}

bool isWord(std::string_view piece) {
  if (piece.starts_with(' ')) piece.remove_prefix(1);
  return !piece.empty() && std::all_of(piece.begin(), piece.end(), [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0;
  });
}

}  // namespace

void CaptureForm::describe(OptionList& list) {
  list.add("values", values, "outputs of W_V: Collapse, Embeddings, Text, Probes");
  list.add("routed_values", routed_values, "inputs of attention through the router: Collapse");
  list.add("hidden", hidden, "the residual stream: Collapse, Embeddings, Text, Probes");
  list.add("attention_patterns", attention_patterns,
           "a number per head, query and key, for the Attention tab of Text: large");
  list.add("logit_lens", logit_lens,
           "the prediction of the next token after each layer, for the colours of Text: takes time "
           "if the vocabulary is large");
  list.add("only_words", only_words,
           "stores only the tokens of the given words, which are the classes of the Probes view");
  list.add("words", words,
           "words that are one token each, spaces included, e.g. ' is, are, was, were'; the four "
           "most frequent ones of the text if not given");
  list.add("one_sequence_per_line", one_sequence_per_line,
           "each line is a sequence; else the text is cut into sequences of equal length");
  list.add("max_sequences", max_sequences, "captures only the first N sequences");
}

QStringList CaptureRequest::outputs() const {
  if (models.size() == 1) return {output};
  QStringList files;
  for (const Model& model : models) {
    QString label = model.label;
    files << withSuffix(output, u'-' + label.replace(u'/', u'_').replace(u' ', u'_'));
  }
  return files;
}

void CaptureRequest::validate() const {
  if (models.empty())
    throw InvalidArgument(OptionName("checkpoint"), "one must be selected, got none");
  const bool has_text = !text.trimmed().isEmpty();
  throw_if(has_text == !text_file.isEmpty(), OptionName("text"), "{}",
           has_text ? "must be typed or in a file, got both"
                    : "must not be empty; type a text or select a file");
  if (!has_text) const MappedFile readable(toPath(text_file));
  // The other sites are no rows that views measure.
  throw_if(!form.values && !form.routed_values && !form.hidden,
           "values, routed values, hidden: one must be selected, got none");
  if (output.isEmpty()) throw InvalidArgument("save as: must name a file, got nothing");
  for (const QString& file : outputs()) checkIsFree(file);
  if (measures_entropy) checkIsFree(withSuffix(output, {}, u".entropy.json"_s));
}

CaptureRun::CaptureRun(JobRunner& jobs) : jobs_(jobs) {
  connect(&jobs_, &JobRunner::jobRemoved, this, [this](JobId id) {
    // A job that is over and still registered was cancelled in the list of jobs.
    QTimer::singleShot(0, this, [this, id] {
      if (job_ == id) end(u"capture: cancelled; capture again with the same settings to resume"_s);
    });
  });
}

void CaptureRun::start(const CaptureRequest& request) {
  throw_if(isRunning(),
           "capture: a capture is already running; wait, or cancel it in the list of jobs");
  request.validate();
  if (!request.form.only_words) last_ = request;
  QString text = request.text_file;
  if (text.isEmpty()) {
    text = withSuffix(request.output, {}, u".txt"_s);
    const QByteArray typed =
        request.form.one_sequence_per_line ? linesOf(request.text) : request.text.toUtf8();
    // A capture that is resumed finds its text.
    const bool is_there =
        QFileInfo::exists(text) &&
        MappedFile(toPath(text)).text() == std::string_view(typed.data(), typed.size());
    if (!is_there) {
      checkIsFree(text);
      write_file_atomically(toPath(text), typed.toStdString());
    }
  }
  if (!request.form.only_words || !request.form.words.empty()) {
    capture(request, text);
    return;
  }
  using Words = std::vector<std::string>;
  job_ = jobs_.start<Words>(
      this,
      {.title = u"Frequent words of %1"_s.arg(QFileInfo(text).fileName()),
       .key = kCaptureJobs + u"words"_s},
      [model = toPath(request.models.front().path), text](const JobContext&) {
        return frequentWords(model, toPath(text), kNumWords);
      },
      [this, request, text](Words words) {
        CaptureRequest completed = request;
        completed.form.words = std::move(words);
        capture(completed, text);
      },
      [this](const QString& problem) { end(problem); });
}

void CaptureRun::captureWords() {
  if (!last_ || isRunning()) return;
  CaptureRequest words = *last_;
  if (words.text_file.isEmpty()) words.text_file = withSuffix(words.output, {}, u".txt"_s);
  words.text.clear();
  words.output = withSuffix(words.output, u"-words"_s);
  words.form.only_words = true;
  words.form.routed_values = words.form.attention_patterns = words.form.logit_lens = false;
  words.measures_entropy = false;
  start(words);
}

void CaptureRun::capture(const CaptureRequest& request, const QString& text) {
  const CaptureForm& form = request.form;
  const QStringList outputs = request.outputs();
  QStringList words;
  for (const std::string& word : form.words) words << toQString(word);
  for (std::size_t i = 0; i < request.models.size(); ++i) {
    const QString output = outputs[static_cast<qsizetype>(i)];
    QStringList arguments = {u"--checkpoint"_s, request.models[i].path};
    arguments << (form.one_sequence_per_line ? u"--lines"_s : u"--text"_s) << text << u"--sites"_s
              << sitesOf(form).join(u',') << u"--max-sequences"_s
              << QString::number(form.max_sequences) << u"--threads"_s
              << QString::number(request.threads) << u"--resume"_s << u"--output"_s << output;
    if (form.only_words) arguments << u"--only"_s << words.join(u',');
    waiting_.push_back(
        {u"Capture of %1 by %2"_s.arg(QFileInfo(text).fileName(), request.models[i].label),
         findProgram(u"lime-capture"_s), arguments, output});
  }
  if (request.measures_entropy) {
    addMeasurement(outputs, withSuffix(request.output, {}, u".entropy.json"_s), request.threads);
  }
  next();
}

void CaptureRun::addMeasurement(const QStringList& captures, const QString& output, int threads) {
  QStringList names;
  for (const QString& capture : captures) names << QFileInfo(capture).completeBaseName();
  waiting_.push_back({u"Entropy of %1"_s.arg(names.join(u", "_s)), findProgram(u"lime-metrics"_s),
                      QStringList{u"entropy"_s} + captures +
                          QStringList{u"--threads"_s, QString::number(threads), u"-o"_s, output},
                      output});
}

void CaptureRun::measure(const QStringList& captures, const QString& output, int threads) {
  addMeasurement(captures, output, threads);
  if (job_ == 0) next();
}

void CaptureRun::next() {
  job_ = 0;
  if (waiting_.empty()) {
    end({});
    return;
  }
  const Step step = waiting_.front();
  waiting_.pop_front();
  job_ = jobs_.startProcess(
      this, {.title = step.title, .key = kCaptureJobs + step.output}, step.program, step.arguments,
      [this, output = step.output](const QByteArray&) {
        written_ << output;
        next();
      },
      [this](const QString& problem) { end(problem); });
}

void CaptureRun::end(const QString& problem) {
  job_ = 0;
  waiting_.clear();
  const QStringList files = std::exchange(written_, {});
  if (!problem.isEmpty()) Q_EMIT failed(problem);
  if (!files.isEmpty()) Q_EMIT finished(files);
}

std::vector<std::string> frequentWords(const std::filesystem::path& checkpoint,
                                       const std::filesystem::path& text, std::size_t count) {
  const std::unique_ptr<const Tokenizer> tokenizer = load_tokenizer(checkpoint);
  const MappedFile file(text);
  // Cut at a line, or a character might be cut.
  std::string_view sample = file.text().substr(0, kSampledText);
  if (sample.size() < file.size()) sample = sample.substr(0, sample.rfind('\n'));
  std::map<std::string, std::int64_t> times;
  for (const std::int32_t id : tokenizer->encode(sample)) ++times[tokenizer->piece(id)];
  std::vector<std::pair<std::int64_t, std::string>> words;
  for (const auto& [piece, number] : times) {
    if (isWord(piece)) words.emplace_back(-number, piece);
  }
  throw_if(words.size() < 2, OptionName("words"),
           "the text must have two words that are one token each, got {}", words.size());
  std::sort(words.begin(), words.end());
  words.resize(std::min(words.size(), count));
  std::vector<std::string> selected;
  for (auto& [number, word] : words) selected.push_back(std::move(word));
  return selected;
}

}  // namespace lime::explorer
