// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/options.h"

namespace lime {

/// Assignment of rows to the folds of a cross-validation.
enum class FoldKind {
  kShuffled,    ///< scikit-learn's KFold: every row independently of its class
  kStratified,  ///< scikit-learn's StratifiedKFold: preserves the class frequencies in each fold
  kGrouped,     ///< scikit-learn's GroupKFold: the rows of one group stay in one fold
};

constexpr auto names_of(FoldKind) {
  using enum FoldKind;
  return enum_table<FoldKind>(
      {{kShuffled, "shuffled"}, {kStratified, "stratified"}, {kGrouped, "grouped"}});
}

struct FoldOptions {
  FoldKind kind = FoldKind::kStratified;
  /// Number of folds, >= 2 and at most the number of rows (kGrouped: of groups).
  int num_folds = 5;
  /// Shuffles rows (kGrouped: groups) first; false keeps their order, as in scikit-learn.
  bool shuffle = true;
  /// numpy's `random_state`, < 2^32.
  std::uint64_t seed = 0;

  void validate() const;
};

/// A partition of rows into test parts.
struct Folds {
  int num_folds = 0;
  std::vector<int> fold_of_row;  ///< [num_rows], the fold in which each row is tested

  std::int64_t num_rows() const { return static_cast<std::int64_t>(fold_of_row.size()); }
  /// Returns 1 for the training rows of `fold`, else 0, [num_rows].
  std::vector<std::uint8_t> training_rows(int fold) const;
};

/// Assigns rows to folds, identically to scikit-learn >= 1.6 with numpy's legacy generator for
/// equal `num_folds`, `shuffle` and `random_state`.
///
/// A class with fewer rows than folds is absent from some test parts: require_rows_per_class().
///
/// @param classes  [num_rows] class of each row, >= 0; used by kStratified only.
/// @param groups   [num_rows] group of each row (document, pair); used by kGrouped only.
/// @throws InvalidArgument  if an option is invalid for these rows.
Folds make_folds(std::span<const int> classes, std::span<const int> groups,
                 const FoldOptions& options = {});

/// Checks that every class has at least as many rows as there are folds, so that each can test it.
/// @param class_names  names for the message, [num_classes]; may be empty.
/// @throws InvalidArgument  naming the first violating class and its number of rows.
void require_rows_per_class(std::span<const int> classes, std::span<const std::string> class_names,
                            int num_folds);

}  // namespace lime
