// SPDX-License-Identifier: Apache-2.0

// Measures five folds of a linear probe; bench/probes/compare_probes.py compares it with
// scikit-learn on the same rows.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/files/input_file.h"
#include "core/json.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/threads/thread_pool.h"
#include "metrics/probes/probe.h"

namespace lime {
namespace {

struct BenchOptions {
  std::filesystem::path rows = {};     ///< float32 [num_rows, dim]
  std::filesystem::path classes = {};  ///< int32 [num_rows]
  std::int64_t dim = 2048;
  int num_classes = 4;
  bool paired = false;  ///< rows 2 i and 2 i + 1 stay in one fold
  double tolerance = LogisticOptions().tolerance;
  FeatureScaling scaling = FeatureScaling::kStandardize;
  int threads = 0;
  int repeats = 1;

  void describe(OptionList& list) {
    list.add("rows", rows, "file of float32 [num_rows, dim]");
    list.add("classes", classes, "file of int32 [num_rows]");
    list.add("dim", dim, "columns");
    list.add("num_classes", num_classes, "classes");
    list.add("paired", paired, "keep pairs of rows in one fold");
    list.add("tolerance", tolerance, "largest element of the gradient");
    list.add("scaling", scaling, "what is done to features first");
    list.add("threads", threads, "threads; 0: all processors");
    list.add("repeats", repeats, "timed passes, of which the median is shown");
  }
  void validate() const {
    if (dim < 1 || num_classes < 2 || repeats < 1) {
      throw InvalidArgument("bench: dim and repeats must be > 0 and num_classes > 1");
    }
  }
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename T> std::vector<T> load(const std::filesystem::path& path) {
  const MappedFile file(path);
  std::vector<T> values(file.size() / sizeof(T));
  std::memcpy(values.data(), file.bytes().data(), values.size() * sizeof(T));
  return values;
}

/// Prints one line of JSON: seconds for all folds, and each fold's accuracy, objective and
/// gradient.
int run(const BenchOptions& options) {
  const std::vector<float> values = load<float>(options.rows);
  const std::vector<int> classes = load<int>(options.classes);
  const auto num_rows = static_cast<Eigen::Index>(classes.size());
  const MatrixF rows = Eigen::Map<const MatrixF>(values.data(), num_rows, options.dim);
  std::vector<int> pairs;
  for (int i = 0; options.paired && i < num_rows; ++i) pairs.push_back(i / 2);
  const Folds folds =
      make_folds(classes, pairs,
                 {.kind = options.paired ? FoldKind::kGrouped : FoldKind::kShuffled, .seed = 42});
  ProbeOptions probe;
  probe.fit.tolerance = options.tolerance;
  probe.fit.scaling = options.scaling;
  ThreadPool pool(options.threads);
  std::vector<double> seconds;
  ProbeResult result;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    const double start = now();
    result = cross_validate({rows, classes, options.num_classes}, folds, probe, pool);
    seconds.push_back(now() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  Json line = Json::object();
  line["seconds"] = seconds[seconds.size() / 2];
  for (const ProbeFold& fold : result.folds) {
    line["accuracy"].push_back(fold.accuracy);
    line["objective"].push_back(fold.objective);
    line["gradient_norm"].push_back(fold.gradient_norm);
    line["iterations"].push_back(fold.iterations);
  }
  fmt::print("{}\n", line.dump());
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::BenchOptions options;
  lime::CommandLine line("lime-bench-probes", "Times five folds of a linear probe.");
  line.add_options(options);
  line.set_examples("lime-bench-probes --rows rows.f32 --classes classes.i32 --threads 4");
  line.on_run([&] { return lime::run(options); });
  return lime::run_program(line, argc, argv);
}
