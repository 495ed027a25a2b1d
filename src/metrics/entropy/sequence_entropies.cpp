// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/sequence_entropies.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/errors.h"
#include "metrics/entropy/entropy_calculator.h"

namespace lime {
namespace {

/// What one thread works with.
struct Workspace {
  Workspace(const EntropyOptions& options, const std::optional<Standardization>& standardization)
      : calculator(options, standardization) {}

  EntropyCalculator calculator;
  MatrixF rows;
};

/// Lends workspaces to items; at most as many come into being as items run at once.
class WorkspaceShelf {
 public:
  WorkspaceShelf(const EntropyOptions& options,
                 const std::optional<Standardization>& standardization)
      : options_(options), standardization_(standardization) {}

  std::unique_ptr<Workspace> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(free_.back());
        free_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<Workspace>(options_, standardization_);
  }

  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(workspace));
  }

 private:
  const EntropyOptions& options_;
  const std::optional<Standardization>& standardization_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

/// What one sequence leaves behind.
struct Outcome {
  SequenceEntropy entropy;
  std::int64_t num_tokens = 0;
  std::int64_t dim = 0;
};

Outcome compute_sequence(EntropyCalculator& calculator, const ConstMatrixRef& rows,
                         std::int64_t index) {
  if (rows.rows() == 1) {
    throw InvalidArgument("entropy: sequence {}: must have at least 2 tokens, got 1", index);
  }
  const linalg::AffineRows<float> view{.x = rows.data(),
                                       .num_rows = rows.rows(),
                                       .num_cols = rows.cols(),
                                       .row_stride = rows.outerStride()};
  try {
    return {calculator.compute(view), rows.rows(), rows.cols()};
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("entropy: sequence {}: {}", index, error.what());
  } catch (const NumericalError& error) {
    throw NumericalError("entropy: sequence {}: {}", index, error.what());
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
    if (outcomes[i].dim != result.dim) {
      throw InvalidArgument("entropy: sequence {}: must have {} dimensions as sequence 0, got {}",
                            i, result.dim, outcomes[i].dim);
    }
    result.num_tokens.push_back(outcomes[i].num_tokens);
    if (options.top_k) result.left_out.push_back(outcomes[i].entropy.left_out);
  }
  return result;
}

}  // namespace

std::vector<double> SequenceEntropies::of_order(std::size_t order) const {
  if (order >= alpha.size()) {
    throw InvalidArgument("entropy: there are {} orders, got index {}", alpha.size(), order);
  }
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
  WorkspaceShelf shelf(options, standardization);
  shelf.give_back(shelf.take());  // unfit options are refused before anything is read
  std::vector<Outcome> outcomes(static_cast<std::size_t>(sequences.count));
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<std::int64_t> done{0};
  const auto item = [&](std::int64_t index) {
    std::unique_ptr<Workspace> workspace = shelf.take();
    sequences.read(index, workspace->rows);
    outcomes[static_cast<std::size_t>(index)] =
        compute_sequence(workspace->calculator, workspace->rows, index);
    shelf.give_back(std::move(workspace));
    ++done;
    if (on_progress && std::this_thread::get_id() == caller) {
      on_progress({done.load(), sequences.count, ""});
    }
  };
  pool.parallel_for(sequences.count, item, std::move(stop));
  if (on_progress) on_progress({sequences.count, sequences.count, ""});
  return collect(outcomes, options);
}

SequenceEntropies sequence_entropies(std::span<const ConstMatrixRef> sequences,
                                     const std::optional<Standardization>& standardization,
                                     const EntropyOptions& options, ThreadPool& pool,
                                     const ProgressFn& on_progress, std::stop_token stop) {
  const SequenceSource source{static_cast<std::int64_t>(sequences.size()),
                              [&](std::int64_t index, MatrixF& rows) {
                                rows = sequences[static_cast<std::size_t>(index)];
                              }};
  return sequence_entropies(source, standardization, options, pool, on_progress, std::move(stop));
}

}  // namespace lime
