// SPDX-License-Identifier: Apache-2.0
#include "train/adamw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "checkpoint/parameters.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/torch_compat.h"

namespace lime {
namespace {

/// Factors of one step that are the same for all weights of a parameter.
struct Update {
  double beta1, beta2, epsilon;
  double gradient_factor;
  double kept;  ///< fraction of the weights after decay
  double rate;  ///< includes the bias correction of the first moment
  double square_correction;
};

struct UpdatedTensors {
  at::Tensor weights, gradient, mean, square;
};

/// Elements per block of a loop over a parameter: fixed, so that each element runs the same code,
/// and sums have the same order, for any number of threads.
constexpr std::int64_t kBlock = 4096;

bool has_kernel(const at::Tensor& tensor) {
  return uses_cpu_kernels(tensor) && tensor.is_contiguous();
}

template <typename T> void update_kernel(const UpdatedTensors& tensors, const Update& update) {
  using Part = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
  const std::int64_t count = tensors.weights.numel();
  const auto cast = [](double value) { return static_cast<T>(value); };
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kBlock;
    const std::int64_t last = std::min(end * kBlock, count);
    for (std::int64_t at = first; at < last; at += kBlock) {
      const std::int64_t size = std::min(kBlock, last - at);
      Part w(tensors.weights.data_ptr<T>() + at, size);
      Part m(tensors.mean.data_ptr<T>() + at, size);
      Part v(tensors.square.data_ptr<T>() + at, size);
      const auto g = Part(tensors.gradient.data_ptr<T>() + at, size) * cast(update.gradient_factor);
      m = m * cast(update.beta1) + g * cast(1.0 - update.beta1);
      v = v * cast(update.beta2) + g.square() * cast(1.0 - update.beta2);
      w = w * cast(update.kept) -
          m * cast(update.rate) /
              (v.sqrt() / cast(update.square_correction) + cast(update.epsilon));
    }
  };
  for_each_block((count + kBlock - 1) / kBlock, kBlock * 16, run);
}

void update_by_library(const UpdatedTensors& tensors, const Update& update) {
  at::Tensor gradient = tensors.gradient;
  if (update.gradient_factor != 1.0) gradient = gradient * update.gradient_factor;
  at::Tensor(tensors.weights).mul_(update.kept);
  at::Tensor(tensors.mean).mul_(update.beta1).add_(gradient, 1.0 - update.beta1);
  at::Tensor(tensors.square).mul_(update.beta2).addcmul_(gradient, gradient, 1.0 - update.beta2);
  const at::Tensor root = tensors.square.sqrt().div_(update.square_correction).add_(update.epsilon);
  at::Tensor(tensors.weights).addcdiv_(tensors.mean, root, -update.rate);
}

/// Parameters with the same rate and decay, for one call of LibTorch.
struct Group {
  std::vector<at::Tensor> weights, gradients, means, squares;
};

/// Updates a group in one pass over memory. Requires kHasFusedAdamW.
void update_fused([[maybe_unused]] const Group& group, [[maybe_unused]] const AdamWOptions& options,
                  [[maybe_unused]] double rate, [[maybe_unused]] double weight_decay,
                  [[maybe_unused]] double gradient_factor, [[maybe_unused]] double step) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  const at::TensorOptions scalar = group.weights.front().options().dtype(at::kFloat);
  const std::vector<at::Tensor> steps(group.weights.size(), at::full({}, step, scalar));
  const at::Tensor scale = at::full({}, 1.0 / gradient_factor, scalar);
  at::_fused_adamw_(group.weights, group.gradients, group.means, group.squares, {}, steps, rate,
                    options.beta1, options.beta2, weight_decay, options.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false,
                    optional_tensor(gradient_factor == 1.0 ? at::Tensor() : scale));
#endif
}

template <typename T> double sum_of_squares(const at::Tensor& tensor) {
  const std::int64_t count = tensor.numel();
  const T* const data = tensor.data_ptr<T>();
  std::vector<double> sums(static_cast<std::size_t>((count + kBlock - 1) / kBlock));
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>> part(
          data + block * kBlock, std::min(kBlock, count - block * kBlock));
      sums[static_cast<std::size_t>(block)] = part.template cast<double>().square().sum();
    }
  };
  for_each_block(std::ssize(sums), kBlock * 4, run);
  double sum = 0.0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

void AdamWOptions::describe(OptionList& list) {
  list.add("learning_rate", learning_rate, "peak learning rate, > 0");
  list.add("router_learning_rate", router_learning_rate,
           "peak learning rate of LIMe's routers, > 0; --learning-rate if not given");
  list.add("beta1", beta1, "decay of the running mean of the gradient, from 0 to 1");
  list.add("beta2", beta2, "decay of the running mean of the squared gradient, from 0 to 1");
  list.add("epsilon", epsilon, "added to the root of the second moment, > 0");
  list.add("weight_decay", weight_decay,
           "decoupled weight decay, >= 0; not applied to routers and norms");
  list.add("max_gradient_norm", max_gradient_norm,
           "gradients are clipped to this total norm; 0 disables clipping");
}

