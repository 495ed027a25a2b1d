// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "capture/capture.h"
#include "capture/capture_setup.h"
#include "capture/input/input.h"
#include "capture/window_plan.h"
#include "checkpoint/model_config.h"
#include "core/memory.h"
#include "model/decoders/decoder.h"
#include "model/kernels/compute_type.h"

namespace lime {

struct CaptureLoad {
  ComputeType dtype = ComputeType::kFloat32;
  std::int64_t longest = 0;          ///< tokens of the longest sequence
  std::int64_t bytes_per_token = 0;  ///< of a token's activations in the queue for the disk
  std::int64_t num_datasets = 0;     ///< sites times layers, of all shards written at once
  std::int64_t chunk_bytes = 0;      ///< of chunks being written
  std::int64_t window_bytes = 0;     ///< of pooled rows buffered until their window ends
  bool keeps_patterns = false;       ///< attention patterns, [heads, length, length], are computed
  std::int64_t smallest_batch = 1;   ///< sequences per pass; 2 if they come in pairs
  std::optional<std::int64_t> requested_batch = std::nullopt;  ///< requested; cannot be reduced
  /// Batch size of the capture to resume; cannot be reduced.
  std::optional<std::int64_t> resumed_batch = std::nullopt;
  bool is_on_host = true;  ///< false: weights and intermediate results are on a GPU
  int num_stages = 1;      ///< devices that share the layers
  /// Bytes of a token's activations at all hooked points if they are copied for the consumer; 0 if
  /// they are used in place.
  std::int64_t relayed_bytes_per_token = 0;

  /// Returns the maximum size of copied activations in each stage's queue: those of one pass, so
  /// that a stage may run ahead of the consumer of the last stage's output.
  std::int64_t relay_bytes(std::int64_t batch_size) const {
    return batch_size * longest * relayed_bytes_per_token;
  }
};

/// Bytes of host memory that the parts of a capture need simultaneously; upper bounds except for
/// the program.
struct CaptureMemory {
  std::int64_t program = 0;  ///< already allocated: code, libraries, the input's ids
  std::int64_t weights = 0;  ///< in the compute type, plus a copy of the largest tensor
  std::int64_t pass = 0;     ///< intermediate results of the batches in flight, and activations
  std::int64_t waiting = 0;  ///< for the disk: the queue and a chunk of each dataset

  std::int64_t total() const { return program + weights + pass + waiting; }
};

struct MemoryPlan {
  std::int64_t batch_size = 0;
  std::size_t queue_bytes = 0;
  CaptureMemory memory;
};

/// Returns the number of intermediate elements of the forward pass per token: the workspace of
/// model/kernels/workspace.h, and the buffers of decoders that keep outputs of earlier layers.
std::int64_t pass_elements_per_token(const ModelConfig& config);

/// Returns how many of them, per token, a pass transfers to another device.
std::int64_t carried_elements_per_token(const ModelConfig& config);

/// Selects the batch, at most `batch_size`, and the queue, at most `queue_bytes`, with which the
/// capture stays within `limit`; without a limit both are unchanged.
/// @throws InvalidArgument  if nothing fits (reports the size of each part and a sufficient limit);
///         if load.requested_batch does not fit (reports the batch that does); if
///         load.resumed_batch does not (reports a sufficient limit).
MemoryPlan plan_capture_memory(const ModelConfig& config, const CaptureLoad& load,
                               std::int64_t batch_size, std::size_t queue_bytes,
                               std::optional<ByteSize> limit);

/// Returns the ids of the sequences of a pass, padded with 0 to the longest; with causal attention
/// no token attends to the padding.
/// @return int64 [sequences, tokens of the longest], on the CPU.
at::Tensor batch_ids(const CaptureInput& input, std::span<const std::int64_t> sequences);

/// Returns the largest multiple of `step` up to `most` that fits, assuming that smaller ones fit
/// too: doubles, then bisects. @return 0 if not even `step` fits.
std::int64_t largest_fitting(std::int64_t step, std::int64_t most,
                             const std::function<bool(std::int64_t)>& fits);

/// Measures how many sequences per pass fit into device memory, at most `most`, by running passes
/// over the longest sequences with all hooks of the capture. @return 0 if none fits.
std::int64_t largest_batch(const CaptureSetup& setup, const Decoder& decoder, std::int64_t most);

/// Selects the batch and queue sizes within the available memory.
/// @param setup  with input, sites, activations and points; receives the sizes.
/// @throws InvalidArgument  if the memory is insufficient, as plan_capture_memory(), or even the
///         smallest pass does not fit on a device.
void choose_sizes(const CaptureOptions& options, const CaptureTuning& tuning,
                  const CapturePlace& place, CaptureSetup& setup);

/// Determines how the passes of a capture are grouped into windows, after choose_sizes(). Both
/// sentences of a pair are in one window, hence an even number per pass. Pooled rows are buffered
/// until their window ends.
WindowLimits plan_passes(const CaptureOptions& options, const CaptureSetup& setup);

}  // namespace lime
