// SPDX-License-Identifier: Apache-2.0
#include "train/adamw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "core/errors.h"

namespace lime {

void AdamWOptions::describe(OptionList& list) {
  list.add("learning_rate", learning_rate, "peak learning rate, > 0");
  list.add("router_learning_rate", router_learning_rate,
           "peak learning rate of LIMe's routers, > 0; --learning-rate if not given");
  list.add("beta1", beta1, "decay of the running mean of the gradient, from 0 to 1");
  list.add("beta2", beta2, "decay of the running mean of its square, from 0 to 1");
  list.add("epsilon", epsilon, "added to the root of the second moment, > 0");
  list.add("weight_decay", weight_decay, "decoupled weight decay, >= 0; not of routers and norms");
  list.add("max_gradient_norm", max_gradient_norm,
           "gradients are scaled down to this total norm; 0 leaves them as they are");
}

void AdamWOptions::validate() const {
  const auto require_positive = [](double value, const char* name) {
    if (!(value > 0.0) || !std::isfinite(value)) {
      throw InvalidArgument("{}: must be > 0, got {}", name, value);
    }
  };
  const auto require_share = [](double value, const char* name) {
    if (!(value >= 0.0 && value < 1.0)) {
      throw InvalidArgument("{}: must be >= 0 and < 1, got {}", name, value);
    }
  };
  const auto require_not_negative = [](double value, const char* name) {
    if (!(value >= 0.0) || !std::isfinite(value)) {
      throw InvalidArgument("{}: must be >= 0, got {}", name, value);
    }
  };
  require_positive(learning_rate, "learning_rate");
  require_positive(router_learning_rate.value_or(learning_rate), "router_learning_rate");
  require_share(beta1, "beta1");
  require_share(beta2, "beta2");
  require_positive(epsilon, "epsilon");
  require_not_negative(weight_decay, "weight_decay");
  require_not_negative(max_gradient_norm, "max_gradient_norm");
}

bool is_router_parameter(std::string_view name) {
  return name.find(".lime_router.") != std::string_view::npos;
}

bool is_decayed(std::string_view name, std::int64_t num_dimensions) {
  // Norms' gains and biases have one dimension; the others mix layers or streams.
  return num_dimensions >= 2 && !is_router_parameter(name) &&
         name.find(".dwa_modules.") == std::string_view::npos && !name.ends_with(".static_alpha");
}

AdamW::AdamW(const std::vector<NamedTensor>& parameters, const AdamWOptions& options)
    : options_(options) {
  options_.validate();
  const double router_rate = options_.router_learning_rate.value_or(options_.learning_rate);
  for (const auto& [name, tensor] : parameters) {
    const bool is_router = is_router_parameter(name);
    slots_.push_back(
        {.name = name,
         .parameter = tensor,
         .mean = at::zeros_like(tensor),
         .square = at::zeros_like(tensor),
         .learning_rate = is_router ? router_rate : options_.learning_rate,
         .weight_decay = is_decayed(name, tensor.dim()) ? options_.weight_decay : 0.0});
  }
}

void AdamW::zero_gradients() {
  for (Slot& slot : slots_) {
    if (slot.parameter.grad().defined()) slot.parameter.mutable_grad().zero_();
  }
}

double AdamW::gradient_norm() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const Slot& slot : slots_) {
    if (slot.parameter.grad().defined()) norms.push_back(at::norm(slot.parameter.grad()));
  }
  return norms.empty() ? 0.0 : at::stack(norms).to(at::kDouble).norm().item<double>();
}

void AdamW::scale_gradients(double factor) {
  const at::NoGradGuard no_grad;
  for (Slot& slot : slots_) {
    if (slot.parameter.grad().defined()) slot.parameter.mutable_grad().mul_(factor);
  }
}

void AdamW::step(double learning_rate_share) {
  const at::NoGradGuard no_grad;
  ++steps_;
  const auto t = static_cast<double>(steps_);
  const double mean_correction = 1.0 - std::pow(options_.beta1, t);
  const double square_correction = std::sqrt(1.0 - std::pow(options_.beta2, t));
  for (Slot& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    const double rate = slot.learning_rate * learning_rate_share;
    if (slot.weight_decay > 0.0) slot.parameter.mul_(1.0 - rate * slot.weight_decay);
    slot.mean.mul_(options_.beta1).add_(gradient, 1.0 - options_.beta1);
    slot.square.mul_(options_.beta2).addcmul_(gradient, gradient, 1.0 - options_.beta2);
    const at::Tensor root = slot.square.sqrt().div_(square_correction).add_(options_.epsilon);
    slot.parameter.addcdiv_(slot.mean, root, -rate / mean_correction);
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
