// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/progress.h"
#include "core/thread_pool.h"
#include "metrics/device/gpu.h"
#include "metrics/entropy/entropy_options.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/entropy/standardize.h"

namespace lime {

/// Sequences whose lengths are known before they are read.
struct SizedSequences {
  std::vector<std::int64_t> num_tokens;  ///< [num_sequences], each >= 2
  std::int64_t dim = 0;
  /// Puts the representations of sequence `index` into `rows`, [num_tokens, dim], row-major. Called
  /// from several threads at once.
  std::function<void(std::int64_t index, std::span<float> rows)> read;
};

/// Shapes of the sequences that are to come: what memory must be made for.
struct SequenceExtent {
  std::int64_t count = 0;       ///< the most sequences of one call
  std::int64_t max_tokens = 0;  ///< of the longest sequence
  std::int64_t max_dim = 0;
  std::int64_t max_elements = 0;  ///< the largest tokens * dimensions
  std::int64_t max_size = 0;      ///< the largest min(tokens, dimensions)

  /// Takes sequences in that are to come in one call. @param num_tokens  not empty
  void include(std::span<const std::int64_t> num_tokens, std::int64_t dim);
};

/// Computes what sequence_entropies() does, on a GPU: Gram matrices, eigenvalues, traces and norms
/// there, in double, and what the preset does to the rows and the entropies of the spectra here.
///
/// While a batch is computed, the threads of the pool read the next one into pinned memory, from
/// where it travels on a stream of its own. A spectrum whose sum is not the trace of its matrix, or
/// whose squares do not sum to its norm, is refused. Equal to the CPU's values to rounding, not bit
/// for bit; that holds for other GPUs, versions of CUDA's libraries, and batches, too.
/// One call at a time.
class GpuEntropies {
 public:
  /// @param options        validated here; with top_k refused.
  /// @param staging_bytes  of the host's memory that may be taken, unless it is too little for a
  ///                       batch of one.
  /// @throws InvalidArgument  if options are unfit.
  /// @throws IoError          if the GPU's memory is too small for one sequence.
  GpuEntropies(const Gpu& gpu, const EntropyOptions& options, const SequenceExtent& extent,
               std::int64_t staging_bytes);

  /// What a batch of one takes of the host's memory; others take as many times as much.
  static std::int64_t least_staging_bytes(const SequenceExtent& extent);

  /// Sequences that are computed together.
  std::int64_t batch() const { return workspace_.batch(); }

  /// @param sequences        within the extent.
  /// @param standardization  needed by the preset lime-code, ignored by the others.
  /// @param on_progress      counts sequences.
  /// @throws InvalidArgument, Interrupted  as sequence_entropies().
  /// @throws NumericalError  if eigenvalues do not converge or do not fit their matrix.
  /// @throws IoError         if the GPU fails.
  SequenceEntropies compute(const SizedSequences& sequences,
                            const std::optional<Standardization>& standardization, ThreadPool& pool,
                            const ProgressFn& on_progress = {}, std::stop_token stop = {});

 private:
  EntropyOptions options_;
  GramWorkspace workspace_;
};

}  // namespace lime
