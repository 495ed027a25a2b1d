// SPDX-License-Identifier: Apache-2.0
#include "model/swiglu.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>

#include "model/parallel_tiles.h"

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

}  // namespace

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; }

void swiglu_out(const at::Tensor& out, const at::Tensor& gate, const at::Tensor& up) {
  AT_DISPATCH_FLOATING_TYPES(gate.scalar_type(), "swiglu",
                             [&] { swiglu_kernel<scalar_t>(out, gate, up); });
}

}  // namespace lime
