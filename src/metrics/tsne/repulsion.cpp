// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/repulsion.h"

#include "metrics/tsne/barnes_hut_repulsion.h"
#include "metrics/tsne/exact_repulsion.h"

namespace lime::tsne_detail {
namespace {

/// Number of points up to which all pairs take at most 0.1 ms longer than the tree;
/// docs/benchmarks.md has the measurement.
constexpr Eigen::Index kMostExactPoints = 1000;

}  // namespace

TsneRepulsion chosen_repulsion(const TsneOptions& options, Eigen::Index num_points) {
  if (options.theta == 0.0) return TsneRepulsion::kExact;
  if (options.repulsion != TsneRepulsion::kAuto) return options.repulsion;
  return num_points <= kMostExactPoints ? TsneRepulsion::kExact : TsneRepulsion::kBarnesHut;
}

std::unique_ptr<Repulsion> make_repulsion(const TsneOptions& options, Eigen::Index num_points,
                                          ThreadPool& pool) {
  if (options.theta == 0.0) return make_double_repulsion(pool);
  return chosen_repulsion(options, num_points) == TsneRepulsion::kExact
             ? make_exact_repulsion(pool)
             : make_barnes_hut_repulsion(options.theta, pool);
}

}  // namespace lime::tsne_detail
