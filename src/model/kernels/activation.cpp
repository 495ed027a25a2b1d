// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/activation.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <Eigen/Core>
#include <algorithm>

#include "core/errors.h"
#include "core/options.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

/// Elements per call of a LibTorch operation: fewer than it would split among threads, and at the
/// same places for any number of them, because the ends of a call are computed by other code.
constexpr std::int64_t kPart = 16384;

/// Calls `run(first, count)` for ranges of rows of `dim` elements.
template <typename Run> void for_each_part(std::int64_t rows, std::int64_t dim, const Run& run) {
  const std::int64_t per_part = std::max<std::int64_t>(1, kPart / dim);
  for_each_tile(ceil_div(rows, per_part), per_part * dim * 16, [&] {
    return [&](std::int64_t part) {
      const at::NoGradGuard no_grad;
      run(part * per_part, std::min(per_part, rows - part * per_part));
    };
  });
}

at::Tensor activated(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kSilu: return at::silu(x);
    case Activation::kGelu: return at::gelu(x);
    case Activation::kGeluTanh: return at::gelu(x, "tanh");
    case Activation::kRelu: return at::relu(x);
    case Activation::kReluSquared: break;
  }
  return at::relu(x).square();
}

template <typename T>
void swiglu_kernel(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up) {
  const std::int64_t dim = out.size(1);
  const T* const gate_data = gate.data_ptr<T>();
  const T* const up_data = up.data_ptr<T>();
  T* const out_data = out.data_ptr<T>();
  // Eigen rounds exp() differently before the first aligned element, whose place in a row of
  // another length depends on the row: that of an expert's token depends on the other tokens.
  constexpr std::int64_t kAlignment = 64;
  const bool is_aligned = dim * static_cast<std::int64_t>(sizeof(T)) % kAlignment == 0;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Eigen::Array<T, Eigen::Dynamic, 1> aligned(is_aligned ? 0 : dim);
    for (std::int64_t row = begin; row < end; ++row) {
      const ConstRow<T> g(gate_data + row * gate.stride(0), dim);
      const ConstRow<T> u(up_data + row * up.stride(0), dim);
      Row<T> to(out_data + row * dim, dim);
      if (is_aligned) {
        to = g / (T{1} + (-g).exp()) * u;
      } else {
        aligned = g / (T{1} + (-g).exp()) * u;
        to = aligned;
      }
    }
  };
  for_each_block(out.size(0), dim * 16, run);
}

template <typename T>
void clamped_gate_kernel(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up,
                         const ClampedGate& bounds) {
  const std::int64_t dim = out.size(1);
  const T alpha = static_cast<T>(bounds.alpha);
  const T limit = static_cast<T>(bounds.limit);
  for_each_block(out.size(0), dim * 20, [&](std::int64_t begin, std::int64_t end) {
    Eigen::Array<T, Eigen::Dynamic, 1> aligned(dim);  // see swiglu_kernel()
    for (std::int64_t row = begin; row < end; ++row) {
      const ConstRow<T> g(gate.data_ptr<T>() + row * gate.stride(0), dim);
      const ConstRow<T> u(up.data_ptr<T>() + row * up.stride(0), dim);
      aligned =
          (u.min(limit).max(-limit) + T{1}) * g.min(limit) / (T{1} + (g.min(limit) * -alpha).exp());
      Row<T>(out.data_ptr<T>() + row * dim, dim) = aligned;
    }
  });
}

