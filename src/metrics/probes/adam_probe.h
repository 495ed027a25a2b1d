// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "metrics/probes/folds.h"
#include "metrics/probes/probe.h"

namespace lime {

class ThreadPool;

/// Options of the linear classifier of the LIMe code: a few steps of Adam, not an optimum.
struct AdamProbeOptions {
  /// Step size of Adam (Kingma & Ba 2015), > 0; beta 0.9 and 0.999, epsilon 1e-8, as in PyTorch.
  double learning_rate = 1e-2;
  int epochs = 1;       ///< passes over the training rows, > 0
  int batch_size = 64;  ///< rows per step, and per batch whose accuracies are averaged, > 0
  /// Seed of the initial weights and of the row order.
  std::uint64_t seed = 42;

  void validate() const;
};

/// Weights of a linear layer, shaped as in torch.nn.Linear, in float32.
struct LinearLayer {
  MatrixF weight;        ///< [num_classes, dim]
  Eigen::VectorXf bias;  ///< [num_classes]
};

/// Trains a layer as in the LIMe code: mean cross-entropy of a batch, PyTorch's Adam, float32.
class AdamTraining {
 public:
  /// @param layer  modified by run(); must outlive this object.
  AdamTraining(LinearLayer& layer, const AdamProbeOptions& options);
  ~AdamTraining();

  /// Runs one epoch over the rows `order`, in that order.
  /// @return running accuracy of the epoch: each row is classified with the weights at its step.
  double run(const ProbeData& data, std::span<const int> order);

 private:
  struct State;
  LinearLayer& layer_;
  AdamProbeOptions options_;
  std::unique_ptr<State> state_;
};

/// Result of one fold of the LIMe code's probe.
struct AdamProbeFold {
  /// Unweighted mean of the batch accuracies, including the last, short one.
  double accuracy = 0.0;
  double row_accuracy = 0.0;    ///< over the test rows, every row counted once
  double train_accuracy = 0.0;  ///< running accuracy during the last epoch
  std::int64_t num_train = 0;
  std::int64_t num_test = 0;
};

/// Cross-validates the LIMe code's classifier: nn.Linear on unscaled features, one epoch of Adam.
///
/// Initial weights and row order do not reproduce PyTorch's generator: compare within the spread
/// over seeds. Each fold runs on one thread.
/// @throws InvalidArgument  if an option is invalid.
/// Source: corl-team/lime src/analysis/classification.py.
std::vector<AdamProbeFold> cross_validate_adam(const ProbeData& data, const Folds& folds,
                                               const AdamProbeOptions& options, ThreadPool& pool,
                                               const std::stop_token& stop = {});

}  // namespace lime
