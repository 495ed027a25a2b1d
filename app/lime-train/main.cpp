// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "core/program/program.h"

int main(int argc, char** argv) {
  lime::CommandLine line("lime-train",
                         "Trains a decoder on a task and saves it as a Hugging Face folder.");
  lime::set_up_training(line);
  lime::add_generate_command(line);
  return lime::run_program(line, argc, argv);
}
