// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/document.h"

#include <QLocale>
#include <string>
#include <system_error>
#include <utility>

#include "analysis/engine/capture_set.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "core/errors.h"
#include "core/files/input_file.h"
#include "core/json.h"
#include "explorer/models/found_tokenizer.h"
#include "explorer/models/text.h"
#include "explorer/models/whole_path.h"
#include "store/capture_reader.h"
#include "store/capture_tools.h"
#include "store/capture_writer.h"
#include "store/file_names.h"
#include "store/results_file.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

std::string firstBytes(const fs::path& path) {
  InputFile file(path);
  std::string bytes(64, '\0');
  bytes.resize(file.read(bytes));
  return bytes;
}

/// Safetensors: the length of the header, eight bytes, then the header.
bool isSafetensors(const std::string& bytes) {
  return bytes.size() > 9 && bytes[8] == '{' && bytes[6] == '\0' && bytes[7] == '\0';
}

QString count(std::int64_t number) { return QLocale::c().toString(static_cast<qlonglong>(number)); }

QString routerWords(const ModelConfig& config) {
  if (config.routing != DepthRouting::kLime) return u"none"_s;
  QString words = toQString(enum_name(config.lime.router));
  if (config.lime.dynamic) words += u", depends on the token"_s;
  if (config.lime.per_dimension) words += u", per dimension"_s;
  return words;
}

Document openCheckpoint(const fs::path& folder) {
  auto checkpoint = std::make_shared<const Checkpoint>(Checkpoint::open(folder));
  const ModelConfig& config = checkpoint->config();
  Document document{.kind = DocumentKind::kCheckpoint,
                    .path = folder,
                    .label = shownText(checkpoint_label(folder))};
  document.outline = {
      {u"decoder"_s, toQString(config.name())},
      {u"layers"_s, count(config.num_hidden_layers)},
      {u"heads"_s, u"%1 on %2 key-value heads"_s.arg(count(config.num_attention_heads))
                       .arg(count(config.num_key_value_heads))},
      {u"width"_s, count(config.hidden_size)},
      {u"vocabulary"_s, count(config.vocab_size)},
      {u"router"_s, routerWords(config)},
  };
  for (const std::string& warning : checkpoint->warnings()) {
    document.outline.push_back({u"warning"_s, shownText(warning)});
  }
  document.checkpoint = std::move(checkpoint);
  return document;
}

/// Returns the name of a capture: that of its file, or where that says nothing of its checkpoint or
/// else its folder.
QString captureLabel(const fs::path& path, const CaptureInfo& info) {
  const std::string stem = capture_stem(path);
  if (stem != "capture") return shownText(stem);
  const fs::path checkpoint = checkpointOf(info.command);
  if (!checkpoint.empty()) return shownText(checkpoint_label(checkpoint));
  const std::string folder = path.parent_path().filename().string();
  return shownText(folder.empty() ? stem : folder);
}

Document openCapture(const fs::path& path) {
  auto capture = std::make_shared<const CaptureReader>(path);
  const CaptureInfo& info = capture->info();
  Document document{
      .kind = DocumentKind::kCapture, .path = path, .label = captureLabel(path, info)};
  document.outline = {
      {u"rows"_s,
       u"%1 (%2)"_s.arg(count(capture->num_rows())).arg(toQString(enum_name(info.rows)))},
      {u"sequences"_s, count(capture->num_sequences())},
  };
  for (const std::string& site : capture->sites()) {
    const std::vector<int> layers = capture->layers(site);
    if (layers.empty()) continue;
    document.outline.push_back(
        {shownText(site), u"%1 layers of %2 numbers"_s.arg(layers.size())
                              .arg(count(capture->dim(site, layers.front())))});
  }
  document.outline.push_back({u"stored as"_s, toQString(enum_name(info.storage))});
  if (!info.created_utc.empty()) {
    document.outline.push_back({u"captured"_s, shownText(info.created_utc)});
  }
  if (const std::string warning = missing_prefix(info, capture->num_sequences());
      !warning.empty()) {
    document.outline.push_back({u"warning"_s, shownText(warning)});
  }
  if (!capture->complete()) {
    document.outline.push_back({u"incomplete"_s, u"shards are missing"_s});
  }
  document.capture = std::move(capture);
  return document;
}

