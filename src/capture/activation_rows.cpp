// SPDX-License-Identifier: Apache-2.0
#include "capture/activation_rows.h"

#include <ATen/ATen.h>

#include <cstddef>
#include <numeric>

#include "core/matrix.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {

ActivationRows::ActivationRows(const at::Tensor& activation)
    : tensor_(activation.detach().to(at::kCPU, at::kFloat)) {
  throw_if(tensor_.dim() != 3 && tensor_.dim() != 4,
           "capture: an activation must have 3 or 4 dimensions, got {}", tensor_.dim());
  const bool rows_are_dense =
      tensor_.stride(-1) == 1 && (tensor_.dim() == 3 || tensor_.stride(2) == tensor_.size(3));
  if (!rows_are_dense) tensor_ = tensor_.contiguous();
  batch_ = tensor_.size(0);
  seq_ = tensor_.size(1);
  dim_ = tensor_.size(2) * (tensor_.dim() == 4 ? tensor_.size(3) : 1);
  sequence_stride_ = tensor_.stride(0);
  row_stride_ = tensor_.stride(1);
  data_ = tensor_.data_ptr<float>();
}

at::Tensor pattern_by_query(const at::Tensor& pattern, std::int64_t num_keys) {
  const std::int64_t missing = num_keys - pattern.size(3);
  throw_if(missing < 0, "capture: a pattern must have at most {} keys, got {}", num_keys,
           pattern.size(3));
  return at::constant_pad_nd(pattern.detach().transpose(1, 2), {0, missing});
}

void mean_rows(const ActivationRows& rows, std::span<const std::vector<std::uint8_t>> counts,
               float* to) {
  const std::int64_t dim = rows.dim();
  const std::int64_t values = rows.seq() * dim;
  for_each_block(
      static_cast<std::int64_t>(counts.size()), values, [&](std::int64_t begin, std::int64_t end) {
        VectorD sum(dim);
        for (std::int64_t s = begin; s < end; ++s) {
          const std::vector<std::uint8_t>& counted = counts[static_cast<std::size_t>(s)];
          sum.setZero();
          for (std::size_t t = 0; t < counted.size(); ++t) {
            if (counted[t] == 0) continue;
            sum += Eigen::Map<const Eigen::VectorXf>(rows.row(s, static_cast<std::int64_t>(t)), dim)
                       .cast<double>();
          }
          const auto number = std::accumulate(counted.begin(), counted.end(), 0.0);
          Eigen::Map<Eigen::VectorXf>(to + s * dim, dim) = (sum / number).cast<float>();
        }
      });
}

}  // namespace lime
