// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cuda/cuda_fixture.h"
#include "support/tiny_checkpoint.h"
#include "train/sequence_batches.h"
#include "train/trainer.h"

namespace lime {
namespace {

std::vector<double> losses_of(const std::string& kind, const ComputeOptions& compute) {
  std::vector<TokenSequence> sequences = {
      {{1, 5, 9, 4, 2}, 1}, {{1, 6, 3, 2}, 1}, {{1, 7, 8, 9, 10, 11, 2}, 1}};
  TrainingOptions options;
  options.steps = 12;
  options.batch_size = 3;
  Decoder decoder =
      testing::copy_of(Decoder(testing::tiny_config(kind), 1), compute.decoder_options());
  SequenceBatches data(std::move(sequences), {.batch_size = 3});
  Trainer trainer(decoder, data, options, compute);
  std::vector<double> losses;
  for (int i = 0; i < 12; ++i) losses.push_back(trainer.step().loss);
  return losses;
}

class CudaTrainerTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaTrainerTest, LossesAreTheCpus) {
  LIME_SKIP_WITHOUT_GPU();
  const std::vector<double> expected = losses_of(GetParam(), {});
  const std::vector<double> found = losses_of(GetParam(), {.device = "cuda"});
  const std::vector<double> rounded =
      losses_of(GetParam(), {.device = "cuda", .autocast = true, .activation_checkpointing = true});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-3) << "step " << i;
    EXPECT_NEAR(rounded[i], expected[i], 0.1) << "step " << i << " in bfloat16";
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, CudaTrainerTest,
                         ::testing::Values("llama", "lime", "denseformer", "hyper_connections",
                                           "resformer"));

}  // namespace
}  // namespace lime
