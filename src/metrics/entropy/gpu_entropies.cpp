// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/gpu_entropies.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "core/errors.h"
#include "metrics/entropy/gram_spectrum.h"
#include "metrics/entropy/preprocessing.h"

namespace lime {
namespace {

/// Batches larger than either limit gain nothing: the GPU is already saturated.
constexpr std::int64_t kMostSequences = 256;
constexpr std::int64_t kMostStagingBytes = std::int64_t{512} << 20;
/// Relative tolerance of sums over eigenvalues; rounding errors are about the size of the matrix
/// times 1e-16.
constexpr double kSumTolerance = 1e-9;

/// Returns the bytes of the rows and their affine map, both pageable and pinned.
std::int64_t slot_bytes(const SequenceExtent& extent) {
  return extent.max_elements * 4 + 2 * (2 * extent.max_dim + extent.max_tokens) * 8;
}

device_abi::Plan plan_of(const EntropyOptions& options, const SequenceExtent& extent,
                         std::int64_t staging_bytes) {
  options.validate();
  if (options.top_k) {
    throw InvalidArgument("top_k: is supported on the CPU only; omit --top-k or use --device cpu");
  }
  const std::int64_t most =
      std::min({kMostSequences, extent.count,
                std::min(staging_bytes, kMostStagingBytes) / (2 * slot_bytes(extent))});
  return {.device = 0,
          .clamps = options.preset == EntropyPreset::kLayerByLayer,
          .wants_eigenvalues = needs_eigenvalues(options.orders()),
          .reserved = 0,
          .batch = std::max<std::int64_t>(1, most),
          .max_rows = extent.max_tokens,
          .max_cols = extent.max_dim,
          .max_elements = extent.max_elements,
          .max_size = extent.max_size};
}

/// Returns the order of computation: sequences with Gram matrices of equal size together, in file
/// order.
std::vector<std::int64_t> order_by_size(const SizedSequences& sequences) {
  std::vector<std::int64_t> order(sequences.num_tokens.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto size = [&](std::int64_t index) {
    return std::min(sequences.num_tokens[static_cast<std::size_t>(index)], sequences.dim);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return size(a) < size(b); });
  return order;
}

/// Rejects eigenvalues that do not match the matrix: tr(K) = sum lambda_i and ||K||_F^2 = sum
/// lambda_i^2.
void check_eigenvalues(const GramSpectrum& gram) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : gram.eigenvalues) {
    sum += value;
    squares += value * value;
  }
  if (std::abs(sum - gram.trace) <= kSumTolerance * gram.trace &&
      std::abs(squares - gram.squared_norm) <= kSumTolerance * gram.squared_norm) {
    return;
  }
  throw NumericalError(
      "the GPU's eigenvalues must sum to the trace of their matrix, {}, and their squares to its "
      "squared norm, {}, got {} and {}; use --device cpu",
      gram.trace, gram.squared_norm, sum, squares);
}

/// Buffer that is reused by one sequence after another.
struct Slot {
  std::int64_t index = 0;  ///< of the sequence
  linalg::AffineRows<float> rows;
  EntropyPreprocessing preprocessing;
};

/// One call of GpuEntropies::compute().
class Pass {
 public:
  Pass(const EntropyOptions& options, GramWorkspace& workspace, const SizedSequences& sequences,
       const std::optional<Standardization>& standardization)
      : options_(options),
        workspace_(workspace),
        sequences_(sequences),
        order_(order_by_size(sequences)),
        slots_(static_cast<std::size_t>(2 * workspace.batch()),
               {.index = 0,
                .rows = {},
                .preprocessing = EntropyPreprocessing(options.preset, standardization)}) {
    const std::vector<double> orders = options.orders();
    result_.alpha = orders;
    result_.num_tokens = sequences.num_tokens;
    result_.dim = sequences.dim;
    result_.values.resize(static_cast<Eigen::Index>(order_.size()),
                          static_cast<Eigen::Index>(orders.size()));
  }

  std::int64_t count() const { return static_cast<std::int64_t>(order_.size()); }

  /// Reads the sequence at `place` of the order into its slot and uploads it.
  void read(std::int64_t place) {
    Slot& slot = slots_[slot_of(place)];
    slot.index = order_[static_cast<std::size_t>(place)];
    const std::int64_t tokens = result_.num_tokens[static_cast<std::size_t>(slot.index)];
    const std::span<float> rows =
        workspace_.rows(static_cast<std::int64_t>(slot_of(place)), tokens * sequences_.dim);
    sequences_.read(slot.index, rows);
    slot.rows = {.x = rows.data(),
                 .num_rows = tokens,
                 .num_cols = sequences_.dim,
                 .row_stride = sequences_.dim};
    with_sequence(slot.index, [&] {
      const Eigen::Map<const Eigen::ArrayXf> all(rows.data(), tokens * sequences_.dim);
      if (!all.allFinite()) check_finite(slot.rows);
      slot.preprocessing.apply(slot.rows);
    });
    workspace_.upload(static_cast<std::int64_t>(slot_of(place)),
                      {.num_rows = slot.rows.num_rows,
                       .num_cols = slot.rows.num_cols,
                       .shift = slot.rows.shift,
                       .column_scale = slot.rows.column_scale,
                       .row_scale = slot.rows.row_scale});
  }

