// SPDX-License-Identifier: Apache-2.0
#include "metric_commands.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "analysis/engine/journal.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/engine/stored_results.h"
#include "core/program/command_help.h"
#include "core/program/launcher.h"
#include "core/program/program.h"
#include "core/program/suggest.h"
#include "core/program/terminal.h"
#include "core/program/work_share.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Options of a run that do not affect the results.
struct HowToRun {
  OutputOptions output;
  bool resume = false;
  std::optional<WorkShare> shard;  ///< given with --shard

  /// Returns the part that this process computes: `shard`, or that of its launcher.
  WorkShare share() const {
    if (shard) return *shard;
    const std::optional<LaunchedShare> launched = launched_share();
    return launched ? launched->share : WorkShare{};
  }
};

/// Returns whether all outputs of an earlier run exist and its journal does not.
bool looks_finished(const OutputOptions& output) {
  std::error_code ignored;
  const auto exists = [&](const fs::path& path) { return fs::exists(path, ignored); };
  const fs::path& first = output.output.front();
  return std::ranges::all_of(output.output, exists) && first.extension() == ".json" &&
         journals_at(journal_path(first)).empty();
}

/// Returns whether the run is finished. @throws InvalidArgument  if `--resume` was given, and the
/// outputs are those of another run.
bool is_finished(const HowToRun& how, Analysis& analysis, const RunOptions& run) {
  if (!looks_finished(how.output)) return false;
  const fs::path& path = how.output.output.front();
  if (analysis.hashed_inputs.empty()) {
    analysis.hashed_inputs = hash_inputs(analysis.inputs, run.num_threads(), interrupt_token());
  }
  const std::string difference = difference_to_result(read_results(path), analysis, run);
  if (!difference.empty()) {
    if (!how.resume) return false;
    throw InvalidArgument(
        "'{}': is the finished result of another run, {}; omit --resume to replace it",
        path.string(), difference);
  }
  if (!how.output.quiet) print_line(stderr, "{}: already finished, nothing to do", path.string());
  return true;
}

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return std::ranges::any_of(
        std::array{"UTF-8", "utf-8", "UTF8", "utf8"},
        [&](std::string_view spelling) { return value.find(spelling) != value.npos; });
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

/// Returns the files that an analysis reads.
std::vector<fs::path> files_of(const Analysis& analysis) {
  std::vector<fs::path> files;
  for (const AnalysisInput& input : analysis.inputs) {
    files.insert(files.end(), input.files.begin(), input.files.end());
  }
  return files;
}

/// Returns the unit of the progress of all units together: sequences are counted in each of them.
std::string progress_unit(const MetricCommand& command, const Analysis& analysis) {
  const std::string& unit = command.spec.progress_unit;
  return unit == "sequences" && analysis.units.size() > 1 ? unit + " x layers" : unit;
}

/// Computes with a progress line and writes the files.
/// @return nothing if other processes have to finish the rest.
std::optional<Report> write_report(const MetricCommand& command, const HowToRun& how,
                                   const Analysis& analysis, const RunOptions& run,
                                   OutputFiles& files, Journal& journal) {
  const OutputOptions& output = how.output;
  ProgressLine progress({.label = command.spec.name,
                         .unit = progress_unit(command, analysis),
                         .quiet = output.quiet || how.share().index > 0,
                         .log_interval = std::chrono::seconds(30)});
  std::optional<AnalysisResult> result =
      compute_share(analysis, run, journal, progress.callback(), interrupt_token());
  progress.finish();
  if (!result) return std::nullopt;
  Report report = report_of(analysis, std::move(*result));
  if (!output.output.empty()) files.write(report);
  return report;
}

