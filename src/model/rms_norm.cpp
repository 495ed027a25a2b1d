// SPDX-License-Identifier: Apache-2.0
#include "model/rms_norm.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>
#include <cmath>

#include "model/parallel_tiles.h"

namespace lime {
namespace {

template <typename T>
void rms_norm_kernel(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                     double eps) {
  using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
  using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  const std::int64_t dim = x.size(-1);
  const T* const x_data = x.data_ptr<T>();
  T* const out_data = out.data_ptr<T>();
  const ConstRow gain(weight.data_ptr<T>(), dim);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const ConstRow in(x_data + row * dim, dim);
      const T mean_square = in.square().sum() / static_cast<T>(dim);
      const T scale = T{1} / std::sqrt(mean_square + static_cast<T>(eps));
      Row(out_data + row * dim, dim) = in * scale * gain;
    }
  };
  for_each_block(x.numel() / dim, dim * 4, run);
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
  return apply_gain(rms_normalize(x, eps, cast), weight, x.scalar_type());
}

void rms_norm_out(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                  double eps) {
  const at::Tensor rows = x.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm",
                             [&] { rms_norm_kernel<scalar_t>(out, rows, weight, eps); });
}

}  // namespace lime
