// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "core/program/program.h"
#include "rerun_command.h"

int main(int argc, char** argv) {
  lime::CommandLine line(
      "lime-metrics", "Computes metrics with confidence intervals from captures of lime-capture.");
  lime::MetricCommands commands(line);
  lime::add_entropy_command(commands);
  lime::add_separability_command(commands);
  lime::add_blimp_command(commands);
  lime::add_tsne_command(commands);
  lime::add_geometry_command(commands);
  lime::add_similarity_command(commands);
  lime::add_tokens_command(commands);
  lime::add_attention_command(commands);
  lime::add_router_command(commands);
  lime::add_counterfactual_command(commands);
  lime::add_cost_command(commands);
  lime::add_rerun_command(line, commands);
  line.set_examples(
      "lime-metrics entropy --layer all\n"
      "lime-metrics entropy llama.h5 lime.h5 --compare first -o entropy.json\n"
      "lime-metrics rerun entropy.json");
  return lime::run_program(line, argc, argv);
}
