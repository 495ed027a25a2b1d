// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/experts.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <Eigen/Core>
#include <algorithm>
#include <limits>
#include <numeric>

#include "model/kernels/activation.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_sums.h"

namespace lime {
namespace {

/// Tokens sorted by expert: places [begin[e], begin[e + 1]) belong to expert e.
struct SortedTokens {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> token_at;  ///< by place
  std::vector<std::int64_t> place_of;  ///< by token and rank

  std::int64_t count(std::int64_t expert) const { return begin[expert + 1] - begin[expert]; }
};

/// @param indices  int64 [tokens, k] on the CPU, contiguous
SortedTokens sort_by_expert(const at::Tensor& indices, std::int64_t num_experts) {
  const std::int64_t* const expert_of = indices.data_ptr<std::int64_t>();
  const std::int64_t count = indices.numel();
  const std::int64_t per_token = indices.size(1);
  SortedTokens sorted{std::vector<std::int64_t>(static_cast<std::size_t>(num_experts) + 1),
                      std::vector<std::int64_t>(static_cast<std::size_t>(count)),
                      std::vector<std::int64_t>(static_cast<std::size_t>(count))};
  for (std::int64_t i = 0; i < count; ++i) ++sorted.begin[expert_of[i] + 1];
  std::partial_sum(sorted.begin.begin(), sorted.begin.end(), sorted.begin.begin());
  std::vector<std::int64_t> next = sorted.begin;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = next[expert_of[i]]++;
    sorted.token_at[place] = i / per_token;
    sorted.place_of[i] = place;
  }
  return sorted;
}

// Selection and weights.

template <typename T> void select_kernel(const at::Tensor& indices, const at::Tensor& logits) {
  const std::int64_t experts = logits.size(1);
  const std::int64_t selected = indices.size(1);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(experts));
    for (std::int64_t token = begin; token < end; ++token) {
      const T* const row = logits.data_ptr<T>() + token * experts;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + selected, order.end(),
                        [row](std::int64_t a, std::int64_t b) {
                          return row[a] > row[b] || (row[a] == row[b] && a < b);
                        });
      std::copy_n(order.begin(), selected, indices.data_ptr<std::int64_t>() + token * selected);
    }
  };
  for_each_block(logits.size(0), 8 * experts, run);
}

at::Tensor selected_experts(const at::Tensor& logits, std::int64_t count) {
  if (uses_gpu_operations(logits)) {
    return std::get<1>(at::topk(logits.detach(), count, -1));
  }
  const at::Tensor rows =
      logits.detach().to(logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const at::Tensor from = rows.contiguous();
  const at::Tensor indices = at::empty({from.size(0), count}, from.options().dtype(at::kLong));
  AT_DISPATCH_FLOATING_TYPES(from.scalar_type(), "select_experts",
                             [&] { select_kernel<scalar_t>(indices, from); });
  return indices;
}

/// Calls `run(token, exponentials, indices)` with exp(logit - largest) of all experts of a token,
/// divided by their sum, or by that of the selected ones.
template <typename T, typename Run>
void for_each_distribution(const at::Tensor& logits, const at::Tensor& indices, bool normalizes,
                           const Run& run) {
  using RowArray = Eigen::Array<T, Eigen::Dynamic, 1>;
  const std::int64_t experts = logits.size(1);
  const std::int64_t selected = indices.size(1);
  for_each_block(logits.size(0), 16 * experts, [&](std::int64_t begin, std::int64_t end) {
    RowArray p(experts);
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t* const chosen = indices.data_ptr<std::int64_t>() + token * selected;
      const ConstRow<T> row(logits.data_ptr<T>() + token * experts, experts);
      p = (row - row[chosen[0]]).exp();
      T sum = p.sum();
      if (normalizes) {
        sum = T{0};
        for (std::int64_t i = 0; i < selected; ++i) sum += p[chosen[i]];
      }
      p *= T{1} / sum;
      run(token, p, chosen);
    }
  });
}

template <typename T>
void weights_kernel(const at::Tensor& weights, const at::Tensor& logits, const at::Tensor& indices,
                    bool normalizes) {
  const std::int64_t selected = indices.size(1);
  for_each_distribution<T>(logits, indices, normalizes,
                           [&](std::int64_t token, const auto& p, const auto* chosen) {
                             T* const to = weights.data_ptr<T>() + token * selected;
                             for (std::int64_t i = 0; i < selected; ++i) to[i] = p[chosen[i]];
                           });
}

