// SPDX-License-Identifier: Apache-2.0
#include "model/rotary.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>
#include <cmath>
#include <numbers>

#include "model/parallel_tiles.h"

namespace lime {
namespace {

/// Stretches long wavelengths by `factor`, keeps short ones, blends between.
double llama3_frequency(double frequency, const RopeScaling& scaling) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const auto context = static_cast<double>(scaling.original_max_position_embeddings);
  if (wavelength < context / scaling.high_freq_factor) return frequency;
  if (wavelength > context / scaling.low_freq_factor) return frequency / scaling.factor;
  const double smooth = (context / wavelength - scaling.low_freq_factor) /
                        (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
}

template <typename T>
void rotate_kernel(const at::Tensor& x, const RotaryAngles& angles) {
  using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
  using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  const std::int64_t seq = x.size(1);
  const std::int64_t heads = x.size(2);
  const std::int64_t half = x.size(3) / 2;
  T* const data = x.data_ptr<T>();
  const T* const cos = angles.cos.data_ptr<T>();
  const T* const sin = angles.sin.data_ptr<T>();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Eigen::Array<T, Eigen::Dynamic, 1> rotated(half);
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t position = token % seq;
      const ConstRow c(cos + position * half, half);
      const ConstRow s(sin + position * half, half);
      for (std::int64_t head = 0; head < heads; ++head) {
        T* const row =
            data + token / seq * x.stride(0) + position * x.stride(1) + head * x.stride(2);
        Row a(row, half);
        Row b(row + half, half);
        rotated = a * c - b * s;
        b = b * c + a * s;
        a = rotated;
      }
    }
  };
  for_each_block(x.size(0) * seq, heads * half * 6, run);
}

}  // namespace

std::vector<double> rotary_frequencies(const ModelConfig& config) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < config.head_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim);
    const double frequency = std::pow(config.rope_theta, -exponent);
    switch (config.rope_scaling.kind) {
      case RopeScalingKind::kNone:
        frequencies.push_back(frequency);
        break;
      case RopeScalingKind::kLinear:
        frequencies.push_back(frequency / config.rope_scaling.factor);
        break;
      case RopeScalingKind::kLlama3:
        frequencies.push_back(llama3_frequency(frequency, config.rope_scaling));
        break;
    }
  }
  return frequencies;
}

RotaryAngles rotary_angles(const std::vector<double>& frequencies, std::int64_t first,
                           std::int64_t count, const at::TensorOptions& options) {
  const auto type = options.dtype() == at::kDouble ? at::kDouble : at::kFloat;
  const auto on_device = at::TensorOptions().dtype(type).device(options.device());
  const at::Tensor positions = at::arange(first, first + count, on_device);
  const at::Tensor rates =
      at::tensor(frequencies, at::TensorOptions().dtype(at::kDouble)).to(on_device);
  const at::Tensor angles = at::outer(positions, rates);
  return {angles.cos().to(options.dtype()), angles.sin().to(options.dtype())};
}

at::Tensor rotate(const at::Tensor& x, const RotaryAngles& angles) {
  const at::Tensor cos = angles.cos.unsqueeze(1);
  const at::Tensor sin = angles.sin.unsqueeze(1);
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
}

void rotate_in_place(const at::Tensor& x, const RotaryAngles& angles) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rotate",
                             [&] { rotate_kernel<scalar_t>(x, angles); });
}

}  // namespace lime
