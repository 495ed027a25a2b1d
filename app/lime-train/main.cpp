// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/files/atomic_file.h"
#include "core/options.h"
#include "core/program/command_help.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/program/progress.h"
#include "core/program/terminal.h"
#include "core/threads/threads.h"
#include "model/kernels/compute_type.h"
#include "train/processes/process_group.h"
#include "train/tasks/arithmetic_run.h"
#include "train/tasks/arithmetic_task.h"
#include "train/tasks/prosqa.h"
#include "train/tasks/prosqa_run.h"
#include "train/tasks/sequence_task.h"
#include "train/text/text_run.h"

namespace lime {
namespace {

enum class TrainingTask { kArithmeticExpressions, kText, kProsQa, kTextPairs };

constexpr auto names_of(TrainingTask) {
  using enum TrainingTask;
  return enum_table<TrainingTask>({{kArithmeticExpressions, "aet"},
                                   {kText, "lm"},
                                   {kProsQa, "prosqa"},
                                   {kTextPairs, "text-pairs"}});
}

enum class GeneratedTask { kArithmeticExpressions, kProsQa };

constexpr auto names_of(GeneratedTask) {
  using enum GeneratedTask;
  return enum_table<GeneratedTask>({{kArithmeticExpressions, "aet"}, {kProsQa, "prosqa"}});
}

/// Refuses options of the task `owner` if another task is trained.
template <DescribedOptions T>
void require_task(T options, TrainingTask owner, TrainingTask task,
                  const std::set<std::string>& given) {
  if (owner == task) return;
  for (const OptionField& field : option_fields(options)) {
    if (!given.contains(field.name)) continue;
    throw InvalidArgument(OptionName(field.name), "requires --task {}, got --task {}; omit it",
                          enum_name(owner), enum_name(task));
  }
}

/// Refuses a number of generated samples if a file provides the samples.
void require_drawn(const std::string& file_option, const std::filesystem::path& file,
                   const std::string& number_option, const std::set<std::string>& given) {
  if (file.empty() || !given.contains(number_option)) return;
  throw InvalidArgument(OptionName(number_option),
                        "must not be given with {}, whose samples are all used; omit it",
                        option_name(file_option));
}

struct TrainCommand {
  TrainingTask task = TrainingTask::kArithmeticExpressions;
  ArithmeticData arithmetic;
  TextData text;
  ProsQaData prosqa;
  TaskFiles files;
  TrainingSetup setup;
  int threads = 1;
  std::int64_t rendezvous_timeout = ProcessGroup::kRendezvousTimeout.count();
  bool quiet = false;
  std::set<std::string> given;

  void describe(OptionList& list) {
    list.add("task", task,
             "task to train on: aet, the arithmetic expressions of the LIMe paper; lm, language "
             "modelling on a text; prosqa, questions with a proof; text-pairs, answers to prompts");
    setup.run.describe(list);
    arithmetic.describe(list);
    text.describe(list);
    prosqa.describe(list);
    files.describe(list);
    setup.model.describe(list);
    list.add("from", setup.from,
             "checkpoint (folder or GGUF file) to start from instead of random weights: its model "
             "and, for prosqa, "
             "lm and text-pairs, its tokenizer; --decoder adds a routing to its blocks");
    setup.training.describe(list);
    setup.compute.describe(list);
    list.add("seed", setup.seed, "seed of the initial weights, the sampled data and their order");
    list.group("Program");
    list.add("threads", threads,
             "LibTorch threads, up to 1024; 0 uses all CPUs. Small models are fastest with 1");
    list.add("rendezvous_timeout", rendezvous_timeout,
             "seconds within which all processes must start, >= 1");
    list.add("quiet", quiet, "print neither progress nor a summary");
  }