/// With p the weights and s = sum over the selected of dp p: d logit = p (dp - s), where dp = 0 for
/// experts that are not selected, whose p is 0 if the weights are normalised.
template <typename T>
void weights_backward_kernel(const at::Tensor& d_logits, const at::Tensor& d_weights,
                             const at::Tensor& logits, const at::Tensor& indices, bool normalizes) {
  const std::int64_t experts = logits.size(1);
  const std::int64_t selected = indices.size(1);
  for_each_distribution<T>(logits, indices, normalizes,
                           [&](std::int64_t token, const auto& p, const auto* chosen) {
                             const T* const dp = d_weights.data_ptr<T>() + token * selected;
                             Row<T> to(d_logits.data_ptr<T>() + token * experts, experts);
                             T sum{0};
                             for (std::int64_t i = 0; i < selected; ++i)
                               sum += dp[i] * p[chosen[i]];
                             if (normalizes) {
                               to.setZero();
                             } else {
                               to = -sum * p;
                             }
                             for (std::int64_t i = 0; i < selected; ++i)
                               to[chosen[i]] = p[chosen[i]] * (dp[i] - sum);
                           });
}

at::Tensor weights_by_library(const at::Tensor& logits, const at::Tensor& indices,
                              bool normalizes) {
  const auto type = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor wide = logits.to(type);
  const at::Tensor weights = normalizes ? at::softmax(wide.gather(1, indices), -1)
                                        : at::softmax(wide, -1).gather(1, indices);
  return weights.to(logits.scalar_type());
}

at::Tensor selected_weights(const at::Tensor& logits, const at::Tensor& indices, bool normalizes) {
  const bool has_graph = uses_cpu_gradients(logits);
  if (!has_graph && !uses_cpu_kernels(logits)) {
    return weights_by_library(logits, indices, normalizes);
  }
  const at::Tensor from = logits.detach().contiguous();
  const at::Tensor weights = at::empty(indices.sizes(), from.options());
  AT_DISPATCH_FLOATING_TYPES(from.scalar_type(), "expert_weights",
                             [&] { weights_kernel<scalar_t>(weights, from, indices, normalizes); });
  if (!has_graph) return weights;
  return differentiable({logits}, {weights}, [=](const std::vector<at::Tensor>& gradients) {
    const at::Tensor d_logits = at::empty(from.sizes(), from.options());
    AT_DISPATCH_FLOATING_TYPES(from.scalar_type(), "expert_weights_backward", [&] {
      weights_backward_kernel<scalar_t>(d_logits, gradients[0].contiguous(), from, indices,
                                        normalizes);
    });
    return std::vector<at::Tensor>{d_logits};
  })[0];
}

// The experts, without a graph.

/// Copies the rows of tokens to their places.
template <typename T>
void gather_kernel(const at::Tensor& out, const at::Tensor& x, const SortedTokens& sorted) {
  const std::int64_t hidden = x.size(1);
  for_each_block(out.size(0), hidden, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t place = begin; place < end; ++place) {
      std::copy_n(x.data_ptr<T>() + sorted.token_at[place] * x.stride(0), hidden,
                  out.data_ptr<T>() + place * hidden);
    }
  });
}

/// Computes x W^T + b. The sums of a row do not depend on the other rows, which other tokens bring
/// to the same expert; a single token reads the weights once.
void expert_linear_out(at::Tensor out, const at::Tensor& x, const LinearWeights& linear,
                       bool is_single_token) {
  if (is_single_token) return linear_out(out, x, linear.weight, linear.bias);
  matrix_product_out(out, x, linear.weight.t());
  if (linear.bias.defined()) out.add_(linear.bias);
}

