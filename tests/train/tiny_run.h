// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "core/json.h"
#include "train/tasks/arithmetic_run.h"

namespace lime::testing {

/// Returns a decoder with two layers of width 16 that trains in milliseconds.
ModelConfig tiny_config(const std::string& decoder);

/// A run on the Arithmetic Expression Task.
struct TinyRun {
  ArithmeticData data;
  TrainingSetup setup;
};

/// Returns a run of a few steps on expressions of two operands, into `folder`.
TinyRun tiny_run(const std::filesystem::path& folder);

TrainingOutcome train(const TinyRun& run, const ProgressFn& on_progress = {},
                      std::stop_token stop = {});

/// Returns a run of a few steps with a model of tiny_config()'s size, into `folder`; for any task.
TrainingSetup tiny_setup(const std::filesystem::path& folder);

/// Returns the lines of a run's log with this `event`.
std::vector<Json> log_lines(const std::filesystem::path& folder, const std::string& event);

}  // namespace lime::testing
