// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/sequence_entropies.h"

#include <Eigen/Eigenvalues>
#include <map>

#include "core/threads/object_pool.h"

namespace lime {
namespace {

struct Workspace {
  Workspace(const EntropyOptions& options, const std::optional<Standardization>& standardization)
      : calculator(options, standardization) {}

  EntropyCalculator calculator;
  MatrixF rows;
};

using Workspaces = ObjectPool<Workspace>;

struct Outcome {
  SequenceEntropy entropy;
  std::int64_t num_tokens = 0;
  std::int64_t dim = 0;
};

/// Number of sequences that share the computation of eigenvalues; the last one to finish runs it.
constexpr std::int64_t kGroupSize = linalg::kLanes;

struct SequenceGroup {
  std::vector<PendingEntropy> pending;
  std::atomic<std::size_t> left;
};

void check_length(Eigen::Index num_tokens, std::int64_t index) {
  throw_if(num_tokens == 1, "entropy: sequence {}: must have at least 2 tokens, got 1", index);
}

PendingEntropy begin_sequence(EntropyCalculator& calculator, const ConstMatrixRef& rows,
                              std::int64_t index) {
  check_length(rows.rows(), index);
  PendingEntropy pending;
  with_sequence("entropy", index, [&] { pending = calculator.begin(linalg::affine_rows(rows)); });
  return pending;
}

void finish_group(EntropyCalculator& calculator, std::vector<PendingEntropy> pending,
                  std::int64_t first, std::vector<Outcome>& outcomes) {
  try {
    std::vector<SequenceEntropy> entropies = calculator.finish(pending);
    for (std::size_t i = 0; i < pending.size(); ++i) {
      outcomes[static_cast<std::size_t>(first) + i] = {std::move(entropies[i]),
                                                       pending[i].num_tokens, pending[i].dim};
    }
  } catch (const NumericalError& error) {
    throw NumericalError("entropy: sequences {} to {}: {}", first,
                         first + static_cast<std::int64_t>(pending.size()) - 1, error.what());
  }
}

MatrixD table_of(const std::vector<Outcome>& outcomes,
                 std::vector<double> SequenceEntropy::*member) {
  const std::size_t num_orders = outcomes.empty() ? 0 : (outcomes[0].entropy.*member).size();
  if (num_orders == 0) return {};
  MatrixD table(static_cast<Eigen::Index>(outcomes.size()), static_cast<Eigen::Index>(num_orders));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (std::size_t j = 0; j < num_orders; ++j) {
      table(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          (outcomes[i].entropy.*member)[j];
    }
  }
  return table;
}

SequenceEntropies collect(const std::vector<Outcome>& outcomes, const EntropyOptions& options) {
  SequenceEntropies result;
  result.alpha = options.orders();
  result.dim = outcomes.empty() ? 0 : outcomes[0].dim;
  result.values = table_of(outcomes, &SequenceEntropy::values);
  result.lower = table_of(outcomes, &SequenceEntropy::lower);
  result.upper = table_of(outcomes, &SequenceEntropy::upper);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    throw_if(outcomes[i].dim != result.dim,
             "entropy: sequence {}: must have {} dimensions like sequence 0, got {}", i, result.dim,
             outcomes[i].dim);
    result.num_tokens.push_back(outcomes[i].num_tokens);
    if (options.top_k) result.left_out.push_back(outcomes[i].entropy.left_out);
  }
  return result;
}

std::vector<SequenceGroup> make_groups(std::int64_t count) {
  std::vector<SequenceGroup> groups(
      static_cast<std::size_t>((count + kGroupSize - 1) / kGroupSize));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * kGroupSize;
    groups[i].left = static_cast<std::size_t>(std::min(kGroupSize, count - first));
    groups[i].pending.resize(groups[i].left);
  }
  return groups;
}

/// A GPU is busy with a batch of this size, rows and Gram matrices in double; more only takes
/// memory.
constexpr std::int64_t kMaxBatchBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxBatchSequences = 512;

/// A sequence of a batch; its memory is reused by a sequence of a later batch.
struct Slot {
  EntropyPreprocessing preprocessing;
  GpuRows rows;
  std::int64_t index = 0;               ///< of the sequence
  linalg::AffineRows<float> view = {};  ///< of `rows`, which are on the GPU: `x` is null
};

