// SPDX-License-Identifier: Apache-2.0
// Times t-SNE of the rows of an HDF5 file; bench/tsne/compare_tsne.py runs it beside its peers.
//
//   lime-bench-tsne rows.h5 embedding.h5 [THREADS [auto|exact|barnes-hut|grid [ITERATIONS
//   [THETA]]]] lime-bench-tsne --repulsion [THREADS]      one evaluation of each kind, by number of
//   points
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/random.h"
#include "metrics/tsne/repulsion.h"
#include "metrics/tsne/tsne.h"
#include "store/hdf5_file.h"

namespace {

using lime::MatrixD;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(const std::string& input, const std::string& output, const lime::TsneOptions& options,
         int threads) {
  const lime::MatrixF points = lime::Hdf5File(input).read_matrix("rows");
  const auto start = std::chrono::steady_clock::now();
  lime::ThreadPool pool(threads);
  const lime::TsneResult result = lime::tsne(points, options, pool);
  const double total = seconds_since(start);
  lime::Hdf5Writer file(output);
  file.write_matrix("embedding", lime::ConstMatrixRefD(result.embedding));
  file.commit();
  fmt::print(
      "{{\"total\": {:.4f}, \"neighbors\": {:.4f}, \"affinities\": {:.4f}, \"optimization\": "
      "{:.4f}, \"kl\": {:.6f}, \"recall\": {:.4f}, \"repulsion\": \"{}\", \"iterations\": {}}}\n",
      total, result.neighbors_seconds, result.affinities_seconds, result.optimization_seconds,
      result.kl_divergence, result.recall, lime::enum_name(result.repulsion), result.iterations);
}

/// An embedding as they look in the end: about one point per unit of area.
MatrixD final_embedding(Eigen::Index count) {
  lime::Random random(1);
  MatrixD embedding(count, 2);
  const double radius = 1.2 * std::sqrt(static_cast<double>(count));
  for (Eigen::Index i = 0; i < embedding.size(); ++i) {
    embedding.data()[i] = random.uniform(-radius, radius);
  }
  return embedding;
}

void time_repulsions(int threads) {
  fmt::print("milliseconds per evaluation\n{:>8} {:>10} {:>10} {:>10}\n", "points", "exact",
             "barnes-hut", "grid");
  lime::SpinPool pool(threads);
  for (const Eigen::Index count : {500, 1000, 2000, 4000, 6672, 10000, 20000, 60000}) {
    const MatrixD embedding = final_embedding(count);
    fmt::print("{:>8}", count);
    for (const lime::TsneRepulsion kind :
         {lime::TsneRepulsion::kExact, lime::TsneRepulsion::kBarnesHut,
          lime::TsneRepulsion::kGrid}) {
      lime::TsneOptions options;
      options.repulsion = kind;
      const auto repulsion = lime::tsne_detail::make_repulsion(options, count, pool);
      MatrixD force;
      repulsion->compute(embedding, force);
      double best = 1e9;
      for (int trial = 0; trial < 15; ++trial) {
        const auto start = std::chrono::steady_clock::now();
        repulsion->compute(embedding, force);
        best = std::min(best, seconds_since(start));
      }
      fmt::print(" {:>10.3f}", 1e3 * best);
    }
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto number = [&](std::size_t at, int otherwise) {
    return arguments.size() > at ? std::atoi(arguments[at].c_str()) : otherwise;
  };
  if (!arguments.empty() && arguments[0] == "--repulsion") {
    time_repulsions(number(1, lime::available_threads()));
    return 0;
  }
  if (arguments.size() < 2) {
    fmt::print(stderr, "usage: lime-bench-tsne rows.h5 embedding.h5 [threads [repulsion]]\n");
    return 2;
  }
  lime::TsneOptions options;
  if (arguments.size() > 3) {
    options.repulsion = lime::enum_value<lime::TsneRepulsion>(arguments[3], "repulsion");
  }
  options.iterations = number(4, 1000);
  if (arguments.size() > 5) options.theta = std::atof(arguments[5].c_str());
  run(arguments[0], arguments[1], options, number(2, lime::available_threads()));
}
