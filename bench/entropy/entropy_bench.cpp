// SPDX-License-Identifier: Apache-2.0

// Measures the entropy of a batch of standardised sequences; bench/entropy/compare_entropy.py
// compares it with numpy on the same rows.

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "core/errors.h"
#include "core/files/input_file.h"
#include "core/json.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/random.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/linalg/band_reduction.h"
#include "metrics/linalg/band_to_tridiagonal.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {
namespace {

struct BenchOptions {
  /// Rows as float32 [sequences, tokens, dim]; if empty, random rows.
  std::filesystem::path rows = {};
  std::int64_t sequences = 16;
  std::int64_t tokens = 2048;
  std::int64_t dim = 2048;
  double alpha = 0.5;
  int threads = 0;
  int repeats = 5;
  bool stages = false;
  /// A GPU to time alternately with the CPU; empty: CPU only.
  std::string device = {};
  std::int64_t batch = 0;

  void describe(OptionList& list) {
    list.add("rows", rows, "file of float32 [sequences, tokens, dim]; made up if not given");
    list.add("sequences", sequences, "sequences of the batch");
    list.add("tokens", tokens, "tokens of each sequence");
    list.add("dim", dim, "dimensions of a token");
    list.add("alpha", alpha, "order of the entropy");
    list.add("threads", threads, "threads; 0: all processors");
    list.add("repeats", repeats, "timed passes over the batch, of which the median is shown");
    list.add("stages", stages, "time the stages of one sequence on one thread instead");
    list.add("device", device, "cuda or cuda:N: time CPU and GPU in turns instead");
    list.add("batch", batch, "sequences that the GPU computes together; 0: as lime-metrics does");
  }
  void validate() const {
    if (sequences < 1 || tokens < 2 || dim < 1 || repeats < 1 || batch < 0) {
      throw InvalidArgument(
          "bench: sequences, dim and repeats must be > 0, batch >= 0, tokens > 1");
    }
  }
};

std::vector<MatrixF> load_rows(const BenchOptions& options, ThreadPool& pool) {
  std::vector<MatrixF> sequences(static_cast<std::size_t>(options.sequences));
  for (MatrixF& rows : sequences) rows.resize(options.tokens, options.dim);
  if (options.rows.empty()) {
    pool.parallel_for(options.sequences, [&](std::int64_t index) {
      Random random(static_cast<std::uint64_t>(index) + 1);
      MatrixF& rows = sequences[static_cast<std::size_t>(index)];
      for (Eigen::Index i = 0; i < rows.size(); ++i) {
        rows.data()[i] = static_cast<float>(random.normal());
      }
    });
    return sequences;
  }
  const MappedFile file(options.rows);
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(sequences[0].size());
  if (file.size() != bytes * sequences.size()) {
    throw FormatError("'{}': must hold {} bytes, got {}", options.rows.string(),
                      bytes * sequences.size(), file.size());
  }
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    std::memcpy(sequences[i].data(), file.bytes().data() + i * bytes, bytes);
  }
  return sequences;
}

Standardization standardization_of(const std::vector<MatrixF>& sequences) {
  const Eigen::Index tokens = sequences[0].rows();
  MatrixF all(tokens * static_cast<Eigen::Index>(sequences.size()), sequences[0].cols());
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    all.middleRows(static_cast<Eigen::Index>(i) * tokens, tokens) = sequences[i];
  }
  RunningStatistics statistics;
  statistics.add(all);
  return make_standardization(statistics);
}

/// Prints one line of JSON: seconds per sequence (median over the passes) and the values.
int run_batch(const BenchOptions& options) {
  ThreadPool pool(options.threads);
  const std::vector<MatrixF> sequences = load_rows(options, pool);
  const Standardization standardization = standardization_of(sequences);
  const EntropyOptions entropy{.alpha = {options.alpha}};
  // The first passes warm up the memory; timed ones correspond to the second layer of a capture.
  const auto read = [&](std::int64_t index, MatrixF& rows) {
    rows = sequences[static_cast<std::size_t>(index)];
  };
  const SequenceSource all{options.sequences, read};
  const std::int64_t warm_up = std::min<std::int64_t>(options.sequences, pool.num_threads());
  sequence_entropies({warm_up, read}, standardization, entropy, pool);
  std::vector<double> seconds;
  SequenceEntropies result;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    const double taken =
        seconds_of([&] { result = sequence_entropies(all, standardization, entropy, pool); });
    seconds.push_back(taken / static_cast<double>(options.sequences));
  }
  Json line = Json::object();
  line["seconds_per_sequence"] = median(seconds);
  line["fastest"] = *std::min_element(seconds.begin(), seconds.end());
  line["threads"] = pool.num_threads();
  line["values"] = result.of_order(0);
  fmt::print("{}\n", line.dump());
  return kExitDone;
}