/// Computes the outputs of all experts for the rows of their tokens, [tokens * per token, hidden].
void run_experts(const at::Tensor& out, const at::Tensor& rows, const SortedTokens& sorted,
                 const std::vector<ExpertWeights>& experts, const ExpertsSpec& spec,
                 Activation activation, Workspace& workspace) {
  const std::int64_t width = spec.intermediate_size;
  const bool is_single_token = sorted.token_at.back() == 0;
  for (std::int64_t expert = 0; expert < spec.num_experts; ++expert) {
    const std::int64_t count = sorted.count(expert);
    if (count == 0) continue;
    const ExpertWeights& weights = experts[static_cast<std::size_t>(expert)];
    const at::Tensor both =
        workspace.get(Workspace::Slot::kGateUp, {count, 2 * width}, rows.options());
    expert_linear_out(both, rows.narrow(0, sorted.begin[expert], count), weights.gate_up,
                      is_single_token);
    const at::Tensor inner =
        workspace.get(Workspace::Slot::kActivation, {count, width}, rows.options());
    const at::Tensor gate = both.narrow(1, 0, width);
    const at::Tensor up = both.narrow(1, width, width);
    if (spec.clamped_gate) {
      clamped_gate_out(inner, gate, up, *spec.clamped_gate);
    } else {
      activate_out(inner, gate, up, activation);
    }
    expert_linear_out(out.narrow(0, sorted.begin[expert], count), inner, weights.down,
                      is_single_token);
  }
}

/// Computes for each token the sum over its experts of weight * row.
template <typename T>
void combine_kernel(const at::Tensor& out, const at::Tensor& rows, const at::Tensor& weights,
                    const SortedTokens& sorted) {
  const std::int64_t hidden = out.size(1);
  const std::int64_t selected = weights.size(1);
  for_each_block(out.size(0), 2 * hidden * selected, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      Row<T> sum(out.data_ptr<T>() + token * hidden, hidden);
      for (std::int64_t i = 0; i < selected; ++i) {
        const std::int64_t at = token * selected + i;
        const ConstRow<T> row(rows.data_ptr<T>() + sorted.place_of[at] * hidden, hidden);
        const T weight = weights.data_ptr<T>()[at];
        if (i == 0) {
          sum = weight * row;
        } else {
          sum += weight * row;
        }
      }
    }
  });
}

// With gradients: gathered rows per expert, the layers of each expert, and the weighted sum.

/// d x of a token: the sum of the gradients of its copies, in the order of its experts.
template <typename T>
void gather_backward_kernel(const at::Tensor& dx, const at::Tensor& d_rows,
                            const SortedTokens& sorted, std::int64_t selected) {
  const at::Tensor ones = at::ones({dx.size(0), selected}, dx.options());
  combine_kernel<T>(dx, d_rows, ones, sorted);
}

std::vector<at::Tensor> gathered_rows(const at::Tensor& x, const SortedTokens& sorted,
                                      std::int64_t selected) {
  const std::int64_t experts = std::ssize(sorted.begin) - 1;
  const at::Tensor order =
      at::tensor(at::ArrayRef<std::int64_t>(sorted.token_at), at::TensorOptions(at::kLong));
  std::vector<at::Tensor> parts;
  {
    const at::NoGradGuard no_grad;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      if (sorted.count(expert) == 0) continue;
      parts.push_back(
          x.detach().index_select(0, order.narrow(0, sorted.begin[expert], sorted.count(expert))));
    }
  }
  return differentiable({x}, parts, [=](const std::vector<at::Tensor>& gradients) {
    const at::Tensor d_rows = at::cat(gradients);
    const at::Tensor dx = at::empty({d_rows.size(0) / selected, d_rows.size(1)}, d_rows.options());
    AT_DISPATCH_FLOATING_TYPES(dx.scalar_type(), "gather_rows_backward", [&] {
      gather_backward_kernel<scalar_t>(dx, d_rows, sorted, selected);
    });
    return std::vector<at::Tensor>{dx};
  });
}

/// d row = weight * dy, d weight = dy . row.
template <typename T>
void combine_backward_kernel(const at::Tensor& d_rows, const at::Tensor& d_weights,
                             const at::Tensor& dy, const at::Tensor& rows,
                             const at::Tensor& weights, const SortedTokens& sorted) {
  const std::int64_t hidden = dy.size(1);
  const std::int64_t selected = weights.size(1);
  for_each_block(dy.size(0), 4 * hidden * selected, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin * selected; at < end * selected; ++at) {
      const ConstRow<T> gradient(dy.data_ptr<T>() + at / selected * hidden, hidden);
      const std::int64_t place = sorted.place_of[at] * hidden;
      Row<T>(d_rows.data_ptr<T>() + place, hidden) = weights.data_ptr<T>()[at] * gradient;
      d_weights.data_ptr<T>()[at] =
          (gradient * ConstRow<T>(rows.data_ptr<T>() + place, hidden)).sum();
    }
  });
}

