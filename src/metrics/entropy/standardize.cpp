// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/standardize.h"

#include <cmath>

#include "core/errors.h"

namespace lime {
namespace {

void check_statistics(const RunningStatistics& statistics) {
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
          "the data set contains NaN or infinity",
          statistics.mean[c], statistics.m2[c], c);
    }
  }
}

}  // namespace

Standardization make_standardization(const RunningStatistics& statistics, double epsilon) {
  check_statistics(statistics);
  if (!(epsilon > 0.0) || !std::isfinite(epsilon)) {
    throw InvalidArgument("standardize: epsilon must be > 0, got {}", epsilon);
  }
  const double degrees = static_cast<double>(statistics.count - 1);
  return {statistics.mean, ((statistics.m2.array() / degrees).sqrt() + epsilon).matrix()};
}

MatrixD standardize(const ConstMatrixRef& rows, const Standardization& standardization) {
  if (standardization.mean.size() != rows.cols() || standardization.divisor.size() != rows.cols()) {
    throw InvalidArgument("standardize: the rows have {} dimensions, but the statistics have {}",
                          rows.cols(), standardization.mean.size());
  }
  return ((rows.cast<double>().rowwise() - standardization.mean.transpose()).array().rowwise() /
          standardization.divisor.transpose().array())
      .matrix();
}

}  // namespace lime
