// SPDX-License-Identifier: Apache-2.0
#include "train/sequence_training.h"

#include <utility>

namespace lime {

TrainingOutcome train_on_sequences(Decoder& decoder, const TrainingSetup& setup,
                                   SequenceTraining task, const ProgressFn& on_progress,
                                   std::stop_token stop) {
  const SequenceBatches::Options order = {
      .batch_size = setup.training.batch_size, .seed = setup.seed, .pad_id = task.pad_id};
  SequenceBatches batches(std::move(task.training), order);
  SequenceBatches validation(std::move(task.test), order);
  const TrainingJob job = {.decoder = decoder,
                           .data = batches,
                           .validation = &validation,
                           .options = setup.training,
                           .compute = setup.compute,
                           .group = setup.group,
                           .description = std::move(task.description),
                           .files = std::move(task.files),
                           .evaluate = std::move(task.evaluate)};
  return run_training(job, setup.run, on_progress, std::move(stop));
}

}  // namespace lime
