// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/depth_mixture.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <Eigen/Core>
#include <cmath>

#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/norm.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/sent_to.h"
#include "model/kernels/source_rows.h"

namespace lime {
namespace {

template <typename T> using Array = Eigen::Array<T, Eigen::Dynamic, 1>;

bool has_kernel(const at::Tensor& x) { return uses_cpu_kernels(x) || uses_cpu_gradients(x); }

template <typename T> void softmax(Array<T>& scores) {
  scores = (scores - scores.maxCoeff()).exp();
  scores /= scores.sum();
}

/// Router data for attend_over_depth().
struct DepthQuery {
  at::Tensor query;  // w * g, [hidden]
  double bias = 0.0;
  double eps = 0.0;
};

template <typename T> T inverse_rms(const Row<T>& x, double eps) {
  return T{1} / std::sqrt(x.square().sum() / static_cast<T>(x.size()) + static_cast<T>(eps));
}

template <typename T>
void attend_kernel(const std::vector<at::Tensor>& sources, const DepthQuery& own,
                   const DepthMixture& out) {
  const std::int64_t width = own.query.size(0);
  const SourceRows<T> x(sources, width);
  const SourceRows<T> mixed({out.mixed}, width);
  const SourceRows<T> weights({out.weights}, x.count());
  const ConstRow<T> query(own.query.data_ptr<T>(), width);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Array<T> a(x.count());
    for (std::int64_t token = begin; token < end; ++token) {
      for (std::int64_t i = 0; i < x.count(); ++i) {
        const Row<T> row = x(i, token);
        a(i) = (row * query).sum() * inverse_rms(row, own.eps);
      }
      a(x.count() - 1) += static_cast<T>(own.bias);
      softmax(a);
      weights(0, token) = a;
      combine<T>(
          mixed(0, token), x.count(), [&](std::int64_t i) { return a(i); },
          [&](std::int64_t i) { return x(i, token); });
    }
  };
  for_each_block(out.weights.numel() / x.count(), 6 * width * x.count(), run);
}

/// With s the scores, g_i = dy . x_i and r_i = 1 / rms(x_i):
///   ds_i = a_i (g_i - sum_j a_j g_j),   dx_i = a_i dy + ds_i r_i (q - (q . x_i) r_i^2 x_i /
///   hidden)
/// `partial` [blocks, hidden + 1] receives the gradients of q and of the bias.
template <typename T>
void attend_backward_kernel(const std::vector<at::Tensor>& dx, const at::Tensor& partial,
                            const at::Tensor& dy, const std::vector<at::Tensor>& sources,
                            const DepthQuery& own, const at::Tensor& attention) {
  const std::int64_t width = own.query.size(0);
  const SourceRows<T> x(sources, width);
  const SourceRows<T> to(dx, width);
  const SourceRows<T> gradients({dy}, width);
  const SourceRows<T> weights({attention}, x.count());
  const SourceRows<T> sums({partial}, width + 1);
  const ConstRow<T> query(own.query.data_ptr<T>(), width);
  const std::int64_t tokens = attention.numel() / x.count();
  const auto run = [&](std::int64_t block) {
    Array<T> g(x.count());
    Row<T> sum = sums(0, block);
    sum.setZero();
    const std::int64_t end = std::min(tokens, (block + 1) * kRowsPerSum);
    for (std::int64_t token = block * kRowsPerSum; token < end; ++token) {
      const Row<T> gradient = gradients(0, token);
      const Row<T> a = weights(0, token);
      for (std::int64_t i = 0; i < x.count(); ++i) g(i) = (gradient * x(i, token)).sum();
      g = a * (g - (a * g).sum());
      sum(width) += g(x.count() - 1);
      for (std::int64_t i = 0; i < x.count(); ++i) {
        const Row<T> row = x(i, token);
        const T r = inverse_rms(row, own.eps);
        const T slope = g(i) * r;
        const T along = slope * r * r * (row * query).sum() / static_cast<T>(width);
        to(i, token) = a(i) * gradient + slope * query - along * row;
        sum.head(width) += slope * row;
      }
    }
  };
  for_each_tile(partial.size(0), kRowsPerSum * 14 * width * x.count(), [&] { return run; });
}

DepthMixture attend_with_autograd(const std::vector<at::Tensor>& sources,
                                  const DepthRouterWeights& router, double eps) {
  const at::Tensor all = at::stack(sources, 2);
  const at::Tensor keys = rms_normalize(all, eps, RmsNormCast::kBeforeWeight) * router.gain;
  at::Tensor scores = at::matmul(keys, router.projection.squeeze(0));
  if (router.offset.defined()) {
    const std::int64_t last = scores.size(-1) - 1;
    scores = at::cat({scores.narrow(-1, 0, last), scores.narrow(-1, last, 1) + router.offset}, -1);
  }
  const at::Tensor weights = at::softmax(scores, -1);
  return {at::matmul(weights.unsqueeze(-2), all).squeeze(-2), weights.detach()};
}

}  // namespace

