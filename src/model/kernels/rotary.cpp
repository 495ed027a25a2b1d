// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/rotary.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/sent_to.h"

namespace lime {
namespace {

/// Scales long wavelengths by `factor`, keeps short ones, interpolates between them.
at::Tensor llama3_frequencies(const at::Tensor& frequencies, const RopeSpec& scaling) {
  const at::Tensor wavelengths = 2.0 * std::numbers::pi / frequencies;
  const auto context = static_cast<double>(scaling.original_max_position_embeddings);
  const double low = scaling.low_freq_factor;
  const double high = scaling.high_freq_factor;
  const at::Tensor smooth = (context / wavelengths - low) / (high - low);
  const at::Tensor between = (1.0 - smooth) * frequencies / scaling.factor + smooth * frequencies;
  const at::Tensor scaled =
      at::where(wavelengths > context / low, frequencies / scaling.factor, between);
  return at::where(wavelengths < context / high, frequencies, scaled);
}

/// Returns theta for a sequence of `length` tokens, more than the context (dynamic NTK).
at::Tensor dynamic_theta(const RopeSpec& rope, double dim, std::int64_t length,
                         const at::TensorOptions& options) {
  const auto context = static_cast<double>(rope.original_max_position_embeddings);
  const at::Tensor growth =
      rope.factor * at::full({}, length, options) / context - (rope.factor - 1.0);
  return rope.theta * at::pow(growth, dim / (dim - 2.0));
}

/// Returns the ramp of YaRN: 0 for dimensions that keep their frequency, 1 for those that are
/// interpolated. Source: Peng et al. (2023), arXiv:2309.00071, section 3.2.
at::Tensor yarn_ramp(const RopeSpec& rope, double dim, const at::TensorOptions& options) {
  const auto dimension_of = [&](double rotations) {
    const auto context = static_cast<double>(rope.original_max_position_embeddings);
    return dim * std::log(context / (rotations * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(rope.theta));
  };
  double low = dimension_of(rope.beta_fast);
  double high = dimension_of(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1.0);
  if (low == high) high += 0.001;  // as transformers does
  const auto half = static_cast<std::int64_t>(dim) / 2;
  return ((at::arange(half, options) - low) / (high - low)).clamp(0.0, 1.0);
}

at::Tensor longrope_factors(const RopeSpec& rope, bool is_long, const at::TensorOptions& options) {
  const std::vector<double>& factors = is_long ? rope.long_factor : rope.short_factor;
  return at::tensor(factors, at::TensorOptions().dtype(at::kDouble)).to(options.dtype());
}

/// Type of the angles for a compute type.
at::ScalarType angle_type(at::ScalarType type) { return type == at::kDouble ? type : at::kFloat; }

/// Rotates the pairs of neighbours of one head, 2 * half values, into `out`, which may be x.
template <typename T>
void rotate_neighbours(T* out, const T* x, const ConstRow<T>& cos, const ConstRow<T>& sin, T sign) {
  for (Eigen::Index i = 0; i < cos.size(); ++i) {
    const T a = x[2 * i];
    const T b = x[2 * i + 1];
    out[2 * i] = a * cos[i] - b * sin[i] * sign;
    out[2 * i + 1] = b * cos[i] + a * sin[i] * sign;
  }
}

/// Rotates x, [batch, seq, heads, head_dim], into `out`, which may be x; `sign` -1: inversely.
template <typename T>
void rotate_kernel(const at::Tensor& out, const at::Tensor& x, const RotaryAngles& angles, T sign) {
  const std::int64_t seq = x.size(1);
  const std::int64_t heads = x.size(2);
  const std::int64_t half = angles.cos.size(1);
  const T* const cos = angles.cos.data_ptr<T>();
  const T* const sin = angles.sin.data_ptr<T>();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Eigen::Array<T, Eigen::Dynamic, 1> rotated(half);
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t position = token % seq;
      const ConstRow<T> c(cos + position * half, half);
      const ConstRow<T> s(sin + position * half, half);
      for (std::int64_t head = 0; head < heads; ++head) {
        const auto row_of = [&](const at::Tensor& y) {
          return y.data_ptr<T>() + token / seq * y.stride(0) + position * y.stride(1) +
                 head * y.stride(2);
        };
        if (angles.interleaved) {
          rotate_neighbours(row_of(out), row_of(x), c, s, sign);
          continue;
        }
        const ConstRow<T> a(row_of(x), half);
        const ConstRow<T> b(row_of(x) + half, half);
        rotated = a * c - b * s * sign;
        Row<T>(row_of(out) + half, half) = b * c + a * s * sign;
        Row<T>(row_of(out), half) = rotated;
      }
    }
  };
  for_each_block(x.size(0) * seq, heads * half * 6, run);
}

at::Tensor rotated(const at::Tensor& x, const RotaryAngles& angles, int sign) {
  const at::Tensor from = x.stride(-1) == 1 ? x : x.contiguous();
  const at::Tensor out = at::empty(x.sizes(), x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rotate", [&] {
    rotate_kernel<scalar_t>(out, from, angles, static_cast<scalar_t>(sign));
  });
  return out;
}

}  // namespace

