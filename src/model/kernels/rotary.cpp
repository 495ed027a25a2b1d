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
#include "model/passes/device_link.h"

namespace lime {
namespace {

/// Scales long wavelengths by `factor`, keeps short ones, interpolates between them.
double llama3_frequency(double frequency, const RopeSpec& scaling) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const auto context = static_cast<double>(scaling.original_max_position_embeddings);
  if (wavelength < context / scaling.high_freq_factor) return frequency;
  if (wavelength > context / scaling.low_freq_factor) return frequency / scaling.factor;
  const double smooth = (context / wavelength - scaling.low_freq_factor) /
                        (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
}

/// Returns theta for a sequence of `length` tokens, more than the context (dynamic NTK).
double dynamic_theta(const RopeSpec& rope, double dim, double length) {
  const auto context = static_cast<double>(rope.original_max_position_embeddings);
  const double growth = rope.factor * length / context - (rope.factor - 1.0);
  return rope.theta * std::pow(growth, dim / (dim - 2.0));
}

/// Ramp of YaRN: 0 for dimensions that keep their frequency, 1 for those that are interpolated.
/// Source: Peng et al. (2023), arXiv:2309.00071, section 3.2.
class YarnRamp {
 public:
  YarnRamp(const RopeSpec& rope, double dim) {
    if (rope.kind != RopeKind::kYarn) return;
    const auto dimension_of = [&](double rotations) {
      const auto context = static_cast<double>(rope.original_max_position_embeddings);
      return dim * std::log(context / (rotations * 2.0 * std::numbers::pi)) /
             (2.0 * std::log(rope.theta));
    };
    low_ = dimension_of(rope.beta_fast);
    high_ = dimension_of(rope.beta_slow);
    if (rope.truncate) {
      low_ = std::floor(low_);
      high_ = std::ceil(high_);
    }
    low_ = std::max(low_, 0.0);
    high_ = std::min(high_, dim - 1.0);
    if (low_ == high_) high_ += 0.001;  // as transformers does
  }
  double at(std::int64_t i) const {
    return std::clamp((static_cast<double>(i) - low_) / (high_ - low_), 0.0, 1.0);
  }

 private:
  double low_ = 0.0;
  double high_ = 1.0;
};

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

std::vector<double> rotary_frequencies(const RopeSpec& rope, std::int64_t rotary_dim,
                                       std::int64_t length) {
  const auto dim = static_cast<double>(rotary_dim);
  const bool is_long = length > rope.original_max_position_embeddings;
  const double theta = rope.kind == RopeKind::kDynamic && is_long
                           ? dynamic_theta(rope, dim, static_cast<double>(length))
                           : rope.theta;
  const YarnRamp ramp(rope, dim);
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < rotary_dim / 2; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / dim);
    switch (rope.kind) {
      case RopeKind::kDefault:
      case RopeKind::kDynamic: frequencies.push_back(frequency); break;
      case RopeKind::kLinear: frequencies.push_back(frequency / rope.factor); break;
      case RopeKind::kLlama3: frequencies.push_back(llama3_frequency(frequency, rope)); break;
      case RopeKind::kYarn:
        frequencies.push_back(frequency * (ramp.at(i) / rope.factor + 1.0 - ramp.at(i)));
        break;
      case RopeKind::kLongRope:
        frequencies.push_back(frequency /
                              (is_long ? rope.long_factor[place] : rope.short_factor[place]));
        break;
    }
  }
  return frequencies;
}

bool rotates_differently(const RopeSpec& rope, std::int64_t length, std::int64_t other) {
  const std::int64_t context = rope.original_max_position_embeddings;
  if (rope.kind == RopeKind::kDynamic) return std::max(length, context) != std::max(other, context);
  return rope.kind == RopeKind::kLongRope && (length > context) != (other > context);
}

RotaryAngles rotary_angles(const std::vector<double>& frequencies, double attention_factor,
                           std::int64_t first, std::int64_t count,
                           const at::TensorOptions& options) {
  const auto type = options.dtype() == at::kDouble ? at::kDouble : at::kFloat;
  const auto on_device = at::TensorOptions().dtype(type).device(options.device());
  const at::Tensor positions = at::arange(first, first + count, on_device);
  const at::Tensor rates = sent_to(
      options.device(), at::tensor(frequencies, at::TensorOptions().dtype(at::kDouble)).to(type));
  const at::Tensor angles = at::outer(positions, rates);
  const auto scaled = [&](const at::Tensor& x) {
    return (attention_factor == 1.0 ? x : x * attention_factor).to(options.dtype());
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
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
}

void rotate_in_place(const at::Tensor& x, const RotaryAngles& angles) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rotate",
                             [&] { rotate_kernel<scalar_t>(x, x, angles, scalar_t{1}); });
}

}  // namespace lime
