// SPDX-License-Identifier: Apache-2.0
#include "metrics/attention/attention_profile.h"

#include <cmath>
#include <limits>

#include "core/errors.h"

namespace lime {
namespace {

/// Tolerance of the sum of 16-bit patterns.
constexpr double kSumTolerance = 0.01;
constexpr auto kNumMeasures = static_cast<Eigen::Index>(kAttentionMeasures.size());

void check_attention(const VectorD& attention, double sum) {
  const Eigen::Index query = attention.size() - 1;
  if (!attention.allFinite() || attention.minCoeff() < 0.0) {
    throw InvalidArgument("attention: query {} must have finite weights >= 0, got {}", query,
                          attention.allFinite() ? attention.minCoeff() : attention.sum());
  }
  throw_if(std::abs(sum - 1.0) > kSumTolerance,
           "attention: the weights of query {} must sum to 1 within {}, got {}; capture the "
           "patterns again, unmodified and in the order of the sequences",
           query, kSumTolerance, sum);
}

/// @param attention  of the last token as query to all tokens
void measure_query(const VectorD& attention, Eigen::Ref<Eigen::RowVectorXd> measures) {
  const Eigen::Index query = attention.size() - 1;
  check_attention(attention, attention.sum());
  // 0 ln 0 counts as 0.
  const double entropy =
      -(attention.array() * attention.array().max(std::numeric_limits<double>::min()).log()).sum();
  const auto positions =
      Eigen::ArrayXd::LinSpaced(attention.size(), 0.0, static_cast<double>(query));
  measures(0) = std::max(entropy, 0.0);
  measures(1) = std::exp(measures(0));
  measures(2) = (attention.array() * (static_cast<double>(query) - positions)).sum();
  measures(3) = attention(0);
  measures(4) = query > 0 ? attention(query - 1) : 0.0;
  measures(5) = attention(query);
}

}  // namespace

MatrixD attention_profile(const ConstMatrixRef& pattern) {
  throw_if(pattern.rows() != pattern.cols(),
           "attention: a pattern must be square, [queries, keys], got [{}, {}]", pattern.rows(),
           pattern.cols());
  MatrixD profile(pattern.rows(), kNumMeasures);
  Eigen::RowVectorXd measures(kNumMeasures);
  for (Eigen::Index q = 0; q < pattern.rows(); ++q) {
    // A separate vector: sums over aligned memory are bit-identical wherever the pattern is stored.
    const VectorD attention = pattern.row(q).head(q + 1).cast<double>();
    measure_query(attention, measures);
    profile.row(q) = measures;
  }
  return profile;
}

MatrixD even_attention_profile(std::int64_t num_tokens) {
  MatrixD profile(num_tokens, kNumMeasures);
  for (Eigen::Index q = 0; q < num_tokens; ++q) {
    const auto keys = static_cast<double>(q + 1);
    const double share = 1.0 / keys;
    profile.row(q) << std::log(keys), keys, 0.5 * static_cast<double>(q), share,
        q > 0 ? share : 0.0, share;
  }
  return profile;
}

}  // namespace lime
