// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/exaggeration.h"

#include <algorithm>

#include "metrics/tsne/embedding_checks.h"
#include "metrics/tsne/initialization.h"

namespace lime::tsne_detail {
namespace {

/// Factor of an exaggeration under which the embedding contracts.
constexpr double kWeakening = 0.7;

}  // namespace

Exaggeration::Exaggeration(const TsneOptions& options, MatrixD start)
    : constant_until_(options.exaggeration_iterations),
      until_(constant_until_ + options.num_annealing_iterations()),
      strongest_(options.early_exaggeration),
      start_(std::move(start)),
      start_radius_(radius_of(start_)) {}

double Exaggeration::at(std::int64_t iteration) const {
  if (is_over(iteration)) return 1.0;
  if (is_early(iteration)) return strongest_;
  const auto left = static_cast<double>(until_ + 1 - iteration) /
                    static_cast<double>(until_ + 1 - constant_until_);
  return 1.0 + (strongest_ - 1.0) * left * left;
}

void Exaggeration::prepare(std::int64_t iteration, GradientDescent& descent) {
  if (!is_over(iteration) && strongest_ > 1.0 &&
      radius_of(descent.embedding()) < kLeastRadius * start_radius_) {
    strongest_ = std::max(1.0, kWeakening * strongest_);
    descent.restart(start_);
  }
  if (iteration == constant_until_ + 1 || iteration == until_ + 1) {
    const double scale = std::min(1.0, kTsneInitScale / start_radius_);
    descent.restart(start_radius_ > 0.0 ? MatrixD(descent.embedding() + scale * start_)
                                        : descent.embedding());
  }
}

}  // namespace lime::tsne_detail
