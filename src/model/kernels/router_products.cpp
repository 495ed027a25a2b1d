// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/router_products.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cstddef>

#include "core/simd/vector.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/source_mixture.h"

namespace lime {
namespace {

/// Columns per tile: a tile of each output row stays in the L1 cache.
constexpr std::int64_t kWideColumns = 512;
/// Inner rows added at a time.
constexpr std::int64_t kInnerRows = 16;
/// Maximum number of blocks for the sums over columns.
constexpr std::int64_t kMaxBlocks = 64;

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

template <typename T> T sum_of_lanes(const simd::Vector<T>& vector) {
  T sum{0};
  for (std::int64_t i = 0; i < simd::kLanes<T>; ++i) sum += vector[i];
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

at::Tensor add_source(const at::Tensor& sum, const RouterMixture& mixture, std::int64_t source,
                      const at::Tensor& block) {
  const auto added_to_sum = [&](const at::Tensor& part) {
    return sum.defined() ? sum + part : part;
  };
  const bool is_mixed = mixture.weights.size(mixture.is_dynamic ? 3 : 2) > 1 || block.size(0) == 1;
  if (mixture.is_dynamic) {
    const at::Tensor weights = mixture.weights.select(2, source);  // [kv_heads, tokens, mixed]
    return added_to_sum(is_mixed ? at::einsum("htg,gtcd->htcd", {weights, block})
                                 : weights.unsqueeze(3) * block);
  }
  const at::Tensor weights = mixture.weights.select(1, source);  // [kv_heads, mixed, dims]
  if (!is_mixed) return added_to_sum(weights.unsqueeze(1) * block);
  if (weights.size(2) > 1) return added_to_sum(at::einsum("hgd,gtcd->htcd", {weights, block}));
  const at::Tensor matrix = weights.squeeze(2);
  const at::Tensor flat = block.flatten(1);
  const at::Tensor routed =
      sum.defined() ? at::addmm(sum.flatten(1), matrix, flat) : at::mm(matrix, flat);
  return routed.view(block.sizes());
}

void mix_sources_out(at::Tensor& out, const RouterMixture& mixture, const at::Tensor& buffered) {
  const std::int64_t heads = buffered.size(1);
  const at::Tensor& weights = mixture.weights;
  if (mixture.is_dynamic || weights.size(3) > 1) {
    if (uses_cpu_kernels(out)) return mix_blocks_out(out, buffered.unbind(0), mixture);
    out.copy_(mix_blocks(buffered.unbind(0), mixture));
    return;
  }
  at::Tensor routed = out.view({heads, -1});
  if (weights.size(2) == heads) {
    wide_product_out(routed, weights.reshape({heads, -1}), buffered.view({-1, routed.size(1)}));
    return;
  }
  const at::Tensor by_head = buffered.view({buffered.size(0), heads, -1});
  for (std::int64_t head = 0; head < heads; ++head) {
    at::Tensor own = routed.narrow(0, head, 1);
    wide_product_out(own, weights[head].view({1, -1}), by_head.select(1, head));
  }
}

template <typename T>
void wide_rows_product(const WideRows<T>& out, const std::vector<T>& left,
                       const WideRows<const T>& right, std::int64_t columns) {
  assert(left.size() == out.size() * right.size() && !right.empty());
  const auto operations = static_cast<std::int64_t>(2 * left.size()) * kWideColumns;
  for_each_tile(ceil_div(columns, kWideColumns), operations, [&] {
    return [&](std::int64_t tile) {
      const std::int64_t begin = tile * kWideColumns;
      multiply_columns(out, left, right, begin, std::min(begin + kWideColumns, columns));
    };
  });
}

template <typename T>
std::vector<T> wide_rows_backward(const WideRows<T>& out, const std::vector<T>& left,
                                  const WideRows<const T>& gradients, const WideRows<const T>& rows,
                                  std::int64_t columns) {
  assert(left.size() == out.size() * gradients.size() && !gradients.empty());
  const std::int64_t tiles = ceil_div(columns, kWideColumns);
  const std::int64_t tiles_per_block = ceil_div(tiles, kMaxBlocks);
  const std::int64_t blocks = ceil_div(tiles, tiles_per_block);
  const std::size_t num_dots = gradients.size() * rows.size();
  std::vector<T> partial(static_cast<std::size_t>(blocks) * num_dots, T{0});
  const auto operations =
      static_cast<std::int64_t>(4 * left.size()) * kWideColumns * tiles_per_block;
  for_each_tile(blocks, operations, [&] {
    return [&](std::int64_t block) {
      T* const dots = partial.data() + static_cast<std::size_t>(block) * num_dots;
      const std::int64_t last = std::min((block + 1) * tiles_per_block, tiles);
      for (std::int64_t tile = block * tiles_per_block; tile < last; ++tile) {
        const std::int64_t begin = tile * kWideColumns;
        const std::int64_t end = std::min(begin + kWideColumns, columns);
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
