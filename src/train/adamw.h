// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/options.h"
#include "model/decoders/decoder.h"

namespace lime {

/// describe() explains every field. The defaults are those of the paper's Arithmetic Expression
/// Task.
struct AdamWOptions {
  double learning_rate = 1e-3;
  std::optional<double> router_learning_rate = std::nullopt;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  /// Fraction of a weight subtracted per step and unit of learning rate. Not applied to routers,
  /// norms, biases, and the static weights of DenseFormer and Hyper-Connections.
  double weight_decay = 0.1;
  double max_gradient_norm = 1.0;  ///< L2

  void describe(OptionList& list);
  void validate() const;
};

/// A parameter and how a step treats it.
struct OptimizedParameter {
  std::string name;
  at::Tensor tensor;
  bool is_router = false;  ///< of LIMe, with a learning rate of its own
  bool is_decayed = true;
};

/// Returns the parameters of a decoder in their order, as ParameterSpec describes them.
std::vector<OptimizedParameter> optimized_parameters(const Decoder& decoder);

/// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 2) as implemented in PyTorch.
///
///   w <- w - lr wd w,   m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2,
///   w <- w - lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps)
///
/// torch::optim::AdamW computes the same, but identifies its state by the address of the weights.
/// Here it is stored under their names, so that a run can be saved, inspected and resumed. On the
/// CPU a step is one pass over memory. Not thread-safe.
class AdamW {
 public:
  /// @param parameters  leaves that require gradients; shared, modified in place by step().
  AdamW(const std::vector<OptimizedParameter>& parameters, const AdamWOptions& options);

  void zero_gradients();

  /// Returns the total L2 norm of all gradients, accumulated in double if the device supports it.
  double gradient_norm() const;

  /// Updates the weights.
  /// @param learning_rate_fraction  fraction of the peak: learning_rate_fraction()
  /// @param gradient_factor      multiplies the gradients; < 1 if they are clipped
  void step(double learning_rate_fraction, double gradient_factor = 1.0);

  std::int64_t steps() const { return steps_; }

  /// Returns `exp_avg.NAME` and `exp_avg_sq.NAME` of each parameter; they share memory with this
  /// object.
  std::vector<NamedTensor> moments() const;
  /// Sets the step count after moments() was overwritten, to resume.
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter;
    at::Tensor mean;    // m
    at::Tensor square;  // v
    double learning_rate;
    double weight_decay;
  };

  AdamWOptions options_;
  std::vector<Slot> slots_;
  std::int64_t steps_ = 0;
};

}  // namespace lime
