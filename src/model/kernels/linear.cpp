// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/linear.h"

#include <ATen/Context.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "core/simd/vector.h"
#include "model/decoders/decoder_weights.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/slab_product.h"
#include "model/kernels/torch_compat.h"

namespace lime {
namespace {

/// Register tile of kTileRows x kTileVectors vectors; with the operands it fills the registers.
#if defined(__AVX512F__)
constexpr int kTileRows = 12;
#else
constexpr int kTileRows = 6;
#endif
constexpr int kTileVectors = 2;
template <typename T> constexpr std::int64_t kTileColumns = kTileVectors* simd::kLanes<T>;

/// Inner elements per panel: a panel of b, kDepth * kTileColumns, stays in the L1 cache.
constexpr std::int64_t kDepth = 256;
/// Register tiles per task along the rows: its panels of a stay in the L2 cache.
constexpr std::int64_t kTaskTiles = 4;
constexpr std::int64_t kTaskRows = kTaskTiles * kTileRows;

/// Strided matrix; one of the strides is 1.
template <typename T> struct Strided {
  T* data;
  std::int64_t rows, columns, row_stride, column_stride;

  explicit Strided(const at::Tensor& x)
      : data(x.data_ptr<T>()),
        rows(x.size(0)),
        columns(x.size(1)),
        row_stride(x.stride(0)),
        column_stride(x.stride(1)) {}
  T* at(std::int64_t row, std::int64_t column) const {
    return data + row * row_stride + column * column_stride;
  }
};

/// Packs `width` neighbours of each of `depth` steps into [depth][full_width], padded with zeros.
template <typename T>
void pack(T* to, const T* from, std::int64_t depth, std::int64_t step, std::int64_t width,
          std::int64_t stride, std::int64_t full_width) {
  if (width < full_width) std::fill(to, to + depth * full_width, T{0});
  if (stride == 1) {
    for (std::int64_t k = 0; k < depth; ++k) {
      std::copy_n(from + k * step, width, to + k * full_width);
    }
    return;
  }
  // Blocks of steps keep both the source and the destination in cache.
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t first = 0; first < depth; first += kBlock) {
    const std::int64_t last = std::min(first + kBlock, depth);
    for (std::int64_t i = 0; i < width; ++i) {
      const T* const source = from + i * stride;
      for (std::int64_t k = first; k < last; ++k) to[k * full_width + i] = source[k * step];
    }
  }
}

/// Computes c (+)= a b for one register tile of packed panels.
template <typename T>
void multiply_tile(T* c, std::int64_t c_stride, const T* a, const T* b, std::int64_t depth,
                   bool accumulate) {
  simd::RegisterTile<T, kTileVectors, kTileRows> sums;
  simd::multiply_add(sums, depth, b, kTileColumns<T>, a, kTileRows);
  sums.visit(c, c_stride, [accumulate](T* at, const simd::Vector<T>& value) {
    simd::store(at, accumulate ? value + simd::load(at) : value);
  });
}

/// Computes the same for a tile that extends beyond c.
template <typename T>
void multiply_edge_tile(T* c, std::int64_t c_stride, const T* a, const T* b, std::int64_t depth,
                        bool accumulate, std::int64_t rows, std::int64_t columns) {
  alignas(64) T tile[kTileRows * kTileColumns<T>];
  multiply_tile(tile, kTileColumns<T>, a, b, depth, false);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      T& to = c[i * c_stride + j];
      to = tile[i * kTileColumns<T> + j] + (accumulate ? to : T{0});
    }
  }
}