/// @param parts   outputs of the experts that have tokens
/// @param unused  weights of the others, whose gradients are zero
at::Tensor combined(const std::vector<at::Tensor>& parts, const at::Tensor& weights,
                    const std::vector<at::Tensor>& unused, const SortedTokens& sorted) {
  std::vector<at::Tensor> values;
  std::vector<std::int64_t> sizes;
  for (const at::Tensor& part : parts) {
    values.push_back(part.detach());
    sizes.push_back(part.size(0));
  }
  at::Tensor rows;
  at::Tensor out;
  const at::Tensor factors = weights.detach().contiguous();
  {
    const at::NoGradGuard no_grad;
    rows = at::cat(values);
    out = at::empty({factors.size(0), rows.size(1)}, rows.options());
    AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "combine_experts",
                               [&] { combine_kernel<scalar_t>(out, rows, factors, sorted); });
  }
  std::vector<at::Tensor> inputs = parts;
  inputs.push_back(weights);
  inputs.insert(inputs.end(), unused.begin(), unused.end());
  return differentiable(inputs, {out}, [=](const std::vector<at::Tensor>& gradients) {
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor d_rows = at::empty(rows.sizes(), rows.options());
    const at::Tensor d_weights = at::empty(factors.sizes(), factors.options());
    AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "combine_experts_backward", [&] {
      combine_backward_kernel<scalar_t>(d_rows, d_weights, dy, rows, factors, sorted);
    });
    std::vector<at::Tensor> all = d_rows.split_with_sizes(sizes);
    all.push_back(d_weights);
    for (const at::Tensor& weight : unused) all.push_back(at::zeros_like(weight));
    return all;
  })[0];
}

at::Tensor expert_output(const at::Tensor& x, const ExpertWeights& weights, const ExpertsSpec& spec,
                         Activation activation) {
  const std::vector<at::Tensor> parts = linear_with_gradients(x, {&weights.gate, &weights.up});
  const at::Tensor inner = spec.clamped_gate ? clamped_gate(parts[0], parts[1], *spec.clamped_gate)
                                             : activate(parts[0], parts[1], activation);
  return linear_with_gradients(inner, {&weights.down})[0];
}

at::Tensor experts_with_gradients(const at::Tensor& x, const ExpertChoice& choice,
                                  const std::vector<ExpertWeights>& experts,
                                  const ExpertsSpec& spec, Activation activation) {
  const SortedTokens sorted = sort_by_expert(choice.indices, spec.num_experts);
  const std::vector<at::Tensor> rows =
      gathered_rows(x.contiguous(), sorted, choice.indices.size(1));
  std::vector<at::Tensor> parts;
  std::vector<at::Tensor> unused;
  for (std::int64_t expert = 0; expert < spec.num_experts; ++expert) {
    const ExpertWeights& own = experts[static_cast<std::size_t>(expert)];
    if (sorted.count(expert) > 0) {
      parts.push_back(expert_output(rows[parts.size()], own, spec, activation));
      continue;
    }
    for (const LinearWeights* const linear : {&own.gate, &own.up, &own.down}) {
      unused.push_back(linear->weight);
      if (linear->bias.defined()) unused.push_back(linear->bias);
    }
  }
  return combined(parts, choice.weights, unused, sorted);
}

/// Computes the same with LibTorch's operations only.
at::Tensor experts_by_library(const at::Tensor& x, const ExpertChoice& choice,
                              const std::vector<ExpertWeights>& experts, const ExpertsSpec& spec,
                              Activation activation) {
  const std::int64_t selected = choice.indices.size(1);
  const at::Tensor flat = choice.indices.flatten();
  const at::Tensor order = at::argsort(flat, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const at::Tensor tokens = at::floor_divide(order, selected);
  const at::Tensor counts = at::bincount(flat.to(at::kCPU), {}, spec.num_experts);
  const at::Tensor rows = x.index_select(0, tokens);
  std::vector<at::Tensor> parts;
  std::int64_t first = 0;
  for (std::int64_t expert = 0; expert < spec.num_experts; ++expert) {
    const auto count = counts[expert].item<std::int64_t>();
    parts.push_back(expert_output(rows.narrow(0, first, count),
                                  experts[static_cast<std::size_t>(expert)], spec, activation));
    first += count;
  }
  const at::Tensor places =
      at::empty_like(order).scatter_(0, order, at::arange(order.size(0), order.options()));
  const at::Tensor by_token =
      at::cat(parts).index_select(0, places).view({x.size(0), selected, x.size(1)});
  return (by_token * choice.weights.unsqueeze(-1)).sum(1);
}

}  // namespace

