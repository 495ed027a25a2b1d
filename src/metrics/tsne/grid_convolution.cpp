// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/grid_convolution.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lime::tsne_detail {
namespace {

using linalg::kFloatLanes;
using linalg::load;
using linalg::SimdF;
using linalg::store;
using Lanes = LaneFourier::Lanes;

/// Nodes of padding beyond twice the grid. The kernel has a kink where it wraps around; what a
/// spline makes of it falls by 0.43 from node to node.
constexpr std::int64_t kMargin = 16;
constexpr std::int64_t kSmallestLength = 4 * kFloatLanes;
/// Values that are read past the last column.
constexpr std::int64_t kReadAhead = 8;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Memory of this thread for a transform and its intermediate result.
class Workspace {
 public:
  explicit Workspace(std::int64_t size) {
    thread_local Eigen::ArrayXf memory;
    if (memory.size() < 4 * size) memory.resize(4 * size);
    data = {memory.data(), memory.data() + size};
    work = {memory.data() + 2 * size, memory.data() + 3 * size};
  }
  Lanes data;
  Lanes work;
};

/// to[c * kFloatLanes + k] = from[k * kFloatLanes + c].
void transpose_lanes(const float* from, float* to) {
  for (int c = 0; c < kFloatLanes; ++c) {
    for (int k = 0; k < kFloatLanes; ++k) to[c * kFloatLanes + k] = from[k * kFloatLanes + c];
  }
}

/// One block of columns at one frequency, out of the transform of two real blocks.
struct Halves {
  SimdF first_real, first_imag, second_real, second_imag;
};

/// Z_k of z = a + i b gives A_k = (Z_k + conj Z_-k) / 2 and B_k = (Z_k - conj Z_-k) / 2i.
Halves separate(const Lanes& z, std::int64_t k, std::int64_t length) {
  const std::int64_t at = k * kFloatLanes;
  const std::int64_t mirrored = (k == 0 ? 0 : length - k) * kFloatLanes;
  const SimdF real = load(z.real + at);
  const SimdF imag = load(z.imag + at);
  const SimdF mirrored_real = load(z.real + mirrored);
  const SimdF mirrored_imag = load(z.imag + mirrored);
  const SimdF half(0.5F);
  return {half * (real + mirrored_real), half * (imag - mirrored_imag),
          half * (imag + mirrored_imag), half * (mirrored_real - real)};
}

/// Transform of the B-spline's values on the nodes: what interpolation divides by.
double spline_filter(std::int64_t frequency, std::int64_t length) {
  const double angle =
      2.0 * std::numbers::pi * static_cast<double>(frequency) / static_cast<double>(length);
  return (66.0 + 52.0 * std::cos(angle) + 2.0 * std::cos(2.0 * angle)) / 120.0;
}

}  // namespace

std::int64_t GridConvolution::num_frequency_blocks() const {
  return (along_column_->length() / 2 + kFloatLanes) / kFloatLanes;  // of length / 2 + 1
}

std::int64_t GridConvolution::spectrum_at(std::int64_t frequency_block, std::int64_t col) const {
  return (frequency_block * spectrum_cols_ + col) * kFloatLanes;
}

void GridConvolution::set_shape(const GridShape& shape) {
  if (shape == shape_) return;
  shape_ = shape;
  const auto padded = [](std::int64_t nodes) {
    return LaneFourier::good_length(std::max(2 * nodes + kMargin, kSmallestLength));
  };
  if (!along_column_ || along_column_->length() != padded(shape.rows)) {
    along_column_ = std::make_unique<LaneFourier>(padded(shape.rows));
  }
  if (!along_row_ || along_row_->length() != padded(shape.cols)) {
    along_row_ = std::make_unique<LaneFourier>(padded(shape.cols));
  }
  stride_ = round_up(shape.cols + kReadAhead, kFloatLanes);
  const double diagonal = shape.spacing * std::hypot(shape.rows, shape.cols);
  offset_ = 1.0 / (1.0 + diagonal * diagonal);
  transform_kernel();
}

