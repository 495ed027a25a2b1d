// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/probe.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/random.h"
#include "core/threads/thread_pool.h"

namespace lime {
namespace {

constexpr int kMaxColumns = 128;

struct Cell {
  std::size_t labels = 0;
  int fold = 0;
  double c = 1.0;
  std::vector<std::uint8_t> train;
};

struct Problem {
  const ProbeData& data;
  std::span<const std::vector<int>> labels;
  const Folds& folds;
  const ProbeOptions& options;
  ThreadPool& pool;
};

Eigen::Index best_class(const MatrixD& log_probabilities, Eigen::Index row) {
  Eigen::Index best = 0;
  log_probabilities.row(row).maxCoeff(&best);
  return best;
}

/// Calls use(cell, fit) for every cell, in order; the solver fits batches together.
template <typename F>
void fit_cells(const Problem& problem, const std::vector<Cell>& cells, const std::stop_token& stop,
               const F& use) {
  const auto batch = static_cast<std::size_t>(
      std::max(1, kMaxColumns / (problem.data.num_classes == 2 ? 1 : problem.data.num_classes)));
  for (std::size_t first = 0; first < cells.size(); first += batch) {
    std::vector<LogisticTask> tasks;
    const std::size_t end = std::min(cells.size(), first + batch);
    for (std::size_t i = first; i < end; ++i) {
      tasks.push_back({.classes = problem.labels[cells[i].labels],
                       .train = cells[i].train,
                       .num_classes = problem.data.num_classes,
                       .c = cells[i].c});
    }
    const std::vector<LogisticFit> fits =
        fit_logistic(problem.data.rows, tasks, problem.options.fit, problem.pool, stop);
    for (std::size_t i = first; i < end; ++i) use(cells[i], fits[i - first]);
  }
}

double accuracy_on(const LogisticFit& fit, const std::vector<int>& labels,
                   const std::vector<std::uint8_t>& rows) {
  std::int64_t right = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (rows[i] == 0) continue;
    ++count;
    if (best_class(fit.log_probabilities, static_cast<Eigen::Index>(i)) == labels[i]) ++right;
  }
  return count == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(count);
}

/// Training and test rows of an inner fold, as indices into all rows.
struct InnerSplit {
  std::vector<std::uint8_t> train;
  std::vector<std::uint8_t> test;
};

std::vector<InnerSplit> inner_splits(const Problem& problem, const Cell& outer) {
  std::vector<int> rows, classes, groups;
  const std::vector<int>& labels = problem.labels[outer.labels];
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (outer.train[i] == 0) continue;
    rows.push_back(static_cast<int>(i));
    classes.push_back(labels[i]);
    if (!problem.data.groups.empty()) groups.push_back(problem.data.groups[i]);
  }
  const Folds folds =
      make_folds(classes, groups,
                 {.kind = groups.empty() ? FoldKind::kStratified : FoldKind::kGrouped,
                  .num_folds = problem.options.inner_folds,
                  .seed = problem.options.seed});
  std::vector<InnerSplit> splits(
      static_cast<std::size_t>(folds.num_folds),
      {std::vector<std::uint8_t>(labels.size(), 0), std::vector<std::uint8_t>(labels.size(), 0)});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (int f = 0; f < folds.num_folds; ++f) {
      InnerSplit& split = splits[static_cast<std::size_t>(f)];
      (folds.fold_of_row[r] == f ? split.test : split.train)[static_cast<std::size_t>(rows[r])] = 1;
    }
  }
  return splits;
}

/// Sets `c` of every cell to the best candidate by inner cross-validation.
void choose_c(const Problem& problem, std::vector<Cell>& cells, const std::stop_token& stop) {
  std::vector<double> grid = problem.options.c;
  std::ranges::sort(grid);
  for (Cell& cell : cells) {
    const std::vector<InnerSplit> splits = inner_splits(problem, cell);
    std::vector<Cell> inner;
    for (const InnerSplit& split : splits) {
      for (const double c : grid) inner.push_back({cell.labels, cell.fold, c, split.train});
    }
    std::vector<double> accuracy(grid.size(), 0.0);
    std::size_t done = 0;
    fit_cells(problem, inner, stop, [&](const Cell&, const LogisticFit& fit) {
      accuracy[done % grid.size()] +=
          accuracy_on(fit, problem.labels[cell.labels], splits[done / grid.size()].test);
      ++done;
    });
    // The first of equal ones is the smallest C.
    const auto best = std::ranges::max_element(accuracy);
    cell.c = grid[static_cast<std::size_t>(best - accuracy.begin())];
  }
}

