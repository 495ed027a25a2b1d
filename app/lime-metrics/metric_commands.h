// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/engine/analysis.h"
#include "analysis/report/results_output.h"
#include "core/program/command_line.h"

namespace lime {

/// Texts of a metric as a command of lime-metrics.
struct MetricSpec {
  std::string name;           ///< also Analysis::metric: "entropy"
  std::string description;    ///< the first line is shown in the list of commands
  std::string progress_unit;  ///< unit of the progress count: "sequences"
  std::string examples;       ///< one command per line
  /// Whether its units return samples, so that captures can be compared and layers averaged.
  bool has_samples = true;
};

/// A metric with its options of any type.
struct MetricCommand {
  MetricSpec spec;
  RunOptions run;
  CompareOptions compare;
  /// All options that determine the results, the positional arguments first. Refers to the options.
  std::vector<OptionField> fields;
  std::function<void()> validate;
  std::function<Analysis(const RunOptions&)> prepare;
};

/// Registry of the metrics, each a command with the common options.
class MetricCommands {
 public:
  explicit MetricCommands(CommandLine& line) : line_(line) {}

  /// @param prepare  of an analysis. `describe_inputs()` of its options are the positional
  ///                 arguments.
  template <typename Options>
  void add(Analysis (*prepare)(const Options&, const RunOptions&), MetricSpec spec) {
    const auto options = std::make_shared<Options>();
    auto command = std::make_shared<MetricCommand>();
    command->spec = std::move(spec);
    command->validate = [options] { std::as_const(*options).validate(); };
    command->prepare = [options, prepare](const RunOptions& run) { return prepare(*options, run); };
    OptionList inputs;
    options->describe_inputs(inputs);
    add_to_line(std::move(command), inputs.fields(), option_fields(*options));
  }

  /// Returns the command of that name; null if unknown.
  std::shared_ptr<MetricCommand> find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  void add_to_line(std::shared_ptr<MetricCommand> command, std::vector<OptionField> inputs,
                   const std::vector<OptionField>& fields);

  CommandLine& line_;
  std::vector<std::shared_ptr<MetricCommand>> commands_;
};

/// Prints a report on standard output, in the style of the terminal: the table, or with output
/// files none if quiet.
void print_report(const OutputOptions& output, const Report& report);

/// Adds `rerun RESULTS.json`, which reruns a result with one of `commands`. They must outlive
/// `line`.
void add_rerun_command(CommandLine& line, const MetricCommands& commands);

}  // namespace lime
