// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/layer_selection.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/threads/threads.h"
#include "evaluation/evaluation.h"

namespace lime {
namespace {

struct EvalCommand {
  std::filesystem::path checkpoint;
  TaskOptions tasks;
  EvaluationOptions evaluation;
  std::optional<LayerSelection> layers;
  std::filesystem::path output = "samples.jsonl";
  bool resume = false;
  std::string device = "auto";
  ComputeType dtype = ComputeType::kFloat32;
  int threads = 0;
  bool quiet = false;

  void describe(OptionList& list) {
    list.add("checkpoint", checkpoint, "checkpoint: Hugging Face folder or GGUF file");
    tasks.describe(list);
    list.group("Evaluation");
    list.add("max_length", evaluation.max_length,
             "positions of the model; longer contexts lose their start; default: "
             "max_position_embeddings");
    list.add(
        "layers", layers,
        "also score the choices from the output of these layers (logit lens): all, or 0,3,8-15");
    list.add("probes", evaluation.probes,
             "with --layers, also fit a linear probe per layer: is a choice correct, given the "
             "layer's output at its last token?");
    list.add("max_new_tokens", evaluation.max_new_tokens,
             "maximum number of tokens of a generated answer");
    list.add("batch_size", evaluation.batch_size, "answers generated at once");
    list.group("Program");
    list.add("output", output, "file of the samples, one line per item");
    list.add("resume", resume, "resume an interrupted run with the same output");
    list.add("device", device,
             "auto, cpu, cuda, cuda:N, or several that split the layers: cuda:0,cuda:1");
    list.add("dtype", dtype, "data type of the computation");
    list.add("threads", threads, "LibTorch threads, up to 1024; 0 uses all CPUs");
    list.add("quiet", quiet, "hide progress");
  }

  void validate() const {
    if (checkpoint.empty()) throw InvalidArgument(OptionName("checkpoint"), "must be given");
    tasks.validate();
    const auto positive = [](const char* name, std::int64_t value) {
      if (value < 1) throw InvalidArgument(OptionName(name), "must be >= 1, got {}", value);
    };
    positive("max_length", evaluation.max_length.value_or(1));
    positive("max_new_tokens", evaluation.max_new_tokens);
    positive("batch_size", evaluation.batch_size);
    throw_if(evaluation.probes && !layers, OptionName("probes"),
             "need the outputs of layers; add --layers all");
    check_threads(threads);
  }
};

/// Prints the scores of a task, and how fast it was.
void print_result(const EvalTask& task, const EvaluatedTask& result) {
  const bool is_text = task.answer == Answer::kText;
  std::string line =
      fmt::format("{}: {} {:.4f}", result.name, is_text ? "strict-match" : "acc", result.accuracy);
  if (result.normalised_accuracy) {
    line += fmt::format(", {} {:.4f}", is_text ? "flexible-extract" : "acc_norm",
                        *result.normalised_accuracy);
  }
  const double seconds = std::max(result.seconds, 1e-9);
  line += fmt::format(" ({} items, {:.1f} items/s, {:.0f} tokens/s{})", result.items,
                      static_cast<double>(result.computed_items) / seconds,
                      static_cast<double>(result.tokens) / seconds, is_text ? " generated" : "");
  fmt::print("{}\n", line);
  if (result.largest_difference) {
    fmt::print(
        "{}: log-likelihoods differ from the samples file by at most {:.2g}; {} answers "
        "differ\n",
        result.name, *result.largest_difference, result.other_answers);
  }
}

/// Reads the chat template of the checkpoint if the prompts are written with it.
void read_chat_template(EvalCommand& command) {
  if (!command.tasks.chat) return;
  const auto chat = std::make_shared<const ChatTemplate>(ChatTemplate::read(command.checkpoint));
  if (chat->uses_date()) {
    print_warnings(std::array{std::string(
        "the chat template writes today's date, so prompts have other tokens tomorrow")});
  }
  command.tasks.items.prompts.chat = chat;
}

int run_eval(EvalCommand command) {
  use_threads(command.threads);
  read_chat_template(command);
  const std::vector<EvalTask> tasks = read_tasks(command.tasks);
  for (const EvalTask& task : tasks) print_warnings(task.warnings);
  const Checkpoint checkpoint = Checkpoint::open(command.checkpoint);
  print_warnings(checkpoint.warnings());
  const auto tokenizer = load_tokenizer(command.checkpoint);
  EvaluationOptions& options = command.evaluation;
  options.stop_tokens = stop_token_ids(checkpoint);
  if (command.layers) {
    std::vector<int> all(static_cast<std::size_t>(checkpoint.config().num_hidden_layers));
    std::iota(all.begin(), all.end(), 0);
    options.layers = command.layers->choose_from(all, OptionName("layers"));
  }
  ResumableLines out(command.output, command.resume);
  ProgressLine loading({.label = "load", .unit = "bytes", .quiet = command.quiet});
  const Decoder decoder =
      load_decoder(checkpoint, {.devices = parse_devices(command.device), .dtype = command.dtype},
                   loading.callback());
  loading.finish();
  const std::int64_t max_length =
      options.max_length.value_or(checkpoint.config().max_position_embeddings);
  options.provenance = {{"model", checkpoint_label(command.checkpoint)},
                        {"tokenizer_sha256", tokenizer->sha256()},
                        {"settings",
                         {{"tool", tool_version()},
                          {"checkpoint_sha256", checkpoint.sha256()},
                          {"dtype", enum_name(command.dtype)},
                          {"max_length", max_length},
                          {"max_new_tokens", options.max_new_tokens},
                          {"batch_size", options.batch_size},
                          {"layers", options.layers},
                          {"probes", options.probes}}}};
  if (command.tasks.chat) {
    options.provenance["settings"]["chat"] = true;
    options.provenance["settings"]["fewshot_as_multiturn"] =
        command.tasks.items.prompts.fewshot_as_multiturn.value_or(true);
  }
  for (const EvalTask& task : tasks) {
    ProgressLine progress({.label = task.name, .unit = "items", .quiet = command.quiet});
    EvaluatedTask result;
    try {
      result =
          evaluate(task, decoder, *tokenizer, options, out, progress.callback(), interrupt_token());
    } catch (const Interrupted&) {
      throw Interrupted("interrupted; finished items are stored in '{}', resume with --resume",
                        out.part().string());
    }
    progress.finish();
    if (result.cut_items > 0) {
      print_warnings(std::array{fmt::format(
          "{}: {} of {} items have a context longer than the model's {} tokens; its start was "
          "removed, as the harness does",
          task.name, result.cut_items, result.items, max_length)});
    }
    print_result(task, result);
    flush_output();
  }
  out.commit();
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::CommandLine line("lime-eval",
                         "Evaluates a checkpoint on benchmarks with the prompts of "
                         "lm-evaluation-harness.");
  lime::EvalCommand command;
  line.add_options(command);
  line.set_examples(
      "lime-eval --checkpoint DIR --tasks arc_easy --data ARC-Easy-Test.jsonl --fewshot-data "
      "ARC-Easy-Train.jsonl --shots 3 -o arc.jsonl\n"
      "lime-eval --checkpoint DIR --tasks arc_easy copa multirc --data benchmarks -o "
      "samples.jsonl\n"
      "lime-eval --checkpoint DIR --tasks hellaswag gsm8k --data benchmarks --shots 3 --chat "
      "--system-instruction 'Answer briefly.'\n"
      "lime-eval --checkpoint DIR --samples samples_arc_easy_2026-11-23.jsonl --layers all");
  line.on_run([&] { return lime::run_eval(command); });
  return lime::run_program(line, argc, argv);
}
