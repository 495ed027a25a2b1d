// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/standardize.h"

#include <cmath>

#include "core/errors.h"

namespace lime {
namespace {

void check_statistics(const FeatureStatistics& statistics) {
  if (statistics.count < 2) {
    throw InvalidArgument("standardize: the statistics must come from at least 2 rows, got {}",
                          statistics.count);
  }
  if (statistics.mean.size() != statistics.m2.size()) {
    throw InvalidArgument("standardize: mean and m2 must have the same size, got {} and {}",
                          statistics.mean.size(), statistics.m2.size());
  }
  for (Eigen::Index c = 0; c < statistics.mean.size(); ++c) {
    if (!std::isfinite(statistics.mean[c]) || !std::isfinite(statistics.m2[c]) ||
        statistics.m2[c] < 0.0) {
      throw InvalidArgument(
          "standardize: mean must be finite and m2 >= 0 and finite, got {} and {} at dimension {}; "
          "the data set holds NaN or infinity",
          statistics.mean[c], statistics.m2[c], c);
    }
  }
}

}  // namespace

Standardization make_standardization(const FeatureStatistics& statistics, double epsilon) {
  check_statistics(statistics);
  if (!(epsilon > 0.0) || !std::isfinite(epsilon)) {
    throw InvalidArgument("standardize: epsilon must be > 0, got {}", epsilon);
  }
  const double degrees = static_cast<double>(statistics.count - 1);
  return {statistics.mean, ((statistics.m2.array() / degrees).sqrt() + epsilon).matrix()};
}

FeatureStatistics feature_statistics(const ConstMatrixRef& rows) {
  if (rows.rows() < 2) {
    throw InvalidArgument("standardize: the statistics must come from at least 2 rows, got {}",
                          rows.rows());
  }
  FeatureStatistics statistics;
  statistics.count = rows.rows();
  statistics.mean = VectorD::Zero(rows.cols());
  statistics.m2 = VectorD::Zero(rows.cols());
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    statistics.mean += rows.row(r).cast<double>().transpose();
  }
  statistics.mean /= static_cast<double>(rows.rows());
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    statistics.m2 +=
        (rows.row(r).cast<double>().transpose() - statistics.mean).array().square().matrix();
  }
  return statistics;
}

MatrixD standardize(const ConstMatrixRef& rows, const Standardization& standardization) {
  if (standardization.mean.size() != rows.cols() || standardization.divisor.size() != rows.cols()) {
    throw InvalidArgument("standardize: the rows have {} dimensions, the statistics {}",
                          rows.cols(), standardization.mean.size());
  }
  return ((rows.cast<double>().rowwise() - standardization.mean.transpose()).array().rowwise() /
          standardization.divisor.transpose().array())
      .matrix();
}

}  // namespace lime
