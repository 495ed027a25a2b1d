// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/norm.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>
#include <cmath>

#include "model/decoders/decoder_weights.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/torch_compat.h"

namespace lime {
namespace {

/// Returns true if rows of [batch, seq, (heads,) width] are dense and tokens equally spaced.
bool has_regular_rows(const at::Tensor& x) {
  return (x.dim() == 3 || x.dim() == 4) && x.stride(-1) == 1 &&
         x.stride(0) == x.size(1) * x.stride(1);
}

/// Returns 1 / sqrt(mean(x^2) + eps). Only the sum of squares is rounded more than once: an error
/// here is common to the whole row.
template <typename T> T inverse_rms_of_row(const ConstRow<T>& x, double eps) {
  const double mean_square = static_cast<double>(x.square().sum()) / static_cast<double>(x.size());
  return static_cast<T>(1.0 / std::sqrt(mean_square + eps));
}

template <typename T>
void rms_norm_kernel(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                     double eps) {
  const std::int64_t dim = x.size(-1);
  const T* const x_data = x.data_ptr<T>();
  T* const out_data = out.data_ptr<T>();
  const ConstRow<T> gain(weight.data_ptr<T>(), dim);
  const bool is_regular = has_regular_rows(x);
  const std::int64_t heads = is_regular && x.dim() == 4 ? x.size(2) : 1;
  const std::int64_t token_stride = is_regular ? x.stride(1) : dim;
  const std::int64_t head_stride = heads > 1 ? x.stride(2) : 0;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const ConstRow<T> in(x_data + row / heads * token_stride + row % heads * head_stride, dim);
      const T scale = inverse_rms_of_row(in, eps);
      Row<T>(out_data + row * dim, dim) = in * scale * gain;
    }
  };
  for_each_block(x.numel() / dim, dim * 4, run);
}

/// With n = x / rms and g = dy * weight: dx = (g - n mean(g * n)) / rms, dw = sum over rows of dy *
/// n. `partial` receives one sum per block of rows, [blocks, dim].
template <typename T>
void rms_norm_backward_kernel(const at::Tensor& dx, const at::Tensor& partial, const at::Tensor& dy,
                              const at::Tensor& x, const at::Tensor& weight, double eps) {
  const std::int64_t dim = x.size(-1);
  const std::int64_t rows = x.numel() / dim;
  const ConstRow<T> gain(weight.data_ptr<T>(), dim);
  const auto run = [&](std::int64_t block) {
    Row<T> sum(partial.data_ptr<T>() + block * dim, dim);
    sum.setZero();
    const std::int64_t end = std::min(rows, (block + 1) * kRowsPerSum);
    for (std::int64_t row = block * kRowsPerSum; row < end; ++row) {
      const ConstRow<T> in(x.data_ptr<T>() + row * dim, dim);
      const ConstRow<T> gradient(dy.data_ptr<T>() + row * dim, dim);
      const T scale = inverse_rms_of_row(in, eps);
      const T along = (gradient * gain * in).sum() / static_cast<T>(dim) * scale * scale;
      Row<T>(dx.data_ptr<T>() + row * dim, dim) = (gradient * gain - in * along) * scale;
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
        at::empty({ceil_div(count, kRowsPerSum), gain.size(0)}, rows.options());
    AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "rms_norm_backward", [&] {
      rms_norm_backward_kernel<scalar_t>(dx, partial, dy, rows, gain, eps);
    });
    return std::vector<at::Tensor>{dx, sum_of_rows(partial)};
  })[0];
}

/// Epsilon of the norms without weights that hyper-connections have.
constexpr double kBareEpsilon = 1e-5;

bool is_layer_norm(const NormSpec& spec) { return spec.kind == NormKind::kLayerNorm; }

RmsNormCast cast_of(const NormSpec& spec, RmsNormCast cast) {
  return spec.rounds_after_weight ? RmsNormCast::kAfterWeight : cast;
}

/// Returns the factor of the normalised values; 1 + weight is computed in float32 or wider.
at::Tensor gain(const at::Tensor& weight, const NormSpec& spec) {
  if (spec.kind != NormKind::kRmsPlusOne) return weight;
  return (weight.scalar_type() == at::kDouble ? weight : weight.to(at::kFloat)) + 1.0;
}

}  // namespace

at::Tensor rms_normalize(const at::Tensor& x, double eps, RmsNormCast cast) {
  const bool is_wide = is_wide_type(x);
  if (kHasRmsNorm && uses_gpu_operations(x) && (is_wide || cast == RmsNormCast::kBeforeWeight)) {
    return fused_rms_norm(x, {}, eps);
  }
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
  const bool rounds_once = is_wide_type(x) || cast == RmsNormCast::kAfterWeight;
  if (kHasRmsNorm && uses_gpu_operations(x) && rounds_once && weight.dim() == 1 &&
      weight.scalar_type() == x.scalar_type()) {
    return fused_rms_norm(x, weight, eps);
  }
  return apply_gain(rms_normalize(x, eps, cast), weight, x.scalar_type());
}

void rms_norm_out(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                  double eps) {
  const at::Tensor rows = has_regular_rows(x) ? x : x.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm",
                             [&] { rms_norm_kernel<scalar_t>(out, rows, weight, eps); });
}

at::Tensor normalize(const at::Tensor& x, const NormSpec& spec, RmsNormCast cast) {
  if (is_layer_norm(spec)) return at::layer_norm(x, {x.size(-1)}, {}, {}, spec.eps);
  return rms_normalize(x, spec.eps, cast_of(spec, cast));
}

at::Tensor apply_weights(const at::Tensor& normalized, const NormWeights& weights,
                         const NormSpec& spec, at::ScalarType dtype) {
  if (!weights.weight.defined()) return normalized;
  if (uses_cpu_gradients(normalized)) {
    return scale_and_shift(normalized, gain(weights.weight, spec), weights.bias);
  }
  const at::Tensor scaled = apply_gain(normalized, gain(weights.weight, spec), dtype);
  return weights.bias.defined() ? scaled + weights.bias : scaled;
}

at::Tensor apply_norm(const at::Tensor& x, const NormWeights& weights, const NormSpec& spec,
                      RmsNormCast cast, const at::Tensor& out) {
  // LibTorch's layer_norm sums the gradients of its weights per thread.
  if (is_layer_norm(spec) && uses_cpu_gradients(x)) {
    return apply_weights(normalize(x, spec, cast), weights, spec, x.scalar_type());
  }
  if (!weights.weight.defined() || is_layer_norm(spec)) {
    return at::layer_norm(x, {x.size(-1)}, optional_tensor(weights.weight),
                          optional_tensor(weights.bias),
                          is_layer_norm(spec) ? spec.eps : kBareEpsilon);
  }
  const at::Tensor weight = gain(weights.weight, spec);
  if (!out.defined()) return rms_norm(x, weight, spec.eps, cast_of(spec, cast));
  rms_norm_out(out, x, weight, spec.eps);
  return out;
}

}  // namespace lime
