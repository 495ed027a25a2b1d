// SPDX-License-Identifier: Apache-2.0

// Prints the table of kernels in docs/benchmarks.md: the CPU time of each on one thread, and that
// of the library routine which computes the same.

#include <ATen/Parallel.h>

#include <string>

#include "bench/kernels/comparison.h"
#include "core/errors.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/threads/threads.h"

namespace lime {
namespace {

struct BenchOptions {
  std::string only = {};
  TurnOptions turns;

  void describe(OptionList& list) {
    list.add("only", only, "compare only kernels whose name and shape contain this text");
    list.add("turns", turns.turns, "turns of which the median is shown");
    list.add("min_seconds", turns.min_seconds, "CPU time per turn that is repeated up to");
  }
  void validate() const {
    throw_if(turns.turns < 1 || !(turns.min_seconds > 0.0),
             "bench: turns and min_seconds must be > 0");
  }
};

int run(const BenchOptions& options) {
  set_library_threads(1);
  at::set_num_threads(1);
  print_comparison_header();
  for (const auto& comparisons : {compare_metric_kernels, compare_model_kernels}) {
    for (const Comparison& comparison : comparisons()) {
      const std::string title = comparison.kernel + " " + comparison.shape;
      if (title.find(options.only) == std::string::npos) continue;
      print_comparison(comparison, options.turns);
    }
  }
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::BenchOptions options;
  lime::CommandLine line("lime-bench-kernels",
                         "Compares the kernels with BLAS, LAPACK and FAISS on one thread.");
  line.add_options(options);
  line.set_examples("OPENBLAS_CORETYPE=Cooperlake lime-bench-kernels --only eigenvalues");
  line.on_run([&] { return lime::run(options); });
  return lime::run_program(line, argc, argv);
}
