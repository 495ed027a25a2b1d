// SPDX-License-Identifier: Apache-2.0
#include "gauge_command.h"

#include <fmt/format.h>

#include <memory>

#include "checkpoint/tokenizer.h"
#include "core/files/atomic_file.h"
#include "core/files/input_file.h"
#include "core/program/program.h"
#include "core/program/terminal.h"
#include "core/threads/threads.h"
#include "model/gauge/gauge_checkpoint.h"
#include "model/kernels/compute_type.h"

namespace lime {
namespace {

struct GaugeCommand {
  std::filesystem::path checkpoint;
  GaugeRequest request;
  bool list = false;  ///< only report which transforms are exact
  std::filesystem::path output;
  std::filesystem::path text;
  std::int64_t proof_tokens = 64;
  int threads = 0;
  bool quiet = false;

  void describe(OptionList& options) {
    std::string meanings = "what changes";
    for (const Gauge* gauge : all_gauges()) {
      meanings += fmt::format("; {}: {}", gauge->name, gauge->description);
    }
    OptionField& transform = options.add("transform", request.transform, meanings);
    for (const Gauge* gauge : all_gauges()) transform.choices.emplace_back(gauge->name);
    options.add("strength", request.strength,
                fmt::format("size of the change, > 0 and at most {}; factors are exp(S z) with z "
                            "standard normal; default: 1",
                            kMaxGaugeStrength));
    options.add("seed", request.seed, "seed of the factors, rotations and permutations");
    options.add("list", list,
                "report which transforms are exact for the checkpoint and why others are not, as "
                "JSON with --output FILE.json, and write no checkpoint");
    options.add("output", output, "folder of the new checkpoint, which must not exist");
    options.group("Proof");
    options.add("text", text, "text whose first tokens are compared; default: random tokens");
    options.add(
        "proof_tokens", proof_tokens,
        "number of tokens whose logits are compared, >= 1 and at most the model's positions");
    options.group("Program");
    options.add("threads", threads, "number of threads; 0: all CPUs");
    options.add("quiet", quiet, "print errors only");
  }
  void validate() const {
    throw_if(list && !request.transform.empty(), OptionName("transform"),
             "is not applied with --list; omit one of them");
    if (!list) {
      throw_if(request.transform.empty(), OptionName("transform"), "is missing");
      request.validate();
      throw_if(output.empty(), OptionName("output"), "is missing");
    }
    check_option(proof_tokens >= 1, "proof_tokens", ">= 1", proof_tokens);
    check_threads(threads);
  }
};

/// Returns the first tokens of the text, or random ones.
std::vector<std::int32_t> ids_of(const GaugeCommand& command, const Checkpoint& checkpoint) {
  if (command.text.empty()) {
    return random_ids(checkpoint.config(), command.proof_tokens, command.request.seed);
  }
  const std::vector<std::int32_t> ids =
      load_tokenizer(checkpoint.path())
          ->encode(MappedFile(command.text).text(),
                   {.max_ids = static_cast<std::size_t>(command.proof_tokens)});
  throw_if(ids.empty(), OptionName("text"), "'{}' has no tokens", command.text.string());
  return ids;
}

/// Prints which transforms are exact, or writes it to a file.
int list_gauges(const GaugeCommand& command, const ModelConfig& config) {
  Json all = Json::array();
  for (const Gauge* gauge : all_gauges()) {
    const std::string reason = gauge->refusal(config);
    if (command.output.empty()) {
      fmt::print("{:<22}{}\n", gauge->name,
                 reason.empty() ? "exact" : fmt::format("not exact: {}", reason));
    }
    all.push_back({{"name", gauge->name},
                   {"description", gauge->description},
                   {"has_strength", gauge->has_strength},
                   {"reason", reason}});
  }
  if (!command.output.empty()) {
    write_file_atomically(command.output, dump_json(all, 1) + "\n");
    if (!command.quiet) fmt::print("Wrote     {}\n", escaped(command.output.string()));
  }
  return kExitDone;
}

int gauge(const GaugeCommand& command) {
  use_threads(command.threads);
  const Checkpoint checkpoint = Checkpoint::open(command.checkpoint);
  print_warnings(checkpoint.warnings());
  if (command.list) return list_gauges(command, checkpoint.config());
  const std::int64_t positions = checkpoint.config().max_position_embeddings;
  check_option(command.proof_tokens <= positions, "proof_tokens",
               fmt::format("at most the model's {} positions", positions), command.proof_tokens);
  const GaugeProof proof = write_gauged_checkpoint(checkpoint, command.request,
                                                   ids_of(command, checkpoint), command.output);
  if (command.quiet) return kExitDone;
  fmt::print(
      "Proof     logits of {} tokens in float64: largest {:.6g}, largest difference {:.2g}, "
      "relative {:.2g}\n",
      proof.num_tokens, proof.largest_logit, proof.difference, proof.relative_difference());
  fmt::print("Wrote     {}\n", escaped(command.output.string()));
  return kExitDone;
}

}  // namespace

void add_gauge_command(CommandLine& line) {
  const auto command = std::make_shared<GaugeCommand>();
  CommandLine& added = line.add_command(
      "gauge", "Writes a checkpoint with other weights that computes the same function.");
  added.add_positional("checkpoint", command->checkpoint, "checkpoint folder or GGUF file", true);
  added.add_options(*command);
  added.set_examples(
      "lime-capture gauge models/llama --transform residual-rotation --seed 1 -o rotated\n"
      "lime-capture gauge models/lime --transform route-scale --strength 0.5 -o scaled\n"
      "lime-capture gauge models/lime --list");
  added.on_run([command] { return gauge(*command); });
}

}  // namespace lime