void AdamWOptions::validate() const {
  const auto check = [](bool holds, const char* name, const char* range, double value) {
    check_option(holds && std::isfinite(value), name, range, value);
  };
  const double router_rate = router_learning_rate.value_or(learning_rate);
  check(learning_rate > 0.0, "learning_rate", "> 0", learning_rate);
  check(router_rate > 0.0, "router_learning_rate", "> 0", router_rate);
  check(beta1 >= 0.0 && beta1 < 1.0, "beta1", ">= 0 and < 1", beta1);
  check(beta2 >= 0.0 && beta2 < 1.0, "beta2", ">= 0 and < 1", beta2);
  check(epsilon > 0.0, "epsilon", "> 0", epsilon);
  check(weight_decay >= 0.0, "weight_decay", ">= 0", weight_decay);
  check(max_gradient_norm >= 0.0, "max_gradient_norm", ">= 0", max_gradient_norm);
}

std::vector<OptimizedParameter> optimized_parameters(const Decoder& decoder) {
  const std::vector<ParameterSpec> specs = parameter_specs(decoder.config());
  std::vector<OptimizedParameter> parameters;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto& [name, tensor] = decoder.parameters()[i];
    parameters.push_back({.name = name,
                          .tensor = tensor,
                          .is_router = specs[i].part == Part::kRouter,
                          .is_decayed = specs[i].is_decayed});
  }
  return parameters;
}

AdamW::AdamW(const std::vector<OptimizedParameter>& parameters, const AdamWOptions& options)
    : options_(options) {
  options_.validate();
  const double router_rate = options_.router_learning_rate.value_or(options_.learning_rate);
  for (const OptimizedParameter& parameter : parameters) {
    slots_.push_back({.name = parameter.name,
                      .parameter = parameter.tensor,
                      .mean = at::zeros_like(parameter.tensor),
                      .square = at::zeros_like(parameter.tensor),
                      .learning_rate = parameter.is_router ? router_rate : options_.learning_rate,
                      .weight_decay = parameter.is_decayed ? options_.weight_decay : 0.0});
  }
}

void AdamW::zero_gradients() {
  // Not set to zero: the next backward pass then moves its own tensor in.
  for (Slot& slot : slots_) slot.parameter.mutable_grad().reset();
}

double AdamW::gradient_norm() const {
  const at::NoGradGuard no_grad;
  double squares = 0.0;
  std::vector<at::Tensor> others;
  for (const Slot& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    if (has_kernel(gradient)) {
      AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "gradient_norm",
                                 [&] { squares += sum_of_squares<scalar_t>(gradient); });
    } else {
      others.push_back(gradient);
    }
  }
  if (!others.empty()) {  // one value from the device
    const at::Tensor norms = at::stack(at::_foreach_norm(others, 2)).to(at::kDouble);
    squares += norms.square().sum().item<double>();
  }
  return std::sqrt(squares);
}

void AdamW::step(double learning_rate_fraction, double gradient_factor) {
  const at::NoGradGuard no_grad;
  ++steps_;
  const auto t = static_cast<double>(steps_);
  std::map<std::pair<double, double>, Group> groups;  // by rate and decay
  for (Slot& slot : slots_) {
    at::Tensor gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    const double rate = slot.learning_rate * learning_rate_fraction;
    const Update update{.beta1 = options_.beta1,
                        .beta2 = options_.beta2,
                        .epsilon = options_.epsilon,
                        .gradient_factor = gradient_factor,
                        .kept = 1.0 - rate * slot.weight_decay,
                        .rate = rate / (1.0 - std::pow(options_.beta1, t)),
                        .square_correction = std::sqrt(1.0 - std::pow(options_.beta2, t))};
    if (has_kernel(slot.parameter) && has_kernel(gradient)) {
      AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "adamw", [&] {
        update_kernel<scalar_t>({slot.parameter, gradient, slot.mean, slot.square}, update);
      });
    } else if (kHasFusedAdamW && slot.parameter.is_contiguous() && gradient.is_contiguous()) {
      Group& group = groups[{rate, slot.weight_decay}];
      group.weights.push_back(slot.parameter);
      group.gradients.push_back(gradient);
      group.means.push_back(slot.mean);
      group.squares.push_back(slot.square);
    } else {
      update_by_library({slot.parameter, gradient, slot.mean, slot.square}, update);
    }
  }
  for (const auto& [factors, group] : groups) {
    update_fused(group, options_, factors.first, factors.second, gradient_factor, t);
  }
}

std::vector<NamedTensor> AdamW::moments() const {
  std::vector<NamedTensor> all;
  for (const Slot& slot : slots_) {
    all.push_back({"exp_avg." + slot.name, slot.mean});
    all.push_back({"exp_avg_sq." + slot.name, slot.square});
  }
  return all;
}

}  // namespace lime
