// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "capture/capture_options.h"
#include "capture/shard_plan.h"
#include "core/program/progress.h"

namespace lime {

class Checkpoint;
class LoadedModel;

struct CapturePreview {
  std::int64_t num_rows = 0;
  std::int64_t num_sequences = 0;
  std::int64_t num_tokens = 0;      ///< input tokens of the model
  std::int64_t dropped_tokens = 0;  ///< in a last piece shorter than a sequence
  std::int64_t num_datasets = 0;    ///< sites times layers
  std::int64_t bytes = 0;           ///< on disk, of the whole capture
  std::int64_t free_bytes = 0;      ///< on the disk of the output; -1 if unknown
  std::int64_t last_layer = 0;      ///< the pass stops after it
  std::int64_t batch_size = 0;
  std::int64_t memory_bytes = 0;  ///< estimated peak memory of the process
  int num_shards = 0;
  int num_shards_left = 0;  ///< remaining in this run
  std::string prepended;    ///< tokens before each sequence or document, as text
  std::optional<Packing> packing = std::nullopt;  ///< see CaptureInput
  std::vector<std::int32_t> first_ids;            ///< of the first sequence, at most 16
  std::vector<std::string> first_tokens;          ///< as text; empty without a tokenizer
  /// With `only`: text, token id and rows of each class.
  struct ClassRows {
    std::string text;
    std::int32_t id = 0;
    std::int64_t rows = 0;
  };
  std::vector<ClassRows> classes;
  /// Layers and tokens of the logit lens, and its operations over those of the forward pass.
  std::int64_t lens_layers = 0;
  std::int64_t lens_tokens = 0;
  double lens_cost = 0.0;
  struct Stage {
    std::string device;
    int first_layer = 0;
    int last_layer = 0;
    std::int64_t weight_bytes = 0;
  };
  std::vector<Stage> stages;
  std::vector<std::string> warnings;  ///< of the checkpoint and the input, for the user
};

struct CaptureResult {
  std::int64_t num_tokens = 0;          ///< processed in this run
  double seconds = 0.0;                 ///< from the loaded model to the last byte written
  double compute_waited_seconds = 0.0;  ///< the model waited for the disk
  double writer_waited_seconds = 0.0;   ///< the disk waited for the model
  std::int64_t bytes_written = 0;
  std::int64_t peak_memory_bytes = 0;  ///< of the whole process
  bool complete = false;               ///< false: shards of other processes are missing
};

/// Settings that affect speed and memory but not the captured data, only its split into shards and
/// passes.
struct CaptureTuning {
  ShardLimits shard = {};
  /// Shards that are written at the same time, at most: fewer where the batch is not a multiple. If
  /// not set, one on the CPU, and as many on a GPU as are worth it.
  std::optional<std::int64_t> shards_at_once = std::nullopt;
  /// Maximum size of the rows that wait for the disk, in bytes.
  std::size_t queue_bytes = std::size_t{512} << 20;
  /// Local rank of this process among those on its machine that share the capture, see
  /// parse_device().
  int neighbour = 0;
  /// Finds an automatic batch size by trial on the CPU too, as on a GPU.
  bool tries_batches = false;
};

struct CaptureCallbacks {
  ProgressFn on_load = {};                                   ///< of the weights, in bytes
  std::function<void(const CapturePreview&)> on_start = {};  ///< before the first pass
  ProgressFn on_progress = {};                               ///< in tokens
};

/// Runs a model over an input and writes its activations, and statistics over every token: for each
/// dataset, and for keys and values of all computed layers.
///
/// One pass per batch captures all sites and layers and ends after the last requested layer. A
/// separate thread writes concurrently. The result is bit-identical for any number of threads,
/// processes and resumptions, provided that the model's forward pass is (docs/numerics.md). Only on
/// a GPU, where one process writes several shards at the same time, other sequences share a pass
/// than with several processes.
///
/// @throws InvalidArgument, FormatError, IoError  for invalid options, a corrupt checkpoint or
///         input, an output that exists or that another process is writing, a full disk. Finished
///         shards are kept; no other file is.
/// @throws NumericalError  for activations that are not finite, unless allow_nan.
/// @throws Interrupted     if `stop` was requested; the message says how to resume.
CaptureResult run_capture(const CaptureOptions& options, const CaptureCallbacks& callbacks = {},
                          std::stop_token stop = {}, const CaptureTuning& tuning = {});

/// The same with a model of the caller, which may be loaded already.
CaptureResult run_capture(const CaptureOptions& options, const Checkpoint& checkpoint,
                          LoadedModel& model, const CaptureCallbacks& callbacks,
                          std::stop_token stop, const CaptureTuning& tuning);

}  // namespace lime
