// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix.h"

namespace lime {

/// Labels in random order: what a probe reaches when there is nothing to read but chance, with the
/// same number of rows of each class.
std::vector<int> shuffled_labels(std::span<const int> classes, std::uint64_t seed);

/// Labels of a control task: every type of row (word, document) gets one class at random, drawn
/// with the shares that the classes have among the rows. A probe can only learn such labels by
/// heart; accuracy on the task minus accuracy on the control task is its selectivity.
///
/// @param types    [num_rows] any integers; rows of equal type get equal labels.
/// @param classes  [num_rows] the labels of the real task.
/// @throws InvalidArgument  if the sizes differ.
/// Source: Hewitt & Liang (2019), arXiv:1909.03368, section 2.
std::vector<int> control_task_labels(std::span<const int> types, std::span<const int> classes,
                                     std::uint64_t seed);

/// Whether every class consists of one type, and no two classes of the same: then the control task
/// would be the task itself under other names.
bool types_are_classes(std::span<const int> types, std::span<const int> classes);

/// Standard normal rows, [num_rows, dim]: features that say nothing, with as much room to overfit.
MatrixF random_features(Eigen::Index num_rows, Eigen::Index dim, std::uint64_t seed);

}  // namespace lime
