// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_source.h"

#include <sstream>

#include "core/files/input_file.h"
#include "core/files/sha256.h"
#include "store/file_names.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLogName = "training_log.jsonl";

void drop_empty_classes(SourceEmbedding& embedding) {
  std::vector<int> number(embedding.class_names.size(), -1);
  for (const int c : embedding.classes) number[static_cast<std::size_t>(c)] = 0;
  std::vector<std::string> names;
  for (std::size_t c = 0; c < number.size(); ++c) {
    if (number[c] < 0) continue;
    number[c] = static_cast<int>(names.size());
    names.push_back(embedding.class_names[c]);
  }
  for (int& c : embedding.classes) c = number[static_cast<std::size_t>(c)];
  embedding.class_names = std::move(names);
}

/// Returns label, classes and class names of `capture`; unlabelled points get their own class.
SourceEmbedding points_of(const CaptureEmbeddings& capture) {
  SourceEmbedding embedding;
  embedding.label = capture.label;
  embedding.classes.assign(capture.table.class_id.begin(), capture.table.class_id.end());
  embedding.class_names = capture.class_names;
  const bool has_others = std::ranges::any_of(embedding.classes, [](int c) { return c < 0; });
  if (!has_others) return embedding;
  const auto others = static_cast<int>(embedding.class_names.size());
  std::ranges::replace(embedding.classes, -1, others);
  embedding.class_names.emplace_back(others == 0 ? "" : "other");
  return embedding;
}

bool is_results_file(const fs::path& path) {
  const Json document = read_json_file(path);
  if (!document.is_object() || !document.contains("schema")) return false;
  const Json& schema = document["schema"];
  return schema.is_string() && schema.get<std::string>().starts_with("lime-results/");
}

/// @throws FormatError  if `path` is one of our files that is not input for figures; says which.
void check_kind_of_file(const fs::path& path) {
  throw_if<FormatError>(
      path.extension() == ".csv",
      "figure: '{}' is a table; use the results (.json) that lime-metrics wrote with it",
      path.string());
  constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1A\n";
  std::string begin(kHdf5.size(), '\0');
  begin.resize(InputFile(path).read(begin));
  if (begin != kHdf5) return;
  throw_if<FormatError>(
      path.string().ends_with(".embeddings.h5"),
      "figure: '{}' contains t-SNE coordinates; use the results (.json) next to it", path.string());
  throw FormatError("figure: '{}' is a capture; measure it with lime-metrics first", path.string());
}

/// Reads the embeddings in a file; empty classes are omitted.
std::vector<SourceEmbedding> source_embeddings(const fs::path& path) {
  std::vector<SourceEmbedding> embeddings;
  for (const CaptureEmbeddings& capture : read_embeddings(path)) {
    SourceEmbedding points = points_of(capture);
    drop_empty_classes(points);
    for (const LayerEmbedding& layer : capture.layers) {
      SourceEmbedding embedding = points;
      embedding.site = layer.site;
      embedding.layer = layer.layer;
      const auto x = layer.coordinates.col(0);
      const auto y = layer.coordinates.col(1);
      embedding.x.assign(x.begin(), x.end());
      embedding.y.assign(y.begin(), y.end());
      embeddings.push_back(std::move(embedding));
    }
  }
  return embeddings;
}

/// Number of targets processed up to each step. The log has their number per second since the run
/// was last started; in between they are interpolated.
class TokenCount {
 public:
  void add(double step, double tokens_since_start) {
    points_.push_back({step, base_ + tokens_since_start});
  }
  /// Handles a resumed run at `step`: rates count from here.
  void resume(double step) { base_ = at(step); }

  double at(double step) const {
    Point before{0.0, 0.0};
    for (const Point& point : points_) {
      if (point.step >= step) {
        const double share = (step - before.step) / (point.step - before.step);
        return before.tokens + share * (point.tokens - before.tokens);
      }
      before = point;
    }
    return before.step > 0.0 ? before.tokens * step / before.step : 0.0;
  }

 private:
  struct Point {
    double step;
    double tokens;
  };
  std::vector<Point> points_;
  double base_ = 0.0;
};

/// One line of the log. @throws FormatError  naming file and line, if a value is unfit.
class LogLine {
 public:
  LogLine(const std::string& text, std::string where)
      : where_(std::move(where)), json_(parse_json(text, where_)) {
    throw_if<FormatError>(!json_.is_object() || !json_.contains("event"),
                          "{}: must be an object with 'event', got {:.40}", where_, text);
  }

  /// Returns the objects of an array; none if `key` is absent or something else.
  std::vector<LogLine> objects(const std::string& key) const {
    std::vector<LogLine> objects;
    if (!has(key) || !json_.at(key).is_array()) return objects;
    for (const Json& item : json_.at(key)) {
      if (item.is_object()) objects.push_back(LogLine(where_, item));
    }
    return objects;
  }

  bool has(const std::string& key) const { return json_.contains(key); }

  std::string text(const std::string& key) const {  // "" if absent
    const Json value = json_.value(key, Json(""));
    return value.is_string() ? value.get<std::string>() : throw unfit(key, "a string");
  }
  double number(const std::string& key) const {
    const auto number = number_of(json_.value(key, Json()));
    return number ? *number : throw unfit(key, "a number");
  }
  Json object(const std::string& key) const {  // empty if absent
    const Json value = json_.value(key, Json::object());
    return value.is_object() ? value : throw unfit(key, "an object");
  }

 private:
  LogLine(std::string where, Json json) : where_(std::move(where)), json_(std::move(json)) {}

