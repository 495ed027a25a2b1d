// SPDX-License-Identifier: Apache-2.0
// Times t-SNE; bench/tsne/compare_tsne.py compares it with other implementations.
//
//   lime-bench-tsne embed rows.h5 embedding.h5 [--threads N] [--seed N] [--start other.h5]
//     [options of lime-metrics]
//   lime-bench-tsne repulsion [--threads N]    one evaluation of each kind, by number of points
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/errors.h"
#include "core/json.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/random.h"
#include "metrics/tsne/initialization.h"
#include "metrics/tsne/repulsion.h"
#include "metrics/tsne/tsne.h"
#include "store/hdf5/hdf5_file.h"
#include "store/hdf5/hdf5_writer.h"

namespace lime {
namespace {

struct EmbedOptions {
  std::filesystem::path rows = {};
  std::filesystem::path embedding = {};
  std::filesystem::path start = {};  ///< empty: tsne.init
  int threads = available_threads();
  TsneOptions tsne;

  void describe(OptionList& list) {
    list.add("threads", threads, "threads; default: all");
    list.add("seed", tsne.seed, "of the start");
    list.add("start", start, "HDF5 file with the /embedding to start from, as --align does");
    tsne.describe(list);
  }
};

struct RepulsionBenchOptions {
  int threads = available_threads();
  int repeats = 15;  ///< evaluations; prints their median

  void describe(OptionList& list) {
    list.add("threads", threads, "threads; default: all");
    list.add("repeats", repeats, "timed evaluations, of which the median is printed");
  }
  void validate() const {
    if (repeats < 1) throw InvalidArgument("repeats: must be > 0, got {}", repeats);
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns the start with the orientation of an embedding in a file, or none.
std::optional<MatrixD> start_from(const std::filesystem::path& path) {
  if (path.empty()) return std::nullopt;
  const Hdf5File file(path);
  const std::vector<double> values = file.read<double>("embedding");
  return rescaled_initialization(
      Eigen::Map<const MatrixD>(values.data(), std::ssize(values) / 2, 2));
}

int embed(const EmbedOptions& options) {
  const MatrixF points = Hdf5File(options.rows).read_matrix("rows");
  const std::optional<MatrixD> first = start_from(options.start);
  const auto start = std::chrono::steady_clock::now();
  ThreadPool pool(options.threads);
  const TsneResult result = tsne(points, options.tsne, pool, first);
  Json line = {{"total", seconds_since(start)},
               {"neighbors", result.neighbors_seconds},
               {"affinities", result.affinities_seconds},
               {"optimization", result.optimization_seconds},
               {"kl", result.kl_divergence},
               {"recall", result.recall},
               {"repulsion", enum_name(result.repulsion)},
               {"iterations", result.iterations}};
  Hdf5Writer file(options.embedding);
  file.write_matrix("embedding", ConstMatrixRefD(result.embedding));
  file.commit();
  fmt::print("{}\n", line.dump());
  return kExitDone;
}

/// Creates an embedding with a typical final density: about one point per 6 units of area.
MatrixD final_embedding(Eigen::Index count) {
  Random random(1);
  MatrixD embedding(count, 2);
  const double radius = 1.2 * std::sqrt(static_cast<double>(count));
  for (Eigen::Index i = 0; i < embedding.size(); ++i) {
    embedding.data()[i] = random.uniform(-radius, radius);
  }
  return embedding;
}

double median_seconds(tsne_detail::Repulsion& repulsion, const MatrixD& embedding, int repeats) {
  MatrixD force;
  repulsion.compute(embedding, force);
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    repulsion.compute(embedding, force);
    seconds.push_back(seconds_since(start));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

int time_repulsions(const RepulsionBenchOptions& options) {
  ThreadPool pool(options.threads, ThreadPool::Wait::kSpin);
  fmt::print("milliseconds per evaluation, median of {}\n{:>8} {:>10} {:>10}\n", options.repeats,
             "points", "exact", "barnes-hut");
  for (const Eigen::Index count : {500, 1000, 2000, 4000, 6672, 10000, 20000, 60000}) {
    const MatrixD embedding = final_embedding(count);
    fmt::print("{:>8}", count);
    for (const TsneRepulsion kind : {TsneRepulsion::kExact, TsneRepulsion::kBarnesHut}) {
      TsneOptions of_kind;
      of_kind.repulsion = kind;
      const auto repulsion = tsne_detail::make_repulsion(of_kind, count, pool);
      fmt::print(" {:>10.3f}", 1e3 * median_seconds(*repulsion, embedding, options.repeats));
    }
    fmt::print("\n");
  }
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::CommandLine line("lime-bench-tsne", "Times t-SNE and its parts.");
  lime::EmbedOptions embed_options;
  lime::CommandLine& embed = line.add_command("embed", "Embeds the rows of an HDF5 file.");
  embed.add_options(embed_options);
  embed.add_positional("rows", embed_options.rows, "HDF5 file with /rows", true);
  embed.add_positional("embedding", embed_options.embedding, "file to write", true);
  embed.on_run([&] { return lime::embed(embed_options); });
  lime::RepulsionBenchOptions repulsion_options;
  lime::CommandLine& repulsion =
      line.add_command("repulsion", "Times one evaluation of each kind of repulsion.");
  repulsion.add_options(repulsion_options);
  repulsion.on_run([&] { return lime::time_repulsions(repulsion_options); });
  return lime::run_program(line, argc, argv);
}
