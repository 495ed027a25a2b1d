// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/swiglu.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>
#include <algorithm>

#include "model/kernels/differentiable.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

template <typename T>
void swiglu_kernel(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up) {
  using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  const std::int64_t dim = out.size(1);
  const T* const gate_data = gate.data_ptr<T>();
  const T* const up_data = up.data_ptr<T>();
  T* const out_data = out.data_ptr<T>();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const ConstRow g(gate_data + row * gate.stride(0), dim);
      const ConstRow u(up_data + row * up.stride(0), dim);
      Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(out_data + row * dim, dim) =
          g / (T{1} + (-g).exp()) * u;
    }
  };
  for_each_block(out.size(0), dim * 16, run);
}

/// With s = sigmoid(gate): d gate = dy up s (1 + gate (1 - s)),  d up = dy gate s.
template <typename T>
void swiglu_backward_kernel(const at::Tensor& d_gate, const at::Tensor& d_up, const at::Tensor& dy,
                            const at::Tensor& gate, const at::Tensor& up) {
  using Part = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
  using ConstPart = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  // A multiple of every vector length, so that each element runs the same code for any number of
  // threads; small enough to stay in the L1 cache.
  constexpr std::int64_t kPart = 1024;
  const std::int64_t count = dy.numel();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Eigen::Array<T, Eigen::Dynamic, 1> sigmoid(kPart);
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part * kPart;
      const std::int64_t size = std::min(kPart, count - first);
      const ConstPart g(gate.data_ptr<T>() + first, size);
      const ConstPart u(up.data_ptr<T>() + first, size);
      const ConstPart gradient(dy.data_ptr<T>() + first, size);
      auto s = sigmoid.head(size);
      s = T{1} / (T{1} + (-g).exp());
      Part(d_up.data_ptr<T>() + first, size) = gradient * g * s;
      Part(d_gate.data_ptr<T>() + first, size) = gradient * u * s * (T{1} + g * (T{1} - s));
    }
  };
  for_each_block((count + kPart - 1) / kPart, kPart * 24, run);
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

}  // namespace

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (uses_cpu_gradients(gate)) return swiglu_with_gradients(gate, up);
  return at::silu(gate) * up;
}

void swiglu_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up) {
  AT_DISPATCH_FLOATING_TYPES(gate.scalar_type(), "swiglu",
                             [&] { swiglu_kernel<scalar_t>(out, gate, up); });
}

}  // namespace lime
