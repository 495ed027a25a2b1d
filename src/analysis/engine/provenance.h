// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "core/json.h"

namespace lime {

/// Collects the `provenance` of a result, except its options.
class Provenance {
 public:
  /// Starts the clock. @param num_threads  that the work runs on
  explicit Provenance(int num_threads);

  /// Stores the seconds since the last call (or the start) under `name`, e.g. "compute".
  void lap(const char* name);

  /// Returns tool, command, created_utc, versions, machine (the CPU model), threads, and seconds in
  /// total and per lap.
  Json to_json() const;

 private:
  using Clock = std::chrono::steady_clock;
  int num_threads_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  Json laps_ = Json::object();
};

}  // namespace lime
