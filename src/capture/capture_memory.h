// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "checkpoint/model_config.h"
#include "core/memory.h"
#include "model/compute_type.h"

namespace lime {

/// What decides how much memory a capture takes.
struct CaptureLoad {
  ComputeType dtype = ComputeType::kFloat32;
  std::int64_t longest = 0;          ///< tokens of the longest sequence
  std::int64_t bytes_per_token = 0;  ///< of a token's activations as they wait for the disk
  std::int64_t num_datasets = 0;     ///< sites times layers
  std::int64_t compress_bytes = 0;   ///< of chunks that are being compressed
  std::int64_t window_bytes = 0;     ///< of pooled rows that wait until their window ends
  bool keeps_patterns = false;       ///< attention patterns, [heads, length, length], are formed
  std::int64_t smallest_batch = 1;   ///< sequences per pass; 2 where they come in pairs
  std::optional<std::int64_t> asked_batch = std::nullopt;  ///< cannot be made smaller
  /// That of the capture that is gone on with; cannot be made smaller.
  std::optional<std::int64_t> begun_batch = std::nullopt;
  bool is_on_host = true;  ///< false: weights and intermediate results lie on a GPU
  int num_stages = 1;      ///< devices that share the layers
  /// Of a token's activations at all points that are listened to, where they are copied for whoever
  /// takes them; 0 where they are taken as they lie.
  std::int64_t relayed_bytes_per_token = 0;

  /// Copied activations that may wait, for each stage: those of one pass. So much that a stage may
  /// run ahead of whoever takes what the last one shows.
  std::int64_t relay_bytes(std::int64_t batch_size) const {
    return batch_size * longest * relayed_bytes_per_token;
  }
};

/// Bytes of the host's memory that the parts of a capture hold at the same time; upper bounds but
/// for the program.
struct CaptureMemory {
  std::int64_t program = 0;  ///< held already: code, libraries, the input's ids
  std::int64_t weights = 0;  ///< in the type of the arithmetic, and the largest tensor once more
  std::int64_t pass = 0;     ///< intermediate results of the batches under way, and activations
  std::int64_t waiting = 0;  ///< for the disk: the queue and a chunk of each dataset

  std::int64_t total() const { return program + weights + pass + waiting; }
};

/// How a capture is cut so that it fits.
struct MemoryPlan {
  std::int64_t batch_size = 0;
  std::size_t queue_bytes = 0;
  CaptureMemory memory;
};

/// Intermediate results of the forward pass per token, in elements: what the workspace of
/// model/workspace.h holds, and the buffers of decoders that keep what earlier layers left.
std::int64_t pass_elements_per_token(const ModelConfig& config);

/// Of them, per token, what a pass takes along to another device.
std::int64_t carried_elements_per_token(const ModelConfig& config);

/// Chooses the batch, at most `batch_size`, and the queue, at most `queue_bytes`, with which the
/// capture stays within `limit`; without a limit both stay as they are.
/// @throws InvalidArgument  if nothing fits, with what each part needs and the limit that would do;
///         if load.asked_batch does not fit, with the batch that does; if load.begun_batch does
///         not, with the limit that would do.
MemoryPlan plan_capture_memory(const ModelConfig& config, const CaptureLoad& load,
                               std::int64_t batch_size, std::size_t queue_bytes,
                               std::optional<ByteSize> limit);

}  // namespace lime
