// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <optional>
#include <vector>

#include "core/errors.h"
#include "viz/figure_source.h"

namespace lime {
namespace {

/// How many targets were seen by which step. The log has their number per second since the run was
/// last started; in between, they come evenly.
class TokenCount {
 public:
  void add(double step, double tokens_since_start) {
    points_.push_back({step, base_ + tokens_since_start});
  }
  /// The run goes on after `step`: rates count from here.
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

std::vector<Json> complete_lines(const std::filesystem::path& path) {
  std::ifstream stream(path);
  if (!stream) throw IoError("training log: '{}' cannot be read", path.string());
  std::vector<Json> lines;
  std::string line;
  // A line without its end is still being written.
  while (std::getline(stream, line) && !stream.eof()) {
    const std::string where =
        fmt::format("training log: '{}', line {}", path.string(), lines.size() + 1);
    lines.push_back(parse_json(line, where));
    if (!lines.back().is_object() || !lines.back().contains("event")) {
      throw FormatError("{}: must be an object with 'event', got {:.40}", where, line);
    }
  }
  if (lines.empty()) throw FormatError("training log: '{}' holds no line", path.string());
  return lines;
}

std::string label_of(const std::filesystem::path& path) {
  const std::string folder = std::filesystem::absolute(path).parent_path().filename().string();
  return folder.empty() ? path.stem().string() : folder;
}

}  // namespace

Results read_training_log(const std::filesystem::path& path) {
  const std::vector<Json> lines = complete_lines(path);
  Results results;
  results.metric = "training";
  const std::string label = label_of(path);
  TokenCount tokens;
  std::optional<double> parameters;
  for (const Json& line : lines) {
    const auto event = line["event"].get<std::string>();
    if (event == "start") {
      parameters = line.value("parameters", 0.0);
      results.options = line.value("run", Json::object());
      results.provenance = {{"tool", line.value("tool", "")},
                            {"command", line.value("command", "")},
                            {"created_utc", line.value("time", "")}};
    }
    if (event == "resume") tokens.resume(results_number(line, "step"));
    const bool is_step = event == "step";
    if (!is_step && event != "validation") continue;
    const double step = results_number(line, "step");
    if (is_step) {
      tokens.add(step,
                 results_number(line, "targets_per_second") * results_number(line, "seconds"));
    }
    Json row = {{"kind", is_step ? "train" : "validation"},
                {"label", label},
                {"step", step},
                {"tokens", tokens.at(step)},
                {"loss", results_number(line, "loss")}};
    if (parameters) row["flops"] = 6.0 * *parameters * tokens.at(step);
    results.rows.push_back(std::move(row));
  }
  return results;
}

}  // namespace lime