void check_output(const HowToRun& how, const WorkShare& share) {
  const std::vector<fs::path>& outputs = how.output.output;
  throw_if(outputs.empty() && how.resume, OptionName("resume"),
           "needs the output file of the interrupted run; add it with -o");
  // A late process detects from it that the others are finished.
  const bool can_share = !outputs.empty() && outputs.front().extension() == ".json";
  if (share.is_whole() || can_share) return;
  throw InvalidArgument(
      OptionName("shard"),
      "{} processes that split a measurement need a .json file as first output, got {}; add "
      "it with -o, or use --shard 0/1 to compute everything in each process",
      share.count, outputs.empty() ? "none" : outputs.front().string());
}

/// Says on a terminal what a run will need, if a machine may not have it to spare.
void announce_memory(const std::string& metric, const Analysis& analysis, const RunOptions& run) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  if (isatty(STDERR_FILENO) == 0) return;  // elsewhere, an error is the only line
  const std::int64_t bytes = peak_memory(analysis, run);
  if (bytes < kLarge) return;
  print_line(stderr, "{}: needs up to {} of memory; --memory-limit sets a bound", metric,
             human_bytes(static_cast<double>(bytes)));
}

int run_metric(const MetricCommand& command, const HowToRun& how) {
  const WorkShare share = how.share();
  check_output(how, share);
  const bool goes_on = how.resume || !share.is_whole();
  RunOptions run = command.run;
  if (run.threads == 0) run.threads = threads_beside_neighbours();
  Analysis analysis = command.prepare(run);
  analysis.compare = command.compare;
  print_warnings(analysis.warnings);
  if (goes_on && is_finished(how, analysis, run)) return kExitDone;
  if (!how.output.quiet) announce_memory(command.spec.name, analysis, run);
  const std::vector<fs::path>& outputs = how.output.output;
  // Locked first: the journal of a process that is running is not that of an interrupted one.
  OutputFiles files(how.output, files_of(analysis), share);
  Journal journal;
  if (!outputs.empty()) journal = Journal(journal_path(outputs.front()), goes_on, share);
  if (const auto report = write_report(command, how, analysis, run, files, journal)) {
    journal.remove_all();  // before printing, which may fail
    print_report(how.output, *report);
  } else if (is_finished(how, analysis, run)) {
    journal.remove();  // another process has seen it, and finished the results
  } else if (!how.output.quiet) {
    print_line(stderr,
               "{}: part {} of {} (counted from 0) is finished; the last process to finish writes "
               "the file",
               outputs.front().string(), share.index, share.count);
  }
  return kExitDone;
}

std::vector<OptionField> running_fields(HowToRun& how) {
  OptionList list;
  list.group("Running");
  list.add("resume", how.resume,
           "resume the interrupted run whose first output file is that of --output");
  list.add("shard", how.shard,
           "compute part I (counted from 0) of N; detected from the environment under srun, "
           "mpirun, torchrun and job arrays. 0/1: everything");
  return list.fields();
}

struct RerunOptions {
  fs::path results = "results.json";
  double tolerance = 0.0;
  std::optional<std::string> device;
  bool quiet = false;

  void describe(OptionList& list) {
    list.add("tolerance", tolerance,
             "largest relative difference at which values still count as equal, >= 0");
    list.add("device", device,
             "override the device of the original run; only for metrics with this option");
    list.add("quiet", quiet, "hide progress");
  }
  void validate() const { check_option(tolerance >= 0.0, "tolerance", ">= 0", tolerance); }
};

/// Returns the current path of an input: the stored one, or the same file next to the results.
std::string find_input(const std::string& path, const fs::path& results) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  const fs::path beside = results.parent_path() / path;
  if (fs::path(path).is_relative() && fs::exists(beside, ignored)) return beside.string();
  throw IoError("'{}': no longer exists, and '{}' was computed from it; restore it at this path",
                path, results.string());
}

void restore(const OptionField& field, const Json& value, const fs::path& results) {
  std::vector<std::string> texts = option_texts(value);
  if (texts.empty() && !field.is_list) return;
  if (field.type == "PATH") {
    for (std::string& text : texts) {
      if (!text.empty()) text = find_input(text, results);
    }
  }
  field.assign(texts);
}

