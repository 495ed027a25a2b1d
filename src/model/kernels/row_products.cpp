// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/row_products.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "core/simd/vector.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

/// Columns per tile: a tile of each output row stays in the L1 cache.
constexpr std::int64_t kTileColumns = 512;
/// Inner rows added at a time.
constexpr std::int64_t kInnerRows = 16;
/// Maximum number of blocks for the sums over columns.
constexpr std::int64_t kMostBlocks = 64;

/// Computes `Rows` rows of the product for inner rows [first, last), columns [begin, end).
template <int Rows, typename T>
void add_inner_rows(T* const* out, const T* left, std::int64_t left_stride, const T* const* right,
                    std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kStep = 2 * simd::kLanes<T>;
  std::int64_t column = begin;
  for (; column + kStep <= end; column += kStep) {
    simd::Vector<T> sums[Rows][2];
    for (int i = 0; i < Rows; ++i) {
      sums[i][0] = first == 0 ? simd::Vector<T>{} : simd::load(out[i] + column);
      sums[i][1] = first == 0 ? simd::Vector<T>{} : simd::load(out[i] + column + simd::kLanes<T>);
    }
    for (std::int64_t k = first; k < last; ++k) {
      const simd::Vector<T> a = simd::load(right[k] + column);
      const simd::Vector<T> b = simd::load(right[k] + column + simd::kLanes<T>);
      for (int i = 0; i < Rows; ++i) {
        sums[i][0] += left[i * left_stride + k] * a;
        sums[i][1] += left[i * left_stride + k] * b;
      }
    }
    for (int i = 0; i < Rows; ++i) {
      simd::store(out[i] + column, sums[i][0]);
      simd::store(out[i] + column + simd::kLanes<T>, sums[i][1]);
    }
  }
  for (; column < end; ++column) {
    for (int i = 0; i < Rows; ++i) {
      T sum = first == 0 ? T{0} : out[i][column];
      for (std::int64_t k = first; k < last; ++k) {
        sum += left[i * left_stride + k] * right[k][column];
      }
      out[i][column] = sum;
    }
  }
}

/// Computes columns [begin, end) of the product.
template <typename T>
void multiply_columns(const WideRows<T>& out, const std::vector<T>& left,
                      const WideRows<const T>& right, std::int64_t begin, std::int64_t end) {
  const auto inner = static_cast<std::int64_t>(right.size());
  const auto rows = static_cast<std::int64_t>(out.size());
  for (std::int64_t first = 0; first < inner; first += kInnerRows) {
    const std::int64_t last = std::min(first + kInnerRows, inner);
    for (std::int64_t row = 0; row < rows;) {
      T* const* const to = out.data() + row;
      const T* const weights = left.data() + row * inner;
      const auto add = [&]<int Rows>() {
        add_inner_rows<Rows>(to, weights, inner, right.data(), first, last, begin, end);
        row += Rows;
      };
      const std::int64_t remaining = rows - row;
      if (remaining >= 8) {
        add.template operator()<8>();
      } else if (remaining >= 4) {
        add.template operator()<4>();
      } else if (remaining >= 2) {
        add.template operator()<2>();
      } else {
        add.template operator()<1>();
      }
    }
  }
}

template <typename T>
T sum_of_lanes(const simd::Vector<T>& vector) {
  T sum{0};
  for (std::int64_t i = 0; i < simd::kLanes<T>; ++i) sum += vector[static_cast<std::size_t>(i)];
  return sum;
}

/// Computes dots[0 ... B - 1] += a[begin, end) . b[0 ... B - 1][begin, end).
template <int B, typename T>
void add_dots(T* dots, const T* a, const T* const* b, std::int64_t begin, std::int64_t end) {
  simd::Vector<T> sums[B] = {};
  std::int64_t column = begin;
  for (; column + simd::kLanes<T> <= end; column += simd::kLanes<T>) {
    const simd::Vector<T> value = simd::load(a + column);
    for (int g = 0; g < B; ++g) sums[g] += value * simd::load(b[g] + column);
  }
  for (int g = 0; g < B; ++g) {
    T sum = sum_of_lanes<T>(sums[g]);
    for (std::int64_t rest = column; rest < end; ++rest) sum += a[rest] * b[g][rest];
    dots[g] += sum;
  }
}