ExpertChoice choose_experts(const at::Tensor& logits, const ExpertsSpec& spec) {
  const at::Tensor indices = selected_experts(logits, spec.num_experts_per_tok);
  return {indices, selected_weights(logits, indices, spec.normalizes_weights)};
}

at::Tensor apply_experts(const at::Tensor& x, const ExpertChoice& choice,
                         const std::vector<ExpertWeights>& experts, const ExpertsSpec& spec,
                         Activation activation, Workspace* workspace) {
  if (uses_cpu_gradients(x)) return experts_with_gradients(x, choice, experts, spec, activation);
  if (workspace == nullptr || !uses_cpu_kernels(x)) {
    return experts_by_library(x, choice, experts, spec, activation);
  }
  const SortedTokens sorted = sort_by_expert(choice.indices, spec.num_experts);
  const at::Tensor weights = choice.weights.contiguous();
  const auto memory = [&](Workspace::Slot slot, std::int64_t rows) {
    return workspace->get(slot, {rows, x.size(1)}, x.options());
  };
  const at::Tensor out = memory(Workspace::Slot::kOutput, x.size(0));
  const at::Tensor inputs = memory(Workspace::Slot::kExpertInputs, weights.numel());
  const at::Tensor outputs = memory(Workspace::Slot::kExpertOutputs, weights.numel());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gather_rows",
                             [&] { gather_kernel<scalar_t>(inputs, x, sorted); });
  run_experts(outputs, inputs, sorted, experts, spec, activation, *workspace);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "combine_experts",
                             [&] { combine_kernel<scalar_t>(out, outputs, weights, sorted); });
  return out;
}

at::Tensor apply_gate(const at::Tensor& x, const at::Tensor& logits) {
  const auto sigmoid = [](const at::Tensor& part) { return part.sigmoid(); };
  if (!uses_cpu_gradients(x)) return x * map_elements(logits, sigmoid);
  const at::Tensor gates = map_elements(logits.detach(), sigmoid);
  const at::Tensor in_graph =
      differentiable({logits}, {gates}, [gates](const std::vector<at::Tensor>& gradients) {
        return std::vector<at::Tensor>{gradients[0] * gates * (1.0 - gates)};
      })[0];
  SortedTokens all;  // one expert for all tokens, in their order
  all.begin = {0, x.size(0)};
  all.token_at.resize(static_cast<std::size_t>(x.size(0)));
  std::iota(all.token_at.begin(), all.token_at.end(), 0);
  all.place_of = all.token_at;
  return combined({x}, in_graph, {}, all);
}

at::Tensor load_balancing_loss(const std::vector<at::Tensor>& logits,
                               const std::vector<at::Tensor>& indices) {
  const std::int64_t experts = logits.front().size(1);
  std::vector<at::Tensor> probabilities;
  at::Tensor counts;
  at::Tensor sums;
  std::int64_t rows = 0;
  {
    const at::NoGradGuard no_grad;
    for (std::size_t layer = 0; layer < logits.size(); ++layer) {
      const at::Tensor p = at::softmax(logits[layer].detach(), -1);
      const at::Tensor own = at::bincount(indices[layer].flatten(), {}, experts).to(p.options());
      const at::Tensor sum = p.is_cpu() ? sum_of_rows(p.contiguous()) : p.sum(0);
      counts = counts.defined() ? counts + own.to(counts.device()) : own;
      sums = sums.defined() ? sums + sum.to(sums.device()) : sum;
      rows += p.size(0);
      probabilities.push_back(p);
    }
  }
  const double factor = static_cast<double>(experts) / static_cast<double>(rows * rows);
  const at::Tensor loss = (counts * sums).sum() * factor;
  if (!c10::GradMode::is_enabled()) return loss;
  return differentiable(logits, {loss}, [=](const std::vector<at::Tensor>& gradients) {
    std::vector<at::Tensor> all;
    for (const at::Tensor& p : probabilities) {
      const at::Tensor f = counts.to(p.device());
      all.push_back(p * (f - (p * f).sum(-1, true)) * (gradients[0].to(p.device()) * factor));
    }
    return all;
  })[0];
}

}  // namespace lime
