// SPDX-License-Identifier: Apache-2.0
#include "metric_commands.h"

#include <filesystem>

#include "analysis/run_analysis.h"
#include "run_report.h"

namespace lime {
namespace {

int run_metric(const MetricCommand& command, const OutputOptions& output, bool resume) {
  if (resume && output.output.empty()) {
    throw InvalidArgument("resume: needs the output file of the interrupted run, give it with -o");
  }
  Journal journal;
  if (!output.output.empty()) journal = Journal(journal_path(output.output.front()), resume);
  Analysis analysis = command.prepare(command.run);
  analysis.compare = command.compare;
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
  line.add_options(command->compare);
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
