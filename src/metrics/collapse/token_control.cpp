// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "core/random.h"
#include "metrics/collapse/gram_parts.h"
#include "metrics/collapse/intraclass.h"
#include "metrics/collapse/layer_causes.h"

namespace lime {
namespace {

/// Returns the sums of rows that are one-hot vectors of their tokens: exact, and for random vectors
/// the expectation.
MatrixD sums_of_tokens(std::span<const std::int32_t> tokens,
                       std::span<const std::int64_t> offsets) {
  std::map<std::int32_t, double> share;
  for (const std::int32_t token : tokens) share[token] += 1.0 / static_cast<double>(tokens.size());
  double squares = 0.0;
  for (const auto& [token, p] : share) squares += p * p;
  MatrixD sums(std::ssize(offsets) - 1, kIntraclassSums);
  for (Eigen::Index s = 0; s < sums.rows(); ++s) {
    const auto first = static_cast<std::size_t>(offsets[static_cast<std::size_t>(s)]);
    const auto last = static_cast<std::size_t>(offsets[static_cast<std::size_t>(s) + 1]);
    const auto count = static_cast<double>(last - first);
    std::map<std::int32_t, double> own;
    for (std::size_t i = first; i < last; ++i) own[tokens[i]] += 1.0 / count;
    double own_squares = 0.0;
    double product = 0.0;
    for (const auto& [token, p] : own) {
      own_squares += p * p;
      product += p * share[token];
    }
    set_intraclass_sums(sums.row(s), 0, count, count * (own_squares - 2.0 * product + squares),
                        count * (1.0 - own_squares));
  }
  return sums;
}

}  // namespace

TokenControl token_control(std::span<const std::int32_t> tokens,
                           std::span<const std::int64_t> offsets, std::int64_t dim,
                           std::uint64_t seed) {
  TokenControl control;
  const MatrixD sums = sums_of_tokens(tokens, offsets);
  control.intraclass = intraclass_of(sums.colwise().sum().transpose(), 0);
  std::map<std::int32_t, Eigen::RowVectorXf> embedding;
  Random random = Random(seed).fork(0);
  for (const std::int32_t token : tokens) {
    const auto [found, is_new] = embedding.try_emplace(token);
    if (!is_new) continue;
    found->second.resize(dim);
    for (Eigen::Index j = 0; j < dim; ++j) found->second[j] = static_cast<float>(random.normal());
  }
  GramPart gram(dim);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    MatrixF rows(offsets[s + 1] - offsets[s], dim);
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      rows.row(r) = embedding.at(tokens[static_cast<std::size_t>(offsets[s] + r)]);
    }
    if (rows.rows() > 0) gram.add(rows, mean_row(rows));
  }
  linalg::SymmetricEigenvalues solver;
  control.effective_rank = gram.effective_rank(solver);
  return control;
}

}  // namespace lime
