// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/linear_gradients.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/matrix_product.h"

namespace lime {
namespace {

at::Tensor as_matrix(const at::Tensor& x) { return x.contiguous().view({-1, x.size(-1)}); }

/// Tensors that the backward pass of some layers needs.
struct SavedLinear {
  at::Tensor x;                     // [rows, in_features]
  std::vector<at::Tensor> weights;  // [out_features, in_features] each
  std::vector<bool> has_bias;
  bool needs_dx = true;

  /// Returns the gradients of x (in `shape`), of the weights, and of the biases that exist.
  std::vector<at::Tensor> backward(const std::vector<at::Tensor>& gradients,
                                   at::IntArrayRef shape) const {
    at::Tensor dx;
    std::vector<at::Tensor> all(1);
    std::vector<at::Tensor> biases;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const at::Tensor dy = as_matrix(gradients[i]);
      if (needs_dx) {
        const auto accumulate = dx.defined() ? Accumulate::kYes : Accumulate::kNo;
        if (!dx.defined()) dx = at::empty(x.sizes(), x.options());
        matrix_product_out(dx, dy, weights[i], accumulate);
      }
      at::Tensor dw = at::empty(weights[i].sizes(), weights[i].options());
      matrix_product_out(dw, dy.t(), x);
      all.push_back(dw);
      if (has_bias[i]) biases.push_back(dy.sum(0));
    }
    all.insert(all.end(), biases.begin(), biases.end());
    if (dx.defined()) all[0] = dx.view(shape);
    return all;
  }
};

}  // namespace

std::vector<at::Tensor> linear_with_gradients(const at::Tensor& x,
                                              const std::vector<const LinearWeights*>& layers) {
  std::vector<at::Tensor> outputs;
  if (!uses_cpu_gradients(x)) {
    for (const LinearWeights* layer : layers) {
      outputs.push_back(apply_linear(x, layer->weight, layer->bias));
    }
    return outputs;
  }
  std::vector<at::Tensor> inputs = {x};
  std::vector<at::Tensor> biases;
  SavedLinear saved;
  saved.needs_dx = x.requires_grad();
  {
    const at::NoGradGuard no_grad;
    saved.x = as_matrix(x.detach());
    for (const LinearWeights* layer : layers) {
      outputs.push_back(apply_linear(x, layer->weight, layer->bias));
      inputs.push_back(layer->weight);
      saved.weights.push_back(layer->weight.detach());
      saved.has_bias.push_back(layer->bias.defined());
      if (layer->bias.defined()) biases.push_back(layer->bias);
    }
  }
  inputs.insert(inputs.end(), biases.begin(), biases.end());
  return differentiable(inputs, outputs,
                        [saved, shape = x.sizes().vec()](const std::vector<at::Tensor>& gradients) {
                          return saved.backward(gradients, shape);
                        });
}

}  // namespace lime