  void validate() const {
    setup.validate();
    if (task == TrainingTask::kArithmeticExpressions) arithmetic.validate();
    if (task == TrainingTask::kProsQa) prosqa.validate();
    if (task == TrainingTask::kText) files.require_none();
    check_threads(threads);
    constexpr std::int64_t kLongestWait = std::numeric_limits<std::int32_t>::max();
    throw_if(rendezvous_timeout < 1 || rendezvous_timeout > kLongestWait,
             OptionName("rendezvous_timeout"), "must be from 1 to {}, got {}", kLongestWait,
             rendezvous_timeout);
    require_task(arithmetic, TrainingTask::kArithmeticExpressions, task, given);
    require_task(text, TrainingTask::kText, task, given);
    require_task(prosqa, TrainingTask::kProsQa, task, given);
    for (const char* const number : {"train_samples", "train_problems"}) {
      require_drawn("train_file", files.train_file, number, given);
    }
    for (const char* const number : {"test_samples", "test_problems"}) {
      require_drawn("test_file", files.test_file, number, given);
    }
    model_options().require_used(given);
  }

  /// Returns the options of the model to train, which a checkpoint of --from determines.
  /// @throws InvalidArgument  if an option asks for another model than the checkpoint's.
  ModelOptions model_options() const {
    if (setup.from.empty()) return setup.model;
    const ModelConfig config = Checkpoint::open(setup.from).config();
    const ModelOptions model = ModelOptions::of(setup.model.routed(config));
    const Json options_of_model = options_to_json(model);
    const Json here = options_to_json(setup.model);
    for (const auto& [name, value] : here.items()) {
      if (!given.contains(name) || value == options_of_model.at(name)) continue;
      throw InvalidArgument(OptionName(name),
                            "must be that of '{}', {}, got {}; omit it with --from",
                            setup.from.string(), options_of_model.at(name).dump(), value.dump());
    }
    return model;
  }
};

void print_summary(const TrainCommand& command, const TrainingOutcome& outcome) {
  const auto new_steps = outcome.steps - outcome.resumed_from;
  fmt::print("trained '{}': {} steps", escaped(command.setup.run.output.string()), outcome.steps);
  if (outcome.resumed_from > 0) fmt::print(" ({} in this run)", new_steps);
  fmt::print(" in {}", human_duration(outcome.seconds));
  if (outcome.validation_loss) {
    fmt::print(", held-out loss {:.4f}, perplexity {:.3f}", *outcome.validation_loss,
               std::exp(*outcome.validation_loss));
  }
  fmt::print("\n");
  if (command.task == TrainingTask::kArithmeticExpressions) {
    fmt::print("operands  accuracy  expressions\n");
    for (const Json& row : outcome.evaluation) {
      fmt::print("{:>8}  {:>7.1f}%  {:>11}\n", row["operands"].get<int>(),
                 100.0 * row["accuracy"].get<double>(), row["count"].get<std::int64_t>());
    }
  } else if (command.task == TrainingTask::kProsQa) {
    const Json& row = outcome.evaluation[0];
    fmt::print("correct answers: {:.1f}% of {} questions, with a correct proof: {:.1f}%\n",
               100.0 * row["accuracy"].get<double>(), row["count"].get<std::int64_t>(),
               100.0 * row["proven"].get<double>());
  }
}

/// Joins the processes that torchrun, srun or mpirun started; null if there are none. Each computes
/// `--batch-size` sequences per step and uses its own threads.
std::unique_ptr<ProcessGroup> join_processes(TrainCommand& command) {
  const std::optional<ProcessPlace> place = process_place();
  if (!place) return nullptr;
  std::string& device = command.setup.compute.device;
  if (device == "cuda") device = parse_device(device, place->local_rank).str();
  auto group = std::make_unique<ProcessGroup>(*place, parse_device(device), interrupt_token(),
                                              std::chrono::seconds(command.rendezvous_timeout));
  command.setup.group = group.get();
  command.setup.training.validate();
  command.setup.training.batch_size *= group->size();
  if (group->rank() > 0) command.quiet = true;
  return group;
}

/// Tokenises the text; the tokens are stored next to the output unless the options set a folder.
PreparedText prepare(const TrainCommand& command, TextData& data) {
  if (data.tokenizer.empty() && !data.vocab_size) data.tokenizer = command.setup.from;
  if (data.tokens.empty()) data.tokens = command.setup.run.output.string() + ".tokens";
  ProgressLine progress({.label = "tokenise", .unit = "bytes", .quiet = command.quiet});
  // The first of several processes writes the tokens, which the others then read.
  ProcessGroup* const group = command.setup.group;
  if (group != nullptr && group->rank() > 0) group->wait_for_all();
  PreparedText prepared = prepare_text(data, progress.callback(), interrupt_token());
  if (group != nullptr && group->rank() == 0) group->wait_for_all();
  progress.finish();
  return prepared;
}

TrainingOutcome train(const TrainCommand& command) {
  TextData data = command.text;
  PreparedText prepared;
  if (command.task == TrainingTask::kText) {
    prepared = prepare(command, data);
    const bool is_tuned = !command.setup.from.empty() && !command.quiet;
    const std::string warning = is_tuned ? packing_warning(prepared, data) : "";
    if (!warning.empty()) print_warnings(std::array{warning});
  }
  ProgressLine progress({.label = "train", .unit = "steps", .quiet = command.quiet});
  const auto run = [&] {
    switch (command.task) {
      case TrainingTask::kText:
        return train_on_text(prepared, data, command.setup, progress.callback(), interrupt_token());
      case TrainingTask::kProsQa:
        return train_on_prosqa(command.prosqa, command.setup, progress.callback(),
                               interrupt_token());
      case TrainingTask::kTextPairs:
        return train_on_pairs(command.files, command.setup, progress.callback(), interrupt_token());
      case TrainingTask::kArithmeticExpressions: break;
    }
    return train_on_arithmetic(command.arithmetic, command.setup, progress.callback(),
                               interrupt_token());
  };
  const TrainingOutcome outcome = run();
  progress.finish();
  return outcome;
}

int run_training_command(TrainCommand command) {
  command.arithmetic.files = command.prosqa.files = command.files;
  use_threads(command.threads);
  const std::unique_ptr<ProcessGroup> group = join_processes(command);
  if (group != nullptr && !command.quiet) {
    fmt::print("{} processes, batches of {} sequences in total\n", group->size(),
               command.setup.training.batch_size);
  }
  const bool goes_from = !command.setup.from.empty() && !command.quiet;
  if (goes_from) {
    print_warnings(Checkpoint::open(command.setup.from).warnings());
    command.setup.warn = [](const std::string& text) { print_warnings(std::array{text}); };
  }
  const TrainingOutcome outcome = train(command);
  if (!command.quiet) print_summary(command, outcome);
  return kExitDone;
}

void set_up_training(CommandLine& line) {
  const auto command = std::make_shared<TrainCommand>();
  std::vector<OptionField> fields = option_fields(*command);
  for (OptionField& field : fields) {
    field.assign = [command, name = field.name,
                    assign = std::move(field.assign)](const std::vector<std::string>& values) {
      assign(values);
      command->given.insert(name);
    };
    line.add_field(std::move(field));
  }
  line.add_check([command] { command->validate(); });
  line.set_examples(
      "lime-train --task aet --decoder llama --operands 4 -o llama-aet\n"
      "lime-train --task aet --decoder lime --router full --operands 4 -o lime-aet\n"
      "lime-train --task aet --decoder lime --operands 4 -o lime-aet --resume\n"
      "lime-train --task prosqa --train-file more.json --test-file prosqa_test.json -o prosqa\n"
      "lime-train --task text-pairs --from DIR --train-file train.jsonl --epochs 3 -o tuned\n"
      "lime-train --task lm --text books/*.txt --vocab-size 4096 --decoder lime -o lime-lm\n"
      "lime-train generate --task aet --count 200 -o expressions.txt");
  line.on_run([command] { return run_training_command(*command); });
}

enum class ExpressionForm { kSolution, kExpression };

constexpr auto names_of(ExpressionForm) {
  using enum ExpressionForm;
  return enum_table<ExpressionForm>({{kSolution, "solution"}, {kExpression, "expression"}});
}

/// Questions for files come from a random stream that no run with the same seed uses.
constexpr std::uint64_t kProsQaFileSeed = 0xd1b54a32d192ed03ULL;

struct GenerateCommand {
  GeneratedTask task = GeneratedTask::kArithmeticExpressions;
  ArithmeticTaskOptions arithmetic;
  std::int64_t count = 100;
  ExpressionForm form = ExpressionForm::kSolution;
  std::uint64_t seed = 0;
  std::filesystem::path output;

