// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/cancellation_index.h"

#include <algorithm>
#include <limits>

namespace lime {
namespace {

using Eigen::Index;

/// Returns the norms of the buffered heads that a router reads, [num_sources, tokens].
MatrixD source_norms(const ValueBuffer& values, Index num_sources, TokenRange tokens) {
  MatrixD norms = MatrixD::Zero(num_sources, tokens.count);
  for (Index dim = 0; dim < values.head_dim(); ++dim) {
    for (Index source = 0; source < num_sources; ++source) {
      const float* const from = values.source(dim, source) + tokens.first;
      norms.row(source).array() +=
          Eigen::Map<const Eigen::ArrayXf>(from, tokens.count).cast<double>().square().transpose();
    }
  }
  return norms.cwiseSqrt();
}

/// Returns the sums of the norms of all contributions, [target heads, tokens].
MatrixD contributed_norms(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens) {
  if (!router.is_per_dimension()) {
    return router.of_dimension(0).cwiseAbs() * source_norms(values, router.num_sources(), tokens);
  }
  MatrixD contributed = MatrixD::Zero(router.num_heads(), tokens.count);
  Eigen::ArrayXd squares(tokens.count);
  for (Index head = 0; head < router.num_heads(); ++head) {
    for (Index source = 0; source < router.num_sources(); ++source) {
      squares.setZero();
      for (Index dim = 0; dim < values.head_dim(); ++dim) {
        const float* const from = values.source(dim, source) + tokens.first;
        const double weight = router.of_dimension(dim)(head, source);
        squares +=
            (weight * Eigen::Map<const Eigen::ArrayXf>(from, tokens.count).cast<double>()).square();
      }
      contributed.row(head).array() += squares.sqrt().transpose();
    }
  }
  return contributed;
}

}  // namespace

CancellationIndex::CancellationIndex(std::int64_t num_key_value_heads)
    : sum_(VectorD::Zero(num_key_value_heads)),
      count_(decltype(count_)::Zero(num_key_value_heads)) {}

void CancellationIndex::add(const ValueBuffer& values, const LayerRouter& router,
                            TokenRange tokens) {
  router_.route(values, router, tokens, routed_);
  const Index heads = router.num_heads();
  const MatrixD contributed = contributed_norms(values, router, tokens);
  MatrixD remaining = MatrixD::Zero(heads, tokens.count);
  for (Index dim = 0; dim < values.head_dim(); ++dim) {
    remaining.array() += routed_.middleRows(dim * heads, heads).array().square();
  }
  remaining = remaining.cwiseSqrt();
  for (Index head = 0; head < heads; ++head) {
    for (Index token = 0; token < tokens.count; ++token) {
      const double all = contributed(head, token);
      if (!(all > 0.0)) continue;
      // Rounding may leave slightly more than 100% of a single contribution.
      sum_(head) += std::max(0.0, 1.0 - remaining(head, token) / all);
      ++count_(head);
    }
  }
}

void CancellationIndex::merge(const CancellationIndex& other) {
  sum_ += other.sum_;
  count_ += other.count_;
}

VectorD CancellationIndex::mean() const {
  VectorD result(sum_.size());
  for (Index head = 0; head < sum_.size(); ++head) {
    result(head) = count_(head) > 0 ? sum_(head) / static_cast<double>(count_(head))
                                    : std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

}  // namespace lime