void GridConvolution::transform_columns(const float* grid, std::int64_t stride, std::int64_t rows,
                                        std::int64_t pair) {
  const std::int64_t length = along_column_->length();
  const Workspace workspace(along_column_->size());
  const std::int64_t first = 2 * pair * kFloatLanes;
  const std::int64_t second = first + kFloatLanes;
  for (std::int64_t r = 0; r < length; ++r) {
    const bool exists = r < rows;
    store(workspace.data.real + r * kFloatLanes,
          exists ? load(grid + r * stride + first) : SimdF(0.0F));
    store(workspace.data.imag + r * kFloatLanes,
          exists && second < stride ? load(grid + r * stride + second) : SimdF(0.0F));
  }
  const Lanes z = along_column_->transform(workspace.data, workspace.work);
  alignas(64) float tile[4][kFloatLanes * kFloatLanes];
  for (std::int64_t block = 0; block < num_frequency_blocks(); ++block) {
    for (int lane = 0; lane < kFloatLanes; ++lane) {
      const std::int64_t k = std::min(block * kFloatLanes + lane, length / 2);
      const Halves halves = separate(z, k, length);
      store(tile[0] + lane * kFloatLanes, halves.first_real);
      store(tile[1] + lane * kFloatLanes, halves.first_imag);
      store(tile[2] + lane * kFloatLanes, halves.second_real);
      store(tile[3] + lane * kFloatLanes, halves.second_imag);
    }
    transpose_lanes(tile[0], spectrum_real_.data() + spectrum_at(block, first));
    transpose_lanes(tile[1], spectrum_imag_.data() + spectrum_at(block, first));
    if (second >= spectrum_cols_) continue;
    transpose_lanes(tile[2], spectrum_real_.data() + spectrum_at(block, second));
    transpose_lanes(tile[3], spectrum_imag_.data() + spectrum_at(block, second));
  }
}

void GridConvolution::convolve_rows(std::int64_t frequency_block) {
  const std::int64_t length = along_row_->size();
  const std::int64_t used = stride_ * kFloatLanes;
  const Workspace workspace(length);
  float* const real = spectrum_real_.data() + spectrum_at(frequency_block, 0);
  float* const imag = spectrum_imag_.data() + spectrum_at(frequency_block, 0);
  std::copy_n(real, used, workspace.data.real);
  std::copy_n(imag, used, workspace.data.imag);
  std::fill(workspace.data.real + used, workspace.data.real + length, 0.0F);
  std::fill(workspace.data.imag + used, workspace.data.imag + length, 0.0F);
  Lanes z = along_row_->transform(workspace.data, workspace.work);
  const float* const kernel = kernel_.data() + frequency_block * length;
  for (std::int64_t at = 0; at < length; at += kFloatLanes) {
    const SimdF factor = load(kernel + at);
    store(z.real + at, factor * load(z.real + at));
    store(z.imag + at, factor * load(z.imag + at));
  }
  // The inverse transform is the transform with the parts exchanged.
  const Lanes other = z.real == workspace.data.real ? workspace.work : workspace.data;
  z = along_row_->transform({z.imag, z.real}, {other.imag, other.real});
  std::copy_n(z.imag, used, real);
  std::copy_n(z.real, used, imag);
}

void GridConvolution::restore_columns(float* grid, std::int64_t pair) const {
  const std::int64_t length = along_column_->length();
  const Workspace workspace(along_column_->size());
  const std::int64_t first = 2 * pair * kFloatLanes;
  const std::int64_t second = first + kFloatLanes;
  const bool has_second = second < stride_;
  alignas(64) float tile[4][kFloatLanes * kFloatLanes] = {};
  for (std::int64_t block = 0; block < num_frequency_blocks(); ++block) {
    transpose_lanes(spectrum_real_.data() + spectrum_at(block, first), tile[0]);
    transpose_lanes(spectrum_imag_.data() + spectrum_at(block, first), tile[1]);
    if (has_second) {
      transpose_lanes(spectrum_real_.data() + spectrum_at(block, second), tile[2]);
      transpose_lanes(spectrum_imag_.data() + spectrum_at(block, second), tile[3]);
    }
    for (int lane = 0; lane < kFloatLanes; ++lane) {
      const std::int64_t k = block * kFloatLanes + lane;
      if (k > length / 2) break;
      const SimdF a_real = load(tile[0] + lane * kFloatLanes);
      const SimdF a_imag = load(tile[1] + lane * kFloatLanes);
      const SimdF b_real = load(tile[2] + lane * kFloatLanes);
      const SimdF b_imag = load(tile[3] + lane * kFloatLanes);
      // Z = A + i B, and for real a, b: Z_-k = conj A + i conj B.
      const std::int64_t mirrored = (k == 0 ? 0 : length - k) * kFloatLanes;
      store(workspace.data.real + mirrored, a_real + b_imag);
      store(workspace.data.imag + mirrored, b_real - a_imag);
      store(workspace.data.real + k * kFloatLanes, a_real - b_imag);
      store(workspace.data.imag + k * kFloatLanes, a_imag + b_real);
    }
  }
  const Lanes z = along_column_->transform({workspace.data.imag, workspace.data.real},
                                           {workspace.work.imag, workspace.work.real});
  for (std::int64_t r = 0; r < shape_.rows; ++r) {
    store(grid + r * stride_ + first, load(z.imag + r * kFloatLanes));
    if (has_second) store(grid + r * stride_ + second, load(z.real + r * kFloatLanes));
  }
}

