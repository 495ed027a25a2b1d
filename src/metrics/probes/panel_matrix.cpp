// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/panel_matrix.h"

#include <array>
#include <cassert>

#include "core/simd/vector.h"
#include "core/threads/thread_pool.h"

namespace lime::probes {
namespace {

// The inner loops: tiles of a product whose sums stay in registers.
using simd::Vector;
template <typename Scalar> constexpr int kWidth = static_cast<int>(simd::kLanes<Scalar>);

/// Registers of a strip per tile and operand column in a transposed product.
constexpr int kTileVectors = 3;
constexpr int kStripCols = kTileVectors * kWidth<float>;
/// A tile is 4 x 5 sums in the product, 3 registers x 8 columns in the transposed one: with their
/// operands both fill the 32 registers of AVX-512, and spill slightly on other CPUs.
constexpr int kTileRows = 4;
constexpr int kProductCols = 5;
constexpr int kTransposedCols = kWidth<float> >= 8 ? 8 : 4;
static_assert(kStripCols % kTransposedCols == 0);

/// Multiplies four rows by NC columns over all strips: out[k][row + r] for r < 4.
///
/// @param x  the four rows in the first strip; strips are `strip_stride` floats apart.
template <typename Scalar, int NC>
void multiply_tile(const float* x, std::int64_t strip_stride, std::int64_t num_strips,
                   const Columns<Scalar>& in, std::int64_t first, Columns<double>& out,
                   std::int64_t row) {
  using V = Vector<Scalar>;
  V sum[kTileRows][NC] = {};
  std::array<const Scalar*, NC> u;
  for (int c = 0; c < NC; ++c) u[static_cast<std::size_t>(c)] = in.column(first + c);
  std::int64_t offset = 0;
  for (std::int64_t strip = 0; strip < num_strips; ++strip, x += strip_stride) {
#pragma GCC unroll 6
    for (int v = 0; v < kStripCols; v += kWidth<Scalar>) {
      V rows[kTileRows];
#pragma GCC unroll 4
      for (int r = 0; r < kTileRows; ++r) rows[r] = simd::load_as<Scalar>(x + r * kStripCols + v);
#pragma GCC unroll 8
      for (int c = 0; c < NC; ++c) {
        const V factor = simd::load(u[static_cast<std::size_t>(c)] + offset + v);
#pragma GCC unroll 4
        for (int r = 0; r < kTileRows; ++r) sum[r][c] += rows[r] * factor;
      }
    }
    offset += kStripCols;
  }
  for (int c = 0; c < NC; ++c) {
    for (int r = 0; r < kTileRows; ++r) {
      out.column(first + c)[row + r] = static_cast<double>(simd::sum_of_lanes(sum[r][c]));
    }
  }
}

/// Adds one piece's part of the transposed product to NC columns of `out`.
template <typename Scalar, int NC, bool kSquared>
void add_transposed(const float* x, std::int64_t num_rows, const Columns<Scalar>& in,
                    std::int64_t first, std::int64_t row, Columns<double>& out, std::int64_t col) {
  const std::int64_t stride = in.count() > 1 ? in.column(1) - in.column(0) : 0;
  for (int part = 0; part < kStripCols; part += kTileVectors * kWidth<Scalar>) {
    simd::RegisterTile<Scalar, kTileVectors, NC> sum;
    simd::multiply_add(sum, num_rows, x + part, kStripCols, in.column(first) + row, 1, stride,
                       [](const float* from) {
                         const auto value = simd::load_as<Scalar>(from);
                         return kSquared ? value * value : value;
                       });
    constexpr int kCount = kTileVectors * kWidth<Scalar>;
    alignas(64) Scalar values[NC * kCount];
    sum.visit(values, kCount,
              [](Scalar* at, const Vector<Scalar>& value) { simd::store(at, value); });
    for (int c = 0; c < NC; ++c) {
      double* const to = out.column(first + c) + col + part;
      for (int j = 0; j < kCount; ++j) to[j] += static_cast<double>(values[c * kCount + j]);
    }
  }
}

constexpr std::int64_t kChunkRows = 128;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Calls f(std::integral_constant<int, n>) for 1 <= n <= 8 known at run time.
template <typename F> void with_count(std::int64_t n, const F& f) {
  assert(n >= 1 && n <= 8);
  const auto try_all = [&]<int... kIndices>(std::integer_sequence<int, kIndices...>) {
    ((n == kIndices + 1 ? f(std::integral_constant<int, kIndices + 1>()) : void()), ...);
  };
  try_all(std::make_integer_sequence<int, 8>());
}

/// Calls tile(first, std::integral_constant<int, n>) for tiles of at most `most` of `count`
/// columns: equal tiles instead of full ones and a remainder.
template <typename Tile> void for_tiles(std::int64_t count, std::int64_t most, const Tile& tile) {
  for (std::int64_t first = 0; first < count;) {
    const std::int64_t tiles = (count - first + most - 1) / most;
    const std::int64_t size = (count - first + tiles - 1) / tiles;
    with_count(size, [&](auto width) { tile(first, width); });
    first += size;
  }
}

}  // namespace

template <typename Scalar> void Columns<Scalar>::resize(std::int64_t count, std::int64_t length) {
  count_ = count;
  length_ = length;
  // An odd number of cache lines, so that columns do not fall into the same cache sets.
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(Scalar));
  stride_ = (length + kLine - 1) / kLine * kLine;
  if (stride_ / kLine % 2 == 0) stride_ += kLine;
  data_ = buffer_.resize_zeroed(static_cast<std::size_t>(count * stride_));
}

