// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/attention_gradients.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "model/kernels/differentiable.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_major.h"

namespace lime {
namespace {

/// Queries per block, as in the forward pass.
constexpr std::int64_t kQueries = 64;

/// Returns rows [first, first + count) of one head of [batch, seq, heads, head_dim].
template <typename T>
RowMajorView<T> rows_of(const at::Tensor& x, std::int64_t batch, std::int64_t head,
                        std::int64_t first, std::int64_t count) {
  T* const data = x.data_ptr<T>() + batch * x.stride(0) + first * x.stride(1) + head * x.stride(2);
  return RowMajorView<T>(data, count, x.size(3), Eigen::OuterStride<>(x.stride(1)));
}

/// Gradients of q, k and v, contiguous and with the same shapes.
struct AttentionGradients {
  at::Tensor q, k, v;
};

/// Scratch of one block of queries: scores, then the pattern, then the gradients of the scores.
template <typename T>
struct PatternScratch {
  explicit PatternScratch(std::int64_t count) : pattern(count), d_scores(count) {}
  Eigen::Array<T, Eigen::Dynamic, 1> pattern, d_scores;
};

/// Adds the contribution of queries [first, ...) of one head to the gradients: with P the pattern
/// and dP = dy v^T, dS = scale P (dP - sum(P dP)), dq = dS k, dk += dS^T q, dv += P^T
/// dy.
template <typename T>
void block_backward(const AttentionInput& in, const at::Tensor& dy, const AttentionGradients& out,
                    std::int64_t batch, std::int64_t head, std::int64_t first,
                    PatternScratch<T>& scratch) {
  const std::int64_t kv_head = head / (in.q.size(2) / in.k.size(2));
  const std::int64_t queries = std::min(kQueries, in.q.size(1) - first);
  const auto first_seen = [&](std::int64_t query) {
    return in.window ? std::max<std::int64_t>(0, query + 1 - *in.window) : 0;
  };
  const std::int64_t key_begin = first_seen(first);
  const std::int64_t keys = first + queries - key_begin;
  const auto q = rows_of<T>(in.q, batch, head, first, queries);
  const auto k = rows_of<T>(in.k, batch, kv_head, key_begin, keys);
  const auto v = rows_of<T>(in.v, batch, kv_head, key_begin, keys);
  const auto gradient = rows_of<T>(dy, batch, head, first, queries);

  const T scale = in.score_scale<T>();
  Eigen::Map<RowMajor<T>> p(scratch.pattern.data(), queries, keys);
  Eigen::Map<RowMajor<T>> ds(scratch.d_scores.data(), queries, keys);
  p.noalias() = q * k.transpose();
  ds.noalias() = gradient * v.transpose();
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t begin = first_seen(first + i) - key_begin;
    const std::int64_t end = first + i + 1 - key_begin;
    auto row = p.row(i).array();
    auto d_row = ds.row(i).array();
    auto seen = row.segment(begin, end - begin);
    auto d_seen = d_row.segment(begin, end - begin);
    seen = ((seen - seen.maxCoeff()) * scale).exp();
    seen *= T{1} / seen.sum();
    d_seen = seen * (d_seen - (seen * d_seen).sum()) * scale;
    row.head(begin).setZero();
    row.tail(keys - end).setZero();
    d_row.head(begin).setZero();
    d_row.tail(keys - end).setZero();
  }
  rows_of<T>(out.q, batch, head, first, queries).noalias() = ds * k;
  rows_of<T>(out.k, batch, kv_head, key_begin, keys).noalias() += ds.transpose() * q;
  rows_of<T>(out.v, batch, kv_head, key_begin, keys).noalias() += p.transpose() * gradient;
}

template <typename T>
void attention_backward_kernel(const AttentionInput& in, const at::Tensor& dy,
                               const AttentionGradients& out) {
  const std::int64_t seq = in.q.size(1);
  const std::int64_t kv_heads = in.k.size(2);
  const std::int64_t group = in.q.size(2) / kv_heads;
  const auto make_worker = [&] {
    return
        [&, scratch = PatternScratch<T>(std::min(seq, kQueries) * seq)](std::int64_t task) mutable {
          const std::int64_t batch = task / kv_heads;
          const std::int64_t kv_head = task % kv_heads;
          rows_of<T>(out.k, batch, kv_head, 0, seq).setZero();
          rows_of<T>(out.v, batch, kv_head, 0, seq).setZero();
          for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
            for (std::int64_t first = 0; first < seq; first += kQueries) {
              block_backward<T>(in, dy, out, batch, head, first, scratch);
            }
          }
        };
  };
  for_each_tile(in.q.size(0) * kv_heads, 5 * group * seq * seq * in.q.size(3), make_worker);
}

at::Tensor dense_rows(const at::Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

}  // namespace

at::Tensor attention_with_gradients(const AttentionInput& input) {
  AttentionInput saved = input;
  saved.q = dense_rows(input.q.detach());
  saved.k = dense_rows(input.k.detach());
  saved.v = dense_rows(input.v.detach());
  at::Tensor out;
  {
    const at::NoGradGuard no_grad;
    out = attention(saved);
  }
  return differentiable(
      {input.q, input.k, input.v}, {out}, [saved](const std::vector<at::Tensor>& gradients) {
        const AttentionGradients result{at::empty(saved.q.sizes(), saved.q.options()),
                                        at::empty(saved.k.sizes(), saved.k.options()),
                                        at::empty(saved.v.sizes(), saved.v.options())};
        AT_DISPATCH_FLOATING_TYPES(saved.q.scalar_type(), "attention_backward", [&] {
          attention_backward_kernel<scalar_t>(saved, dense_rows(gradients[0]), result);
        });
        return std::vector<at::Tensor>{result.q, result.k, result.v};
      })[0];
}

}  // namespace lime
