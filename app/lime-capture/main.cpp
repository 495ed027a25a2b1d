// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "core/program/program.h"

int main(int argc, char** argv) {
  lime::CommandLine line(
      "lime-capture",
      "Runs a checkpoint on text and stores the activations of every layer in an HDF5 file.");
  lime::set_up_capture(line);
  lime::add_file_commands(line);
  line.set_stray_remedy("pass text with --text");
  line.set_examples(
      "lime-capture --checkpoint models/llama --text book.txt -o llama.h5\n"
      "lime-capture --checkpoint models/lime --text a.txt b.txt --sites values,routed_values "
      "--layers 0,8-15 --seq-len 1024\n"
      "lime-capture --checkpoint models/llama --text book.txt --only ' is, are, was, were' -o "
      "separability.h5\n"
      "lime-capture --checkpoint models/aet --lines expressions.txt -o aet.h5\n"
      "lime-capture --checkpoint models/llama --pairs blimp/*.jsonl --rows mean -o blimp.h5\n"
      "lime-capture --checkpoint models/llama --pairs blimp/*.jsonl --log-likelihood -o "
      "scored.h5\n"
      "lime-capture --checkpoint models/llama --tokens ids.npy --store float16 --resume\n"
      "lime-capture info capture.h5");
  return lime::run_program(line, argc, argv);
}