/// Returns the seconds per sequence by part. `host` is the rest of the pass: reading and copying
/// that no computation on the GPU hides, and the entropies of the spectra.
Json parts_of(const GpuSeconds& seconds, double pass_seconds, std::int64_t sequences) {
  const auto count = static_cast<double>(sequences);
  Json parts = Json::object();
  parts["upload_of_all_threads"] = seconds.upload / count;
  parts["gram"] = seconds.gram / count;
  parts["eigenvalues"] = seconds.eigenvalues / count;
  parts["host"] = (pass_seconds - seconds.gram - seconds.eigenvalues) / count;
  return parts;
}

/// Prints one line of JSON: seconds per sequence of CPU and GPU (medians over alternating passes),
/// the parts of the GPU's last pass, the speed-up of the GPU, and the largest difference of the
/// values.
int run_devices(const BenchOptions& options) {
  ThreadPool pool(options.threads);
  const std::vector<MatrixF> sequences = load_rows(options, pool);
  const SequenceSource source{options.sequences, [&](std::int64_t index, MatrixF& rows) {
                                rows = sequences[static_cast<std::size_t>(index)];
                              }};
  const Standardization standardization = standardization_of(sequences);
  const EntropyOptions entropy{.alpha = {options.alpha}};
  const Gpu gpu(DeviceName::parse(options.device));
  SequenceEntropies of_cpu, of_gpu;
  const std::int64_t batch =
      options.batch > 0 ? options.batch : gpu_batch_size(options.tokens, options.dim);
  std::vector<double> cpu_seconds, gpu_seconds;
  Json parts;
  for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {
    const double cpu =
        seconds_of([&] { of_cpu = sequence_entropies(source, standardization, entropy, pool); });
    const double on_device = seconds_of(
        [&] { of_gpu = gpu_entropies(gpu, source, standardization, entropy, batch, pool); });
    parts = parts_of(gpu.take_seconds(), on_device, options.sequences);
    if (repeat == 0) continue;  // warms up memory and CUDA's kernels
    cpu_seconds.push_back(cpu / static_cast<double>(options.sequences));
    gpu_seconds.push_back(on_device / static_cast<double>(options.sequences));
  }
  Json line = Json::object();
  line["device"] = gpu.name();
  line["batch"] = batch;
  line["threads"] = pool.num_threads();
  line["cpu_seconds_per_sequence"] = median(cpu_seconds);
  line["gpu_seconds_per_sequence"] = median(gpu_seconds);
  line["gpu_parts"] = parts;
  line["times_as_fast"] = median(cpu_seconds) / median(gpu_seconds);
  line["largest_difference"] = (of_cpu.values - of_gpu.values).cwiseAbs().maxCoeff();
  fmt::print("{}\n", line.dump());
  return kExitDone;
}

/// Prints the stages of one sequence, each as the median over the passes.
int run_stages(const BenchOptions& options) {
  ThreadPool pool(options.threads);
  const std::vector<MatrixF> sequences = load_rows(options, pool);
  const Standardization standardization = standardization_of(sequences);
  const VectorD scale = standardization.divisor.cwiseInverse();
  const linalg::AffineRows<float> rows{.x = sequences[0].data(),
                                       .num_rows = options.tokens,
                                       .num_cols = options.dim,
                                       .row_stride = options.dim,
                                       .shift = standardization.mean.data(),
                                       .column_scale = scale.data()};
  linalg::GramBuilder builder;
  linalg::SymmetricPanels gram;
  linalg::BandReduction to_band;
  linalg::BandToTridiagonal to_tridiagonal;
  linalg::TridiagonalEigenvalues to_eigenvalues;
  linalg::Tridiagonal reduced;
  reduced.diagonal.resize(static_cast<std::size_t>(std::min(options.tokens, options.dim)));
  reduced.subdiagonal.resize(reduced.diagonal.size());
  linalg::Tridiagonal* const one[] = {&reduced};
  std::vector<std::vector<double>> seconds(4);
  for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {
    const double taken[] = {seconds_of([&] { builder.smaller_gram(rows, gram); }),
                            seconds_of([&] { to_band.reduce(gram); }), seconds_of([&] {
                              to_tridiagonal.reduce(gram, reduced.diagonal, reduced.subdiagonal);
                            }),
                            seconds_of([&] { to_eigenvalues.compute(one); })};
    for (std::size_t i = 0; repeat > 0 && i < 4; ++i) seconds[i].push_back(taken[i]);
  }
  fmt::print("gram {:.4f} s, to band {:.4f} s, to tridiagonal {:.4f} s, eigenvalues {:.4f} s\n",
             median(seconds[0]), median(seconds[1]), median(seconds[2]), median(seconds[3]));
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::BenchOptions options;
  lime::CommandLine line("lime-bench-entropy", "Times the entropy of a batch of sequences.");
  line.add_options(options);
  line.set_examples(
      "lime-bench-entropy --tokens 2048 --dim 512 --threads 4\n"
      "lime-bench-entropy --stages\n"
      "lime-bench-entropy --sequences 64 --device cuda");
  line.on_run([&] {
    if (!options.device.empty()) return run_devices(options);
    return options.stages ? run_stages(options) : run_batch(options);
  });
  return lime::run_program(line, argc, argv);
}