void GridConvolution::convolve(float* grid) {
  const std::int64_t num_pairs = (stride_ / kFloatLanes + 1) / 2;
  pool_.parallel_for(
      num_pairs, [&](std::int64_t pair) { transform_columns(grid, stride_, shape_.rows, pair); });
  pool_.parallel_for(num_frequency_blocks(), [&](std::int64_t block) { convolve_rows(block); });
  pool_.parallel_for(num_pairs, [&](std::int64_t pair) { restore_columns(grid, pair); });
}

void GridConvolution::transform_kernel() {
  const std::int64_t rows = along_column_->length();
  const std::int64_t cols = along_row_->length();
  const std::int64_t stride = round_up(cols, kFloatLanes);
  Eigen::ArrayXf kernel(rows * stride);
  const auto wrapped = [](std::int64_t index, std::int64_t length) {
    return static_cast<double>(std::min(index, length - index));
  };
  const double diagonal = shape_.spacing * std::hypot(shape_.rows, shape_.cols);
  const double far = diagonal * diagonal;
  pool_.parallel_for(rows, [&](std::int64_t r) {
    for (std::int64_t c = 0; c < stride; ++c) {
      const double y = wrapped(r, rows) * shape_.spacing;
      const double x = c < cols ? wrapped(c, cols) * shape_.spacing : 0.0;
      const double near = x * x + y * y;
      // K(r) - K(diagonal), without the difference of two numbers that are nearly equal.
      kernel[r * stride + c] = static_cast<float>((far - near) / ((1.0 + near) * (1.0 + far)));
    }
  });
  spectrum_cols_ = std::max(stride, stride_);
  spectrum_real_.resize(num_frequency_blocks() * spectrum_cols_ * kFloatLanes);
  spectrum_imag_.resize(spectrum_real_.size());
  kernel_.resize(num_frequency_blocks() * along_row_->size());
  pool_.parallel_for((stride / kFloatLanes + 1) / 2, [&](std::int64_t pair) {
    transform_columns(kernel.data(), stride, rows, pair);
  });
  pool_.parallel_for(num_frequency_blocks(),
                     [&](std::int64_t block) { transform_kernel_rows(block); });
  // From now on the spectrum is that of a grid.
  spectrum_cols_ = stride_;
}

void GridConvolution::transform_kernel_rows(std::int64_t frequency_block) {
  const std::int64_t rows = along_column_->length();
  const std::int64_t cols = along_row_->length();
  const Workspace workspace(along_row_->size());
  std::copy_n(spectrum_real_.data() + spectrum_at(frequency_block, 0), along_row_->size(),
              workspace.data.real);
  std::copy_n(spectrum_imag_.data() + spectrum_at(frequency_block, 0), along_row_->size(),
              workspace.data.imag);
  const Lanes z = along_row_->transform(workspace.data, workspace.work);
  float* const to = kernel_.data() + frequency_block * along_row_->size();
  for (std::int64_t c = 0; c < cols; ++c) {
    for (int lane = 0; lane < kFloatLanes; ++lane) {
      const double filter =
          spline_filter(c, cols) * spline_filter(frequency_block * kFloatLanes + lane, rows);
      const auto value = static_cast<double>(z.real[c * kFloatLanes + lane]);
      to[c * kFloatLanes + lane] = static_cast<float>(
          value / (filter * filter * static_cast<double>(rows) * static_cast<double>(cols)));
    }
  }
}

}  // namespace lime::tsne_detail
