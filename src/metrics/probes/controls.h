// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix.h"

namespace lime {

/// Shuffles the labels: a chance-level baseline with the same number of rows of each class.
std::vector<int> shuffled_labels(std::span<const int> classes, std::uint64_t seed);

/// Creates the labels of a control task: every type of row (word, document) gets one class at
/// random, drawn with the class frequencies of the rows. A probe can only memorise such labels;
/// accuracy on the task minus accuracy on the control task is its selectivity.
///
/// @param types    [num_rows] any integers; rows of equal type get equal labels.
/// @param classes  [num_rows] the labels of the original task.
/// @throws InvalidArgument  if the sizes differ.
/// Source: Hewitt & Liang (2019), arXiv:1909.03368, section 2.
std::vector<int> control_task_labels(std::span<const int> types, std::span<const int> classes,
                                     std::uint64_t seed);

/// Returns true if every class consists of one type, and no two classes of the same: the control
/// task would then be a relabelling of the task.
bool types_are_classes(std::span<const int> types, std::span<const int> classes);

/// Returns standard normal rows, [num_rows, dim]: uninformative features with the same capacity to
/// overfit.
MatrixF random_features(Eigen::Index num_rows, Eigen::Index dim, std::uint64_t seed);

}  // namespace lime
