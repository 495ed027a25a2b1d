// SPDX-License-Identifier: Apache-2.0
#include "model/passes/output_head.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <Eigen/Core>

#include "model/kernels/activation.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

/// Turns logits into their gradient, softmax minus one at the target; returns the summed loss.
template <typename T>
double losses_and_gradients(const at::Tensor& logits, const at::Tensor& targets) {
  const std::int64_t rows = logits.size(0);
  const std::int64_t vocab = logits.size(1);
  const auto* const target = targets.data_ptr<std::int64_t>();
  T* const data = logits.data_ptr<T>();
  std::vector<double> losses(static_cast<std::size_t>(rows));
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      Row<T> z(data + row * vocab, vocab);
      const T largest = z.maxCoeff();
      const T at_target = z[target[row]];
      z = (z - largest).exp();
      const T sum = z.sum();
      z *= T{1} / sum;
      z[target[row]] -= T{1};
      losses[row] = std::log(static_cast<double>(sum)) +
                    (static_cast<double>(largest) - static_cast<double>(at_target));
    }
  };
  for_each_block(rows, vocab * 16, run);
  double loss = 0.0;
  for (const double value : losses) loss += value;
  return loss;
}

at::Tensor rows_with_targets(const at::Tensor& targets, std::int64_t vocab) {
  const at::Tensor requested = targets.ne(kIgnoredTarget);
  const at::Tensor kept = requested.nonzero().squeeze(1);
  if (kept.numel() == 0) return kept;
  const at::Tensor values = targets.index_select(0, kept);
  if (values.min().item<std::int64_t>() < 0 || values.max().item<std::int64_t>() >= vocab) {
    throw InvalidArgument("cross-entropy: targets must be from 0 to {}, got {} to {}", vocab - 1,
                          values.min().item<std::int64_t>(), values.max().item<std::int64_t>());
  }
  return kept;
}

at::Tensor summed_by_kernel(const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& targets) {
  const bool with_gradients = uses_cpu_gradients(x);
  at::Tensor loss;
  at::Tensor dx;
  at::Tensor dw;
  {
    const at::NoGradGuard no_grad;
    const at::Tensor kept = rows_with_targets(targets, weight.size(0));
    const bool keeps_all = kept.numel() == targets.numel();
    const at::Tensor used = keeps_all ? x.detach().contiguous() : x.detach().index_select(0, kept);
    const at::Tensor w = weight.detach();
    const at::Tensor logits = apply_linear(used, w);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "cross_entropy", [&] {
      loss = at::scalar_tensor(
          losses_and_gradients<scalar_t>(logits, targets.index_select(0, kept)), x.options());
    });
    if (with_gradients) {
      dw = at::empty(w.sizes(), w.options());
      matrix_product_out(dw, logits.t(), used);
      const at::Tensor of_used = at::empty(used.sizes(), used.options());
      matrix_product_out(of_used, logits, w);
      dx = keeps_all ? of_used : at::zeros(x.sizes(), used.options()).index_copy_(0, kept, of_used);
    }
  }
  if (!with_gradients) return loss;
  return differentiable({x, weight}, {loss}, [dx, dw](const std::vector<at::Tensor>& gradients) {
    const double factor = gradients[0].item<double>();
    return std::vector<at::Tensor>{at::mul(dx, factor), at::Tensor(dw).mul_(factor)};
  })[0];
}

/// Returns the input of the output projection, on its device; tied: that of the embedding.
at::Tensor head_input(const at::Tensor& normalized, const DecoderWeights& weights) {
  const at::Tensor x = weights.project_out.weight.defined()
                           ? linear_with_gradients(normalized, {&weights.project_out})[0]
                           : normalized;
  return x.to(weights.lm_head.device());
}

}  // namespace

at::Tensor summed_cross_entropy(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& targets) {
  if (uses_cpu_gradients(x) || uses_cpu_kernels(x)) return summed_by_kernel(x, weight, targets);
  return at::cross_entropy_loss(apply_linear(x, weight), targets, {}, at::Reduction::Sum,
                                kIgnoredTarget);
}

at::Tensor output_logits(const at::Tensor& normalized, const DecoderWeights& weights,
                         const DecoderSpec& spec) {
  const at::Tensor& bias = weights.lm_head_bias;
  const LinearWeights head{weights.lm_head,
                           bias.defined() ? bias.to(weights.lm_head.device()) : bias};
  at::Tensor logits = linear_with_gradients(head_input(normalized, weights), {&head})[0];
  if (spec.logits_divisor != 1.0) logits = logits / spec.logits_divisor;
  return spec.logits_softcap ? soft_cap(logits, *spec.logits_softcap) : logits;
}

at::Tensor output_loss(const at::Tensor& normalized, const at::Tensor& targets,
                       const DecoderWeights& weights, const DecoderSpec& spec) {
  const at::Tensor on_device = targets.to(weights.lm_head.device()).flatten();
  if (spec.logits_divisor == 1.0 && !spec.logits_softcap && !spec.output_bias) {
    return summed_cross_entropy(head_input(normalized, weights).flatten(0, 1), weights.lm_head,
                                on_device);
  }
  return at::cross_entropy_loss(output_logits(normalized, weights, spec).flatten(0, 1), on_device,
                                {}, at::Reduction::Sum, kIgnoredTarget);
}

}  // namespace lime
