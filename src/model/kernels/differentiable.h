// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace lime {

/// Maps the gradients of a step's outputs to those of its inputs, in the order of differentiable().
/// No argument is undefined; an undefined result stands for zero.
using BackwardFn = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& gradients)>;

/// Records a step, whose outputs were computed without a graph, with a hand-written backward pass.
///
/// LibTorch's autograd makes one pass over memory per elementary operation and keeps every
/// intermediate result; a hand-written backward pass keeps only what it needs. It runs once and is
/// not differentiable itself: second derivatives are unsupported.
///
/// @param inputs    defined tensors that the step depends on
/// @param outputs   not views, and not the tensors that `backward` keeps, though they may alias
///                  them
/// @return the outputs as parts of the graph
std::vector<at::Tensor> differentiable(const std::vector<at::Tensor>& inputs,
                                       const std::vector<at::Tensor>& outputs, BackwardFn backward);

/// Function from one tensor to another.
using StepFn = std::function<at::Tensor(const at::Tensor& x)>;

/// Computes the value of a step without its graph; `step` runs with gradients enabled.
at::Tensor value_of(const StepFn& step, const at::Tensor& x);

/// Records a step that is recomputed in the backward pass, which also accumulates the gradients of
/// the leaves that it uses. Only x is kept.
/// @param value  result of the step for x: value_of()
/// @param after  a scalar in the graph whose backward pass must run later, or undefined
at::Tensor recomputed(const at::Tensor& x, const at::Tensor& value, const at::Tensor& after,
                      StepFn step);

/// Returns true if hand-written backward passes apply: float or double on the CPU, with a graph.
bool uses_cpu_gradients(const at::Tensor& tensor);

}  // namespace lime
