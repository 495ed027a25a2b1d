// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/attention.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <Eigen/Core>
#include <algorithm>
#include <limits>

#include "model/kernels/activation.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/slab_product.h"
#include "model/kernels/torch_compat.h"

namespace lime {
namespace {

/// Queries per block: large enough for efficient products, small enough to keep scores in cache.
constexpr std::int64_t kBlock = 64;

at::Tensor with_dense_rows(const at::Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); }

/// Returns one head of [batch, seq, heads, head_dim] as a matrix [seq, head_dim].
template <typename T>
auto head_matrix(const at::Tensor& x, std::int64_t batch, std::int64_t head, std::int64_t first,
                 std::int64_t count) {
  T* const data = x.data_ptr<T>() + batch * x.stride(0) + first * x.stride(1) + head * x.stride(2);
  return RowMajorView<T>(data, count, x.size(3), Eigen::OuterStride<>(x.stride(1)));
}

/// Returns what is subtracted from the scores of a softmax before they are multiplied by `factor`:
/// the largest, or that of the sink if it is larger.
template <typename T, typename Scores>
T largest_score(const AttentionInput& in, std::int64_t head, const Scores& seen, T factor) {
  const T largest = seen.maxCoeff();
  return in.sinks.defined() ? std::max(largest, in.sinks.data_ptr<T>()[head] / factor) : largest;
}

/// Returns exp(sink - largest * factor), the term of the sink in the sum of the softmax.
template <typename T>
T sink_term(const AttentionInput& in, std::int64_t head, T largest, T factor) {
  if (!in.sinks.defined()) return T{0};
  return std::exp(in.sinks.data_ptr<T>()[head] - largest * factor);
}

/// Computes attention of queries [first, last) of one head; `scores` is scratch of at least (last -
/// first) * keys elements. It must be aligned like Eigen's own memory: for rows with another
/// alignment Eigen sums in another order and rounds exp() differently.
/// @param logs  of the softmax's numerators, scratch of [keys], if there is a profile
template <typename T>
void attend_block(const AttentionInput& in, const at::Tensor& out, const at::Tensor& profile,
                  std::int64_t batch, std::int64_t head, std::int64_t first,
                  Eigen::Array<T, Eigen::Dynamic, 1>& scores,
                  Eigen::Array<T, 1, Eigen::Dynamic>& logs) {
  const std::int64_t queries = in.q.size(1);
  const std::int64_t past = in.k.size(1) - queries;
  const std::int64_t last = std::min(first + kBlock, queries);
  const std::int64_t kv_head = head / (in.q.size(2) / in.k.size(2));
  const std::int64_t padding = in.padding.empty() ? 0 : in.padding[batch];
  const auto first_seen = [&](std::int64_t query) {
    const std::int64_t own = past + query;
    return std::min(own, in.window ? std::max(padding, own + 1 - *in.window) : padding);
  };
  const std::int64_t key_begin = first_seen(first);
  const std::int64_t num_keys = past + last - key_begin;

  Eigen::Map<RowMajor<T>> s(scores.data(), last - first, num_keys);
  slab_product(s, head_matrix<T>(in.q, batch, head, first, last - first),
               head_matrix<T>(in.k, batch, kv_head, key_begin, num_keys).transpose());
  const T scale = in.score_scale<T>();
  const T cap = static_cast<T>(in.softcap.value_or(0.0));
  auto z = head_matrix<T>(out, batch, head, first, last - first);
  Eigen::Array<T, 1, Eigen::Dynamic> inverse_sums(last - first);
  for (std::int64_t query = first; query < last; ++query) {
    const std::int64_t begin = first_seen(query) - key_begin;
    const std::int64_t end = past + query + 1 - key_begin;
    auto row = s.row(query - first).array();
    auto seen = row.segment(begin, end - begin);
    if (in.softcap) seen = (seen * (scale / cap)).tanh() * cap;
    const std::int64_t count = end - begin;
    const T factor = in.softcap ? T{1} : scale;
    const T largest = largest_score(in, head, seen, factor);
    if (profile.defined()) {
      logs.head(count) = (seen - largest) * factor;
      seen = logs.head(count).exp();
    } else {
      seen = ((seen - largest) * factor).exp();
    }
    const T sum = seen.sum();
    inverse_sums[query - first] = T{1} / (sum + sink_term(in, head, largest, factor));
    if (profile.defined()) {
      const T inverse = inverse_sums[query - first];
      const auto back =
          Eigen::Array<T, 1, Eigen::Dynamic>::LinSpaced(count, static_cast<T>(count - 1), T{0});
      const T total = in.sinks.defined() ? sum * inverse : T{1};
      const T entropy =
          std::max((seen * logs.head(count)).sum() * -inverse - std::log(inverse) * total, T{0});
      T* const to =
          profile.data_ptr<T>() + ((batch * queries + query) * in.q.size(2) + head) * kProfileSize;
      to[0] = entropy;
      to[1] = std::exp(entropy);
      to[2] = (seen * back).sum() * inverse;
      to[3] = key_begin + begin == 0 ? seen[0] * inverse : T{0};
      to[4] = count > 1 ? seen[count - 2] * inverse : T{0};
      to[5] = seen[count - 1] * inverse;
    }
    row.head(begin).setZero();
    row.tail(num_keys - end).setZero();
  }
  slab_product(z, s, head_matrix<T>(in.v, batch, kv_head, key_begin, num_keys));
  z.array().colwise() *= inverse_sums.transpose();
}

template <typename T>
void attention_kernel(const AttentionInput& in, const at::Tensor& out, const at::Tensor& profile) {
  const std::int64_t heads = in.q.size(2);
  const std::int64_t queries = in.q.size(1);
  const std::int64_t blocks = ceil_div(queries, kBlock);
  const std::int64_t keys = in.k.size(1);
  const auto make_worker = [&] {
    return [&, scores = Eigen::Array<T, Eigen::Dynamic, 1>(std::min(queries, kBlock) * keys),
            logs = Eigen::Array<T, 1, Eigen::Dynamic>(profile.defined() ? keys : 0)](
               std::int64_t task) mutable {
      const std::int64_t block = task % blocks;
      const std::int64_t head = task / blocks % heads;
      attend_block<T>(in, out, profile, task / blocks / heads, head, block * kBlock, scores, logs);
    };
  };
  for_each_tile(in.q.size(0) * heads * blocks, 4 * std::min(queries, kBlock) * keys * in.q.size(3),
                make_worker);
}

/// Returns the mask [queries, keys], true where a query attends; padding attends to itself.
at::Tensor attention_mask(const AttentionInput& in) {
  const std::int64_t keys = in.k.size(1);
  const std::int64_t past = keys - in.q.size(1);
  const auto type = at::TensorOptions(at::kBool).device(in.q.device());
  at::Tensor mask = at::ones({in.q.size(1), keys}, type).tril(past);
  if (in.window) mask = mask.triu(past - *in.window + 1);
  if (in.padding.empty()) return mask;
  const at::Tensor first =
      at::tensor(at::ArrayRef<std::int64_t>(in.padding.data(), in.padding.size()), at::kLong)
          .to(in.q.device());
  const at::Tensor seen =
      at::arange(keys, first.options()).unsqueeze(0).ge(first.unsqueeze(1)).unsqueeze(1);
  const at::Tensor own = at::ones_like(mask).tril(past).triu(past);
  return (mask.unsqueeze(0) & (seen | own.unsqueeze(0))).unsqueeze(1);
}

/// Repeats heads for their queries: [batch, seq, kv_heads, dim] -> [batch, num_heads, seq, dim].
at::Tensor repeat_heads(const at::Tensor& x, std::int64_t num_heads) {
  const at::Tensor by_head = x.transpose(1, 2);
  if (x.size(2) == num_heads) return by_head;
  return by_head.unsqueeze(2)
      .expand({-1, -1, num_heads / x.size(2), -1, -1})
      .reshape({x.size(0), num_heads, x.size(1), x.size(3)});
}

at::Tensor attention_by_library(const AttentionInput& in) {
  const std::int64_t queries = in.q.size(1);
  const std::int64_t keys = in.k.size(1);
  const bool all_seen = !in.window || *in.window >= keys;
  const bool is_padded = !in.padding.empty();
  const bool is_causal = all_seen && queries == keys && queries > 1 && !is_padded;
  at::Tensor mask;
  if (is_padded || (!is_causal && !(all_seen && queries == 1))) mask = attention_mask(in);
  const std::int64_t heads = in.q.size(2);
  // The fused kernels divide by sqrt(head_dim).
  const at::Tensor q =
      in.scale ? in.q * (*in.scale * std::sqrt(static_cast<double>(in.q.size(3)))) : in.q;
  return fused_attention(q.transpose(1, 2), repeat_heads(in.k, heads), repeat_heads(in.v, heads),
                         mask, is_causal)
      .transpose(1, 2);
}

/// Gradients of q, k and v, contiguous and with the same shapes.
struct AttentionGradients {
  at::Tensor q, k, v;
  at::Tensor sinks;  // [batch, heads], or undefined
};

/// Scratch of one block of queries: scores, then the pattern, then the gradients of the scores.
template <typename T> struct PatternScratch {
  PatternScratch(std::int64_t count, std::int64_t keys)
      : pattern(count), d_scores(count), slopes(keys) {}
  Eigen::Array<T, Eigen::Dynamic, 1> pattern, d_scores;
  Eigen::Array<T, 1, Eigen::Dynamic> slopes;  // of the soft cap, for one query
};

/// Adds queries [first, ...) of one head to the gradients: with P the pattern and dP = dy v^T, dS =
/// scale P (dP - sum(P dP)), dq = dS k, dk += dS^T q, dv += P^T dy. A soft cap c tanh(s / c)
/// multiplies dS by 1 - tanh(s / c)^2. A sink of weight p has the gradient -p sum(P dP).
template <typename T>
void block_backward(const AttentionInput& in, const at::Tensor& dy, const AttentionGradients& out,
                    std::int64_t batch, std::int64_t head, std::int64_t first,
                    PatternScratch<T>& scratch) {
  const std::int64_t kv_head = head / (in.q.size(2) / in.k.size(2));
  const std::int64_t queries = std::min(kBlock, in.q.size(1) - first);
  const auto first_seen = [&](std::int64_t query) {
    return in.window ? std::max<std::int64_t>(0, query + 1 - *in.window) : 0;
  };
  const std::int64_t key_begin = first_seen(first);
  const std::int64_t keys = first + queries - key_begin;
  const auto q = head_matrix<T>(in.q, batch, head, first, queries);
  const auto k = head_matrix<T>(in.k, batch, kv_head, key_begin, keys);
  const auto v = head_matrix<T>(in.v, batch, kv_head, key_begin, keys);
  const auto gradient = head_matrix<T>(dy, batch, head, first, queries);

  const T scale = in.score_scale<T>();
  Eigen::Map<RowMajor<T>> p(scratch.pattern.data(), queries, keys);
  Eigen::Map<RowMajor<T>> ds(scratch.d_scores.data(), queries, keys);
  slab_product(p, q, k.transpose());
  slab_product(ds, gradient, v.transpose());
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t begin = first_seen(first + i) - key_begin;
    const std::int64_t end = first + i + 1 - key_begin;
    auto row = p.row(i).array();
    auto d_row = ds.row(i).array();
    auto seen = row.segment(begin, end - begin);
    auto d_seen = d_row.segment(begin, end - begin);
    auto slopes = scratch.slopes.head(end - begin);
    if (in.softcap) {
      const T cap = static_cast<T>(*in.softcap);
      seen = (seen * (scale / cap)).tanh();
      slopes = T{1} - seen.square();
      seen *= cap;
    }
    const T factor = in.softcap ? T{1} : scale;
    const T largest = largest_score(in, head, seen, factor);
    const T sink = sink_term(in, head, largest, factor);
    seen = ((seen - largest) * factor).exp();
    const T inverse = T{1} / (seen.sum() + sink);
    seen *= inverse;
    const T mean = (seen * d_seen).sum();
    if (out.sinks.defined()) {
      out.sinks.data_ptr<T>()[batch * in.q.size(2) + head] -= sink * inverse * mean;
    }
    d_seen = seen * (d_seen - mean) * scale;
    if (in.softcap) d_seen *= slopes;
    row.head(begin).setZero();
    row.tail(keys - end).setZero();
    d_row.head(begin).setZero();
    d_row.tail(keys - end).setZero();
  }
  slab_product(head_matrix<T>(out.q, batch, head, first, queries), ds, k);
  head_matrix<T>(out.k, batch, kv_head, key_begin, keys).noalias() += ds.transpose() * q;
  head_matrix<T>(out.v, batch, kv_head, key_begin, keys).noalias() += p.transpose() * gradient;
}