at::Tensor rotary_frequencies(const RopeSpec& rope, std::int64_t rotary_dim, at::ScalarType type,
                              std::int64_t length) {
  const auto options = at::TensorOptions().dtype(angle_type(type));
  const auto dim = static_cast<double>(rotary_dim);
  const bool is_long = length > rope.original_max_position_embeddings;
  const at::Tensor theta = rope.kind == RopeKind::kDynamic && is_long
                               ? dynamic_theta(rope, dim, length, options)
                               : at::full({}, rope.theta, options);
  const at::Tensor exponents = at::arange(0, rotary_dim / 2 * 2, 2, options) / dim;
  const at::Tensor periods = at::pow(theta, exponents);
  switch (rope.kind) {
    case RopeKind::kDefault:
    case RopeKind::kDynamic: break;
    case RopeKind::kLinear: return 1.0 / periods / rope.factor;
    case RopeKind::kLlama3: return llama3_frequencies(1.0 / periods, rope);
    case RopeKind::kYarn: {
      const at::Tensor kept = 1.0 - yarn_ramp(rope, dim, options);
      return 1.0 / (rope.factor * periods) * (1.0 - kept) + 1.0 / periods * kept;
    }
    case RopeKind::kLongRope: return 1.0 / (longrope_factors(rope, is_long, options) * periods);
  }
  return 1.0 / periods;
}

bool rotates_differently(const RopeSpec& rope, std::int64_t length, std::int64_t other) {
  const std::int64_t context = rope.original_max_position_embeddings;
  if (rope.kind == RopeKind::kDynamic) return std::max(length, context) != std::max(other, context);
  return rope.kind == RopeKind::kLongRope && (length > context) != (other > context);
}

bool rotates_differently(const std::vector<RopeSpec>& ropes, std::int64_t length,
                         std::int64_t other) {
  return std::ranges::any_of(
      ropes, [&](const RopeSpec& rope) { return rotates_differently(rope, length, other); });
}

RotaryAngles rotary_angles(const at::Tensor& frequencies, double attention_factor,
                           std::int64_t first, std::int64_t count,
                           const at::TensorOptions& options) {
  const auto type = frequencies.options().device(options.device());
  const at::Tensor positions = at::arange(first, first + count, type);
  const at::Tensor angles =
      at::outer(positions, sent_to(options.device(), frequencies)).to(at::kDouble);
  const auto scaled = [&](const at::Tensor& x) {
    const at::Tensor rounded = x.to(type.dtype());
    return (attention_factor == 1.0 ? rounded : rounded * attention_factor).to(options.dtype());
  };
  const auto cos = [](const at::Tensor& x) { return x.cos(); };
  const auto sin = [](const at::Tensor& x) { return x.sin(); };
  return {scaled(map_elements(angles, cos)), scaled(map_elements(angles, sin))};
}

at::Tensor rotate(const at::Tensor& x, const RotaryAngles& angles) {
  if (const std::int64_t dim = 2 * angles.cos.size(1); dim < x.size(3)) {
    return at::cat({rotate(x.narrow(3, 0, dim), angles), x.narrow(3, dim, x.size(3) - dim)}, 3);
  }
  if (uses_cpu_gradients(x)) {
    const at::Tensor out = rotated(x.detach(), angles, 1);
    return differentiable({x}, {out}, [angles](const std::vector<at::Tensor>& gradients) {
      return std::vector<at::Tensor>{rotated(gradients[0], angles, -1)};
    })[0];
  }
  const at::Tensor cos = angles.cos.unsqueeze(1);
  const at::Tensor sin = angles.sin.unsqueeze(1);
  if (angles.interleaved) {
    const at::Tensor pairs = x.unflatten(-1, {-1, 2});
    const at::Tensor a = pairs.select(-1, 0);
    const at::Tensor b = pairs.select(-1, 1);
    return at::stack({a * cos - b * sin, b * cos + a * sin}, -1).flatten(-2);
  }
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
}

void rotate_in_place(const at::Tensor& x, const RotaryAngles& angles) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rotate",
                             [&] { rotate_kernel<scalar_t>(x, x, angles, scalar_t{1}); });
}

}  // namespace lime
