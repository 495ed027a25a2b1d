// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "core/program/progress.h"
#include "core/threads/thread_pool.h"
#include "metrics/device/gpu.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/rows.h"

namespace lime {

/// Entropies of several sequences, in the unit of the preset (entropy_unit()).
struct SequenceEntropies {
  std::vector<double> alpha;             ///< orders, [num_orders]
  std::vector<std::int64_t> num_tokens;  ///< [num_sequences]
  std::int64_t dim = 0;
  /// [num_sequences, num_orders]; with top_k the middle of `lower` and `upper`.
  MatrixD values;
  /// Rigorous bounds of each value with top_k, [num_sequences, num_orders]; else empty.
  MatrixD lower;
  MatrixD upper;
  /// With top_k: fraction of the trace in the other eigenvalues, [num_sequences]; else empty.
  std::vector<double> left_out;

  /// Returns the values of one order over the sequences, for summarize().
  std::vector<double> of_order(std::size_t order) const;
};

/// Computes the matrix-based Renyi entropy of each sequence of a dataset.
///
/// @param sequences        read on the pool's threads; each has >= 2 tokens and the same dim.
/// @param standardization  needed by the preset lime-code and ignored by the others.
/// @param options          preset and orders; validated here.
/// @param pool             one thread per sequence; bit-identical for any number.
/// @param on_progress      counts sequences.
/// @throws InvalidArgument  if a sequence is empty, of one token, all zero or not finite; names
///                          the sequence, and for NaN or infinity the first token and dimension.
/// @throws Interrupted      if `stop` was requested first.
///
/// In double throughout. Memory per thread: one matrix in double and the smaller Gram matrix.
SequenceEntropies sequence_entropies(const SequenceSource& sequences,
                                     const std::optional<Standardization>& standardization,
                                     const EntropyOptions& options, ThreadPool& pool,
                                     const ProgressFn& on_progress = {}, std::stop_token stop = {});

/// Returns the number of sequences of this shape that a GPU computes together.
std::int64_t gpu_batch_size(std::int64_t num_tokens, std::int64_t dim);

/// Computes sequence_entropies() on a GPU: Gram matrices, eigenvalues, traces and norms on the GPU
/// in double, means and norms of the preprocessing and entropies of the spectra on the CPU.
///
/// While a batch is computed, the pool's threads read the next one and copy it to the GPU.
/// Sequences of a batch that have the same length are computed together. Results equal the CPU's up
/// to rounding; they are not bit-identical, nor are those of other GPUs, versions of LibTorch or
/// batch sizes.
///
/// @param batch  sequences that are computed together, >= 1. Two batches in float and one in double
///               are in the memory of the GPU; on the host one sequence per thread, twice.
/// @throws InvalidArgument, Interrupted  as sequence_entropies(); also for top_k.
/// @throws IoError  if the GPU fails.
SequenceEntropies gpu_entropies(const Gpu& gpu, const SequenceSource& sequences,
                                const std::optional<Standardization>& standardization,
                                const EntropyOptions& options, std::int64_t batch, ThreadPool& pool,
                                const ProgressFn& on_progress = {}, std::stop_token stop = {});

}  // namespace lime