/// With s = sigmoid(alpha g): d gate = dy (u + 1) s (1 + alpha g (1 - s)) where gate <= limit,
/// d up = dy g s where |up| <= limit.
template <typename T>
void clamped_gate_backward_kernel(const at::Tensor& d_gate, const at::Tensor& d_up,
                                  const at::Tensor& dy, const at::Tensor& gate,
                                  const at::Tensor& up, const ClampedGate& bounds) {
  const std::int64_t dim = gate.size(-1);
  const T alpha = static_cast<T>(bounds.alpha);
  const T limit = static_cast<T>(bounds.limit);
  for_each_block(gate.numel() / dim, dim * 24, [&](std::int64_t begin, std::int64_t end) {
    Eigen::Array<T, Eigen::Dynamic, 1> s(dim);
    for (std::int64_t row = begin; row < end; ++row) {
      const ConstRow<T> g(gate.data_ptr<T>() + row * dim, dim);
      const ConstRow<T> u(up.data_ptr<T>() + row * dim, dim);
      const ConstRow<T> gradient(dy.data_ptr<T>() + row * dim, dim);
      s = T{1} / (T{1} + (g.min(limit) * -alpha).exp());
      Row<T>(d_up.data_ptr<T>() + row * dim, dim) =
          (u.abs() <= limit).select(gradient * g.min(limit) * s, T{0});
      Row<T>(d_gate.data_ptr<T>() + row * dim, dim) =
          (g <= limit)
              .select(gradient * (u.min(limit).max(-limit) + T{1}) * s *
                          (T{1} + alpha * g * (T{1} - s)),
                      T{0});
    }
  });
}

/// With s = sigmoid(gate): d gate = dy up s (1 + gate (1 - s)),  d up = dy gate s.
template <typename T>
void swiglu_backward_kernel(const at::Tensor& d_gate, const at::Tensor& d_up, const at::Tensor& dy,
                            const at::Tensor& gate, const at::Tensor& up) {
  // A multiple of every vector length: the code per element does not depend on the threads.
  constexpr std::int64_t kChunk = 1024;
  const std::int64_t count = dy.numel();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Eigen::Array<T, Eigen::Dynamic, 1> sigmoid(kChunk);
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part * kChunk;
      const std::int64_t size = std::min(kChunk, count - first);
      const ConstRow<T> g(gate.data_ptr<T>() + first, size);
      const ConstRow<T> u(up.data_ptr<T>() + first, size);
      const ConstRow<T> gradient(dy.data_ptr<T>() + first, size);
      auto s = sigmoid.head(size);
      s = T{1} / (T{1} + (-g).exp());
      Row<T>(d_up.data_ptr<T>() + first, size) = gradient * g * s;
      Row<T>(d_gate.data_ptr<T>() + first, size) = gradient * u * s * (T{1} + g * (T{1} - s));
    }
  };
  for_each_block(ceil_div(count, kChunk), kChunk * 24, run);
}

void swiglu_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up) {
  AT_DISPATCH_FLOATING_TYPES(gate.scalar_type(), "swiglu",
                             [&] { swiglu_kernel<scalar_t>(out, gate, up); });
}

/// Returns the gradient of the input of a smooth activation.
at::Tensor smooth_backward(const at::Tensor& dy, const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kSilu: return at::silu_backward(dy, x);
    case Activation::kGelu: return at::gelu_backward(dy, x, "none");
    case Activation::kGeluTanh: return at::gelu_backward(dy, x, "tanh");
    case Activation::kRelu:
    case Activation::kReluSquared: break;
  }
  throw Error("activation: {} is not smooth", enum_name(activation));
}

/// Computes a smooth activation: LibTorch rounds elements at the ends of a thread's part otherwise.
at::Tensor smooth_with_gradients(const at::Tensor& x, Activation activation) {
  const at::Tensor from = x.detach().contiguous();
  const at::Tensor out = at::empty(from.sizes(), from.options());
  activate_out(out.view({-1, 1}), from.view({-1, 1}), {}, activation);
  return differentiable({x}, {out}, [=](const std::vector<at::Tensor>& gradients) {
    const at::Tensor dy = gradients[0].contiguous().view({-1});
    const at::Tensor dx = at::empty(from.sizes(), from.options());
    for_each_part(dy.size(0), 1, [&](std::int64_t first, std::int64_t count) {
      const auto part = [&](const at::Tensor& subject) {
        return subject.view({-1}).narrow(0, first, count);
      };
      part(dx).copy_(smooth_backward(part(dy), part(from), activation));
    });
    return std::vector<at::Tensor>{dx};
  })[0];
}

