// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/rms_norm.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>
#include <cmath>

#include "model/kernels/differentiable.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

/// Returns true if the rows of [batch, seq, width] or [batch, seq, heads, width] are dense and the
/// tokens equally spaced, as in a part of a fused product.
bool has_regular_rows(const at::Tensor& x) {
  return (x.dim() == 3 || x.dim() == 4) && x.stride(-1) == 1 &&
         x.stride(0) == x.size(1) * x.stride(1);
}

/// @param x  contiguous, or with regular rows
template <typename T>
void rms_norm_kernel(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                     double eps) {
  using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
  using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  const std::int64_t dim = x.size(-1);
  const T* const x_data = x.data_ptr<T>();
  T* const out_data = out.data_ptr<T>();
  const ConstRow gain(weight.data_ptr<T>(), dim);
  const bool is_regular = has_regular_rows(x);
  const std::int64_t heads = is_regular && x.dim() == 4 ? x.size(2) : 1;
  const std::int64_t token_stride = is_regular ? x.stride(1) : dim;
  const std::int64_t head_stride = heads > 1 ? x.stride(2) : 0;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const ConstRow in(x_data + row / heads * token_stride + row % heads * head_stride, dim);
      const T mean_square = in.square().sum() / static_cast<T>(dim);
      const T scale = T{1} / std::sqrt(mean_square + static_cast<T>(eps));
      Row(out_data + row * dim, dim) = in * scale * gain;
    }
  };
  for_each_block(x.numel() / dim, dim * 4, run);
}

/// Rows per block of the sums over rows: fixed, so that results do not depend on the thread count.
constexpr std::int64_t kRowsPerSum = 64;

/// With n = x / rms and g = dy * weight: dx = (g - n mean(g * n)) / rms, dw = sum over rows of dy *
/// n. `partial` receives one sum per block of rows, [blocks, dim].
template <typename T>
void rms_norm_backward_kernel(const at::Tensor& dx, const at::Tensor& partial, const at::Tensor& dy,
                              const at::Tensor& x, const at::Tensor& weight, double eps) {
  using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
  using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  const std::int64_t dim = x.size(-1);
  const std::int64_t rows = x.numel() / dim;
  const ConstRow gain(weight.data_ptr<T>(), dim);
  const auto run = [&](std::int64_t block) {
    Row sum(partial.data_ptr<T>() + block * dim, dim);
    sum.setZero();
    const std::int64_t end = std::min(rows, (block + 1) * kRowsPerSum);
    for (std::int64_t row = block * kRowsPerSum; row < end; ++row) {
      const ConstRow in(x.data_ptr<T>() + row * dim, dim);
      const ConstRow gradient(dy.data_ptr<T>() + row * dim, dim);
      const T mean_square = in.square().sum() / static_cast<T>(dim);
      const T scale = T{1} / std::sqrt(mean_square + static_cast<T>(eps));
      const T along = (gradient * gain * in).sum() / static_cast<T>(dim) * scale * scale;
      Row(dx.data_ptr<T>() + row * dim, dim) = (gradient * gain - in * along) * scale;
      sum += gradient * in * scale;
    }
  };
  for_each_tile(partial.size(0), kRowsPerSum * dim * 12, [&] { return run; });
}

at::Tensor rms_norm_with_gradients(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor rows = x.detach().contiguous();
  const at::Tensor gain = weight.detach();
  const at::Tensor out = at::empty(rows.sizes(), rows.options());
  rms_norm_out(out, rows, gain, eps);
  return differentiable({x, weight}, {out}, [=](const std::vector<at::Tensor>& gradients) {
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor dx = at::empty(rows.sizes(), rows.options());
    const std::int64_t count = rows.numel() / gain.size(0);
    const at::Tensor partial =
        at::empty({(count + kRowsPerSum - 1) / kRowsPerSum, gain.size(0)}, rows.options());
    AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "rms_norm_backward", [&] {
      rms_norm_backward_kernel<scalar_t>(dx, partial, dy, rows, gain, eps);
    });
    return std::vector<at::Tensor>{dx, partial.sum(0)};
  })[0];
}

}  // namespace

at::Tensor rms_normalize(const at::Tensor& x, double eps, RmsNormCast cast) {
  const bool is_wide = x.scalar_type() == at::kDouble || x.scalar_type() == at::kFloat;
  const at::Tensor wide = is_wide ? x : x.to(at::kFloat);
  const at::Tensor normalized = wide * at::rsqrt(wide.square().mean(-1, true) + eps);
  return cast == RmsNormCast::kBeforeWeight ? normalized.to(x.scalar_type()) : normalized;
}

at::Tensor apply_gain(const at::Tensor& normalized, const at::Tensor& weight,
                      at::ScalarType dtype) {
  return (weight.to(normalized.scalar_type()) * normalized).to(dtype);
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, RmsNormCast cast) {
  if (uses_cpu_gradients(x)) return rms_norm_with_gradients(x, weight, eps);
  return apply_gain(rms_normalize(x, eps, cast), weight, x.scalar_type());
}

void rms_norm_out(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                  double eps) {
  const at::Tensor rows = has_regular_rows(x) ? x : x.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm",
                             [&] { rms_norm_kernel<scalar_t>(out, rows, weight, eps); });
}

}  // namespace lime
