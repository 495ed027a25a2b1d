// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/collapse_layers.h"

#include <Eigen/QR>
#include <cmath>
#include <numeric>

#include "metrics/random_matrix.h"

namespace lime::testing {
namespace {

/// Returns orthonormal columns in random directions, [dim, count].
MatrixD random_directions(std::int64_t dim, std::int64_t count, std::uint64_t seed) {
  const MatrixD normal = random_matrix(dim, count, seed);
  const Eigen::HouseholderQR<MatrixD> qr(normal);
  return qr.householderQ() * MatrixD::Identity(dim, count);
}

}  // namespace

void CollapseLayer::set_plain(std::uint64_t seed) {
  MatrixD plain = random_matrix(sequences * tokens, dim, seed);
  double sum = 0.0;
  for (Eigen::Index j = 0; j < dim; ++j) sum += 1.0 / static_cast<double>(j + 1);
  for (Eigen::Index j = 0; j < dim; ++j) {
    plain.col(j) *= std::sqrt(static_cast<double>(dim) / (sum * static_cast<double>(j + 1)));
  }
  rows = (plain * random_directions(dim, dim, seed + 1).transpose()).cast<float>();
  ids.resize(static_cast<std::size_t>(rows.rows()));
  std::iota(ids.begin(), ids.end(), 0);
}

void CollapseLayer::add_massive_tokens(double strength) {
  for (std::int64_t s = 0; s < sequences; ++s) {
    rows(s * tokens, 7) += static_cast<float>(strength * std::sqrt(static_cast<double>(dim)));
  }
}

void CollapseLayer::add_outlier_dimension(double strength) {
  rows.col(3).array() += static_cast<float>(strength * std::sqrt(static_cast<double>(dim)));
}

void CollapseLayer::add_common_direction(double strength) {
  rows.array() += static_cast<float>(strength);
}

void CollapseLayer::add_equal_tokens(double strength, std::uint64_t seed) {
  const MatrixD own = strength * random_matrix(sequences, dim, seed);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) rows.row(r) += own.row(r / tokens).cast<float>();
}

void CollapseLayer::keep_directions(std::int64_t directions, std::uint64_t seed) {
  const MatrixD basis = random_directions(dim, directions, seed);
  const MatrixD projected = rows.cast<double>() * basis * basis.transpose();
  rows = (projected + 0.02 * random_matrix(rows.rows(), dim, seed + 1)).cast<float>();
}

void CollapseLayer::repeat_tokens(std::uint64_t seed) {
  const MatrixD own = random_matrix(sequences, dim, seed);
  const MatrixD noise = 0.01 * random_matrix(rows.rows(), dim, seed + 1);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    rows.row(r) = (own.row(r / tokens) + noise.row(r)).cast<float>();
    ids[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r / tokens);
  }
}

LayerRows CollapseLayer::source() const {
  LayerRows source;
  for (std::int64_t s = 0; s <= sequences; ++s) source.offsets.push_back(s * tokens);
  source.tokens = ids;
  source.sequences = {sequences, [this](std::int64_t index, MatrixF& out) {
                        out = rows.middleRows(index * tokens, tokens);
                      }};
  return source;
}

LayerCauses CollapseLayer::measure(int threads, const CollapseOptions& options) const {
  ThreadPool pool(threads);
  return measure_causes(source(), options, pool);
}

std::string CollapseLayer::verdict() const { return findings_text(findings_of(measure(), {})); }

}  // namespace lime::testing