struct PanelMatrix::Piece {
  const float* data;          ///< [num_rows, kStripCols]
  std::int64_t num_rows;      ///< a multiple of kTileRows
  std::int64_t strip_stride;  ///< floats between the same rows of adjacent strips
};

std::int64_t PanelMatrix::padded_rows() const { return round_up(rows_, kTileRows); }
std::int64_t PanelMatrix::padded_cols() const { return round_up(cols_, kStripCols); }
std::int64_t PanelMatrix::num_chunks() const {
  return (padded_rows() + kChunkRows - 1) / kChunkRows;
}
std::int64_t PanelMatrix::num_strips() const { return padded_cols() / kStripCols; }

PanelMatrix::Piece PanelMatrix::piece(std::int64_t chunk, std::int64_t strip) const {
  const std::int64_t num_rows = std::min(kChunkRows, padded_rows() - chunk * kChunkRows);
  const std::int64_t stride = num_rows * kStripCols;
  return {data_ + chunk * kChunkRows * padded_cols() + strip * stride, num_rows, stride};
}

void PanelMatrix::pack(const ConstMatrixRef& rows, std::span<const float> shift, ThreadPool& pool) {
  rows_ = rows.rows();
  cols_ = rows.cols();
  data_ = buffer_.resize(static_cast<std::size_t>(padded_rows() * padded_cols()));
  pool.parallel_for(num_chunks(), [&](std::int64_t chunk) {
    for (std::int64_t strip = 0; strip < num_strips(); ++strip) {
      const Piece to = piece(chunk, strip);
      const std::int64_t col = strip * kStripCols;
      const std::int64_t width = std::min<std::int64_t>(kStripCols, cols_ - col);
      for (std::int64_t r = 0; r < to.num_rows; ++r) {
        const std::int64_t row = chunk * kChunkRows + r;
        float* const place = data_ + (to.data - data_) + r * kStripCols;
        const std::int64_t filled = row < rows_ ? width : 0;
        for (std::int64_t j = 0; j < filled; ++j) {
          const float value = rows.data()[row * rows.outerStride() + col + j];
          place[j] = shift.empty() ? value : value - shift[static_cast<std::size_t>(col + j)];
        }
        std::fill(place + filled, place + kStripCols, 0.0F);
      }
    }
  });
}

