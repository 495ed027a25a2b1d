// SPDX-License-Identifier: Apache-2.0
#include "core/program/progress_report.h"

#include "core/json.h"

namespace lime {

std::string to_json_line(const ProgressReport& report) {
  const Json line = {{"progress", report.stage},
                     {"unit", report.unit},
                     {"done", report.progress.done},
                     {"total", report.progress.total},
                     {"note", report.progress.note}};
  // A note may name a file, whose name need not be UTF-8.
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ProgressReport> parse_progress_report(std::string_view line) {
  if (!line.starts_with('{')) return std::nullopt;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    return ProgressReport{.stage = json.at("progress").get<std::string>(),
                          .unit = json.at("unit").get<std::string>(),
                          .progress = {.done = json.at("done").get<std::int64_t>(),
                                       .total = json.at("total").get<std::int64_t>(),
                                       .note = json.at("note").get<std::string>()}};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace lime
