// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/linear.h"

#include <ATen/Context.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

#include "linalg/panels.h"
#include "model/decoders/decoder_weights.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/slab_product.h"
#include "model/kernels/torch_compat.h"

namespace lime {
namespace {

/// Inner elements per slab of the products of gradients: a panel of a slab stays in the L1 cache.
constexpr std::int64_t kDepth = 256;
/// Maximum bytes of the packed right factor: it stays in the L3 cache.
constexpr std::int64_t kPackedBytes = 8 << 20;
/// Minimum panels of it that are used together, so that the left factor is packed rarely.
constexpr std::int64_t kFewestPanels = 32;

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

/// Computes c (+)= a b. The right factor is packed once for all tasks, the left one by each task
/// for its rows. Tasks are assigned to threads; the order of the sums depends only on the shapes.
template <typename T> class Product {
 public:
  static constexpr std::int64_t kRows = linalg::kPanelRows<T>;

  /// @param slab_depth  inner elements that are summed before they are added to c
  Product(const Strided<T>& c, const Strided<T>& a, const Strided<T>& b, std::int64_t slab_depth,
          Accumulate accumulate)
      : c_(c), a_(a), b_(b), slab_depth_(slab_depth), accumulate_(accumulate) {}

  void run() {
    const std::int64_t panels = linalg::panels_for<T>(c_.columns);
    const std::int64_t bytes = kRows * a_.columns * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t group = std::max(kFewestPanels, kPackedBytes / bytes);
    for (std::int64_t first = 0; first < panels; first += group) {
      const std::int64_t column = first * kRows;
      multiply_columns(column, std::min(group * kRows, c_.columns - column));
    }
  }

 private:
  void multiply_columns(std::int64_t column, std::int64_t columns) {
    packed_.resize(columns, a_.columns, slab_depth_);
    const std::int64_t panels = packed_.num_panels();
    for_each_tile(panels, 4 * kRows * a_.columns, [&] {
      return [&](std::int64_t panel) { pack_columns(panel, column + panel * kRows); };
    });
    // Few rows: the columns are split as well.
    const std::int64_t row_tasks = linalg::panels_for<T>(c_.rows);
    constexpr std::int64_t kEnoughTasks = 48;
    const std::int64_t column_tasks =
        std::clamp<std::int64_t>(kEnoughTasks / row_tasks, 1, ceil_div(panels, 4));
    const std::int64_t panels_per_task = ceil_div(panels, column_tasks);
    for_each_tile(row_tasks * column_tasks, 2 * kRows * panels_per_task * kRows * a_.columns, [&] {
      return [this, column, column_tasks, panels_per_task,
              rows = std::make_shared<linalg::Panels<T>>()](std::int64_t task) {
        const std::int64_t first = task % column_tasks * panels_per_task;
        const std::int64_t last = std::min(first + panels_per_task, packed_.num_panels());
        multiply_rows(task / column_tasks * kRows, column, {first, last}, *rows);
      };
    });
  }

  void pack_columns(std::int64_t panel, std::int64_t column) {
    const std::int64_t width = std::min(kRows, packed_.rows() - panel * kRows);
    for (std::int64_t slab = 0; slab < packed_.num_slabs(); ++slab) {
      linalg::pack_panel(packed_.panel(slab, panel), width, packed_.depth_of(slab),
                         b_.at(packed_.first_of(slab), column), b_.column_stride, b_.row_stride);
    }
  }

  /// Multiplies the rows of one panel by some panels of the columns from `column` on.
  void multiply_rows(std::int64_t row, std::int64_t column, const linalg::PanelRange& panels,
                     linalg::Panels<T>& packed_rows) const {
    const std::int64_t rows = std::min(kRows, c_.rows - row);
    for (std::int64_t slab = 0; slab < packed_.num_slabs(); ++slab) {
      packed_rows.resize(rows, packed_.depth_of(slab));
      linalg::pack_panel(packed_rows.panel(0, 0), rows, packed_rows.depth(),
                         a_.at(row, packed_.first_of(slab)), a_.row_stride, a_.column_stride);
      const bool adds = accumulate_ == Accumulate::kYes || slab > 0;
      linalg::multiply_slabs(packed_.slab(slab), panels, packed_rows.slab(0), {0, 1},
                             adds ? linalg::Accumulate::kYes : linalg::Accumulate::kNo,
                             linalg::Triangle::kBoth, [&](std::int64_t panel, std::int64_t) {
                               const std::int64_t first = panel * kRows;
                               return linalg::ProductBlock<T>{
                                   c_.at(row, column + first), c_.row_stride,
                                   std::min(kRows, packed_.rows() - first), rows};
                             });
    }
  }

  const Strided<T> c_, a_, b_;
  const std::int64_t slab_depth_;
  const Accumulate accumulate_;
  linalg::Panels<T> packed_;
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
    Product<scalar_t>(Strided<scalar_t>(out), Strided<scalar_t>(a), Strided<scalar_t>(b), kDepth,
                      accumulate)
        .run();
  });
}

