// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/massive_activations.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/errors.h"
#include "core/options.h"

namespace lime {
namespace {

/// Histogram bins: 8 bits of the exponent and the 4 leading bits of the mantissa.
constexpr int kShift = 19;
constexpr std::size_t kNumBins = std::size_t{1} << (31 - kShift);
/// Neighbouring elements use different tables: increments of equal bins are independent.
constexpr std::size_t kTables = 4;

std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
}

std::vector<std::uint32_t> histogram(const ConstMatrixRef& rows) {
  std::array<std::vector<std::uint32_t>, kTables> tables;
  for (auto& table : tables) table.assign(kNumBins, 0);
  const Eigen::Index whole =
      rows.cols() / static_cast<Eigen::Index>(kTables) * static_cast<Eigen::Index>(kTables);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    const float* const row = rows.data() + r * rows.outerStride();
    for (Eigen::Index c = 0; c < whole; c += static_cast<Eigen::Index>(kTables)) {
      for (std::size_t i = 0; i < kTables; ++i) {
        ++tables[i][magnitude_bits(row[c + static_cast<Eigen::Index>(i)]) >> kShift];
      }
    }
    for (Eigen::Index c = whole; c < rows.cols(); ++c)
      ++tables[0][magnitude_bits(row[c]) >> kShift];
  }
  for (std::size_t i = 1; i < kTables; ++i) {
    for (std::size_t bin = 0; bin < kNumBins; ++bin) tables[0][bin] += tables[i][bin];
  }
  return tables[0];
}

}  // namespace

void MassiveActivationOptions::validate() const {
  check_option(threshold >= 0.0 && std::isfinite(threshold), "massive_threshold", ">= 0",
               threshold);
  check_option(ratio >= 1.0 && std::isfinite(ratio), "massive_ratio", ">= 1", ratio);
}

float median_magnitude(const ConstMatrixRef& rows) {
  if (rows.size() == 0) throw InvalidArgument("median: needs at least one element, got none");
  const std::vector<std::uint32_t> bins = histogram(rows);
  auto rank = static_cast<std::uint64_t>((rows.size() - 1) / 2);
  std::uint32_t bin = 0;
  while (rank >= bins[bin]) rank -= bins[bin++];
  std::vector<std::uint32_t> candidates;
  candidates.reserve(bins[bin]);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    const float* const row = rows.data() + r * rows.outerStride();
    for (Eigen::Index c = 0; c < rows.cols(); ++c) {
      const std::uint32_t bits = magnitude_bits(row[c]);
      if (bits >> kShift == bin) candidates.push_back(bits);
    }
  }
  const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(candidates.begin(), middle, candidates.end());
  return std::bit_cast<float>(*middle);
}

MassiveActivations massive_activations(const ConstMatrixRef& rows,
                                       const MassiveActivationOptions& options) {
  options.validate();
  MassiveActivations result;
  result.median = static_cast<double>(median_magnitude(rows));
  const double limit = std::max(options.ratio * result.median, options.threshold);
  std::int64_t tokens = 0;
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    const double largest = static_cast<double>(rows.row(r).cwiseAbs().maxCoeff());
    result.largest = std::max(result.largest, largest);
    if (largest <= options.threshold || largest < limit) continue;
    ++tokens;
    for (Eigen::Index c = 0; c < rows.cols(); ++c) {
      const double magnitude = std::abs(static_cast<double>(rows(r, c)));
      if (magnitude > options.threshold && magnitude >= limit) ++result.num_massive;
    }
  }
  result.share = static_cast<double>(result.num_massive) / static_cast<double>(rows.size());
  result.token_share = static_cast<double>(tokens) / static_cast<double>(rows.rows());
  result.largest_ratio = result.median > 0.0 ? result.largest / result.median
                                             : std::numeric_limits<double>::infinity();
  return result;
}

}  // namespace lime