  void describe(OptionList& list) {
    list.add("task", task,
             "task to generate: aet, the arithmetic expressions of the LIMe paper; prosqa, "
             "questions with a proof, in the data set's JSON format");
    list.add("count", count,
             "number of questions, or of expressions, split evenly among the numbers of operands; "
             "1 to 1000000");
    list.add("form", form, "aet: the expression with its step-by-step solution, or alone");
    list.add("seed", seed, "random seed; no sample is used by a training run");
    list.add("output", output,
             "file, one expression or question per line; standard output if not given");
    arithmetic.describe(list);
  }

  void validate() const {
    arithmetic.validate();
    check_drawn_samples("count", count);
  }
};

/// `count` different held-out expressions, the numbers of operands in turn.
std::string expression_lines(const GenerateCommand& command, const ProgressFn& on_progress) {
  const ArithmeticGenerator generator(command.arithmetic, command.seed);
  const auto kinds = static_cast<std::int64_t>(command.arithmetic.operands.size());
  std::vector<std::vector<ArithmeticExpression>> drawn;
  for (std::int64_t kind = 0; kind < kinds; ++kind) {
    const std::int64_t count = (command.count - kind + kinds - 1) / kinds;
    drawn.push_back(
        generator.draw_distinct(command.arithmetic.operands[static_cast<std::size_t>(kind)],
                                TaskSplit::kTest, count, {}, on_progress, interrupt_token()));
  }
  std::string lines;
  for (std::int64_t i = 0; i < command.count; ++i) {
    const ArithmeticExpression& expression =
        drawn[static_cast<std::size_t>(i % kinds)][static_cast<std::size_t>(i / kinds)];
    lines += command.form == ExpressionForm::kSolution
                 ? expression.solution(command.arithmetic.modulus)
                 : expression.text();
    lines += '\n';
  }
  return lines;
}

int run_generate(const GenerateCommand& command) {
  ProgressLine progress({.label = "generate", .unit = "samples"});
  const std::string lines =
      command.task == GeneratedTask::kProsQa
          ? prosqa_file(
                ProsQaGenerator(command.seed ^ kProsQaFileSeed)
                    .draw_distinct(command.count, {}, progress.callback(), interrupt_token()))
          : expression_lines(command, progress.callback());
  progress.finish();
  if (command.output.empty()) {
    fmt::print("{}", lines);
  } else {
    write_file_atomically(command.output, lines);
  }
  return kExitDone;
}

void add_generate_command(CommandLine& line) {
  const auto command = std::make_shared<GenerateCommand>();
  CommandLine& generate =
      line.add_command("generate", "Writes samples of a task that no training run uses.");
  generate.add_options(*command);
  generate.set_examples(
      "lime-train generate --task aet --count 200 --seed 7 -o expressions.txt\n"
      "lime-train generate --task aet --operands 3,4,5 --form expression\n"
      "lime-train generate --task prosqa --count 500 --seed 7 -o questions.json");
  generate.on_run([command] { return run_generate(*command); });
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::CommandLine line("lime-train",
                         "Trains a decoder on a task and saves it as a Hugging Face folder.");
  lime::set_up_training(line);
  lime::add_generate_command(line);
  return lime::run_program(line, argc, argv);
}