DepthRouterWeights on_device_of(const at::Tensor& x, const DepthRouterWeights& router) {
  if (router.projection.device() == x.device()) return router;
  const auto moved = [&](const at::Tensor& weight) {
    return weight.defined() ? sent_to(x.device(), weight) : weight;
  };
  return {moved(router.projection), moved(router.gain), moved(router.offset),
          moved(router.expansion)};
}

DepthMixture attend_over_depth(const std::vector<at::Tensor>& sources,
                               const DepthRouterWeights& router, double eps) {
  const at::Tensor& first = sources.front();
  if (!has_kernel(first)) return attend_with_autograd(sources, router, eps);
  DepthMixture out;
  DepthQuery own;
  std::vector<at::Tensor> saved;
  {
    const at::NoGradGuard no_grad;
    own = {.query = router.projection.squeeze(0) * router.gain,
           .bias = router.offset.defined() ? router.offset.item<double>() : 0.0,
           .eps = eps};
    saved = dense(sources);
    out.mixed = at::empty(first.sizes(), own.query.options());
    out.weights =
        at::empty({first.size(0), first.size(1), std::ssize(sources)}, own.query.options());
    AT_DISPATCH_FLOATING_TYPES(first.scalar_type(), "attend_over_depth",
                               [&] { attend_kernel<scalar_t>(saved, own, out); });
  }
  if (!uses_cpu_gradients(first)) return out;
  std::vector<at::Tensor> inputs = sources;
  inputs.insert(inputs.end(), {router.projection, router.gain});
  if (router.offset.defined()) inputs.push_back(router.offset);
  const auto backward = [=, weights = out.weights, projection = router.projection.detach(),
                         gain = router.gain.detach(), has_bias = router.offset.defined()](
                            const std::vector<at::Tensor>& gradients) {
    const at::Tensor dy = gradients[0].contiguous();
    std::vector<at::Tensor> all = empty_like_all(saved);
    const std::int64_t tokens = dy.numel() / own.query.size(0);
    const at::Tensor partial =
        at::empty({ceil_div(tokens, kRowsPerSum), own.query.size(0) + 1}, dy.options());
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "attend_over_depth_backward", [&] {
      attend_backward_kernel<scalar_t>(all, partial, dy, saved, own, weights);
    });
    const at::Tensor sum = sum_of_rows(partial);
    const at::Tensor dquery = sum.narrow(0, 0, own.query.size(0));
    all.push_back((dquery * gain).unsqueeze(0));
    all.push_back(dquery * projection.squeeze(0));
    if (has_bias) all.push_back(sum.narrow(0, own.query.size(0), 1));
    return all;
  };
  out.mixed = differentiable(inputs, {out.mixed}, backward)[0];
  return out;
}