template <typename Values> auto data_or_null(Values& values) {
  return values.size() > 0 ? values.data() : nullptr;
}

class Pass {
 public:
  Pass(const Gpu& gpu, const SequenceSource& sequences,
       const std::optional<Standardization>& standardization, const EntropyOptions& options,
       std::int64_t batch)
      : gpu_(gpu), sequences_(sequences), options_(options) {
    const EntropyPreprocessing preprocessing(options.preset, standardization);
    const std::int64_t num_slots = 2 * std::min(batch, sequences.count);
    for (std::int64_t i = 0; i < num_slots; ++i) {
      slots_.push_back({.preprocessing = preprocessing, .rows = gpu.no_rows()});
    }
    result_.alpha = options.orders();
    result_.num_tokens.resize(static_cast<std::size_t>(sequences.count));
    result_.values.resize(sequences.count, static_cast<Eigen::Index>(result_.alpha.size()));
  }

  /// Reads a sequence and copies it to the GPU.
  void read(std::int64_t index) {
    Slot& slot = slot_of(index);
    slot.index = index;
    const ObjectPool<MatrixF>::Lease rows = memory_.borrow();
    sequences_.read(index, *rows);
    check_length(rows->rows(), index);
    slot.view = linalg::affine_rows(*rows);
    with_sequence("entropy", index, [&] {
      if (!rows->allFinite()) check_finite(slot.view);
      slot.preprocessing.apply(slot.view);
    });
    gpu_.upload(*rows, slot.rows);
    slot.view.x = nullptr;
  }

  void compute(std::int64_t first, std::int64_t last) {
    std::map<Eigen::Index, std::vector<const Slot*>> slots_of_length;
    for (std::int64_t index = first; index < last; ++index) {
      const Slot& slot = slot_of(index);
      slots_of_length[slot.view.num_rows].push_back(&slot);
    }
    for (const auto& [length, slots] : slots_of_length) compute(slots);
  }

  SequenceEntropies take_result() { return std::move(result_); }

 private:
  /// Batches use the halves of the slots in turn.
  Slot& slot_of(std::int64_t index) {
    return slots_[static_cast<std::size_t>(index) % slots_.size()];
  }

  void compute(const std::vector<const Slot*>& slots) {
    std::vector<const gpu_module::DeviceRows*> rows;
    for (const Slot* slot : slots) rows.push_back(slot->rows.get());
    const auto shifts = vectors_of(slots, &linalg::AffineRows<float>::shift);
    const auto column_scales = vectors_of(slots, &linalg::AffineRows<float>::column_scale);
    const auto row_scales = vectors_of(slots, &linalg::AffineRows<float>::row_scale);
    const std::int64_t num_tokens = slots[0]->view.num_rows;
    const std::int64_t dim = slots[0]->view.num_cols;
    const auto count = static_cast<Eigen::Index>(slots.size());
    VectorD traces(count), squared_norms(count);
    MatrixD eigenvalues(needs_eigenvalues(result_.alpha) ? count : 0, std::min(num_tokens, dim));
    gpu_.gram_spectra({.count = count,
                       .num_rows = num_tokens,
                       .num_cols = dim,
                       .rows = rows.data(),
                       .shifts = data_or_null(shifts),
                       .column_scales = data_or_null(column_scales),
                       .row_scales = data_or_null(row_scales),
                       .clamps = clamps_gram(options_.preset),
                       .traces = traces.data(),
                       .squared_norms = squared_norms.data(),
                       .eigenvalues = data_or_null(eigenvalues),
                       .seconds = nullptr});
    result_.dim = dim;
    for (Eigen::Index i = 0; i < count; ++i) {
      GramSpectrum gram{num_tokens, dim, traces(i), squared_norms(i), {}};
      if (eigenvalues.size() > 0) {
        gram.eigenvalues = {eigenvalues.row(i).data(),
                            static_cast<std::size_t>(eigenvalues.cols())};
      }
      keep(*slots[static_cast<std::size_t>(i)], gram);
    }
  }

  /// Returns the shifts or scales of some sequences; empty if the preset has none.
  static std::vector<const double*> vectors_of(const std::vector<const Slot*>& slots,
                                               const double* linalg::AffineRows<float>::*member) {
    std::vector<const double*> vectors;
    for (const Slot* slot : slots) {
      if (slot->view.*member != nullptr) vectors.push_back(slot->view.*member);
    }
    return vectors;
  }

