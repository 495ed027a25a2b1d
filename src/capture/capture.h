// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "capture/options.h"
#include "capture/shard_plan.h"
#include "core/progress.h"

namespace lime {

/// What a capture will be, known before the model runs.
struct CaptureOutlook {
  std::int64_t num_rows = 0;
  std::int64_t num_sequences = 0;
  std::int64_t num_tokens = 0;      ///< that the model runs on
  std::int64_t dropped_tokens = 0;  ///< in a last piece shorter than a sequence
  std::int64_t num_datasets = 0;    ///< sites times layers
  std::int64_t bytes = 0;           ///< on disk, of the whole capture
  std::int64_t free_bytes = 0;      ///< on the disk of the output; -1 where unknown
  std::int64_t last_layer = 0;      ///< the pass stops after it
  std::int64_t batch_size = 0;
  std::int64_t memory_bytes = 0;  ///< that the process will hold at most, about
  int num_shards = 0;
  int num_shards_left = 0;                ///< to do in this run
  std::string prepended;                  ///< tokens put before each document or sentence, as text
  std::vector<std::int32_t> first_ids;    ///< of the first sequence, at most 16
  std::vector<std::string> first_tokens;  ///< as text; empty without a tokenizer
  /// With `only`: text, token id and rows of each class.
  struct ClassRows {
    std::string text;
    std::int32_t id = 0;
    std::int64_t rows = 0;
  };
  std::vector<ClassRows> classes;
  /// A device and the layers that it computes.
  struct Stage {
    std::string device;
    int first_layer = 0;
    int last_layer = 0;
    std::int64_t weight_bytes = 0;
  };
  std::vector<Stage> stages;
  std::vector<std::string> warnings;  ///< of the checkpoint, for the user
};

/// How a capture went.
struct CaptureResult {
  std::int64_t num_tokens = 0;          ///< that the model ran on in this run
  double seconds = 0.0;                 ///< from the first pass to the last byte written
  double compute_waited_seconds = 0.0;  ///< the model waited for the disk
  double writer_waited_seconds = 0.0;   ///< the disk waited for the model
  std::int64_t bytes_written = 0;
  std::int64_t peak_memory_bytes = 0;  ///< of the whole process
  bool complete = false;               ///< false: shards of other processes are missing
};

/// Sizes that change speed and memory, not what is captured (but for the cut into shards).
struct CaptureTuning {
  ShardLimits shard = {};
  /// Rows that wait for the disk, in bytes.
  std::size_t queue_bytes = std::size_t{512} << 20;
  /// Number of this process among those of its machine that share the capture, as parse_device()
  /// takes it.
  int neighbour = 0;
  /// Finds an automatic batch size by trying on the CPU too, as on a GPU.
  bool tries_batches = false;
};

struct CaptureCallbacks {
  ProgressFn on_load = {};                                   ///< of the weights, in bytes
  std::function<void(const CaptureOutlook&)> on_start = {};  ///< before the first pass
  ProgressFn on_progress = {};                               ///< in tokens
};

/// Runs a model over an input and writes what it thought.
///
/// One pass per batch captures all sites and layers, ends after the last layer that is asked for
/// and computes no logits. On GPUs, and where several devices share the layers, passes run ahead of
/// what is done with their activations. Statistics of every token are kept beside the rows: of each
/// dataset, and of keys and values of all layers that run. Writing goes on in a thread of its own
/// meanwhile; at most tuning.queue_bytes wait for it. The result is equal bit for bit for any
/// number of threads, processes and resumptions, as far as the model's forward pass is
/// (docs/numerics.md).
///
/// @throws InvalidArgument, FormatError, IoError  for unfit options, a broken checkpoint or input,
///         an output that exists or that another process is writing, a disk that is full. Finished
///         shards stay, no other file does.
/// @throws NumericalError  for activations that are not finite, unless allow_nan.
/// @throws Interrupted     if `stop` was requested; says how to go on.
CaptureResult run_capture(const CaptureOptions& options, const CaptureCallbacks& callbacks = {},
                          std::stop_token stop = {}, const CaptureTuning& tuning = {});

}  // namespace lime