template <typename T>
void attention_backward_kernel(const AttentionInput& in, const at::Tensor& dy,
                               const AttentionGradients& out) {
  const std::int64_t seq = in.q.size(1);
  const std::int64_t kv_heads = in.k.size(2);
  const std::int64_t group = in.q.size(2) / kv_heads;
  const auto make_worker = [&] {
    return [&, scratch =
                   PatternScratch<T>(std::min(seq, kBlock) * seq, seq)](std::int64_t task) mutable {
      const std::int64_t batch = task / kv_heads;
      const std::int64_t kv_head = task % kv_heads;
      head_matrix<T>(out.k, batch, kv_head, 0, seq).setZero();
      head_matrix<T>(out.v, batch, kv_head, 0, seq).setZero();
      for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        for (std::int64_t first = 0; first < seq; first += kBlock) {
          block_backward<T>(in, dy, out, batch, head, first, scratch);
        }
      }
    };
  };
  for_each_tile(in.q.size(0) * kv_heads, 5 * group * seq * seq * in.q.size(3), make_worker);
}

/// Computes attention() with a hand-written backward pass. Requires uses_cpu_gradients(q).
///
/// The pattern is not stored: the backward pass recomputes it one block of queries at a time (Dao
/// et al. 2022, arXiv:2205.14135, section 3). The graph keeps q, k and v only. One thread computes
/// all query heads of a key-value head, so results are bit-identical for any number of threads.
at::Tensor attention_with_gradients(const AttentionInput& input) {
  AttentionInput saved = input;
  saved.q = with_dense_rows(input.q.detach());
  saved.k = with_dense_rows(input.k.detach());
  saved.v = with_dense_rows(input.v.detach());
  if (input.sinks.defined()) saved.sinks = input.sinks.detach();
  at::Tensor out;
  {
    const at::NoGradGuard no_grad;
    out = attention(saved);
  }
  std::vector<at::Tensor> inputs = {input.q, input.k, input.v};
  if (input.sinks.defined()) inputs.push_back(input.sinks);
  return differentiable(inputs, {out}, [saved](const std::vector<at::Tensor>& gradients) {
    AttentionGradients result{at::empty(saved.q.sizes(), saved.q.options()),
                              at::empty(saved.k.sizes(), saved.k.options()),
                              at::empty(saved.v.sizes(), saved.v.options()),
                              {}};
    if (saved.sinks.defined()) {
      result.sinks = at::zeros({saved.q.size(0), saved.q.size(2)}, saved.q.options());
    }
    AT_DISPATCH_FLOATING_TYPES(saved.q.scalar_type(), "attention_backward", [&] {
      attention_backward_kernel<scalar_t>(saved, with_dense_rows(gradients[0]), result);
    });
    std::vector<at::Tensor> all = {result.q, result.k, result.v};
    if (result.sinks.defined()) all.push_back(sum_of_rows(result.sinks));
    return all;
  })[0];
}

}  // namespace

