// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/differentiable.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <cassert>
#include <utility>

#include "model/kernels/linear.h"
#include "model/kernels/torch_compat.h"

namespace lime {
namespace {

constexpr const char* kKey = "backward";

struct Recording : torch::CustomClassHolder {
  explicit Recording(BackwardFn fn) : backward(std::move(fn)) {}
  BackwardFn backward;
};

struct RecordedStep : torch::autograd::Function<RecordedStep> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                at::TensorList inputs,
                                                const torch::autograd::variable_list* outputs,
                                                const c10::intrusive_ptr<Recording>& recording) {
    static_cast<void>(inputs);  // only their position in the graph matters
    context->saved_data[kKey] = c10::IValue::make_capsule(recording);
    return *outputs;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto recording =
        c10::static_intrusive_pointer_cast<Recording>(context->saved_data[kKey].toCapsule());
    assert(recording->backward);
    // The captured tensors are freed after this call, not with the graph.
    const BackwardFn run = std::exchange(recording->backward, nullptr);
    torch::autograd::variable_list result = run(gradients);
    result.resize(result.size() + 2);  // for the non-tensor arguments
    return result;
  }
};

}  // namespace

std::vector<at::Tensor> differentiable(const std::vector<at::Tensor>& inputs,
                                       const std::vector<at::Tensor>& outputs,
                                       BackwardFn backward) {
  // Separate variables: the graph must not own itself if `backward` keeps an output.
  torch::autograd::variable_list own;
  own.reserve(outputs.size());
  for (const at::Tensor& output : outputs) own.push_back(output.variable_data());
  return RecordedStep::apply(at::TensorList(inputs), &own,
                             c10::make_intrusive<Recording>(std::move(backward)));
}

at::Tensor value_of(const StepFn& step, const at::Tensor& x) {
  return step(x.detach().requires_grad_()).detach();
}

at::Tensor recomputed(const at::Tensor& x, const at::Tensor& value, const at::Tensor& after,
                      StepFn step) {
  std::vector<at::Tensor> inputs = {x};
  if (after.defined()) inputs.push_back(after);
  return differentiable(
      inputs, {value},
      [x = x.detach(), step = std::move(step), count = inputs.size(),
       in_autocast = CudaAutocast::is_on()](const std::vector<at::Tensor>& gradients) {
        const at::AutoGradMode with_graph(true);
        const CudaAutocast autocast(in_autocast);  // off in the backward pass
        const at::Tensor leaf = x.detach().requires_grad_();
        torch::autograd::backward({step(leaf)}, {gradients[0]});
        std::vector<at::Tensor> all(count);
        all[0] = leaf.grad();
        return all;
      })[0];
}

bool uses_cpu_gradients(const at::Tensor& tensor) {
  return tensor.is_cpu() && c10::GradMode::is_enabled() && !WithoutCpuKernels::here() &&
         is_wide_type(tensor);
}

}  // namespace lime