/// One product: b is packed once for all tasks, a by each task for its rows.
template <typename T> class Product {
 public:
  Product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, bool accumulate)
      : c_(out),
        a_(a),
        b_(b),
        accumulate_(accumulate),
        panels_(ceil_div(b_.columns, kTileColumns<T>)),
        packed_b_(at::empty({panels_ * kTileColumns<T> * b_.rows}, out.options())) {}

  void run() {
    for_each_tile(panels_, 4 * b_.rows * kTileColumns<T>,
                  [&] { return [&](std::int64_t panel) { pack_b(panel); }; });
    // Few rows: the columns are split as well.
    const std::int64_t row_tasks = ceil_div(c_.rows, kTaskRows);
    constexpr std::int64_t kEnoughTasks = 48;
    const std::int64_t column_tasks =
        std::clamp<std::int64_t>(kEnoughTasks / row_tasks, 1, ceil_div(panels_, 4));
    const std::int64_t panels_per_task = ceil_div(panels_, column_tasks);
    for_each_tile(row_tasks * column_tasks,
                  2 * kTaskRows * panels_per_task * kTileColumns<T> * a_.columns, [&] {
                    const at::Tensor packed_a =
                        at::empty({kTaskRows * std::min(kDepth, a_.columns)}, packed_b_.options());
                    return [this, packed_a, column_tasks, panels_per_task](std::int64_t task) {
                      const std::int64_t first = task % column_tasks * panels_per_task;
                      multiply(task / column_tasks * kTaskRows, first,
                               std::min(first + panels_per_task, panels_), packed_a.data_ptr<T>());
                    };
                  });
  }

 private:
  /// Returns the columns of `panel`, slab by slab of kDepth inner elements.
  T* panel_at(std::int64_t panel, std::int64_t first_inner) const {
    const std::int64_t depth = std::min(kDepth, b_.rows - first_inner);
    return packed_b_.data_ptr<T>() + first_inner * panels_ * kTileColumns<T> +
           panel * depth * kTileColumns<T>;
  }

  void pack_b(std::int64_t panel) const {
    const std::int64_t column = panel * kTileColumns<T>;
    const std::int64_t width = std::min(kTileColumns<T>, b_.columns - column);
    for (std::int64_t k = 0; k < b_.rows; k += kDepth) {
      pack(panel_at(panel, k), b_.at(k, column), std::min(kDepth, b_.rows - k), b_.row_stride,
           width, b_.column_stride, kTileColumns<T>);
    }
  }

  void multiply(std::int64_t row, std::int64_t first_panel, std::int64_t last_panel,
                T* packed_a) const {
    const std::int64_t rows = std::min(kTaskRows, c_.rows - row);
    for (std::int64_t k = 0; k < a_.columns; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, a_.columns - k);
      for (std::int64_t r = 0; r < rows; r += kTileRows) {
        pack(packed_a + r * depth, a_.at(row + r, k), depth, a_.column_stride,
             std::min<std::int64_t>(kTileRows, rows - r), a_.row_stride, kTileRows);
      }
      for (std::int64_t panel = first_panel; panel < last_panel; ++panel) {
        const std::int64_t column = panel * kTileColumns<T>;
        const std::int64_t columns = std::min(kTileColumns<T>, c_.columns - column);
        for (std::int64_t r = 0; r < rows; r += kTileRows) {
          const bool adds = accumulate_ || k > 0;
          T* const c = c_.at(row + r, column);
          const std::int64_t tile_rows = std::min<std::int64_t>(kTileRows, rows - r);
          if (tile_rows == kTileRows && columns == kTileColumns<T>) {
            multiply_tile(c, c_.row_stride, packed_a + r * depth, panel_at(panel, k), depth, adds);
          } else {
            multiply_edge_tile(c, c_.row_stride, packed_a + r * depth, panel_at(panel, k), depth,
                               adds, tile_rows, columns);
          }
        }
      }
    }
  }

  Strided<T> c_, a_, b_;
  const bool accumulate_;
  const std::int64_t panels_;
  const at::Tensor packed_b_;
};

}  // namespace

void matrix_product_out(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                        Accumulate accumulate) {
  static const bool has_mkl = at::hasMKL();
  if (has_mkl || !uses_cpu_kernels(out)) {
    at::Tensor to = out;
    if (accumulate == Accumulate::kYes) {
      at::addmm_out(to, to, a, b);
    } else {
      at::mm_out(to, a, b);
    }
    return;
  }
  assert(out.stride(1) == 1 && a.size(1) == b.size(0));
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "matrix_product", [&] {
    Product<scalar_t>(out, a, b, accumulate == Accumulate::kYes).run();
  });
}

