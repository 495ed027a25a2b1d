// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/sequence_entropies.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "core/threads/object_pool.h"
#include "metrics/entropy/entropy_calculator.h"

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

/// Runs `work`, whose errors then name the sequence.
template <typename Work>
void with_sequence(std::int64_t index, const Work& work) {
  try {
    work();
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("entropy: sequence {}: {}", index, error.what());
  } catch (const NumericalError& error) {
    throw NumericalError("entropy: sequence {}: {}", index, error.what());
  }
}

PendingEntropy begin_sequence(EntropyCalculator& calculator, const ConstMatrixRef& rows,
                              std::int64_t index) {
  throw_if(rows.rows() == 1, "entropy: sequence {}: must have at least 2 tokens, got 1", index);
  PendingEntropy pending;
  with_sequence(index, [&] { pending = calculator.begin(linalg::affine_rows(rows)); });
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

/// A sequence of a batch; its memory is reused by a sequence of a later batch.
struct Slot {
  EntropyPreprocessing preprocessing;
  std::int64_t index = 0;  ///< of the sequence
  MatrixF rows = {};
  linalg::AffineRows<float> view = {};  ///< of `rows`
  MatrixD preprocessed = {};            ///< [num_tokens, dim]
};

class Pass {
 public:
  Pass(const Gpu& gpu, const SequenceSource& sequences,
       const std::optional<Standardization>& standardization, const EntropyOptions& options,
       std::int64_t batch)
      : gpu_(gpu),
        sequences_(sequences),
        options_(options),
        slots_(static_cast<std::size_t>(2 * batch),
               {.preprocessing = EntropyPreprocessing(options.preset, standardization)}) {
    result_.alpha = options.orders();
    result_.num_tokens.resize(static_cast<std::size_t>(sequences.count));
    result_.values.resize(sequences.count, static_cast<Eigen::Index>(result_.alpha.size()));
  }

  void read(std::int64_t index) {
    Slot& slot = slot_of(index);
    slot.index = index;
    sequences_.read(index, slot.rows);
    slot.view = linalg::affine_rows(slot.rows);
    with_sequence(index, [&] {
      if (!slot.rows.allFinite()) check_finite(slot.view);
      slot.preprocessing.apply(slot.view);
    });
    slot.view.copy_to(slot.preprocessed);
  }

  void compute(std::int64_t first, std::int64_t last) {
    std::map<Eigen::Index, std::vector<const Slot*>> slots_of_length;
    for (std::int64_t index = first; index < last; ++index) {
      const Slot& slot = slot_of(index);
      slots_of_length[slot.rows.rows()].push_back(&slot);
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
    std::vector<const double*> rows;
    for (const Slot* slot : slots) rows.push_back(slot->preprocessed.data());
    const std::int64_t num_tokens = slots[0]->view.num_rows;
    const std::int64_t dim = slots[0]->view.num_cols;
    const auto count = static_cast<Eigen::Index>(slots.size());
    VectorD traces(count), squared_norms(count);
    MatrixD eigenvalues(needs_eigenvalues(result_.alpha) ? count : 0, std::min(num_tokens, dim));
    gpu_.gram_spectra({.count = count,
                       .num_rows = num_tokens,
                       .num_cols = dim,
                       .rows = rows.data(),
                       .clamps = options_.preset == EntropyPreset::kLayerByLayer,
                       .traces = traces.data(),
                       .squared_norms = squared_norms.data(),
                       .eigenvalues = eigenvalues.size() > 0 ? eigenvalues.data() : nullptr});
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

  void keep(const Slot& slot, const GramSpectrum& gram) {
    with_sequence(slot.index, [&] {
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
    if (on_progress && std::this_thread::get_id() == caller) {
      on_progress({done.load(), count, ""});
    }
  };
  pool.parallel_for(count, item, std::move(stop));
  if (on_progress) on_progress({count, count, ""});
  return collect(outcomes, options);
}

SequenceEntropies gpu_entropies(const Gpu& gpu, const SequenceSource& sequences,
                                const std::optional<Standardization>& standardization,
                                const EntropyOptions& options, std::int64_t batch, ThreadPool& pool,
                                const ProgressFn& on_progress, std::stop_token stop) {
  options.validate();
  if (options.top_k) {
    throw InvalidArgument("top_k: is supported on the CPU only; omit --top-k or use --device cpu");
  }
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
