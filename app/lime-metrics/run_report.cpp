// SPDX-License-Identifier: Apache-2.0
#include "run_report.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/errors.h"
#include "core/program/program.h"
#include "core/program/terminal.h"

namespace lime {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns whether the locale selected by the C library uses UTF-8.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    for (const std::string_view spelling : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (value.find(spelling) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

/// Returns the width of the terminal, or COLUMNS for other outputs.
TextStyle style_of_output() {
  TextStyle style;
  style.unicode = locale_is_utf8();
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
  } else {
    const std::string_view columns = environment("COLUMNS");
    int width = 0;
    std::from_chars(columns.data(), columns.data() + columns.size(), width);
    if (width > 0) style.width = width;
  }
  return style;
}

}  // namespace

bool run_report(const ReportJob& job) {
  OutputFiles files(job.output, job.inputs, job.share);
  ProgressLine progress({.label = job.progress_label,
                         .unit = job.progress_unit,
                         .quiet = job.output.quiet || job.share.index > 0,
                         .log_interval = std::chrono::seconds(30)});
  const std::optional<Report> report = job.analyze(progress.callback(), interrupt_token());
  progress.finish();
  if (!report) return false;
  const bool to_files = !job.output.output.empty();
  if (to_files) files.write(*report);
  if (!to_files || !job.output.quiet) {
    const ResultsFormat format =
        to_files ? ResultsFormat::kTable : job.output.format.value_or(ResultsFormat::kTable);
    fmt::print("{}", for_standard_output(format_report(*report, format, style_of_output())));
  }
  return true;
}

}  // namespace lime
