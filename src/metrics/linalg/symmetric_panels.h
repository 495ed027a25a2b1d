// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>

#include "core/simd/aligned_buffer.h"
#include "core/simd/vector.h"
#include "linalg/panels.h"

namespace lime::linalg {

using simd::load;
using simd::store;
using simd::sum_of_lanes;

using Simd = simd::Vector<double>;
inline constexpr std::int64_t kLanes = simd::kLanes<double>;

/// The lower triangle of a symmetric matrix in panels: panel s contains columns [0, kPanelRows * (s
/// + 1)) of its rows, so that the blocks on the diagonal are stored whole. Rows and columns from
/// size() up to padded_size() are zero. Half the memory of the full matrix.
class SymmetricPanels {
 public:
  /// Resizes; all contents are then undefined, also beyond size().
  void resize(std::int64_t size) {
    size_ = size;
    data_ = buffer_.resize(static_cast<std::size_t>(panel_offset(num_panels())));
  }

  std::int64_t size() const { return size_; }
  std::int64_t num_panels() const { return panels_for<double>(size_); }
  std::int64_t padded_size() const { return num_panels() * kPanelRows<double>; }

  double* panel(std::int64_t index) { return data_ + panel_offset(index); }
  const double* panel(std::int64_t index) const { return data_ + panel_offset(index); }
  /// Returns all stored values, for operations element by element.
  Eigen::Map<Eigen::ArrayXd> values() { return {data_, panel_offset(num_panels())}; }
  Eigen::Map<const Eigen::ArrayXd> values() const { return {data_, panel_offset(num_panels())}; }

  /// Returns element (row, col) with col < kPanelRows<double> * (row / kPanelRows<double> + 1).
  double& at(std::int64_t row, std::int64_t col) {
    return panel(row / kPanelRows<double>)[col * kPanelRows<double> + row % kPanelRows<double>];
  }
  double at(std::int64_t row, std::int64_t col) const {
    return panel(row / kPanelRows<double>)[col * kPanelRows<double> + row % kPanelRows<double>];
  }

 private:
  static std::int64_t panel_offset(std::int64_t index) {
    return kPanelRows<double> * kPanelRows<double> * (index * (index + 1) / 2);
  }

  AlignedBuffer<double> buffer_;
  double* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace lime::linalg