template <typename T>
void add_all_dots(T* dots, const WideRows<const T>& gradients, const WideRows<const T>& rows,
                  std::int64_t begin, std::int64_t end) {
  const auto count = static_cast<std::int64_t>(rows.size());
  for (const T* const gradient : gradients) {
    std::int64_t g = 0;
    for (; g + 8 <= count; g += 8) add_dots<8>(dots + g, gradient, rows.data() + g, begin, end);
    for (; g + 2 <= count; g += 2) add_dots<2>(dots + g, gradient, rows.data() + g, begin, end);
    for (; g < count; ++g) add_dots<1>(dots + g, gradient, rows.data() + g, begin, end);
    dots += count;
  }
}

}  // namespace

template <typename T>
void wide_rows_product(const WideRows<T>& out, const std::vector<T>& left,
                       const WideRows<const T>& right, std::int64_t columns) {
  assert(left.size() == out.size() * right.size() && !right.empty());
  const auto operations = static_cast<std::int64_t>(2 * left.size()) * kTileColumns;
  for_each_tile((columns + kTileColumns - 1) / kTileColumns, operations, [&] {
    return [&](std::int64_t tile) {
      const std::int64_t begin = tile * kTileColumns;
      multiply_columns(out, left, right, begin, std::min(begin + kTileColumns, columns));
    };
  });
}

template <typename T>
std::vector<T> wide_rows_backward(const WideRows<T>& out, const std::vector<T>& left,
                                  const WideRows<const T>& gradients, const WideRows<const T>& rows,
                                  std::int64_t columns) {
  assert(left.size() == out.size() * gradients.size() && !gradients.empty());
  const std::int64_t tiles = (columns + kTileColumns - 1) / kTileColumns;
  const std::int64_t tiles_per_block = (tiles + kMostBlocks - 1) / kMostBlocks;
  const std::int64_t blocks = (tiles + tiles_per_block - 1) / tiles_per_block;
  const std::size_t num_dots = gradients.size() * rows.size();
  std::vector<T> partial(static_cast<std::size_t>(blocks) * num_dots, T{0});
  const auto operations =
      static_cast<std::int64_t>(4 * left.size()) * kTileColumns * tiles_per_block;
  for_each_tile(blocks, operations, [&] {
    return [&](std::int64_t block) {
      T* const dots = partial.data() + static_cast<std::size_t>(block) * num_dots;
      const std::int64_t last = std::min((block + 1) * tiles_per_block, tiles);
      for (std::int64_t tile = block * tiles_per_block; tile < last; ++tile) {
        const std::int64_t begin = tile * kTileColumns;
        const std::int64_t end = std::min(begin + kTileColumns, columns);
        multiply_columns(out, left, gradients, begin, end);
        add_all_dots(dots, gradients, rows, begin, end);
      }
    };
  });
  std::vector<T> dots(num_dots, T{0});
  for (std::size_t i = 0; i < partial.size(); ++i) dots[i % num_dots] += partial[i];
  return dots;
}

template void wide_rows_product(const WideRows<float>&, const std::vector<float>&,
                                const WideRows<const float>&, std::int64_t);
template void wide_rows_product(const WideRows<double>&, const std::vector<double>&,
                                const WideRows<const double>&, std::int64_t);
template std::vector<float> wide_rows_backward(const WideRows<float>&, const std::vector<float>&,
                                               const WideRows<const float>&,
                                               const WideRows<const float>&, std::int64_t);
template std::vector<double> wide_rows_backward(const WideRows<double>&, const std::vector<double>&,
                                                const WideRows<const double>&,
                                                const WideRows<const double>&, std::int64_t);

}  // namespace lime
