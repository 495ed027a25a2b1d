// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/clustered_mean.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace lime {
namespace {

/// With fewer sequences a standard error over them is unreliable.
constexpr std::int64_t kFewestSequences = 5;

}  // namespace

ClusteredMean clustered_mean(const VectorD& values, std::span<const std::int32_t> sequence) {
  ClusteredMean result;
  result.mean = values.mean();
  result.standard_error = std::numeric_limits<double>::quiet_NaN();
  double squares = 0.0;
  for (std::size_t i = 0; i < sequence.size(); ++result.sequences) {
    double sum = 0.0;
    const std::int32_t current = sequence[i];
    for (; i < sequence.size() && sequence[i] == current; ++i) {
      sum += values[static_cast<Eigen::Index>(i)] - result.mean;
    }
    squares += sum * sum;
  }
  if (result.sequences >= kFewestSequences) {
    const auto count = static_cast<double>(result.sequences);
    result.standard_error =
        std::sqrt(count / (count - 1.0) * squares) / static_cast<double>(values.size());
  }
  return result;
}

}  // namespace lime
