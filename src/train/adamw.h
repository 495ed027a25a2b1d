// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.h"
#include "model/decoder.h"

namespace lime {

struct AdamWOptions {
  /// Peak learning rate, > 0; the paper's Arithmetic Expression Task: 1e-3.
  double learning_rate = 1e-3;
  /// Peak learning rate of LIMe's routers, > 0; learning_rate if not given.
  std::optional<double> router_learning_rate = std::nullopt;
  /// Decay of the running means of the gradient and of its square, in [0, 1).
  double beta1 = 0.9;
  double beta2 = 0.95;
  /// Added to the root of the second moment, > 0.
  double epsilon = 1e-8;
  /// Share of a weight that is taken away per step and unit of learning rate, >= 0; never of
  /// routers, norms, biases, and the static weights of DenseFormer and Hyper-Connections.
  double weight_decay = 0.1;
  /// Gradients are scaled down to this total L2 norm, > 0; 0 leaves them as they are.
  double max_gradient_norm = 1.0;

  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

/// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 2) as PyTorch computes it.
///
///   w <- w - lr wd w,   m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2,
///   w <- w - lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps)
///
/// torch::optim::AdamW computes the same, but keeps its state by the address of the weights; here
/// it lies under their names, so that a run can be saved, inspected and resumed. On the processor a
/// step is one pass over memory. Not thread-safe.
class AdamW {
 public:
  /// @param parameters  leaves that require gradients; shared, changed in place by step().
  AdamW(const std::vector<NamedTensor>& parameters, const AdamWOptions& options);

  void zero_gradients();

  /// Total L2 norm of all gradients, accumulated in double where the device has it.
  double gradient_norm() const;

  /// Changes the weights.
  /// @param learning_rate_share  of the peak: learning_rate_share()
  /// @param gradient_factor      the gradients count this much, < 1 where they are clipped
  void step(double learning_rate_share, double gradient_factor = 1.0);

  /// Steps done, t above.
  std::int64_t steps() const { return steps_; }

  /// `exp_avg.NAME` and `exp_avg_sq.NAME` of each parameter; they share memory with this object.
  std::vector<NamedTensor> moments() const;
  /// To go on after moments() was overwritten.
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

/// True for LIMe's routers, which have a learning rate of their own.
bool is_router_parameter(std::string_view name);

/// True for parameters that weight decay shrinks.
bool is_decayed(std::string_view name, std::int64_t num_dimensions);

}  // namespace lime