  /// Computes the batch that starts at `place`, whose sequences have been read.
  void compute(std::int64_t place, std::int64_t count) {
    const std::size_t first = slot_of(place);
    const auto spectra = workspace_.compute(static_cast<std::int64_t>(first), count);
    for (std::size_t i = 0; i < spectra.size(); ++i) {
      const Slot& slot = slots_[first + i];
      with_sequence(slot.index, [&] { keep(slot, spectra[i]); });
    }
  }

  SequenceEntropies take_result() { return std::move(result_); }

 private:
  /// Batches alternate between the halves of the workspace.
  std::size_t slot_of(std::int64_t place) const {
    return static_cast<std::size_t>(place % (2 * workspace_.batch()));
  }

  void keep(const Slot& slot, const device_abi::Spectrum& spectrum) {
    check_trace(slot.rows, spectrum.trace);
    if (spectrum.unconverged != 0) {
      throw NumericalError("eigenvalues: {} of a Gram matrix did not converge",
                           spectrum.unconverged);
    }
    GramSpectrum gram{.num_tokens = slot.rows.num_rows,
                      .dim = slot.rows.num_cols,
                      .trace = spectrum.trace,
                      .squared_norm = spectrum.squared_norm,
                      .eigenvalues = {}};
    if (needs_eigenvalues(result_.alpha)) {
      const std::int64_t size = std::min(gram.num_tokens, gram.dim);
      gram.eigenvalues = {spectrum.eigenvalues, static_cast<std::size_t>(size)};
      check_eigenvalues(gram);
    }
    const std::vector<double> entropies = entropies_of(gram, options_);
    for (std::size_t order = 0; order < entropies.size(); ++order) {
      result_.values(slot.index, static_cast<Eigen::Index>(order)) =
          in_preset_unit(entropies[order], gram.num_tokens, gram.dim, options_);
    }
  }

  template <typename Work>
  static void with_sequence(std::int64_t index, const Work& work) {
    try {
      work();
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("entropy: sequence {}: {}", index, error.what());
    } catch (const NumericalError& error) {
      throw NumericalError("entropy: sequence {}: {}", index, error.what());
    }
  }

  const EntropyOptions& options_;
  GramWorkspace& workspace_;
  const SizedSequences& sequences_;
  const std::vector<std::int64_t> order_;
  std::vector<Slot> slots_;
  SequenceEntropies result_;
};

}  // namespace

void SequenceExtent::include(std::span<const std::int64_t> num_tokens, std::int64_t dim) {
  const std::int64_t longest = *std::max_element(num_tokens.begin(), num_tokens.end());
  count = std::max(count, static_cast<std::int64_t>(num_tokens.size()));
  max_tokens = std::max(max_tokens, longest);
  max_dim = std::max(max_dim, dim);
  max_elements = std::max(max_elements, longest * dim);
  max_size = std::max(max_size, std::min(longest, dim));
}

GpuEntropies::GpuEntropies(const Gpu& gpu, const EntropyOptions& options,
                           const SequenceExtent& extent, std::int64_t staging_bytes)
    : options_(options), workspace_(gpu, plan_of(options, extent, staging_bytes)) {}

std::int64_t GpuEntropies::least_staging_bytes(const SequenceExtent& extent) {
  return 2 * slot_bytes(extent);
}

SequenceEntropies GpuEntropies::compute(const SizedSequences& sequences,
                                        const std::optional<Standardization>& standardization,
                                        ThreadPool& pool, const ProgressFn& on_progress,
                                        std::stop_token stop) {
  Pass pass(options_, workspace_, sequences, standardization);
  const std::int64_t count = pass.count();
  // In each step, the first item computes what the previous step read.
  for (std::int64_t place = 0; place < count + batch(); place += batch()) {
    const std::int64_t read = std::clamp<std::int64_t>(count - place, 0, batch());
    const std::int64_t before = std::max<std::int64_t>(0, place - batch());
    const std::int64_t computed = std::min(count, place) - before;
    const std::int64_t first_read = computed > 0 ? 1 : 0;
    pool.parallel_for(
        first_read + read,
        [&](std::int64_t item) {
          if (item < first_read) {
            pass.compute(before, computed);
          } else {
            pass.read(place + item - first_read);
          }
        },
        stop);
    if (on_progress) on_progress({std::min(count, place), count, ""});
  }
  return pass.take_result();
}

}  // namespace lime