namespace {

/// ProductTile size for which packing is cheap compared with multiplying.
constexpr std::int64_t kRowsPerTile = 256;
constexpr std::int64_t kColumnsPerTile = 768;
/// Long products use higher tiles, and narrower ones at the end to balance the threads.
constexpr std::int64_t kLongProductRows = 2048;
constexpr std::int64_t kHighTileRows = 512;
constexpr std::int64_t kTailRows = 1024;
constexpr std::int64_t kTailTileColumns = 192;
/// A product for one token reads the weights once; narrow tiles distribute that over the threads.
constexpr std::int64_t kTileColumnsOfOneRow = 64;
/// Columns of a wide product whose inner rows fit the L2 cache.
constexpr std::int64_t kTileColumnsWide = 1024;

/// Minimum work per thread, in multiply-adds, that is worth waking it.
constexpr std::int64_t kOperationsPerThread = 1 << 19;

/// Rows [row, row + rows) and columns [column, column + columns) of a product.
struct ProductTile {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
};

/// Splits a product into tiles, from the largest to the smallest. Depends only on its shape.
std::vector<ProductTile> plan_tiles(std::int64_t rows, std::int64_t columns) {
  std::vector<ProductTile> tiles;
  for (std::int64_t row = 0; row < rows;) {
    const bool is_long = rows >= kLongProductRows;
    const bool is_tail = is_long && row + kTailRows >= rows;
    const std::int64_t height =
        std::min(is_long && !is_tail ? kHighTileRows : kRowsPerTile, rows - row);
    const std::int64_t width = rows == 1 ? kTileColumnsOfOneRow
                               : is_tail ? kTailTileColumns
                                         : kColumnsPerTile;
    for (std::int64_t column = 0; column < columns; column += width) {
      tiles.push_back({row, height, column, std::min(width, columns - column)});
    }
    row += height;
  }
  return tiles;
}

template <typename T>
void linear_kernel(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                   const at::Tensor& bias) {
  const std::int64_t rows = x.size(0);
  const std::int64_t inner = x.size(1);
  const std::int64_t columns = weight.size(0);
  const std::vector<ProductTile> tiles = plan_tiles(rows, columns);
  const T* const x_data = x.data_ptr<T>();
  const T* const weight_data = weight.data_ptr<T>();
  const T* const bias_data = bias.defined() ? bias.data_ptr<T>() : nullptr;
  T* const out_data = out.data_ptr<T>();
  const std::int64_t x_stride = x.stride(0);
  const std::int64_t weight_stride = weight.stride(0);

  const auto run_tile = [&](std::int64_t index) {
    const ProductTile& tile = tiles[index];
    const ConstRowMajorView<T> a(x_data + tile.row * x_stride, tile.rows, inner,
                                 Eigen::OuterStride<>(x_stride));
    const ConstRowMajorView<T> b(weight_data + tile.column * weight_stride, tile.columns, inner,
                                 Eigen::OuterStride<>(weight_stride));
    RowMajorView<T> y(out_data + tile.row * columns + tile.column, tile.rows, tile.columns,
                      Eigen::OuterStride<>(columns));
    slab_product(y, a, b.transpose());
    if (bias_data != nullptr) {
      y.rowwise() += Eigen::Map<const Eigen::RowVector<T, Eigen::Dynamic>>(bias_data + tile.column,
                                                                           tile.columns);
    }
  };
  const auto count = static_cast<std::int64_t>(tiles.size());
  for_each_tile(count, 2 * rows * columns * inner / std::max<std::int64_t>(1, count),
                [&] { return run_tile; });
}

template <typename T>
void wide_product_kernel(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right) {
  const std::int64_t rows = left.size(0);
  const std::int64_t inner = left.size(1);
  const std::int64_t columns = right.size(1);
  const ConstRowMajorView<T> a(left.data_ptr<T>(), rows, inner,
                               Eigen::OuterStride<>(left.stride(0)));
  const T* const right_data = right.data_ptr<T>();
  T* const out_data = out.data_ptr<T>();
  const auto run_tile = [&](std::int64_t tile) {
    const std::int64_t c0 = tile * kTileColumnsWide;
    const std::int64_t c = std::min(kTileColumnsWide, columns - c0);
    const ConstRowMajorView<T> b(right_data + c0, inner, c, Eigen::OuterStride<>(right.stride(0)));
    RowMajorView<T> y(out_data + c0, rows, c, Eigen::OuterStride<>(columns));
    y.noalias() = a * b;
  };
  for_each_tile(ceil_div(columns, kTileColumnsWide), 2 * rows * inner * kTileColumnsWide,
                [&] { return run_tile; });
}

/// Returns false if LibTorch uses MKL, which is faster than the tiles.
bool use_tiles(const at::Tensor& x) {
  static const bool has_mkl = at::hasMKL();
  return !has_mkl && uses_cpu_kernels(x);
}

at::Tensor as_rows(const at::Tensor& x) {
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  return rows.stride(1) == 1 ? rows : rows.contiguous();
}

at::Tensor as_matrix(const at::Tensor& x) { return x.contiguous().view({-1, x.size(-1)}); }

/// Tensors that the backward pass of some layers needs.
struct SavedLinear {
  at::Tensor x;                     // [rows, in_features]
  std::vector<at::Tensor> weights;  // [out_features, in_features] each
  std::vector<bool> has_bias;
  bool needs_dx = true;