template <typename Scalar>
void PanelMatrix::multiply(const Columns<Scalar>& in, Columns<double>& out,
                           ThreadPool& pool) const {
  assert(in.length() == padded_cols());
  out.resize(in.count(), padded_rows());
  pool.parallel_for(num_chunks(), [&](std::int64_t chunk) {
    const Piece rows = piece(chunk, 0);
    for (std::int64_t r = 0; r < rows.num_rows; r += kTileRows) {
      for_tiles(in.count(), kProductCols, [&](std::int64_t c, auto width) {
        multiply_tile<Scalar, width()>(rows.data + r * kStripCols, rows.strip_stride, num_strips(),
                                       in, c, out, chunk * kChunkRows + r);
      });
    }
  });
}

template <bool kSquared, typename Scalar>
void PanelMatrix::multiply_transposed(const Columns<Scalar>& in, Columns<double>& out,
                                      ThreadPool& pool) const {
  assert(in.length() == padded_rows());
  out.resize(in.count(), padded_cols());
  pool.parallel_for(num_strips(), [&](std::int64_t strip) {
    for (std::int64_t chunk = 0; chunk < num_chunks(); ++chunk) {
      const Piece rows = piece(chunk, strip);
      for_tiles(in.count(), kTransposedCols, [&](std::int64_t c, auto width) {
        add_transposed<Scalar, width(), kSquared>(rows.data, rows.num_rows, in, c,
                                                  chunk * kChunkRows, out, strip * kStripCols);
      });
    }
  });
}

void PanelMatrix::gram(Eigen::Ref<MatrixF> out, ThreadPool& pool) const {
  // Blocks of strips small enough to keep their pieces and sums in the L2 cache.
  constexpr std::int64_t kBlock = 4;
  constexpr int kBlockCols = static_cast<int>(kBlock) * kStripCols;
  const std::int64_t blocks = (num_strips() + kBlock - 1) / kBlock;
  pool.parallel_for(blocks * (blocks + 1) / 2, [&](std::int64_t item) {
    std::int64_t below = 0;  // row of blocks; `item` counts along the rows of the triangle
    while ((below + 1) * (below + 2) / 2 <= item) ++below;
    const std::int64_t left = item - below * (below + 1) / 2;
    MatrixF sums = MatrixF::Zero(kBlockCols, kBlockCols);
    for (std::int64_t chunk = 0; chunk < num_chunks(); ++chunk) {
      for (std::int64_t b = 0; b < std::min(kBlock, num_strips() - below * kBlock); ++b) {
        for (std::int64_t a = 0; a < std::min(kBlock, num_strips() - left * kBlock); ++a) {
          const Piece x = piece(chunk, left * kBlock + a);
          const Piece f = piece(chunk, below * kBlock + b);
          for (int c = 0; c < kStripCols; c += kTransposedCols) {
            simd::RegisterTile<float, kTileVectors, kTransposedCols> sum;
            simd::multiply_add(sum, x.num_rows, x.data, kStripCols, f.data + c, kStripCols);
            sum.visit(&sums(b * kStripCols + c, a * kStripCols), kBlockCols,
                      [](float* at, const Vector<float>& value) {
                        simd::store(at, simd::load(at) + value);
                      });
          }
        }
      }
    }
    const std::int64_t row = below * kBlockCols;
    const std::int64_t col = left * kBlockCols;
    const std::int64_t height = std::min<std::int64_t>(kBlockCols, cols_ - row);
    const std::int64_t width = std::min<std::int64_t>(kBlockCols, cols_ - col);
    out.block(row, col, height, width) = sums.topLeftCorner(height, width);
  });
}

template class Columns<float>;
template class Columns<double>;
template void PanelMatrix::multiply(const Columns<float>&, Columns<double>&, ThreadPool&) const;
template void PanelMatrix::multiply(const Columns<double>&, Columns<double>&, ThreadPool&) const;
template void PanelMatrix::multiply_transposed<false>(const Columns<float>&, Columns<double>&,
                                                      ThreadPool&) const;
template void PanelMatrix::multiply_transposed<false>(const Columns<double>&, Columns<double>&,
                                                      ThreadPool&) const;
template void PanelMatrix::multiply_transposed<true>(const Columns<double>&, Columns<double>&,
                                                     ThreadPool&) const;

}  // namespace lime::probes