namespace {

/// Keys, values and queries of all tokens and key-value heads, one row each.
template <typename T> struct ValueRows {
  ValueRows(const std::vector<at::Tensor>& k, const std::vector<at::Tensor>& v, const at::Tensor& q)
      : keys(k, k.front().size(3)),
        values(v, k.front().size(3)),
        queries({q}, k.front().size(3)),
        group(q.size(2) / k.front().size(2)),
        count(k.front().numel() / k.front().size(3)),
        scale(T{1} / std::sqrt(static_cast<T>(k.front().size(3)))) {}

  /// Returns the mean query of the heads that share key-value head `row`.
  Array<T> query(std::int64_t row) const {
    Array<T> sum = queries(0, row * group);
    for (std::int64_t i = 1; i < group; ++i) sum += queries(0, row * group + i);
    return sum / static_cast<T>(group);
  }
  std::int64_t operations() const { return 4 * keys.count() * keys(0, 0).size(); }

  SourceRows<T> keys, values, queries;
  std::int64_t group;
  std::int64_t count;  // tokens * kv_heads
  T scale;
};

template <typename T>
void mix_values_kernel(const ValueRows<T>& in, const DepthMixture& out, std::int64_t dim) {
  const std::int64_t sources = in.keys.count();
  const SourceRows<T> mixed({out.mixed}, dim);
  const SourceRows<T> weights({out.weights}, sources);
  for_each_block(in.count, in.operations(), [&](std::int64_t begin, std::int64_t end) {
    Array<T> a(sources);
    for (std::int64_t row = begin; row < end; ++row) {
      const Array<T> query = in.query(row) * in.scale;
      for (std::int64_t i = 0; i < sources; ++i) a(i) = (query * in.keys(i, row)).sum();
      softmax(a);
      weights(0, row) = a;
      combine<T>(
          mixed(0, row), sources, [&](std::int64_t i) { return a(i); },
          [&](std::int64_t i) { return in.values(i, row); });
    }
  });
}

template <typename T>
void mix_values_backward_kernel(const ValueRows<T>& in, const ValueRows<T>& to,
                                const at::Tensor& dy, const at::Tensor& attention,
                                std::int64_t dim) {
  const std::int64_t sources = in.keys.count();
  const SourceRows<T> gradients({dy}, dim);
  const SourceRows<T> weights({attention}, sources);
  for_each_block(in.count, 3 * in.operations(), [&](std::int64_t begin, std::int64_t end) {
    Array<T> ds(sources);
    Array<T> dq(dim);
    for (std::int64_t row = begin; row < end; ++row) {
      const Row<T> gradient = gradients(0, row);
      const Row<T> a = weights(0, row);
      const Array<T> query = in.query(row);
      for (std::int64_t i = 0; i < sources; ++i) ds(i) = (gradient * in.values(i, row)).sum();
      ds = a * (ds - (a * ds).sum()) * in.scale;
      dq.setZero();
      for (std::int64_t i = 0; i < sources; ++i) {
        to.values(i, row) = a(i) * gradient;
        to.keys(i, row) = ds(i) * query;
        dq += ds(i) * in.keys(i, row);
      }
      dq /= static_cast<T>(in.group);
      for (std::int64_t i = 0; i < in.group; ++i) to.queries(0, row * in.group + i) = dq;
    }
  });
}

DepthMixture mix_values_with_autograd(const at::Tensor& queries,
                                      const std::vector<at::Tensor>& keys,
                                      const std::vector<at::Tensor>& values) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(queries.size(3)));
  const at::Tensor query = queries.unflatten(2, {keys.front().size(2), -1}).mean(3);
  const at::Tensor scores = at::matmul(at::stack(keys, 3), query.unsqueeze(-1)).squeeze(-1) * scale;
  const at::Tensor weights = at::softmax(scores, -1);
  return {at::matmul(weights.unsqueeze(-2), at::stack(values, 3)).squeeze(-2), weights.detach()};
}

}  // namespace

DepthMixture mix_values(const at::Tensor& queries, const std::vector<at::Tensor>& keys,
                        const std::vector<at::Tensor>& values) {
  if (!has_kernel(queries)) return mix_values_with_autograd(queries, keys, values);
  const std::int64_t dim = queries.size(3);
  DepthMixture out;
  std::vector<at::Tensor> inputs = {queries};
  inputs.insert(inputs.end(), keys.begin(), keys.end());
  inputs.insert(inputs.end(), values.begin(), values.end());
  const auto split = [count = keys.size()](const std::vector<at::Tensor>& all) {
    const auto middle = all.begin() + 1 + static_cast<std::ptrdiff_t>(count);
    return std::pair(std::vector<at::Tensor>(all.begin() + 1, middle),
                     std::vector<at::Tensor>(middle, all.end()));
  };
  std::vector<at::Tensor> saved;
  {
    const at::NoGradGuard no_grad;
    saved = dense(inputs);
    std::vector<std::int64_t> shape = keys.front().sizes().vec();
    out.mixed = at::empty(shape, saved[0].options());
    shape.back() = std::ssize(keys);
    out.weights = at::empty(shape, saved[0].options());
    const auto [k, v] = split(saved);
    AT_DISPATCH_FLOATING_TYPES(queries.scalar_type(), "mix_values", [&, &k = k, &v = v] {
      mix_values_kernel<scalar_t>({k, v, saved[0]}, out, dim);
    });
  }
  if (!uses_cpu_gradients(queries)) return out;
  const auto backward = [=, weights = out.weights](const std::vector<at::Tensor>& gradients) {
    const at::Tensor dy = gradients[0].contiguous();
    std::vector<at::Tensor> all = empty_like_all(saved);
    const auto [k, v] = split(saved);
    const auto [dk, dv] = split(all);
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "mix_values_backward",
                               [&, &k = k, &v = v, &dk = dk, &dv = dv] {
                                 mix_values_backward_kernel<scalar_t>(
                                     {k, v, saved[0]}, {dk, dv, all[0]}, dy, weights, dim);
                               });
    return all;
  };
  out.mixed = differentiable(inputs, {out.mixed}, backward)[0];
  return out;
}

}  // namespace lime
