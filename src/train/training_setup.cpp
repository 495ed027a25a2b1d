// SPDX-License-Identifier: Apache-2.0
#include "train/training_setup.h"

namespace lime {

void TrainingSetup::validate() const {
  run.validate();
  training.validate();
}

}  // namespace lime