namespace {

/// Below this number of tokens, packing the weights costs more than the packed product saves.
constexpr std::int64_t kFewRows = 64;
/// A product for one token reads the weights once; narrow tiles distribute that over the threads.
constexpr std::int64_t kTileColumnsOfOneRow = 64;
constexpr std::int64_t kTileColumnsOfFewRows = 192;
/// Columns of a wide product whose inner rows fit the L2 cache.
constexpr std::int64_t kTileColumnsWide = 1024;

/// Minimum work per thread, in multiply-adds, that is worth waking it.
constexpr std::int64_t kOperationsPerThread = 1 << 19;

/// Computes out = x W^T for few tokens with Eigen, in the summation order of Product.
template <typename T>
void few_rows_kernel(const Strided<T>& out, const Strided<T>& x, const Strided<T>& weight) {
  const ConstRowMajorView<T> a(x.data, x.rows, x.columns, Eigen::OuterStride<>(x.row_stride));
  const std::int64_t width = x.rows == 1 ? kTileColumnsOfOneRow : kTileColumnsOfFewRows;
  const auto run_tile = [&](std::int64_t tile) {
    const std::int64_t first = tile * width;
    const std::int64_t columns = std::min(width, weight.rows - first);
    const ConstRowMajorView<T> b(weight.at(first, 0), columns, weight.columns,
                                 Eigen::OuterStride<>(weight.row_stride));
    RowMajorView<T> y(out.at(0, first), x.rows, columns, Eigen::OuterStride<>(out.row_stride));
    slab_product(y, a, b.transpose());
  };
  for_each_tile(ceil_div(weight.rows, width), 2 * x.rows * width * weight.columns,
                [&] { return run_tile; });
}

/// Returns the inner elements per slab: equal slabs of at most kMaxSlab.
std::int64_t equal_slabs(std::int64_t inner) {
  return std::max<std::int64_t>(1, ceil_div(inner, ceil_div(inner, kMaxSlab)));
}

template <typename T>
void linear_kernel(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                   const at::Tensor& bias) {
  const Strided<T> y(out);
  if (y.rows < kFewRows) {
    few_rows_kernel<T>(y, Strided<T>(x), Strided<T>(weight));
  } else {
    Product<T>(y, Strided<T>(x), Strided<T>(weight.t()), equal_slabs(x.size(1)), Accumulate::kNo)
        .run();
  }
  if (!bias.defined()) return;
  const ConstRow<T> row(bias.data_ptr<T>(), y.columns);
  for_each_block(y.rows, 2 * y.columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) Row<T>(y.at(i, 0), y.columns) += row;
  });
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

bool is_wide_type(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble;
}

bool uses_gpu_operations(const at::Tensor& tensor) {
  return !tensor.is_cpu() || WithoutCpuKernels::here();
}

bool uses_cpu_kernels(const at::Tensor& tensor) {
  return tensor.is_cpu() && !c10::GradMode::is_enabled() && !WithoutCpuKernels::here() &&
         is_wide_type(tensor);
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
