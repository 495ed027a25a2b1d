// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/tsne_options.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"

namespace lime {
namespace {

void check(bool holds, const char* name, const char* range, double value) {
  if (!holds) throw InvalidArgument("{}: must be {}, got {}", name, range, value);
}

}  // namespace

void TsneOptions::describe(OptionList& list) {
  list.add("perplexity", perplexity,
           "effective number of neighbours per point, >= 1; at most (points - 1) / 3");
  list.add("iterations", iterations, "total number of iterations, > 0");
  list.add("repulsion", repulsion,
           "method for the repulsive forces; auto: exact up to 1000 points, else barnes-hut");
  list.add("theta", theta,
           "opening angle of barnes-hut, in [0, 1]; 0: exact gradient in double precision");
  list.add("init", init, "initial embedding: principal components or random");
  list.add("early_exaggeration", early_exaggeration,
           "factor on the affinities in the first iterations, >= 1");
  list.add("exaggeration_iterations", exaggeration_iterations,
           "iterations with early exaggeration, >= 0");
  list.add("learning_rate", learning_rate,
           "learning rate, > 0; default: max(points / early exaggeration / 4, 50)");
  list.add("initial_momentum", initial_momentum, "momentum during early exaggeration, in [0, 1)");
  list.add("final_momentum", final_momentum, "momentum after early exaggeration, in [0, 1)");
  list.add("min_gain", min_gain, "smallest gain of a coordinate, in (0, 1]");
  list.add("min_grad_norm", min_grad_norm, "stop when the gradient norm falls below this, >= 0");
  list.add("patience", patience, "stop after this many iterations without a lower divergence, > 0");
  list.add("neighbors", neighbors.search,
           "neighbour search; auto: exact up to 1e12 multiply-adds (20,000 points of 2048 "
           "dimensions), else FAISS's inverted file");
  list.add("target_recall", neighbors.target_recall,
           "target recall of the inverted file, in (0, 1]");
}

void TsneOptions::validate() const {
  check(perplexity >= 1.0 && std::isfinite(perplexity), "perplexity", ">= 1", perplexity);
  check(theta >= 0.0 && theta <= 1.0, "theta", "in [0, 1]", theta);
  check(iterations > 0, "iterations", "> 0", static_cast<double>(iterations));
  check(exaggeration_iterations >= 0, "exaggeration_iterations", ">= 0",
        static_cast<double>(exaggeration_iterations));
  check(early_exaggeration >= 1.0 && std::isfinite(early_exaggeration), "early_exaggeration",
        ">= 1", early_exaggeration);
  if (learning_rate) {
    check(*learning_rate > 0.0 && std::isfinite(*learning_rate), "learning_rate", "> 0",
          *learning_rate);
  }
  check(initial_momentum >= 0.0 && initial_momentum < 1.0, "initial_momentum", "in [0, 1)",
        initial_momentum);
  check(final_momentum >= 0.0 && final_momentum < 1.0, "final_momentum", "in [0, 1)",
        final_momentum);
  check(min_gain > 0.0 && min_gain <= 1.0, "min_gain", "in (0, 1]", min_gain);
  check(min_grad_norm >= 0.0, "min_grad_norm", ">= 0", min_grad_norm);
  check(patience > 0, "patience", "> 0", static_cast<double>(patience));
  neighbors.validate();
}

void TsneOptions::validate(Eigen::Index num_points) const {
  validate();
  if (num_points < 4) throw InvalidArgument("tsne: needs at least 4 points, got {}", num_points);
  const double most = static_cast<double>(num_points - 1) / 3.0;
  if (perplexity > most) {
    throw InvalidArgument(
        "tsne: perplexity must be <= (num_points - 1) / 3 = {:.1f} for {} points, "
        "got {}",
        std::floor(most * 10.0) / 10.0, num_points, perplexity);
  }
}

std::int64_t TsneOptions::num_neighbors(Eigen::Index num_points) const {
  return std::min<std::int64_t>(num_points - 1, static_cast<std::int64_t>(3.0 * perplexity + 1.0));
}

double TsneOptions::learning_rate_for(Eigen::Index num_points) const {
  if (learning_rate) return *learning_rate;
  return std::max(static_cast<double>(num_points) / early_exaggeration / 4.0, 50.0);
}

}  // namespace lime
