// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/parse_model_config.h"
#include "core/errors.h"
#include "train/sequence_batches.h"
#include "train/tasks/sequence_task.h"
#include "train/tiny_run.h"

namespace lime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Returns five sequences over the vocabulary of tiny_config(), of different lengths.
std::vector<TokenSequence> few_sequences() {
  return {{{1, 5, 9, 4, 2}, 1},
          {{1, 6, 3, 2}, 1},
          {{1, 7, 8, 9, 10, 11, 2}, 1},
          {{1, 12, 13, 2}, 1},
          {{1, 14, 15, 16, 2}, 1}};
}

TrainingOptions quick_options(std::int64_t steps) {
  TrainingOptions options;
  options.steps = steps;
  options.batch_size = 5;
  options.optimizer.learning_rate = 0.02;
  options.optimizer.weight_decay = 0.0;
  options.schedule.warmup_steps = 5;
  return options;
}

class TrainerTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainerTest, LearnsAFewSequencesByHeart) {
  Decoder decoder(testing::tiny_config(GetParam()), 1);
  SequenceBatches data(few_sequences(), {.batch_size = 5});
  Trainer trainer(decoder, data, quick_options(200));
  const double first = trainer.step().loss;
  EXPECT_NEAR(first, std::log(30.0), 0.5);  // untrained: uniform over 30 tokens
  while (trainer.steps_done() < 199) trainer.step();
  // The token after <s> stays uncertain: five sequences, -log(1/5) at one of 20 targets.
  const double least = 5 * std::log(5.0) / 20;
  EXPECT_NEAR(trainer.step().loss, least, 0.01);

  const auto written =
      answer_greedily(decoder, std::vector<std::vector<std::int32_t>>{{1, 7}, {1, 14}}, 2, 10);
  EXPECT_THAT(written[0], ::testing::ElementsAre(8, 9, 10, 11, 2));
  EXPECT_THAT(written[1], ::testing::ElementsAre(15, 16, 2));
}

TEST_P(TrainerTest, TakesTheSameStepsForTheSameSeed) {
  const auto losses = [](std::uint64_t seed) {
    Decoder decoder(testing::tiny_config(GetParam()), seed);
    SequenceBatches data(few_sequences(), {.batch_size = 2});
    Trainer trainer(decoder, data, quick_options(10));
    std::vector<double> all;
    for (int i = 0; i < 10; ++i) all.push_back(trainer.step().loss);
    return all;
  };
  EXPECT_EQ(losses(1), losses(1));
  EXPECT_NE(losses(1), losses(2));
}

TEST_P(TrainerTest, MicroBatchesMakeTheSameStep) {
  const auto trained = [](std::optional<std::int64_t> micro_batch_size) {
    Decoder decoder(testing::tiny_config(GetParam()), 1);
    SequenceBatches data(few_sequences(), {.batch_size = 5});
    TrainingOptions options = quick_options(5);
    options.micro_batch_size = micro_batch_size;
    Trainer trainer(decoder, data, options);
    StepRecord record;
    for (int i = 0; i < 5; ++i) record = trainer.step();
    return record;
  };
  const StepRecord whole = trained(std::nullopt);
  const StepRecord parts = trained(2);
  EXPECT_EQ(whole.num_targets, parts.num_targets);
  // Sums of float32 in another order.
  EXPECT_NEAR(whole.loss, parts.loss, 1e-5);
  EXPECT_NEAR(whole.gradient_norm, parts.gradient_norm, 1e-4);
}

TEST_P(TrainerTest, PaddingChangesNeitherLossNorGradient) {
  const auto step = [](std::int32_t pad_id) {
    Decoder decoder(testing::tiny_config(GetParam()), 1);
    SequenceBatches data(few_sequences(), {.batch_size = 5, .pad_id = pad_id});
    Trainer trainer(decoder, data, quick_options(1));
    return trainer.step();
  };
  EXPECT_EQ(step(0).loss, step(17).loss);
  EXPECT_NEAR(step(0).gradient_norm, step(17).gradient_norm, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Decoders, TrainerTest, ::testing::Values("llama", "lime"));

TEST(TrainerFamilyTest, EveryDecoderLearns) {
  for (const std::string& name : decoder_names()) {
    Decoder decoder(testing::tiny_config(name), 1);
    SequenceBatches data(few_sequences(), {.batch_size = 5});
    Trainer trainer(decoder, data, quick_options(60));
    const double first = trainer.step().loss;
    while (trainer.steps_done() < 59) trainer.step();
    // Cohere divides its logits by 16, so that they grow slowly.
    EXPECT_LT(trainer.step().loss, (name.starts_with("cohere") ? 0.8 : 0.6) * first) << name;
  }
}

TEST(TrainerFailureTest, StopsBeforeALossThatIsNotFiniteAndNamesStepAndParameter) {
  Decoder decoder(testing::tiny_config("llama"), 1);
  SequenceBatches data(few_sequences(), {.batch_size = 5});
  Trainer trainer(decoder, data, quick_options(10));
  trainer.step();
  trainer.step();
  {
    const at::NoGradGuard no_grad;
    decoder.parameter("model.layers.1.mlp.up_proj.weight")[0][0].fill_(
        std::numeric_limits<float>::quiet_NaN());
  }
  EXPECT_THAT([&] { trainer.step(); },
              ThrowsMessage<NumericalError>(
                  AllOf(HasSubstr("training: the loss must stay finite, got nan in step 3, where "
                                  "parameter 'model.layers.1.mlp.up_proj.weight' contains nan"),
                        HasSubstr("lower --learning-rate"))));
  EXPECT_EQ(trainer.steps_done(), 2);
}

TEST(TrainingOptionsTest, NamesTheFieldOutOfRange) {
  TrainingOptions options;
  options.batch_size = 0;
  EXPECT_THAT([&] { options.validate(); },
              ThrowsMessage<InvalidArgument>("batch_size: must be from 1 to 2147483647, got 0"));
  options.batch_size = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT([&] { options.validate(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("got 9223372036854775807")));
  options.batch_size = 1;
  options.epochs = std::int64_t{1} << 31;
  EXPECT_THAT([&] { options.validate(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("epochs: must be from 1 to 2147483647")));
}

}  // namespace
}  // namespace lime
