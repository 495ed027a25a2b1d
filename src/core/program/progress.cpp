// SPDX-License-Identifier: Apache-2.0
#include "core/program/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "core/json.h"
#include "core/program/terminal.h"

namespace lime {
namespace {

std::string scaled(double value, double base, std::span<const char* const> suffixes) {
  std::size_t index = 0;
  while (std::abs(value) >= base && index + 1 < suffixes.size()) {
    value /= base;
    ++index;
  }
  const bool whole = index == 0 && value == std::floor(value);
  // Three digits would not do: 1020 KiB, or 999.9 of a thousand.
  if (std::abs(value) >= 999.5 && !whole && index + 1 < suffixes.size()) {
    return fmt::format("{:.1f}{}", value / base, suffixes[index + 1]);
  }
  return whole ? fmt::format("{:.0f}{}", value, suffixes[index])
               : fmt::format("{:.3g}{}", value, suffixes[index]);
}

constexpr std::chrono::milliseconds kRedrawInterval{100};

bool is_for_program() {
  const char* const requested = std::getenv(kProgressVariable);
  return requested != nullptr && std::string_view(requested) == "json";
}

}  // namespace

ProgressLine::ProgressLine(Options options)
    : options_(std::move(options)),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      // A program needs to know at once which stage has started.
      last_(is_for_program() ? start_ - kRedrawInterval : start_) {}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::update(const Progress& progress) {
  if (options_.quiet) return;
  const bool for_program = is_for_program();
  const auto now = std::chrono::steady_clock::now();
  const auto interval = on_terminal_ || for_program
                            ? kRedrawInterval
                            : std::chrono::milliseconds(options_.log_interval);
  if (now - last_ < interval) return;
  last_ = now;
  if (for_program) {
    print_error(to_json_line({options_.label, options_.unit, progress}) + "\n");
    return;
  }
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string line = format(progress, seconds);
  if (on_terminal_) {
    print_error(fmt::format("\r{}\033[K", line));
    drawn_ = true;
  } else {
    print_error(line + "\n");
  }
}

void ProgressLine::finish() {
  if (!drawn_) return;
  print_error("\r\033[K");
  drawn_ = false;
}

ProgressFn ProgressLine::callback() {
  return [this, mutex = std::make_shared<std::mutex>()](const Progress& progress) {
    const std::scoped_lock lock(*mutex);
    update(progress);
  };
}

std::string ProgressLine::format(const Progress& progress, double seconds) const {
  const double rate = seconds > 0.0 ? static_cast<double>(progress.done) / seconds : 0.0;
  std::string line = fmt::format("{}: {}", options_.label, human_count(double(progress.done)));
  if (progress.total > 0) line += fmt::format(" of {}", human_count(double(progress.total)));
  line += fmt::format(" {}, {} {}/s", options_.unit, human_count(rate), options_.unit);
  if (progress.total > 0 && rate > 0.0) {
    const double left = static_cast<double>(progress.total - progress.done) / rate;
    line += fmt::format(", {} left", human_duration(left));
  }
  if (!progress.note.empty()) line += fmt::format(", {}", progress.note);
  return message_line(line);
}

std::string human_count(double value) {
  static constexpr std::array<const char*, 5> kSuffixes = {"", " k", " M", " G", " T"};
  return scaled(value, 1000.0, kSuffixes);
}

std::string human_bytes(double bytes) {
  static constexpr std::array<const char*, 5> kSuffixes = {" B", " KiB", " MiB", " GiB", " TiB"};
  return scaled(bytes, 1024.0, kSuffixes);
}

std::string human_duration(double seconds) {
  const auto total = static_cast<std::int64_t>(std::llround(seconds));
  if (total < 60) return fmt::format("{} s", total);
  if (total < 3600) return fmt::format("{} min {:02} s", total / 60, total % 60);
  return fmt::format("{} h {:02} min", total / 3600, total % 3600 / 60);
}

std::string to_json_line(const ProgressReport& report) {
  const Json line = {{"progress", report.stage},
                     {"unit", report.unit},
                     {"done", report.progress.done},
                     {"total", report.progress.total},
                     {"note", report.progress.note}};
  // A note may name a file, whose name need not be UTF-8.
  return dump_json(line);
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