at::Tensor swiglu_with_gradients(const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor g = gate.detach().contiguous();
  const at::Tensor u = up.detach().contiguous();
  const at::Tensor out = at::empty(g.sizes(), g.options());
  const std::int64_t dim = g.size(-1);
  swiglu_out(out.view({-1, dim}), g.view({-1, dim}), u.view({-1, dim}));
  return differentiable({gate, up}, {out}, [=](const std::vector<at::Tensor>& gradients) {
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor d_gate = at::empty(g.sizes(), g.options());
    const at::Tensor d_up = at::empty(g.sizes(), g.options());
    AT_DISPATCH_FLOATING_TYPES(g.scalar_type(), "swiglu_backward",
                               [&] { swiglu_backward_kernel<scalar_t>(d_gate, d_up, dy, g, u); });
    return std::vector<at::Tensor>{d_gate, d_up};
  })[0];
}

/// Applies the elementwise gate: silu(gate) * up, silu(x) = x / (1 + exp(-x)).
/// Source: Shazeer (2020), arXiv:2002.05202.
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (uses_cpu_gradients(gate)) return swiglu_with_gradients(gate, up);
  return at::silu(gate) * up;
}

}  // namespace

at::Tensor activate(const at::Tensor& gate, const at::Tensor& up, Activation activation) {
  if (activation == Activation::kSilu && up.defined()) return swiglu(gate, up);
  const at::Tensor result = activation_spec(activation).is_smooth && uses_cpu_gradients(gate)
                                ? smooth_with_gradients(gate, activation)
                                : activated(gate, activation);
  return up.defined() ? result * up : result;
}

at::Tensor clamped_gate(const at::Tensor& gate, const at::Tensor& up, const ClampedGate& bounds) {
  if (!uses_cpu_gradients(gate)) {
    const at::Tensor g = gate.clamp_max(bounds.limit);
    const at::Tensor u = up.clamp(-bounds.limit, bounds.limit);
    return (u + 1.0) * g * at::sigmoid(g * bounds.alpha);
  }
  const at::Tensor g = gate.detach().contiguous();
  const at::Tensor u = up.detach().contiguous();
  const at::Tensor out = at::empty(g.sizes(), g.options());
  const std::int64_t dim = g.size(-1);
  {
    const at::NoGradGuard no_grad;
    clamped_gate_out(out.view({-1, dim}), g.view({-1, dim}), u.view({-1, dim}), bounds);
  }
  return differentiable({gate, up}, {out}, [=](const std::vector<at::Tensor>& gradients) {
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor d_gate = at::empty(g.sizes(), g.options());
    const at::Tensor d_up = at::empty(g.sizes(), g.options());
    AT_DISPATCH_FLOATING_TYPES(g.scalar_type(), "clamped_gate_backward", [&] {
      clamped_gate_backward_kernel<scalar_t>(d_gate, d_up, dy, g, u, bounds);
    });
    return std::vector<at::Tensor>{d_gate, d_up};
  })[0];
}

void clamped_gate_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up,
                      const ClampedGate& bounds) {
  AT_DISPATCH_FLOATING_TYPES(gate.scalar_type(), "clamped_gate",
                             [&] { clamped_gate_kernel<scalar_t>(out, gate, up, bounds); });
}

void activate_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up,
                  Activation activation) {
  if (activation == Activation::kSilu && up.defined()) return swiglu_out(out, gate, up);
  for_each_part(out.size(0), out.size(1), [&](std::int64_t first, std::int64_t count) {
    at::Tensor part = out.narrow(0, first, count);
    part.copy_(activated(gate.narrow(0, first, count), activation));
    if (up.defined()) part.mul_(up.narrow(0, first, count));
  });
}

at::Tensor soft_cap(const at::Tensor& x, double cap) {
  const auto tanh = [](const at::Tensor& part) { return part.tanh(); };
  if (!uses_cpu_gradients(x)) return map_elements(x / cap, tanh) * cap;  // a graph keeps tanh
  const at::Tensor bounded = map_elements(x.detach() / cap, tanh);
  return differentiable({x}, {bounded * cap}, [bounded](const std::vector<at::Tensor>& gradients) {
    return std::vector<at::Tensor>{gradients[0] * (1.0 - bounded * bounded)};
  })[0];
}

}  // namespace lime
