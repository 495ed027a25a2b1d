// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/router_products.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <Eigen/Core>

#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_major.h"

namespace lime {
namespace {

/// Sizes of a mixing step. A routed head reads `mixed` heads of each source: all, or its own.
struct Sizes {
  std::int64_t heads, tokens, dim, sources, mixed;

  Sizes(const RouterMixture& mixture, const at::Tensor& buffered)
      : heads(buffered.size(1)),
        tokens(buffered.size(2)),
        dim(buffered.size(4)),
        sources(buffered.size(0)),
        mixed(mixture.is_dynamic ? mixture.weights.size(3) : mixture.weights.size(2)) {}

  /// Returns the first buffered head that routed head `head` reads.
  std::int64_t first_head(std::int64_t head) const { return mixed == 1 ? head : 0; }
};

/// Mixes with weights per dimension: out[h, n, :] = sum over s, g of w[h, s, g, :] * buffered[s, g,
/// n, :], by blocks of tokens.
template <typename T>
void per_dimension_kernel(const at::Tensor& out, const at::Tensor& weights,
                          const at::Tensor& buffered, const Sizes& sizes) {
  constexpr std::int64_t kTokens = 64;
  const std::int64_t blocks = (sizes.tokens + kTokens - 1) / kTokens;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t head = task / blocks;
      const std::int64_t first = task % blocks * kTokens;
      const std::int64_t rows = 2 * std::min(kTokens, sizes.tokens - first);
      const auto offset = [&](std::int64_t index) {
        return (index * sizes.tokens + first) * 2 * sizes.dim;
      };
      RowMajorView<T> routed(out.data_ptr<T>() + offset(head), rows, sizes.dim,
                             Eigen::OuterStride<>(sizes.dim));
      routed.setZero();
      const T* w = weights.data_ptr<T>() + head * weights.stride(0);
      for (std::int64_t s = 0; s < sizes.sources; ++s) {
        for (std::int64_t g = 0; g < sizes.mixed; ++g, w += sizes.dim) {
          const std::int64_t index = s * sizes.heads + sizes.first_head(head) + g;
          const ConstRowMajorView<T> read(buffered.data_ptr<T>() + offset(index), rows, sizes.dim,
                                          Eigen::OuterStride<>(sizes.dim));
          const ConstRowMajorView<T> row(w, 1, sizes.dim, Eigen::OuterStride<>(sizes.dim));
          routed.array() += read.array().rowwise() * row.row(0).array();
        }
      }
    }
  };
  for_each_block(sizes.heads * blocks, 4 * kTokens * sizes.dim * sizes.sources * sizes.mixed, run);
}

/// Mixes with weights per token: for each token a small product of [heads, sources * mixed] with
/// its buffered keys and values.
template <typename T>
void per_token_kernel(const at::Tensor& out, const at::Tensor& weights, const at::Tensor& buffered,
                      const Sizes& sizes) {
  const std::int64_t width = 2 * sizes.dim;
  const Eigen::OuterStride<> stride(sizes.tokens * width);
  const std::int64_t inner = sizes.sources * sizes.mixed;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const T* const read_data = buffered.data_ptr<T>() + token * width;
      const ConstRowMajorView<T> w(weights.data_ptr<T>() + token * inner, sizes.heads, inner,
                                   Eigen::OuterStride<>(sizes.tokens * inner));
      RowMajorView<T> routed(out.data_ptr<T>() + token * width, sizes.heads, width, stride);
      if (sizes.mixed > 1 || sizes.heads == 1) {
        routed.noalias() = w.lazyProduct(ConstRowMajorView<T>(read_data, inner, width, stride));
        continue;
      }
      for (std::int64_t head = 0; head < sizes.heads; ++head) {
        const ConstRowMajorView<T> read(read_data + head * sizes.tokens * width, sizes.sources,
                                        width,
                                        Eigen::OuterStride<>(sizes.heads * sizes.tokens * width));
        routed.row(head).noalias() = w.row(head).lazyProduct(read);
      }
    }
  };
  for_each_block(sizes.tokens, 2 * sizes.heads * inner * width, run);
}

void mix_by_kernel(const at::Tensor& out, const RouterMixture& mixture,
                   const at::Tensor& buffered) {
  const Sizes sizes(mixture, buffered);
  const at::Tensor weights = mixture.weights.contiguous();
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "router", [&] {
    if (mixture.is_dynamic) {
      per_token_kernel<scalar_t>(out, weights, buffered, sizes);
    } else {
      per_dimension_kernel<scalar_t>(out, weights, buffered, sizes);
    }
  });
}

}  // namespace

at::Tensor add_source(const at::Tensor& sum, const RouterMixture& mixture, std::int64_t source,
                      const at::Tensor& block) {
  const auto added_to_sum = [&](const at::Tensor& part) {
    return sum.defined() ? sum + part : part;
  };
  const bool is_mixed = mixture.weights.size(mixture.is_dynamic ? 3 : 2) > 1 || block.size(0) == 1;
  if (mixture.is_dynamic) {
    const at::Tensor weights = mixture.weights.select(2, source);  // [kv_heads, tokens, mixed]
    return added_to_sum(is_mixed ? at::einsum("htg,gtcd->htcd", {weights, block})
                                 : weights.unsqueeze(3) * block);
  }
  const at::Tensor weights = mixture.weights.select(1, source);  // [kv_heads, mixed, dims]
  if (!is_mixed) return added_to_sum(weights.unsqueeze(1) * block);
  if (weights.size(2) > 1) return added_to_sum(at::einsum("hgd,gtcd->htcd", {weights, block}));
  const at::Tensor matrix = weights.squeeze(2);
  const at::Tensor flat = block.flatten(1);
  const at::Tensor routed =
      sum.defined() ? at::addmm(sum.flatten(1), matrix, flat) : at::mm(matrix, flat);
  return routed.view(block.sizes());
}

void mix_sources_out(at::Tensor& out, const RouterMixture& mixture, const at::Tensor& buffered) {
  const std::int64_t heads = buffered.size(1);
  const at::Tensor& weights = mixture.weights;
  if (mixture.is_dynamic || weights.size(3) > 1) {
    if (uses_cpu_kernels(out)) {
      mix_by_kernel(out, mixture, buffered);
      return;
    }
    at::Tensor sum;
    for (std::int64_t i = 0; i < buffered.size(0); ++i) {
      sum = add_source(sum, mixture, i, buffered[i]);
    }
    out.copy_(sum);
    return;
  }
  at::Tensor routed = out.view({heads, -1});
  if (weights.size(2) == heads) {
    wide_product_out(routed, weights.reshape({heads, -1}), buffered.view({-1, routed.size(1)}));
    return;
  }
  const at::Tensor by_head = buffered.view({buffered.size(0), heads, -1});
  for (std::int64_t head = 0; head < heads; ++head) {
    at::Tensor own = routed.narrow(0, head, 1);
    wide_product_out(own, weights[head].view({1, -1}), by_head.select(1, head));
  }
}

}  // namespace lime
