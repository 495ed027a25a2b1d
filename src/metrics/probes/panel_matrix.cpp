// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/panel_matrix.h"

#include <array>
#include <cassert>

#include "core/simd/vector.h"
#include "core/threads/thread_pool.h"
#include "linalg/packed_product.h"
#include "linalg/register_tile.h"

namespace lime::probes {
namespace {

// The inner loops: tiles of a product whose sums stay in registers.
using simd::Vector;
template <typename Scalar> constexpr int kWidth = static_cast<int>(simd::kLanes<Scalar>);

/// Registers of a strip per tile and operand column in a transposed product.
constexpr int kTileVectors = linalg::kPanelVectors<float>;
constexpr int kStripCols = static_cast<int>(linalg::kPanelRows<float>);
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
    linalg::RegisterTile<Scalar, kTileVectors, NC> sum;
    linalg::multiply_add(sum, num_rows, x + part, kStripCols, in.column(first) + row, 1, stride,
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

void PanelMatrix::pack(const ConstMatrixRef& rows, std::span<const float> shift, ThreadPool& pool) {
  rows_ = rows.rows();
  packed_.resize(rows.cols(), round_up(rows_, kTileRows), kChunkRows);
  pool.parallel_for(num_chunks(), [&](std::int64_t chunk) {
    const std::int64_t first = packed_.first_of(chunk);
    for (std::int64_t strip = 0; strip < num_strips(); ++strip) {
      const std::int64_t col = strip * kStripCols;
      const std::int64_t width = std::min<std::int64_t>(kStripCols, cols() - col);
      for (std::int64_t r = 0; r < packed_.depth_of(chunk); ++r) {
        float* const place = packed_.panel(chunk, strip) + r * kStripCols;
        const std::int64_t row = first + r;
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
    const linalg::Slab<float> rows = packed_.slab(chunk);
    for (std::int64_t r = 0; r < rows.depth; r += kTileRows) {
      for_tiles(in.count(), kProductCols, [&](std::int64_t c, auto width) {
        multiply_tile<Scalar, width()>(rows.data + r * kStripCols, rows.stride, num_strips(), in, c,
                                       out, chunk * kChunkRows + r);
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
      const float* const x = packed_.panel(chunk, strip);
      for_tiles(in.count(), kTransposedCols, [&](std::int64_t c, auto width) {
        add_transposed<Scalar, width(), kSquared>(x, packed_.depth_of(chunk), in, c,
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
    const auto strips = [&](std::int64_t block) {
      return linalg::PanelRange{block * kBlock, std::min((block + 1) * kBlock, num_strips())};
    };
    for (std::int64_t chunk = 0; chunk < num_chunks(); ++chunk) {
      const linalg::Slab<float> x = packed_.slab(chunk);
      linalg::multiply_slabs(
          x, strips(left), x, strips(below), linalg::Accumulate::kYes, linalg::Triangle::kBoth,
          [&](std::int64_t a, std::int64_t b) {
            return linalg::ProductBlock<float>{
                &sums((b - below * kBlock) * kStripCols, (a - left * kBlock) * kStripCols),
                kBlockCols};
          });
    }
    const std::int64_t row = below * kBlockCols;
    const std::int64_t col = left * kBlockCols;
    const std::int64_t height = std::min<std::int64_t>(kBlockCols, cols() - row);
    const std::int64_t width = std::min<std::int64_t>(kBlockCols, cols() - col);
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
