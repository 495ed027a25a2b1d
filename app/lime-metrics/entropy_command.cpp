// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "analysis/entropy_analysis.h"
#include "commands.h"
#include "run_report.h"

namespace lime {
namespace {

struct EntropyCommand {
  EntropyAnalysisOptions analysis;
  RunOptions run;
  OutputOptions output;
};

int run_entropy(const EntropyCommand& command) {
  return run_report({.output = command.output,
                     .inputs = command.analysis.captures.captures,
                     .progress_label = "entropy",
                     .progress_unit = "sequences",
                     .analyze = [&](const ProgressFn& on_progress, const std::stop_token& stop) {
                       return analyze_entropy(command.analysis, command.run, on_progress, stop);
                     }});
}

}  // namespace

void add_entropy_command(CommandLine& line) {
  const auto command = std::make_shared<EntropyCommand>();
  CommandLine& entropy = line.add_command(
      "entropy",
      "Matrix-based Renyi entropy of the representations, layer by layer.\n"
      "Near 0 all tokens of a sequence lie on one line (representation collapse); at the ceiling, "
      "ln min(tokens, dim), they spread evenly over all dimensions.");
  entropy.add_positional("captures", command->analysis.captures.captures,
                         "captures to compare side by side");
  entropy.add_options(command->analysis);
  entropy.add_options(command->run);
  entropy.add_options(command->output);
  entropy.set_examples(
      "lime-metrics entropy --layer all\n"
      "lime-metrics entropy llama.h5 lime.h5 --label LLaMA LIMe --site values,hidden\n"
      "lime-metrics entropy --layer 0,3,8-15 --alpha 0.5,1,2,inf --format csv\n"
      "lime-metrics entropy llama.h5 lime.h5 -o entropy.json -o entropy.csv -o entropy.tex\n"
      "lime-metrics entropy untrained.h5 trained.h5 --preset diff-erank");
  entropy.on_run([command] { return run_entropy(*command); });
}

}  // namespace lime
