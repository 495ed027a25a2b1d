// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/kernels/torch_compat.h"

namespace lime {

void ComputeOptions::describe(OptionList& list) {
  list.group("Computing");
  list.add("device", device, "cpu, cuda, cuda:N or auto");
  list.add("autocast", autocast, "compute in bfloat16 where autocast supports it; CUDA only");
  list.add("activation_checkpointing", activation_checkpointing,
           "recompute blocks in the backward pass: less memory, more time");
}

void ComputeOptions::validate() const {
  const c10::Device where = parse_device(device);
  throw_if(autocast && !where.is_cuda(), OptionName("autocast"),
           "bfloat16 is for CUDA, got device '{}'; omit --autocast or use --device cuda",
           where.str());
}

DecoderOptions ComputeOptions::decoder_options() const {
  return {.devices = {parse_device(device)}};
}

namespace {

/// Returns the parameter to report when training diverged: the first with a non-finite weight or
/// gradient, else the one with the largest weight.
std::string suspect_parameter(const Decoder& decoder) {
  const at::NoGradGuard no_grad;
  std::string largest;
  double largest_weight = -1.0;
  for (const auto& [name, tensor] : decoder.parameters()) {
    const auto weight = tensor.abs().max().item<double>();
    if (!std::isfinite(weight)) return fmt::format("'{}' contains {}", name, std::abs(weight));
    if (weight > largest_weight) {
      largest_weight = weight;
      largest = name;
    }
  }
  if (largest_weight > 1e3) return fmt::format("'{}' has grown to {:.3g}", largest, largest_weight);
  for (const auto& [name, tensor] : decoder.parameters()) {
    if (!tensor.grad().defined()) continue;
    const auto gradient = tensor.grad().abs().max().item<double>();
    if (!std::isfinite(gradient))
      return fmt::format("'{}' has a gradient of {}", name, std::abs(gradient));
  }
  return fmt::format("'{}' has the largest weight, {:.3g}", largest, largest_weight);
}

void require_finite(double value, std::string_view what, std::int64_t step,
                    const Decoder& decoder) {
  if (std::isfinite(value)) return;
  throw NumericalError(
      "training: the {} must stay finite, got {} in step {}, where parameter {}; lower "
      "--learning-rate or raise --warmup-steps",
      what, value, step, suspect_parameter(decoder));
}

}  // namespace

void TrainingOptions::describe(OptionList& list) {
  list.group("Training");
  list.add("epochs", epochs, "passes over the training data, >= 1");
  list.add("steps", steps, "optimiser steps, >= 1; the steps of --epochs if not given");
  list.add("batch_size", batch_size, "sequences per optimiser step, >= 1");
  list.add("micro_batch_size", micro_batch_size,
           "sequences per forward pass, >= 1; smaller needs less memory for the same step; all if "
           "not given");
  optimizer.describe(list);
  schedule.describe(list);
}

void TrainingOptions::validate() const {
  // The products of these counts fit into 64 bits.
  static constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const auto require_count = [](std::int64_t value, const char* name) {
    throw_if(value < 1 || value > kMax, OptionName(name), "must be from 1 to {}, got {}", kMax,
             value);
  };
  require_count(epochs, "epochs");
  require_count(steps.value_or(1), "steps");
  require_count(batch_size, "batch_size");
  require_count(micro_batch_size.value_or(1), "micro_batch_size");
  optimizer.validate();
  schedule.validate();
}

Trainer::Trainer(Decoder& decoder, BatchSource& data, const TrainingOptions& options,
                 const ComputeOptions& compute, ProcessGroup* group)
    : decoder_(decoder),
      data_(data),
      options_(options),
      compute_(compute),
      group_(group),
      optimizer_(optimized_parameters(decoder), options.optimizer),
      total_steps_(options.steps.value_or(options.epochs * data.batches_per_epoch())) {
  options_.validate();
  decoder_.set_requires_grad(true);
}

StepRecord Trainer::step() {
  const std::int64_t done = steps_done();
  StepRecord record;
  record.step = done + 1;
  record.epoch = done / data_.batches_per_epoch();
  const double fraction = learning_rate_fraction(options_.schedule, done, total_steps_);
  record.learning_rate = options_.optimizer.learning_rate * fraction;

  const TokenBatch batch = data_.batch(record.epoch, done % data_.batches_per_epoch());
  record.num_targets = batch.num_targets;
  record.num_tokens = batch.num_tokens;
  optimizer_.zero_gradients();
  record.loss = accumulate_gradients(batch);
  if (group_ != nullptr) record.loss = group_->sum(record.loss);
  require_finite(record.loss, "loss", record.step, decoder_);
  if (group_ != nullptr) sum_gradients();
  record.gradient_norm = optimizer_.gradient_norm();
  require_finite(record.gradient_norm, "gradient norm", record.step, decoder_);

  const double limit = options_.optimizer.max_gradient_norm;
  const bool is_clipped = limit > 0.0 && record.gradient_norm > limit;
  optimizer_.step(fraction, is_clipped ? limit / record.gradient_norm : 1.0);
  return record;
}

double Trainer::accumulate_gradients(const TokenBatch& batch) const {
  const std::int64_t rows = batch.ids.size(0);
  const RowShare share =
      group_ != nullptr ? share_of_rows(rows, group_->rank(), group_->size()) : RowShare{0, rows};
  const std::int64_t rows_per_pass = options_.micro_batch_size.value_or(rows);
  double loss = 0.0;
  for (std::int64_t done = 0; done < share.count; done += rows_per_pass) {
    const std::int64_t begin = share.first + done;
    const std::int64_t count = std::min(rows_per_pass, share.count - done);
    at::Tensor part;
    {
      const CudaAutocast autocast(compute_.autocast);
      part = summed_cross_entropy(decoder_, batch.ids.narrow(0, begin, count),
                                  batch.targets.narrow(0, begin, count),
                                  compute_.activation_checkpointing) /
             static_cast<double>(batch.num_targets);
    }
    part.backward();
    loss += part.item<double>();
  }
  return loss;
}

void Trainer::sum_gradients() const {
  std::vector<at::Tensor> gradients;
  for (const auto& [name, tensor] : decoder_.parameters()) {
    // A process without a sequence of this batch has no gradient yet.
    if (!tensor.grad().defined()) tensor.mutable_grad() = at::zeros_like(tensor);
    gradients.push_back(tensor.grad());
  }
  group_->sum(gradients);
}

at::Tensor summed_cross_entropy(const Decoder& decoder, const at::Tensor& ids,
                                const at::Tensor& targets, bool recompute_blocks) {
  const ForwardOptions options{
      .logits = LogitsFor::kNone, .targets = targets, .recompute_blocks = recompute_blocks};
  return decoder.forward(ids, options).loss;
}

double mean_loss(const Decoder& decoder, BatchSource& data, const std::stop_token& stop) {
  const at::NoGradGuard no_grad;
  double sum = 0.0;
  std::int64_t targets = 0;
  for (std::int64_t i = 0; i < data.batches_per_epoch(); ++i) {
    if (stop.stop_requested()) throw Interrupted("training: stopped while measuring the loss");
    const TokenBatch batch = data.batch(0, i);
    sum += summed_cross_entropy(decoder, batch.ids, batch.targets).item<double>();
    targets += batch.num_targets;
  }
  return sum / static_cast<double>(targets);
}

}  // namespace lime
