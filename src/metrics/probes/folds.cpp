// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/folds.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/errors.h"
#include "metrics/probes/numpy_random.h"

namespace lime {
namespace {

struct Renumbered {
  std::vector<int> index;  ///< [num_rows]
  int count = 0;
};

/// Numbers ids by ascending value, as numpy.unique.
Renumbered number_by_value(std::span<const int> ids) {
  std::map<int, int> numbers;
  for (const int id : ids) numbers.emplace(id, 0);
  Renumbered result;
  for (auto& entry : numbers) entry.second = result.count++;
  for (const int id : ids) result.index.push_back(numbers[id]);
  return result;
}

/// Numbers ids by first appearance, as StratifiedKFold.
Renumbered number_by_appearance(std::span<const int> ids) {
  std::map<int, int> numbers;
  Renumbered result;
  for (const int id : ids) {
    const auto [place, is_new] = numbers.emplace(id, result.count);
    if (is_new) ++result.count;
    result.index.push_back(place->second);
  }
  return result;
}

std::vector<int> deal(int count, const FoldOptions& options) {
  std::vector<int> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  if (options.shuffle) NumpyRandom(options.seed).shuffle(std::span<int>(items));
  std::vector<int> fold_of(items.size());
  auto next = items.begin();
  for (int fold = 0; fold < options.num_folds; ++fold) {
    // The first folds are larger by one, as in numpy.array_split.
    const int size = count / options.num_folds + (fold < count % options.num_folds ? 1 : 0);
    for (int i = 0; i < size; ++i) fold_of[static_cast<std::size_t>(*next++)] = fold;
  }
  return fold_of;
}

std::vector<int> deal_stratified(std::span<const int> classes, const FoldOptions& options) {
  const Renumbered encoded = number_by_appearance(classes);
  std::vector<int> sorted = encoded.index;
  std::ranges::sort(sorted);
  // allocation[k][f]: rows of class k in fold f, by distributing the sorted classes in turn.
  const auto folds = static_cast<std::size_t>(options.num_folds);
  std::vector<std::vector<int>> allocation(static_cast<std::size_t>(encoded.count),
                                           std::vector<int>(folds, 0));
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    ++allocation[static_cast<std::size_t>(sorted[i])][i % folds];
  }
  NumpyRandom random(options.seed);
  std::vector<int> fold_of(classes.size());
  for (int k = 0; k < encoded.count; ++k) {
    std::vector<int> dealt;
    for (std::size_t f = 0; f < folds; ++f) {
      dealt.insert(dealt.end(),
                   static_cast<std::size_t>(allocation[static_cast<std::size_t>(k)][f]),
                   static_cast<int>(f));
    }
    if (options.shuffle) random.shuffle(std::span<int>(dealt));
    auto next = dealt.begin();
    for (std::size_t i = 0; i < fold_of.size(); ++i) {
      if (encoded.index[i] == k) fold_of[i] = *next++;
    }
  }
  return fold_of;
}

/// Runs GroupKFold without shuffling: the largest groups first, each into the smallest fold.
std::vector<int> deal_by_weight(const Renumbered& groups, int num_folds) {
  std::vector<int> rows_of(static_cast<std::size_t>(groups.count), 0);
  for (const int group : groups.index) ++rows_of[static_cast<std::size_t>(group)];
  std::vector<int> order(rows_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    return rows_of[static_cast<std::size_t>(a)] < rows_of[static_cast<std::size_t>(b)];
  });
  std::ranges::reverse(order);
  std::vector<std::int64_t> weight(static_cast<std::size_t>(num_folds), 0);
  std::vector<int> fold_of(rows_of.size());
  for (const int group : order) {
    const auto lightest = std::ranges::min_element(weight);
    *lightest += rows_of[static_cast<std::size_t>(group)];
    fold_of[static_cast<std::size_t>(group)] = static_cast<int>(lightest - weight.begin());
  }
  return fold_of;
}

std::vector<int> deal_grouped(std::span<const int> ids, const FoldOptions& options) {
  const Renumbered groups = number_by_value(ids);
  throw_if(groups.count < options.num_folds, OptionName("folds"),
           "must be at most the number of groups, {}, got {}", groups.count, options.num_folds);
  const std::vector<int> fold_of_group =
      options.shuffle ? deal(groups.count, options) : deal_by_weight(groups, options.num_folds);
  std::vector<int> fold_of;
  for (const int group : groups.index) {
    fold_of.push_back(fold_of_group[static_cast<std::size_t>(group)]);
  }
  return fold_of;
}

}  // namespace

void FoldOptions::validate() const {
  if (num_folds < 2) throw InvalidArgument(OptionName("folds"), "must be >= 2, got {}", num_folds);
}

std::vector<std::uint8_t> Folds::training_rows(int fold) const {
  std::vector<std::uint8_t> train;
  for (const int of_row : fold_of_row) train.push_back(of_row == fold ? 0 : 1);
  return train;
}

Folds make_folds(std::span<const int> classes, std::span<const int> groups,
                 const FoldOptions& options) {
  options.validate();
  const bool grouped = options.kind == FoldKind::kGrouped;
  const std::size_t num_rows = grouped ? groups.size() : classes.size();
  throw_if(grouped && !classes.empty() && classes.size() != groups.size(), OptionName("folds"),
           "needs a group for each of {} rows, got {}", classes.size(), groups.size());
  throw_if(static_cast<std::size_t>(options.num_folds) > num_rows, OptionName("folds"),
           "must be at most the number of rows, {}, got {}", num_rows, options.num_folds);
  switch (options.kind) {
    case FoldKind::kShuffled: return {options.num_folds, deal(static_cast<int>(num_rows), options)};
    case FoldKind::kStratified: return {options.num_folds, deal_stratified(classes, options)};
    case FoldKind::kGrouped: return {options.num_folds, deal_grouped(groups, options)};
  }
  throw InvalidArgument(OptionName("folds"), "unknown kind {}", static_cast<int>(options.kind));
}

void require_rows_per_class(std::span<const int> classes, std::span<const std::string> class_names,
                            int num_folds) {
  std::map<int, int> counts;
  for (std::size_t k = 0; k < class_names.size(); ++k) counts[static_cast<int>(k)] = 0;
  for (const int k : classes) ++counts[k];
  for (const auto& [k, count] : counts) {
    if (count >= num_folds) continue;
    const auto index = static_cast<std::size_t>(k);
    const std::string name =
        index < class_names.size() ? fmt::format("'{}'", class_names[index]) : fmt::format("{}", k);
    throw InvalidArgument(
        OptionName("folds"),
        "each class needs at least {} rows, one per fold, but class {} has {}; use fewer "
        "folds or capture more text",
        num_folds, name, count);
  }
}

}  // namespace lime