  /// Returns the gradients of x (in `shape`), of the weights, and of the biases that exist.
  std::vector<at::Tensor> backward(const std::vector<at::Tensor>& gradients,
                                   at::IntArrayRef shape) const {
    at::Tensor dx;
    std::vector<at::Tensor> all(1);
    std::vector<at::Tensor> biases;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const at::Tensor dy = as_matrix(gradients[i]);
      if (needs_dx) {
        const auto accumulate = dx.defined() ? Accumulate::kYes : Accumulate::kNo;
        if (!dx.defined()) dx = at::empty(x.sizes(), x.options());
        matrix_product_out(dx, dy, weights[i], accumulate);
      }
      at::Tensor dw = at::empty(weights[i].sizes(), weights[i].options());
      matrix_product_out(dw, dy.t(), x);
      all.push_back(dw);
      if (has_bias[i]) biases.push_back(sum_of_rows(dy));
    }
    all.insert(all.end(), biases.begin(), biases.end());
    if (dx.defined()) all[0] = dx.view(shape);
    return all;
  }
};

}  // namespace

namespace {
thread_local bool without_cpu_kernels = false;
}  // namespace

WithoutCpuKernels::WithoutCpuKernels() : before_(std::exchange(without_cpu_kernels, true)) {}
WithoutCpuKernels::~WithoutCpuKernels() { without_cpu_kernels = before_; }
bool WithoutCpuKernels::here() { return without_cpu_kernels; }

bool uses_cpu_kernels(const at::Tensor& tensor) {
  return tensor.is_cpu() && !c10::GradMode::is_enabled() && !WithoutCpuKernels::here() &&
         (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble);
}

std::int64_t parallel_grain(std::int64_t operations_per_item) {
  return std::max<std::int64_t>(
      1, kOperationsPerThread / std::max<std::int64_t>(1, operations_per_item));
}

at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!use_tiles(x)) return at::linear(x, weight, optional_tensor(bias));
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  at::Tensor out = at::empty(shape, x.options());
  linear_out(out, x, weight, bias);
  return out;
}

void linear_out(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias) {
  const at::Tensor rows = as_rows(x);
  at::Tensor flat = out.view({-1, out.size(-1)});
  if (!use_tiles(x)) {
    if (bias.defined()) {
      at::addmm_out(flat, bias, rows, weight.t());
    } else {
      at::mm_out(flat, rows, weight.t());
    }
    return;
  }
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "linear",
                             [&] { linear_kernel<scalar_t>(flat, rows, weight, bias); });
}

void wide_product_out(at::Tensor& out, const at::Tensor& left, const at::Tensor& right) {
  if (!use_tiles(right)) {
    at::mm_out(out, left, right);
    return;
  }
  AT_DISPATCH_FLOATING_TYPES(right.scalar_type(), "wide_product",
                             [&] { wide_product_kernel<scalar_t>(out, left, right); });
}

std::vector<at::Tensor> linear_with_gradients(const at::Tensor& x,
                                              const std::vector<const LinearWeights*>& layers) {
  std::vector<at::Tensor> outputs;
  if (!uses_cpu_gradients(x)) {
    for (const LinearWeights* layer : layers) {
      outputs.push_back(apply_linear(x, layer->weight, layer->bias));
    }
    return outputs;
  }
  std::vector<at::Tensor> inputs = {x};
  std::vector<at::Tensor> biases;
  SavedLinear saved;
  saved.needs_dx = x.requires_grad();
  {
    const at::NoGradGuard no_grad;
    saved.x = as_matrix(x.detach());
    for (const LinearWeights* layer : layers) {
      outputs.push_back(apply_linear(x, layer->weight, layer->bias));
      inputs.push_back(layer->weight);
      saved.weights.push_back(layer->weight.detach());
      saved.has_bias.push_back(layer->bias.defined());
      if (layer->bias.defined()) biases.push_back(layer->bias);
    }
  }
  inputs.insert(inputs.end(), biases.begin(), biases.end());
  return differentiable(inputs, outputs,
                        [saved, shape = x.sizes().vec()](const std::vector<at::Tensor>& gradients) {
                          return saved.backward(gradients, shape);
                        });
}

}  // namespace lime