double majority_accuracy(const std::vector<int>& labels, const std::vector<std::uint8_t>& train,
                         int num_classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(num_classes), 0);
  std::vector<std::int64_t> tested(counts);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ++(train[i] != 0 ? counts : tested)[static_cast<std::size_t>(labels[i])];
    total += train[i] != 0 ? 0 : 1;
  }
  const auto largest = std::ranges::max_element(counts) - counts.begin();
  return total == 0 ? 0.0
                    : static_cast<double>(tested[static_cast<std::size_t>(largest)]) /
                          static_cast<double>(total);
}

ProbeFold evaluate_fold(const Cell& cell, const LogisticFit& fit, const std::vector<int>& labels,
                        int num_classes, ProbeResult& result) {
  // scikit-learn's log_loss clips probabilities at the rounding of a double.
  const double lowest = std::log(std::numeric_limits<double>::epsilon());
  ProbeFold fold;
  static_cast<FitStatus&>(fold) = fit;
  fold.confusion = Eigen::MatrixXi::Zero(num_classes, num_classes);
  std::int64_t right = 0;
  double loss = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (cell.train[i] != 0) {
      ++fold.num_train;
      continue;
    }
    const auto row = static_cast<Eigen::Index>(i);
    const Eigen::Index predicted = best_class(fit.log_probabilities, row);
    result.predictions[i] = static_cast<int>(predicted);
    result.log_probabilities.row(row) = fit.log_probabilities.row(row).cast<float>();
    ++fold.confusion(labels[i], predicted);
    ++fold.num_test;
    if (predicted == labels[i]) ++right;
    loss -= std::max(fit.log_probabilities(row, labels[i]), lowest);
  }
  const auto tested = static_cast<double>(std::max<std::int64_t>(fold.num_test, 1));
  fold.accuracy = static_cast<double>(right) / tested;
  fold.log_loss = loss / tested;
  fold.train_accuracy = accuracy_on(fit, labels, cell.train);
  fold.majority_accuracy = majority_accuracy(labels, cell.train, num_classes);
  fold.c = cell.c;
  return fold;
}

void check_rows(const Problem& problem) {
  const auto expected = static_cast<std::size_t>(problem.data.rows.rows());
  const auto check = [&](const char* what, std::size_t size) {
    if (size == expected) return;
    throw InvalidArgument("probe: needs a {} for each of {} rows, got {}", what, expected, size);
  };
  check("fold", problem.folds.fold_of_row.size());
  for (const std::vector<int>& labels : problem.labels) check("class", labels.size());
  if (!problem.data.groups.empty()) check("group", problem.data.groups.size());
}

}  // namespace

void ProbeOptions::describe(OptionList& list) {
  list.add("scaling", fit.scaling,
           "feature scaling: standardize (mean 0, variance 1 over the training rows) or none");
  list.add("c", c,
           "inverse strength of the L2 penalty, > 0; given several, each fold selects the best by "
           "cross-validation on its training rows");
  list.add("inner_folds", inner_folds, "folds of the inner cross-validation, >= 2");
  list.add("tolerance", fit.tolerance,
           "stop when the largest gradient element is below this, as scikit-learn's tol");
  list.add("max_iterations", fit.max_iterations, "maximum number of iterations of a fit");
}

void ProbeOptions::validate() const {
  fit.validate();
  if (c.empty()) throw InvalidArgument(OptionName("c"), "expected at least one value, got none");
  for (const double value : c) {
    check_option(value > 0.0 && std::isfinite(value), "c", "> 0 and finite", value);
  }
  if (inner_folds < 2)
    throw InvalidArgument(OptionName("inner_folds"), "must be >= 2, got {}", inner_folds);
}

std::int64_t bytes_of_cross_validation(const ProbeSize& size, const ProbeOptions& options) {
  constexpr std::int64_t kFloat = sizeof(float);
  constexpr std::int64_t kDouble = sizeof(double);
  const auto strengths = static_cast<std::int64_t>(options.c.size());
  const std::int64_t panel = size.num_rows * size.dim * kFloat;
  // The Gram matrix, an inverse before packing, and a packed inverse per strength, or one more.
  std::int64_t preconditioner = (3 + strengths) * size.dim * size.dim * kFloat;
  if (size.dim > 2 * size.num_rows) {
    preconditioner = (2 + strengths) * size.num_rows * size.num_rows * kDouble;
  }
  const std::int64_t outer = std::int64_t{size.num_folds} * size.num_labellings;
  const std::int64_t inner = strengths > 1 ? strengths * options.inner_folds : 0;
  const std::int64_t columns =
      std::min<std::int64_t>(kMaxColumns, size.num_classes * std::max(outer, inner));
  // Per score column: parameters, gradient, direction, ten pairs of steps and gradient changes,
  // operands; per row its scores, their directions, residuals, probabilities.
  const std::int64_t fits = columns * kDouble * (size.dim * (5 + 2 * 10) + size.num_rows * 5);
  return panel + preconditioner + fits;
}

