// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace lime {

/// Gradients of a step's inputs from those of its outputs, in the order of differentiable(). None
/// of the given ones is undefined; a returned one may be, which stands for zero.
using BackwardFn = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& gradients)>;

/// Records a step whose outputs were computed without a graph, with a backward pass of its own.
///
/// LibTorch's own derivatives take one pass over memory for each elementary operation and keep what
/// lies between; a hand-written one takes what it needs. It runs once and has no derivative itself:
/// there are no second derivatives through it.
///
/// @param inputs    defined, what the step depends on
/// @param outputs   not views; other tensors than `backward` keeps, to which they may be aliases
/// @return the outputs as parts of the graph
std::vector<at::Tensor> differentiable(const std::vector<at::Tensor>& inputs,
                                       const std::vector<at::Tensor>& outputs, BackwardFn backward);

/// A step from one tensor to another.
using StepFn = std::function<at::Tensor(const at::Tensor& x)>;

/// The value of a step, without its graph; `step` sees gradients enabled.
at::Tensor value_of(const StepFn& step, const at::Tensor& x);

/// Records a step that is done again in the backward pass, which also adds to the gradients of the
/// leaves that it reads; nothing is kept but x.
/// @param value  what the step made of x: value_of()
/// @param after  a scalar in the graph whose own backward pass must come later, or undefined
at::Tensor recomputed(const at::Tensor& x, const at::Tensor& value, const at::Tensor& after,
                      StepFn step);

/// True where the hand-written backward passes of this module run: a float or double tensor in this
/// machine's memory while an autograd graph is being built.
bool uses_cpu_gradients(const at::Tensor& tensor);

}  // namespace lime
