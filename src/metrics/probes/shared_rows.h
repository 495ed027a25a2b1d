// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/matrix.h"
#include "metrics/probes/logistic_regression.h"
#include "metrics/probes/panel_matrix.h"

namespace lime::probes {

/// The training rows of some regressions, with the mean and scale of their features.
struct TrainingPart {
  std::vector<double> weight;  ///< [num_rows], 1 for training rows, else 0
  std::int64_t num_rows = 0;   ///< training rows
  VectorD mean;                ///< [dim] of the panel's values
  VectorD scale;               ///< [dim], > 0
};

/// The packed rows shared by all tasks of a call, with the properties of each set of training rows:
/// tasks with the same training rows share one part.
class SharedRows {
 public:
  /// Columns whose mean exceeds 4 standard deviations are shifted by it before packing, to keep
  /// float32 products accurate.
  /// @throws InvalidArgument  if a task has no training row.
  SharedRows(const ConstMatrixRef& rows, std::span<const LogisticTask> tasks,
             FeatureScaling scaling, ThreadPool& pool);

  const PanelMatrix& panel() const { return panel_; }
  const TrainingPart& part(std::size_t task) const { return *parts_[part_of_task_[task]]; }
  /// Returns the mean of the training rows of a task, [dim]; not shifted.
  VectorD mean(std::size_t task) const;

 private:
  void measure_parts(FeatureScaling scaling, ThreadPool& pool);

  std::vector<float> shifts_;  // [dim]
  PanelMatrix panel_;
  std::vector<std::unique_ptr<TrainingPart>> parts_;
  std::vector<std::size_t> part_of_task_;
};

}  // namespace lime::probes