/// Restores the options of `before` in the command. Labels derived from paths are set explicitly,
/// because the paths may have changed.
void restore_options(MetricCommand& command, const Results& before, const fs::path& results) {
  std::vector<OptionField> fields = command.fields;
  for (OptionField& field : option_fields(command.compare)) fields.push_back(std::move(field));
  for (OptionField& field : option_fields(command.run)) {
    if (field.name == "seed") fields.push_back(std::move(field));
  }
  for (const auto& [name, value] : before.options.items()) {
    const auto field = std::ranges::find(fields, name, &OptionField::name);
    throw_if<FormatError>(field == fields.end(),
                          "'{}': options.{} is unknown to this build of {}; recompute the results",
                          results.string(), name, command.spec.name);
    if (name == "label" && value.is_array() && value.empty()) {
      Json labels = Json::array();
      for (const ResultsInput& input : before.inputs) labels.push_back(input.label);
      restore(*field, labels, results);
    } else {
      restore(*field, value, results);
    }
  }
}

void move_to_device(MetricCommand& command, const std::string& device) {
  const auto field = std::ranges::find(command.fields, "device", &OptionField::name);
  if (field != command.fields.end()) return field->assign({device});
  throw InvalidArgument(OptionName("device"),
                        "{} is computed on the CPU only, got '{}'; omit --device",
                        command.spec.name, device);
}

void check_hashes(const Results& before, const std::vector<ResultsInput>& now,
                  const fs::path& results) {
  throw_if<FormatError>(before.inputs.size() != now.size(),
                        "'{}': was computed from {} inputs, but its options name {}",
                        results.string(), before.inputs.size(), now.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before.inputs[i].sha256 == now[i].sha256) continue;
    throw InvalidArgument(
        "'{}': is not the file that '{}' was computed from: expected sha256 {}, got {}",
        now[i].path, results.string(), before.inputs[i].sha256, now[i].sha256);
  }
}

Results repeat(MetricCommand& command, const Results& before, const RerunOptions& options) {
  throw_if(before.provenance.contains("capture"),
           "'{}': was measured by lime-capture --measure, which stores no capture; run its command "
           "again: {}",
           options.results.string(), before.provenance.value("command", "unknown"));
  restore_options(command, before, options.results);
  if (options.device) move_to_device(command, *options.device);
  command.validate();
  Analysis analysis = command.prepare(command.run);
  analysis.compare = command.compare;
  print_warnings(analysis.warnings);
  analysis.hashed_inputs =
      hash_inputs(analysis.inputs, command.run.num_threads(), interrupt_token());
  check_hashes(before, analysis.hashed_inputs, options.results);
  ProgressLine progress({.label = command.spec.name,
                         .unit = progress_unit(command, analysis),
                         .quiet = options.quiet,
                         .log_interval = std::chrono::seconds(30)});
  return run_analysis(analysis, command.run, progress.callback(), interrupt_token()).results;
}

void print_difference(const ResultsDifference& difference, const fs::path& path,
                      std::size_t num_rows) {
  if (!difference.mismatch.empty()) {
    print_line(stdout, "{}: differs: {}", path.string(), difference.mismatch);
    return;
  }
  const std::int64_t different = difference.num_different();
  print_line(stdout, "{}: {}: {} rows, {} values, {}", path.string(),
             different == 0 ? "reproduced" : "differs", num_rows, difference.num_values(),
             different == 0 ? "no differences" : fmt::format("{} differ", different));
  for (const ColumnDifference& column : difference.columns) {
    if (column.largest == 0.0 && column.different == 0) continue;
    print_line(stdout, "  {}: {} of {} differ, largest difference {:.3g} at {}: {} before, {} now",
               column.column, column.different, column.values, column.largest, column.where,
               json_text(column.before), json_text(column.after));
  }
}

