// SPDX-License-Identifier: Apache-2.0
#include "metric_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "analysis/inputs.h"
#include "analysis/journal.h"
#include "analysis/run_analysis.h"
#include "core/program.h"
#include "run_report.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Whether all outputs of an earlier run are there and its journal is not.
bool looks_finished(const OutputOptions& output) {
  std::error_code ignored;
  const bool all_there =
      std::all_of(output.output.begin(), output.output.end(),
                  [&](const fs::path& path) { return fs::exists(path, ignored); });
  const fs::path& first = output.output.front();
  return all_there && first.extension() == ".json" && !fs::exists(journal_path(first), ignored);
}

/// Refuses to go on with the finished result of another run.
void check_finished(const fs::path& path, Analysis& analysis, const RunOptions& run) {
  const Results finished = read_results(path);
  analysis.hashed_inputs = hash_inputs(analysis.inputs, run.num_threads(), interrupt_token());
  const std::string difference = difference_to_result(finished, analysis, run);
  if (difference.empty()) return;
  throw InvalidArgument(
      "'{}': is the finished result of another run, {}; leave out --resume to replace it",
      path.string(), difference);
}

int run_metric(const MetricCommand& command, const OutputOptions& output, bool resume) {
  if (resume && output.output.empty()) {
    throw InvalidArgument("resume: needs the output file of the interrupted run, give it with -o");
  }
  Analysis analysis = command.prepare(command.run);
  analysis.compare = command.compare;
  if (resume && looks_finished(output)) {
    check_finished(output.output.front(), analysis, command.run);
    if (!output.quiet) {
      fmt::print(stderr, "{}: is finished, nothing is left to do\n",
                 output.output.front().string());
    }
    return kExitDone;
  }
  Journal journal;
  if (!output.output.empty()) journal = Journal(journal_path(output.output.front()), resume);
  ReportJob job{.output = output,
                .inputs = {},
                .progress_label = command.name,
                .progress_unit = command.progress_unit,
                .analyze = [&](const ProgressFn& on_progress, const std::stop_token& stop) {
                  return run_analysis(analysis, command.run, journal, on_progress, stop);
                }};
  for (const AnalysisInput& input : analysis.inputs) {
    job.inputs.insert(job.inputs.end(), input.files.begin(), input.files.end());
  }
  const int status = run_report(job);
  journal.remove();
  return status;
}

/// How an interrupted run is gone on with; not an option of what is computed.
OptionField resume_field(bool& resume) {
  OptionList list;
  list.group("Running");
  list.add("resume", resume,
           "go on with the interrupted run that was to write the first file of --output");
  return list.fields().front();
}

}  // namespace

void MetricCommands::add_to_line(std::shared_ptr<MetricCommand> command,
                                 std::vector<OptionField> inputs, std::vector<OptionField> fields,
                                 Texts texts) {
  struct State {
    OutputOptions output;
    bool resume = false;
  };
  const auto state = std::make_shared<State>();
  CommandLine& line = line_.add_command(command->name, std::move(texts.description));
  for (const OptionField& field : inputs) line.add_positional_field(field);
  for (const OptionField& field : fields) line.add_field(field);
  line.add_check(command->validate);
  if (command->has_samples) line.add_options(command->compare);
  line.add_options(command->run);
  line.add_field(resume_field(state->resume));
  line.add_options(state->output);
  line.set_examples(std::move(texts.examples));
  line.on_run([command, state] { return run_metric(*command, state->output, state->resume); });
  command->fields = std::move(inputs);
  command->fields.insert(command->fields.end(), fields.begin(), fields.end());
  commands_.push_back(std::move(command));
}

std::shared_ptr<MetricCommand> MetricCommands::find(std::string_view name) const {
  for (const auto& command : commands_) {
    if (command->name == name) return command;
  }
  return nullptr;
}

std::vector<std::string> MetricCommands::names() const {
  std::vector<std::string> names;
  for (const auto& command : commands_) names.push_back(command->name);
  return names;
}

}  // namespace lime