std::vector<double> ProbeResult::accuracies() const {
  std::vector<double> values;
  for (const ProbeFold& fold : folds) values.push_back(fold.accuracy);
  return values;
}

Eigen::MatrixXi ProbeResult::confusion() const {
  Eigen::MatrixXi sum = folds.at(0).confusion;
  for (std::size_t f = 1; f < folds.size(); ++f) sum += folds[f].confusion;
  return sum;
}

double ProbeResult::largest_gradient_norm() const {
  double largest = 0.0;
  for (const ProbeFold& fold : folds) largest = std::max(largest, fold.gradient_norm);
  return largest;
}

bool ProbeResult::converged() const {
  return std::ranges::all_of(folds, [](const ProbeFold& f) { return f.converged; });
}

std::vector<ProbeResult> cross_validate_labels(const ProbeData& data,
                                               std::span<const std::vector<int>> labels,
                                               const Folds& folds, const ProbeOptions& options,
                                               const ProbeRun& run) {
  options.validate();
  const Problem problem{data, labels, folds, options, run.pool};
  check_rows(problem);
  std::vector<Cell> cells;
  for (std::size_t l = 0; l < labels.size(); ++l) {
    for (int f = 0; f < folds.num_folds; ++f) {
      cells.push_back({l, f, options.c.front(), folds.training_rows(f)});
    }
  }
  if (options.c.size() > 1) choose_c(problem, cells, run.stop);
  std::vector<ProbeResult> results(labels.size());
  for (ProbeResult& result : results) {
    result.predictions.assign(folds.fold_of_row.size(), 0);
    result.log_probabilities = MatrixF::Zero(data.rows.rows(), data.num_classes);
  }
  fit_cells(problem, cells, run.stop, [&](const Cell& cell, const LogisticFit& fit) {
    ProbeResult& result = results[cell.labels];
    result.folds.push_back(evaluate_fold(cell, fit, labels[cell.labels], data.num_classes, result));
  });
  return results;
}

ProbeResult cross_validate(const ProbeData& data, const Folds& folds, const ProbeOptions& options,
                           ThreadPool& pool, const std::stop_token& stop) {
  const std::vector<std::vector<int>> labels = {{data.classes.begin(), data.classes.end()}};
  return cross_validate_labels(data, labels, folds, options, {pool, stop}).front();
}

std::vector<int> shuffled_labels(std::span<const int> classes, std::uint64_t seed) {
  std::vector<int> labels(classes.begin(), classes.end());
  Random(seed).shuffle(std::span<int>(labels));
  return labels;
}

std::vector<int> control_task_labels(std::span<const int> types, std::span<const int> classes,
                                     std::uint64_t seed) {
  throw_if(types.size() != classes.size(), "control task: needs a type for each of {} rows, got {}",
           classes.size(), types.size());
  const Random random(seed);
  std::map<int, int> class_of_type;
  std::vector<int> labels;
  for (const int type : types) {
    const auto [place, is_new] = class_of_type.emplace(type, 0);
    if (is_new) {
      // The class of a random row has the class frequencies of the rows.
      Random own = random.fork(static_cast<std::uint64_t>(type));
      place->second = classes[static_cast<std::size_t>(own.below(classes.size()))];
    }
    labels.push_back(place->second);
  }
  return labels;
}

bool types_are_classes(std::span<const int> types, std::span<const int> classes) {
  std::map<int, int> type_of_class;
  std::map<int, int> class_of_type;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (type_of_class.emplace(classes[i], types[i]).first->second != types[i]) return false;
    if (class_of_type.emplace(types[i], classes[i]).first->second != classes[i]) return false;
  }
  return true;
}

MatrixF random_features(Eigen::Index num_rows, Eigen::Index dim, std::uint64_t seed) {
  Random random(seed);
  MatrixF rows(num_rows, dim);
  std::generate_n(rows.data(), rows.size(), [&] { return static_cast<float>(random.normal()); });
  return rows;
}

}  // namespace lime
