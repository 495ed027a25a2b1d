// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "train/model_options.h"
#include "train/trainer.h"
#include "train/training_run.h"

namespace lime {

/// What every task is trained with: a decoder, an optimiser, a folder to keep both in.
struct TrainingSetup {
  /// Of the weights at the start and of the order of the data; of the data where a task draws it.
  std::uint64_t seed = 0;
  ModelOptions model;
  TrainingOptions training;
  TrainingRunOptions run;

  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

}  // namespace lime