  FormatError unfit(const std::string& key, const char* requested) const {
    return {"{}: '{}' must be {}, got {:.40}", where_, key, requested,
            has(key) ? json_.at(key).dump() : "none"};
  }

  std::string where_;
  Json json_;
};

std::vector<LogLine> complete_lines(const std::filesystem::path& path) {
  std::istringstream stream(std::string(MappedFile(path).text()));
  std::vector<LogLine> lines;
  std::string line;
  // A line without a line end is still being written.
  while (std::getline(stream, line) && !stream.eof()) {
    lines.emplace_back(line,
                       fmt::format("training log: '{}', line {}", path.string(), lines.size() + 1));
  }
  if (lines.empty()) throw FormatError("training log: '{}' is empty", path.string());
  return lines;
}

std::string label_of(const std::filesystem::path& path) {
  const std::string folder = std::filesystem::absolute(path).parent_path().filename().string();
  return folder.empty() ? path.stem().string() : folder;
}

ResultRow loss_row(const LogLine& line, const std::string& kind, const std::string& label,
                   const TokenCount& tokens, std::optional<double> parameters) {
  const double step = line.number("step");
  ResultRow row = {{col::kKind, kind},
                   {col::kLabel, label},
                   {col::kStep, step},
                   {col::kTokens, tokens.at(step)},
                   {col::kLoss, line.number("loss")}};
  if (parameters) row.set(col::kFlops, 6.0 * *parameters * tokens.at(step));
  return row;
}

/// Returns the 95% interval of a fraction of `total`: Wilson (1927), J. Am. Stat. Assoc. 22,
/// 209-212.
std::pair<double, double> wilson_interval(double fraction, double total) {
  constexpr double kZ = 1.959963984540054;
  const double spread = kZ * kZ / total;
  const double middle = fraction + spread / 2.0;
  const double half = kZ * std::sqrt(fraction * (1.0 - fraction) / total + spread / total / 4.0);
  return {std::max(0.0, (middle - half) / (1.0 + spread)),
          std::min(1.0, (middle + half) / (1.0 + spread))};
}

/// Returns a row per number of operands; none for tasks without operands.
std::vector<ResultRow> accuracy_rows(const LogLine& line, const std::string& label) {
  std::vector<ResultRow> rows;
  for (const LogLine& part : line.objects("result")) {
    if (!part.has("operands")) continue;
    const double accuracy = part.number("accuracy");
    const auto [low, high] = wilson_interval(accuracy, std::max(1.0, part.number("count")));
    rows.push_back({{col::kKind, "evaluation"},
                    {col::kLabel, label},
                    {col::kStep, line.number("step")},
                    {kOperands, part.number("operands")},
                    {col::kMean, accuracy},
                    {col::kCiLow, low},
                    {col::kCiHigh, high}});
  }
  return rows;
}

}  // namespace

fs::path embeddings_beside(const fs::path& path) { return companion_of(path, ".embeddings.h5"); }

std::vector<fs::path> figure_files(const fs::path& path) {
  if (!fs::is_directory(path) || fs::exists(path / kLogName)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    const bool is_json = entry.is_regular_file() && entry.path().extension() == ".json";
    if (is_json && is_results_file(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (!files.empty()) return files;
  throw IoError("figure: folder '{}' contains neither results of lime-metrics (.json) nor a {}",
                path.string(), kLogName);
}

FigureSource read_figure_source(const fs::path& path) {
  FigureSource source{path, {}};
  fs::path file = path;
  if (fs::is_directory(path)) {
    file = path / kLogName;
    throw_if<IoError>(
        !fs::exists(file),
        "figure: folder '{}' contains no {}; use results files of lime-metrics, or folders that "
        "lime-train wrote",
        path.string(), kLogName);
  }
  check_kind_of_file(file);
  const bool is_log = file.extension() == ".jsonl";
  source.results = is_log ? read_training_log(file) : read_results(file);
  source.sha256 = sha256_of_file(file);
  if (source.results.metric != "tsne") return source;
  const fs::path beside = embeddings_beside(path);
  throw_if<IoError>(
      !fs::exists(beside),
      "figure: '{}' needs the coordinates that lime-metrics tsne wrote to '{}', but that file "
      "does not exist",
      path.string(), beside.string());
  source.embeddings = source_embeddings(beside);
  source.sha256 = sha256_of(source.sha256 + "\n" + sha256_of_file(beside));
  return source;
}

Results read_training_log(const std::filesystem::path& path) {
  const std::vector<LogLine> lines = complete_lines(path);
  Results results;
  results.metric = "training";
  const std::string label = label_of(path);
  TokenCount tokens;
  std::optional<double> parameters;
  std::vector<ResultRow> accuracies;  // of the last evaluation
  for (const LogLine& line : lines) {
    const std::string event = line.text("event");
    if (event == "start") {
      if (line.has("parameters")) parameters = line.number("parameters");
      results.options = line.object("run");
      results.provenance = {{"tool", line.text("tool")},
                            {"command", line.text("command")},
                            {"created_utc", line.text("time")}};
    }
    if (event == "resume") tokens.resume(line.number("step"));
    if (event == "step") {
      const double step = line.number("step");
      tokens.add(step, line.number("targets_per_second") * line.number("seconds"));
      results.rows.push_back(loss_row(line, "train", label, tokens, parameters));
    }
    if (event == "validation") {
      results.rows.push_back(loss_row(line, "validation", label, tokens, parameters));
    }
    if (event == "evaluation") accuracies = accuracy_rows(line, label);
  }
  results.rows.insert(results.rows.end(), accuracies.begin(), accuracies.end());
  return results;
}

}  // namespace lime
