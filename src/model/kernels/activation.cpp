// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/activation.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/swiglu.h"

namespace lime {
namespace {

/// Elements per call of a LibTorch operation: fewer than it would split among threads, and at the
/// same places for any number of them, because the ends of a call are computed by other code.
constexpr std::int64_t kPart = 16384;

/// Calls `run(first, count)` for ranges of rows of `dim` elements.
template <typename Run>
void for_each_part(std::int64_t rows, std::int64_t dim, const Run& run) {
  const std::int64_t per_part = std::max<std::int64_t>(1, kPart / dim);
  for_each_tile((rows + per_part - 1) / per_part, per_part * dim * 16, [&] {
    return [&](std::int64_t part) {
      const at::NoGradGuard no_grad;
      run(part * per_part, std::min(per_part, rows - part * per_part));
    };
  });
}

at::Tensor activated(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kReluSquared:
      break;
  }
  return at::relu(x).square();
}

void activated_out(at::Tensor out, const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      at::silu_out(out, x);
      return;
    case Activation::kGelu:
      at::gelu_out(out, x);
      return;
    case Activation::kGeluTanh:
      at::gelu_out(out, x, "tanh");
      return;
    case Activation::kRelu:
    case Activation::kReluSquared:
      at::clamp_min_out(out, x, 0.0);
      if (activation == Activation::kReluSquared) out.mul_(out);
      return;
  }
}

}  // namespace

at::Tensor activate(const at::Tensor& gate, const at::Tensor& up, Activation activation) {
  if (activation == Activation::kSilu && up.defined()) return swiglu(gate, up);
  const at::Tensor result = activated(gate, activation);
  return up.defined() ? result * up : result;
}

void activate_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up,
                  Activation activation) {
  if (activation == Activation::kSilu && up.defined()) return swiglu_out(out, gate, up);
  for_each_part(out.size(0), out.size(1), [&](std::int64_t first, std::int64_t count) {
    at::Tensor part = out.narrow(0, first, count);
    activated_out(part, gate.narrow(0, first, count), activation);
    if (up.defined()) part.mul_(up.narrow(0, first, count));
  });
}

at::Tensor soft_cap(const at::Tensor& x, double cap) {
  if (!uses_cpu_kernels(x)) return (x / cap).tanh() * cap;
  const at::Tensor out = x.contiguous().div(cap);
  const at::Tensor values = out.view({-1});
  for_each_part(values.size(0), 1, [&](std::int64_t first, std::int64_t count) {
    values.narrow(0, first, count).tanh_().mul_(cap);
  });
  return out;
}

}  // namespace lime
