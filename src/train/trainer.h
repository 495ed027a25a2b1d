// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "core/options.h"
#include "model/decoders/decoder.h"
#include "train/adamw.h"
#include "train/batch_source.h"
#include "train/processes/process_group.h"
#include "train/schedule.h"

namespace lime {

/// Device, precision and memory of the computation, which a resumed run may change.
struct ComputeOptions {
  std::string device = "cpu";             ///< see parse_device()
  bool autocast = false;                  ///< weights stay in float32
  bool activation_checkpointing = false;  ///< gives the same gradients

  void describe(OptionList& list);
  /// @throws InvalidArgument  for autocast on the CPU, or a device that does not exist.
  void validate() const;
  DecoderOptions decoder_options() const;
};

struct TrainingOptions {
  std::int64_t epochs = 10;  ///< as all counts here, up to 2^31 - 1
  std::optional<std::int64_t> steps = std::nullopt;
  std::int64_t batch_size = 128;
  /// Gradients accumulate over the passes of a step, which gives the same step up to rounding.
  std::optional<std::int64_t> micro_batch_size = std::nullopt;
  AdamWOptions optimizer;
  ScheduleOptions schedule;

  void describe(OptionList& list);
  void validate() const;
};

struct StepRecord {
  std::int64_t step = 0;         ///< completed steps, including this one
  std::int64_t epoch = 0;        ///< from 0
  double loss = 0.0;             ///< mean over the targets of the batch, nats, before the step
  double learning_rate = 0.0;    ///< of all parameters but the routers
  double gradient_norm = 0.0;    ///< before clipping
  std::int64_t num_targets = 0;  ///< of all processes, as is num_tokens
  std::int64_t num_tokens = 0;   ///< input tokens, without padding
};

/// Trains a decoder step by step: cross-entropy of the next token, mean over the targets of a
/// batch, clipped gradients, AdamW. Deterministic on a CPU: results are bit-identical for the same
/// decoder, data, options and number of threads. Not thread-safe.
class Trainer {
 public:
  /// The arguments must outlive this object. Makes the weights require gradients.
  /// @param group  other processes in the training: each computes its part of a batch's sequences,
  ///               and all take the same step. Null for one process.
  Trainer(Decoder& decoder, BatchSource& data, const TrainingOptions& options,
          const ComputeOptions& compute = {}, ProcessGroup* group = nullptr);

  std::int64_t steps_done() const { return optimizer_.steps(); }
  std::int64_t total_steps() const { return total_steps_; }

  /// Takes one optimiser step.
  /// @throws NumericalError  if the loss or a gradient is not finite; names the step and the
  ///         parameter. The weights are then unchanged by the step.
  StepRecord step();

  const Decoder& decoder() const { return decoder_; }
  AdamW& optimizer() { return optimizer_; }

 private:
  /// Accumulates over this process's part of the batch. @return its part of the batch's loss
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

/// Returns the summed cross-entropy of a batch's targets, with gradients if these are enabled.
at::Tensor summed_cross_entropy(const Decoder& decoder, const at::Tensor& ids,
                                const at::Tensor& targets, bool recompute_blocks = false);

/// Returns the mean cross-entropy over all targets of `data`, in nats.
/// @throws Interrupted  if a stop is requested, between two batches.
double mean_loss(const Decoder& decoder, BatchSource& data, const std::stop_token& stop = {});

}  // namespace lime