int run_rerun(const MetricCommands& commands, const RerunOptions& options, const RunOptions& run) {
  const Results before = read_results(options.results);
  const std::shared_ptr<MetricCommand> command = commands.find(before.metric);
  const Json command_line = before.provenance.value("command", Json(""));
  const std::string made_with = command_line.is_string() ? command_line.get<std::string>() : "";
  throw_if(!command && !made_with.empty() && made_with.find("lime-metrics") == made_with.npos,
           "'{}': contains results of another program ('{}'); rerun its command: {}",
           options.results.string(), before.metric, made_with);
  throw_if<FormatError>(!command, "'{}': unknown metric '{}' (supported: {})",
                        options.results.string(), before.metric, join_words(commands.names()));
  command->run.threads = run.threads;
  command->run.memory_limit = run.memory_limit;
  const Results after = repeat(*command, before, options);
  const Json tool = before.provenance.value("tool", Json());
  if (tool != after.provenance.at("tool")) {
    print_line(stdout, "originally computed by {}, now by {}", dump_json(tool),
               dump_json(after.provenance.at("tool")));
  }
  const ResultsDifference difference = compare_results(before, after, options.tolerance);
  print_difference(difference, options.results, before.rows.size());
  return difference.same() ? kExitDone : kExitFailed;
}

}  // namespace

void print_report(const OutputOptions& output, const Report& report) {
  const bool to_files = !output.output.empty();
  if (to_files && output.quiet) return;
  const ResultsFormat format =
      to_files ? ResultsFormat::kTable : output.format.value_or(ResultsFormat::kTable);
  fmt::print("{}", for_standard_output(format_report(report, format, style_of_output())));
}

void MetricCommands::add_to_line(std::shared_ptr<MetricCommand> command,
                                 std::vector<OptionField> inputs,
                                 const std::vector<OptionField>& fields) {
  const auto how = std::make_shared<HowToRun>();
  CommandLine& line = line_.add_command(command->spec.name, command->spec.description);
  for (const OptionField& field : inputs) line.add_positional_field(field);
  for (const OptionField& field : fields) line.add_field(field);
  line.add_check(command->validate);
  if (command->spec.has_samples) line.add_options(command->compare);
  line.add_options(command->run);
  for (OptionField& field : running_fields(*how)) line.add_field(std::move(field));
  line.add_options(how->output);
  line.set_examples(command->spec.examples);
  line.on_run([command, how] { return run_metric(*command, *how); });
  command->fields = std::move(inputs);
  command->fields.insert(command->fields.end(), fields.begin(), fields.end());
  commands_.push_back(std::move(command));
}

std::shared_ptr<MetricCommand> MetricCommands::find(std::string_view name) const {
  for (const auto& command : commands_) {
    if (command->spec.name == name) return command;
  }
  return nullptr;
}

std::vector<std::string> MetricCommands::names() const {
  std::vector<std::string> names;
  for (const auto& command : commands_) names.push_back(command->spec.name);
  return names;
}

void add_rerun_command(CommandLine& line, const MetricCommands& commands) {
  struct State {
    RerunOptions options;
    RunOptions run;
  };
  const auto state = std::make_shared<State>();
  CommandLine& rerun = line.add_command(
      "rerun",
      "Reruns a result from its stored provenance and reports whether it is reproduced.\n"
      "Reads options, seed and inputs from the results file, recomputes the results, and compares "
      "them value by value. Exit status 0 if all values agree, 1 otherwise.");
  rerun.add_positional("results", state->options.results, "results file (.json) to rerun");
  rerun.add_options(state->options);
  for (OptionField& field : option_fields(state->run)) {
    if (field.name != "seed") rerun.add_field(std::move(field));
  }
  rerun.add_check([state] { state->run.validate(); });
  rerun.set_examples(
      "lime-metrics rerun entropy.json\n"
      "lime-metrics rerun entropy.json --threads 1 --tolerance 1e-12");
  rerun.on_run([state, &commands] { return run_rerun(commands, state->options, state->run); });
}

}  // namespace lime
