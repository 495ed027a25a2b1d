// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/embedding_checks.h"

#include <cmath>

#include "core/errors.h"
#include "metrics/tsne/initialization.h"

namespace lime {
namespace {

/// Largest radius, over the square root of the number of points: of t-SNE it is about 1.
constexpr double kMaxRadius = 1000.0;
/// Ratio of the radii of two layers beyond which one of them has diverged.
constexpr double kMaxRatio = 1000.0;

}  // namespace

double radius_of(const ConstMatrixRefD& embedding) {
  const Eigen::RowVector2d mean = embedding.colwise().mean();
  return std::sqrt((embedding.rowwise() - mean).rowwise().squaredNorm().mean());
}

std::string extent_fault(const ConstMatrixRefD& embedding) {
  const double radius = radius_of(embedding);
  if (!(radius >= tsne_detail::kLeastRadius * kTsneInitScale)) {
    return fmt::format("the points coincide (root mean square radius {:.3g})", radius);
  }
  const double most = kMaxRadius * std::sqrt(static_cast<double>(embedding.rows()));
  if (radius > most) {
    return fmt::format("the points are thrown apart (root mean square radius {:.3g})", radius);
  }
  return {};
}

std::string radius_fault(const ConstMatrixRefD& before, const ConstMatrixRefD& after) {
  const double ratio = radius_of(after) / radius_of(before);
  if (ratio < kMaxRatio && ratio > 1.0 / kMaxRatio) return {};
  return fmt::format("the radius is {:.3g} times that of the previous layer", ratio);
}

namespace tsne_detail {

void check_result(const TsneResult& result, const TsneOptions& options, double start_divergence) {
  const std::string remedy =
      options.learning_rate
          ? fmt::format("use a learning rate below {}, or the default", *options.learning_rate)
          : "use --init random, another seed, or another perplexity";
  if (const std::string fault = extent_fault(result.embedding); !fault.empty()) {
    throw NumericalError("tsne: the optimisation diverged: {} after {} iterations; {}", fault,
                         result.iterations, remedy);
  }
  const bool is_exaggerated =
      result.iterations <= options.exaggeration_iterations + options.num_annealing_iterations();
  throw_if<NumericalError>(
      !is_exaggerated && result.kl_divergence > start_divergence,
      "tsne: the optimisation diverged: the divergence is {:.4g} nats after {} iterations, above "
      "{:.4g} at the start; {}",
      result.kl_divergence, result.iterations, start_divergence, remedy);
}

}  // namespace tsne_detail
}  // namespace lime
