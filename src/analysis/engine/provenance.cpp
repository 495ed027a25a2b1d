// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/provenance.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>
#include <fstream>
#include <string>
#include <utility>

#include "core/program/program.h"

namespace lime {
namespace {

/// Wall-clock times are rounded to milliseconds.
double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::round(std::chrono::duration<double>(to - from).count() * 1e3) / 1e3;
}

/// Returns the CPU model name reported by Linux; empty if it has none.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

Provenance::Provenance(int num_threads) : num_threads_(num_threads) {}

void Provenance::lap(const char* name) {
  const Clock::time_point now = Clock::now();
  laps_[name] = seconds_between(last_, now);
  last_ = now;
}

Json Provenance::to_json() const {
  Json seconds = Json::object();
  seconds["total"] = seconds_between(start_, Clock::now());
  seconds.update(laps_);
  Json provenance = Json::object();
  provenance["tool"] = tool_version();
  provenance["command"] = program_command();
  provenance["created_utc"] = utc_timestamp();
  provenance["compiler"] = __VERSION__;
  provenance["eigen"] =
      fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  if (std::string name = processor_name(); !name.empty()) provenance["machine"] = std::move(name);
  provenance["threads"] = num_threads_;
  provenance["seconds"] = std::move(seconds);
  return provenance;
}

}  // namespace lime
