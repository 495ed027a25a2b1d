// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lime {

/// Reports the progress of a long call.
struct Progress {
  std::int64_t done = 0;
  std::int64_t total = 0;  ///< 0 where it is not known
  std::string note;        ///< what is under way, e.g. "layer 7"; may be empty
};

/// Called periodically, by any thread, several at once unless documented otherwise; must be fast.
using ProgressFn = std::function<void(const Progress&)>;

/// Shows progress on standard error: one line that is redrawn on a terminal (count, rate, time
/// left), else a plain line every `log_interval`, or JSON (to_json_line()); nothing if `quiet`.
class ProgressLine {
 public:
  struct Options {
    std::string label;  ///< e.g. "capture"
    std::string unit;   ///< e.g. "tokens"
    bool quiet = false;
    std::chrono::seconds log_interval{30};
  };

  explicit ProgressLine(Options options);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const Progress& progress);
  /// Ends the line on the terminal, so that further output starts on a new line.
  void finish();
  /// Returns a callback that refers to this object, for any number of threads.
  ProgressFn callback();

 private:
  std::string format(const Progress& progress, double seconds) const;

  Options options_;
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

/// Formats a count or rate for a message: 1234567 -> "1.23 M".
std::string human_count(double value);
/// Formats a number of bytes: 1536 -> "1.5 KiB".
std::string human_bytes(double bytes);
/// Formats a duration: 3725 -> "1 h 02 min", 42 -> "42 s".
std::string human_duration(double seconds);

/// Names the environment variable that selects machine-readable progress: "json". See ProgressLine.
inline constexpr const char* kProgressVariable = "LIME_PROGRESS";

/// Reports the progress of one stage of a program.
struct ProgressReport {
  std::string stage;  ///< e.g. "capture"; each begins at its own first report
  std::string unit;   ///< of the counts, e.g. "tokens"
  Progress progress;
};

/// Returns a report as one line, without the line end:
/// {"progress":"capture","unit":"tokens","done":512,"total":4096,"note":"layer 7"}.
std::string to_json_line(const ProgressReport& report);

/// Parses such a line. @return nothing for any other line that a program prints.
std::optional<ProgressReport> parse_progress_report(std::string_view line);

}  // namespace lime