  void keep(const Slot& slot, const GramSpectrum& gram) {
    with_sequence("entropy", slot.index, [&] {
      check_trace(slot.view, gram.trace);
      const std::vector<double> entropies = entropies_of(gram, options_);
      for (std::size_t order = 0; order < entropies.size(); ++order) {
        result_.values(slot.index, static_cast<Eigen::Index>(order)) =
            in_preset_unit(entropies[order], gram.num_tokens, gram.dim, options_);
      }
    });
    result_.num_tokens[static_cast<std::size_t>(slot.index)] = gram.num_tokens;
  }

  const Gpu& gpu_;
  const SequenceSource& sequences_;
  const EntropyOptions& options_;
  std::vector<Slot> slots_;
  ObjectPool<MatrixF> memory_;
  SequenceEntropies result_;
};

}  // namespace

std::vector<double> SequenceEntropies::of_order(std::size_t order) const {
  throw_if(order >= alpha.size(), "entropy: order index must be < {}, got {}", alpha.size(), order);
  std::vector<double> column;
  for (Eigen::Index i = 0; i < values.rows(); ++i) {
    column.push_back(values(i, static_cast<Eigen::Index>(order)));
  }
  return column;
}

SequenceEntropies sequence_entropies(const SequenceSource& sequences,
                                     const std::optional<Standardization>& standardization,
                                     const EntropyOptions& options, ThreadPool& pool,
                                     const ProgressFn& on_progress, std::stop_token stop) {
  Workspaces workspaces([&] { return std::make_unique<Workspace>(options, standardization); });
  workspaces.borrow();  // rejects invalid options before anything is read
  const std::int64_t count = sequences.count;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(count));
  std::vector<SequenceGroup> groups = make_groups(count);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<std::int64_t> done{0};
  const auto item = [&](std::int64_t index) {
    const Workspaces::Lease workspace = workspaces.borrow();
    sequences.read(index, workspace->rows);
    SequenceGroup& group = groups[static_cast<std::size_t>(index / kGroupSize)];
    group.pending[static_cast<std::size_t>(index % kGroupSize)] =
        begin_sequence(workspace->calculator, workspace->rows, index);
    if (--group.left == 0) {
      finish_group(workspace->calculator, std::move(group.pending), index / kGroupSize * kGroupSize,
                   outcomes);
    }
    ++done;
    if (on_progress && std::this_thread::get_id() == caller) on_progress({done.load(), count, ""});
  };
  pool.parallel_for(count, item, std::move(stop));
  if (on_progress) on_progress({count, count, ""});
  return collect(outcomes, options);
}

std::int64_t gpu_batch_size(std::int64_t num_tokens, std::int64_t dim) {
  const std::int64_t smaller = std::min(num_tokens, dim);
  const std::int64_t bytes = 8 * (num_tokens * dim + smaller * smaller);
  return std::clamp<std::int64_t>(kMaxBatchBytes / bytes, 1, kMaxBatchSequences);
}

SequenceEntropies gpu_entropies(const Gpu& gpu, const SequenceSource& sequences,
                                const std::optional<Standardization>& standardization,
                                const EntropyOptions& options, std::int64_t batch, ThreadPool& pool,
                                const ProgressFn& on_progress, std::stop_token stop) {
  options.validate();
  throw_if(options.top_k.has_value(), OptionName("top_k"),
           "is supported on the CPU only; omit --top-k or use --device cpu");
  Pass pass(gpu, sequences, standardization, options, batch);
  const std::int64_t count = sequences.count;
  // In each step, the first item computes what the previous step read.
  for (std::int64_t first = 0; first < count + batch; first += batch) {
    const std::int64_t num_computed = first > 0 ? 1 : 0;
    const std::int64_t num_read = std::clamp<std::int64_t>(count - first, 0, batch);
    pool.parallel_for(
        num_computed + num_read,
        [&](std::int64_t item) {
          if (item < num_computed) {
            pass.compute(first - batch, std::min(first, count));
          } else {
            pass.read(first + item - num_computed);
          }
        },
        stop);
    if (on_progress) on_progress({std::min(first, count), count, ""});
  }
  return pass.take_result();
}

}  // namespace lime
