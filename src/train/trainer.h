// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "core/options.h"
#include "model/decoder.h"
#include "train/adamw.h"
#include "train/batches.h"
#include "train/compute_options.h"
#include "train/process_group.h"
#include "train/schedule.h"

namespace lime {

struct TrainingOptions {
  /// Passes over the training data, from 1 to 2^31 - 1 as all counts here; the paper's Arithmetic
  /// Expression Task: up to 200.
  std::int64_t epochs = 10;
  /// Optimiser steps; what `epochs` make if not given.
  std::optional<std::int64_t> steps = std::nullopt;
  /// Sequences per optimiser step.
  std::int64_t batch_size = 128;
  /// Sequences per forward pass: gradients add up over the passes of a step, which takes less
  /// memory and gives the same step to rounding. The whole batch if not given.
  std::optional<std::int64_t> micro_batch_size = std::nullopt;
  AdamWOptions optimizer;
  ScheduleOptions schedule;

  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

/// What one optimiser step did.
struct StepRecord {
  std::int64_t step = 0;         ///< steps done, this one included
  std::int64_t epoch = 0;        ///< from 0
  double loss = 0.0;             ///< mean over the targets of the batch, nats, before the step
  double learning_rate = 0.0;    ///< of all but the routers
  double gradient_norm = 0.0;    ///< before clipping
  std::int64_t num_targets = 0;  ///< of all processes, as num_tokens
  std::int64_t num_tokens = 0;   ///< that went in, without padding
};

/// Trains a decoder step by step: cross-entropy of the next token, mean over the targets of a
/// batch, clipped gradients, AdamW. Deterministic on a CPU: the same decoder, data, options and
/// number of threads give the same bits. Not thread-safe.
class Trainer {
 public:
  /// All must outlive this object. Makes the weights require gradients.
  /// @param group  trains with the other processes: each computes its share of a batch's sequences,
  ///               and all take the same step. Null for one process.
  Trainer(Decoder& decoder, BatchSource& data, const TrainingOptions& options,
          const ComputeOptions& compute = {}, ProcessGroup* group = nullptr);

  std::int64_t steps_done() const { return optimizer_.steps(); }
  std::int64_t total_steps() const { return total_steps_; }

  /// One optimiser step.
  /// @throws NumericalError  if the loss or a gradient is not finite; names the step and the
  ///                         parameter. The weights are then as they were before the step.
  StepRecord step();

  const Decoder& decoder() const { return decoder_; }
  AdamW& optimizer() { return optimizer_; }

 private:
  /// Of this process's share of the batch. @return its part of the batch's loss
  double accumulate_gradients(const TokenBatch& batch) const;
  void sum_gradients() const;

  Decoder& decoder_;
  BatchSource& data_;
  TrainingOptions options_;
  ComputeOptions compute_;
  ProcessGroup* const group_;
  AdamW optimizer_;
  std::int64_t total_steps_;
};

/// Sum of the cross-entropies of a batch's targets, with gradients where these are enabled.
at::Tensor summed_cross_entropy(const Decoder& decoder, const at::Tensor& ids,
                                const at::Tensor& targets, bool recompute_blocks = false);

/// Mean cross-entropy over all targets of `data`, in nats.
/// @throws Interrupted  if a stop is requested, between two batches.
double mean_loss(const Decoder& decoder, BatchSource& data, const std::stop_token& stop = {});

}  // namespace lime
