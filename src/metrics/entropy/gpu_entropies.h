// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/program/progress.h"
#include "core/threads/thread_pool.h"
#include "metrics/device/gpu.h"
#include "metrics/entropy/entropy_options.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/entropy/standardize.h"

namespace lime {

/// Sequences whose lengths are known before they are read.
struct SizedSequences {
  std::vector<std::int64_t> num_tokens;  ///< [num_sequences], each >= 2
  std::int64_t dim = 0;
  /// Reads the representations of sequence `index` into `rows`, [num_tokens, dim], row-major.
  /// Called from several threads at once.
  std::function<void(std::int64_t index, std::span<float> rows)> read;
};

/// Bounds of the sequence shapes, used to allocate memory.
struct SequenceExtent {
  std::int64_t count = 0;       ///< maximum number of sequences per call
  std::int64_t max_tokens = 0;  ///< of the longest sequence
  std::int64_t max_dim = 0;
  std::int64_t max_elements = 0;  ///< the largest tokens * dimensions
  std::int64_t max_size = 0;      ///< the largest min(tokens, dimensions)

  /// Extends the bounds by the sequences of one call. @param num_tokens  not empty
  void include(std::span<const std::int64_t> num_tokens, std::int64_t dim);
};

/// Computes sequence_entropies() on a GPU: Gram matrices, eigenvalues, traces and norms on the GPU
/// in double, preprocessing and entropies of the spectra on the CPU.
///
/// While a batch is computed, the pool's threads read the next one into pinned memory, from which
/// it is copied on a separate stream. A spectrum whose sum differs from the trace of its matrix, or
/// whose squared sum differs from its norm, is rejected. Results equal the CPU's up to rounding;
/// they are not bit-identical, nor are those of other GPUs, versions of CUDA's libraries, or batch
/// sizes. Only one call at a time.
class GpuEntropies {
 public:
  /// @param options        validated here; top_k is rejected.
  /// @param staging_bytes  limit of pinned host memory, unless it is too small for a batch of one.
  /// @throws InvalidArgument  if options are invalid.
  /// @throws IoError          if the GPU's memory is too small for one sequence.
  GpuEntropies(const Gpu& gpu, const EntropyOptions& options, const SequenceExtent& extent,
               std::int64_t staging_bytes);

  /// Returns the host memory of a batch of one; others need a multiple of it.
  static std::int64_t least_staging_bytes(const SequenceExtent& extent);

  /// Returns the number of sequences that are computed together.
  std::int64_t batch() const { return workspace_.batch(); }

  /// @param sequences        within the extent.
  /// @param standardization  needed by the preset lime-code, ignored by the others.
  /// @param on_progress      counts sequences.
  /// @throws InvalidArgument, Interrupted  as sequence_entropies().
  /// @throws NumericalError  if eigenvalues do not converge or do not match their matrix.
  /// @throws IoError         if the GPU fails.
  SequenceEntropies compute(const SizedSequences& sequences,
                            const std::optional<Standardization>& standardization, ThreadPool& pool,
                            const ProgressFn& on_progress = {}, std::stop_token stop = {});

 private:
  EntropyOptions options_;
  GramWorkspace workspace_;
};

}  // namespace lime