at::Tensor attention_profile_of(const at::Tensor& pattern) {
  const at::Tensor a = pattern.to(pattern.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const std::int64_t past = a.size(3) - a.size(2);
  const at::Tensor keys = at::arange(a.size(3), a.options());
  const at::Tensor queries = keys.narrow(0, past, a.size(2)).unsqueeze(1);
  const at::Tensor entropy = at::xlogy(a, a).sum(-1).neg().clamp_min(0);
  at::Tensor previous = a.diagonal(past - 1, 2, 3);
  if (past == 0) previous = at::constant_pad_nd(previous, {1, 0});
  return at::stack({entropy, entropy.exp(), (a * (queries - keys)).sum(-1), a.select(3, 0),
                    previous, a.diagonal(past, 2, 3)},
                   -1)
      .transpose(1, 2);
}

at::Tensor attention(const AttentionInput& input, at::Tensor out, at::Tensor* profile) {
  if (uses_cpu_kernels(input.q)) {
    AttentionInput dense = input;
    dense.q = with_dense_rows(input.q);
    dense.k = with_dense_rows(input.k);
    dense.v = with_dense_rows(input.v);
    if (!out.defined()) out = at::empty(input.q.sizes(), input.q.options());
    at::Tensor measured;
    if (profile != nullptr) {
      measured = at::empty({input.q.size(0), input.q.size(1), input.q.size(2), kProfileSize},
                           input.q.options());
    }
    AT_DISPATCH_FLOATING_TYPES(input.q.scalar_type(), "attention",
                               [&] { attention_kernel<scalar_t>(dense, out, measured); });
    if (profile != nullptr) *profile = measured;
    return out;
  }
  if (profile != nullptr) {
    return attention_with_pattern(input, {}, [&](const at::Tensor& pattern) {
      *profile = attention_profile_of(pattern);
      return pattern;
    });
  }
  if (uses_cpu_gradients(input.q) && input.q.size(1) == input.k.size(1) && input.padding.empty()) {
    return attention_with_gradients(input);
  }
  if (input.softcap || input.sinks.defined()) return attention_with_pattern(input, {}, {});
  if constexpr (kHasFusedAttention) return attention_by_library(input);
  return attention_with_pattern(input, {}, {});
}

at::Tensor attention_with_pattern(const AttentionInput& input, const AttentionEditor& edit_scores,
                                  const AttentionEditor& edit_pattern) {
  const at::Tensor& q = input.q;
  const auto scale = input.score_scale<double>();
  const at::Tensor mask = attention_mask(input);
  at::Tensor scores =
      at::matmul(q.transpose(1, 2), repeat_heads(input.k, q.size(2)).transpose(2, 3)) * scale;
  if (input.softcap) scores = soft_cap(scores, *input.softcap);
  scores = scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
  if (edit_scores) scores = edit_scores(scores);
  const auto softmax_type = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  if (input.sinks.defined()) {
    const at::Tensor sinks =
        input.sinks.view({1, -1, 1, 1}).expand({scores.size(0), -1, scores.size(2), 1});
    scores = at::cat({scores, sinks.to(scores.scalar_type())}, -1);
  }
  at::Tensor pattern = at::softmax(scores, -1, softmax_type).to(q.scalar_type());
  if (input.sinks.defined()) pattern = pattern.narrow(-1, 0, pattern.size(-1) - 1).contiguous();
  if (edit_pattern) pattern = edit_pattern(pattern);
  return at::matmul(pattern, repeat_heads(input.v, q.size(2))).transpose(1, 2);
}

}  // namespace lime