Document openResults(const fs::path& path, const CaptureLocator& locator) {
  auto source = std::make_shared<const FigureSource>(read_figure_source(path));
  // Logs of all runs have the same name.
  const bool is_log = path.filename() == "training_log.jsonl";
  const QString label = shownText(fs::is_directory(path) ? checkpoint_label(path)
                                  : is_log               ? checkpoint_label(path.parent_path())
                                                         : path.stem().string());
  Document document{.kind = DocumentKind::kResults, .path = path, .label = label};
  document.outline = {
      {u"metric"_s, shownText(source->results.metric)},
      {u"rows"_s, count(static_cast<std::int64_t>(source->results.rows.size()))},
  };
  const std::vector<ResultsInput>& inputs = source->results.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_missing = isCaptureInput(inputs[i]) && !locator.find(inputs[i], path);
    if (is_missing) document.missing_captures.push_back(i);
    document.outline.push_back({is_missing ? u"missing"_s : u"of"_s, shownText(inputs[i].path)});
  }
  document.results = std::move(source);
  return document;
}

Document openFolder(const fs::path& folder, const CaptureLocator& locator) {
  if (fs::exists(folder / "config.json")) return openCheckpoint(folder);
  if (fs::exists(folder / "capture.h5")) return openCapture(folder / "capture.h5");
  if (fs::exists(folder / "training_log.jsonl")) return openResults(folder, locator);
  if (seems_checkpoint(folder)) return openCheckpoint(folder);
  throw FormatError(
      "'{}': the folder must contain a checkpoint (config.json and weights), a capture.h5 or a "
      "training_log.jsonl",
      folder.string());
}

Document openJson(const fs::path& path, const CaptureLocator& locator) {
  // Lines of a log are JSON too, each on its own.
  if (path.extension() != ".jsonl") {
    const Json json = read_json_file(path);
    if (json.is_object() && json.contains("model_type")) return openCheckpoint(path.parent_path());
  }
  return openResults(path, locator);
}

}  // namespace

QString kindName(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::kCheckpoint: return u"checkpoint"_s;
    case DocumentKind::kCapture: return u"capture"_s;
    case DocumentKind::kResults: return u"results"_s;
  }
  return {};
}

Document openDocument(const fs::path& path, const CaptureLocator& locator) {
  std::error_code error;
  const fs::path whole = wholePath(path);
  const fs::file_status status = fs::status(whole, error);
  if (!fs::exists(status)) {
    if (const std::string unfinished = unfinished_run(whole); !unfinished.empty()) {
      throw IoError("'{}': does not exist yet; {}", path.string(), unfinished);
    }
    throw IoError("'{}': cannot be read: {}", path.string(),
                  error ? error.message() : std::string("No such file or directory"));
  }
  if (fs::is_directory(status)) return openFolder(whole, locator);
  const std::string bytes = firstBytes(whole);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (bytes.empty()) throw FormatError("'{}': is empty", path.string());
  if (bytes.starts_with("\x89HDF\r\n\x1a\n")) return openCapture(whole);
  if (isSafetensors(bytes)) return openCheckpoint(whole.parent_path());
  if (first != std::string::npos && bytes[first] == '{') return openJson(whole, locator);
  // If it is not GGUF after all, the error names the alternative.
  if (bytes.starts_with("GGUF") || whole.extension() == ".gguf") return openCheckpoint(whole);
  throw FormatError(
      "'{}': must be a checkpoint, a capture, results of lime-metrics or a training log, is none "
      "of them",
      path.string());
}

}  // namespace lime::explorer
