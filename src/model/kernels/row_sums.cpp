// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/row_sums.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <vector>

#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

constexpr std::int64_t kColumnsPerSum = 1024;

/// Adds up each block of kRowsPerSum rows: [rows, columns] -> [blocks, columns].
template <typename T> void sum_blocks(const at::Tensor& sums, const at::Tensor& x) {
  const std::int64_t columns = x.size(1);
  const std::int64_t parts = ceil_div(columns, kColumnsPerSum);
  const auto run = [&](std::int64_t tile) {
    const std::int64_t block = tile / parts;
    const std::int64_t column = tile % parts * kColumnsPerSum;
    const std::int64_t width = std::min(kColumnsPerSum, columns - column);
    Row<T> sum(sums.data_ptr<T>() + block * columns + column, width);
    sum.setZero();
    const std::int64_t end = std::min(x.size(0), (block + 1) * kRowsPerSum);
    for (std::int64_t row = block * kRowsPerSum; row < end; ++row) {
      sum += ConstRow<T>(x.data_ptr<T>() + row * columns + column, width);
    }
  };
  for_each_tile(sums.size(0) * parts, 2 * kRowsPerSum * std::min(kColumnsPerSum, columns),
                [&] { return run; });
}

at::Tensor scaled_and_shifted(const at::Tensor& x, const at::Tensor& gain,
                              const at::Tensor& offset) {
  const at::Tensor scaled = gain.defined() ? x * gain : x;
  return offset.defined() ? scaled + offset : scaled;
}

}  // namespace

at::Tensor sum_of_rows(const at::Tensor& x) {
  if (x.size(0) == 1) return x[0];
  const at::Tensor sums = at::empty({ceil_div(x.size(0), kRowsPerSum), x.size(1)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sum_of_rows",
                             [&] { sum_blocks<scalar_t>(sums, x); });
  return sum_of_rows(sums);
}

at::Tensor repeat_for_tokens(const at::Tensor& values, const at::Tensor& like) {
  std::vector<std::int64_t> shape = {like.size(0), like.size(1)};
  shape.insert(shape.end(), values.sizes().begin(), values.sizes().end());
  return scale_and_shift(at::zeros(shape, values.options()), {}, values);
}

at::Tensor scale_and_shift(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& offset) {
  if (!uses_cpu_gradients(x)) return scaled_and_shifted(x, gain, offset);
  std::vector<at::Tensor> inputs = {x};
  for (const at::Tensor& row : {gain, offset}) {
    if (row.defined()) inputs.push_back(row);
  }
  const auto saved = [](const at::Tensor& row) { return row.defined() ? row.detach() : row; };
  at::Tensor out;
  {
    const at::NoGradGuard no_grad;
    out = scaled_and_shifted(x, gain, offset);
  }
  const auto backward = [x = gain.defined() ? x.detach() : at::Tensor(), gain = saved(gain),
                         offset = saved(offset)](const std::vector<at::Tensor>& gradients) {
    const at::Tensor dy = gradients[0].contiguous();
    const auto summed = [](const at::Tensor& terms, const at::Tensor& like) {
      return sum_of_rows(terms.contiguous().view({-1, like.numel()})).view(like.sizes());
    };
    std::vector<at::Tensor> all = {gain.defined() ? dy * gain : dy};
    if (gain.defined()) all.push_back(summed(dy * x, gain));
    if (offset.defined()) all.push_back(summed(dy, offset));
    return all;
  };
  return differentiable(inputs, {out}, backward)[0];
}

}  // namespace lime
