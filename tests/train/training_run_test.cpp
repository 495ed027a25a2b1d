// SPDX-License-Identifier: Apache-2.0
#include "train/training_run.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <stop_token>
#include <thread>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/errors.h"
#include "support/test_data.h"
#include "train/batch_source.h"
#include "train/sequence_batches.h"
#include "train/tiny_run.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Returns loss and gradient norm of each step, as in the log.
std::map<std::int64_t, std::pair<double, double>> steps_of(const fs::path& folder) {
  std::map<std::int64_t, std::pair<double, double>> steps;
  for (const Json& line : testing::log_lines(folder, "step")) {
    const bool is_new =
        steps.emplace(line["step"], std::pair<double, double>(line["loss"], line["gradient_norm"]))
            .second;
    EXPECT_TRUE(is_new) << line;
  }
  return steps;
}

TEST(TrainingRunTest, LeavesAWholeModelFolderWithItsLog) {
  const testing::TemporaryFolder folder;
  const TrainingOutcome outcome = testing::train(testing::tiny_run(folder / "model"));
  EXPECT_EQ(outcome.steps, 12);
  EXPECT_EQ(outcome.evaluation.size(), 1U);
  EXPECT_EQ(outcome.evaluation[0]["count"], 8);

  const Checkpoint checkpoint = Checkpoint::open(folder / "model");
  EXPECT_EQ(checkpoint.config().name(), "lime");
  for (const char* const name : {"tokenizer.json", "tokenizer_config.json", "training_options.json",
                                 "training_state.safetensors"}) {
    EXPECT_TRUE(fs::exists(folder / "model" / name)) << name;
  }
  EXPECT_EQ(steps_of(folder / "model").size(), 12U);
  EXPECT_EQ(testing::log_lines(folder / "model", "validation").size(), 2U);
  EXPECT_EQ(testing::log_lines(folder / "model", "evaluation").size(), 1U);
  const auto num_files = std::distance(fs::directory_iterator(folder / "model"), {});
  EXPECT_EQ(num_files, 7) << "a temporary file is left";
}

TEST(TrainingRunTest, AStoppedRunGoesOnAsIfItHadNotStopped) {
  const testing::TemporaryFolder folder;
  testing::train(testing::tiny_run(folder / "whole"));

  testing::TinyRun options = testing::tiny_run(folder / "stopped");
  std::stop_source stop;
  const ProgressFn stop_after_7 = [&](const Progress& progress) {
    if (progress.done == 7) stop.request_stop();
  };
  EXPECT_THAT([&] { testing::train(options, stop_after_7, stop.get_token()); },
              ThrowsMessage<Interrupted>(AllOf(HasSubstr("training: stopped after step 7 of 12"),
                                               HasSubstr("use --resume to continue"))));
  options.setup.run.resume = true;
  const TrainingOutcome outcome = testing::train(options);
  EXPECT_EQ(outcome.resumed_from, 7);
  EXPECT_EQ(steps_of(folder / "stopped"), steps_of(folder / "whole"));
  EXPECT_EQ(testing::read_text(folder / "stopped/model.safetensors"),
            testing::read_text(folder / "whole/model.safetensors"));
}

TEST(TrainingRunTest, AFinishedRunIsOnlyMeasuredAgain) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  testing::train(options);
  const std::string weights = testing::read_text(folder / "model/model.safetensors");
  options.setup.run.resume = true;
  const TrainingOutcome outcome = testing::train(options);
  EXPECT_EQ(outcome.resumed_from, 12);
  EXPECT_EQ(outcome.steps, 12);
  EXPECT_EQ(testing::read_text(folder / "model/model.safetensors"), weights);
}

TEST(TrainingRunTest, RoundsAFinishedModelToTheTypeAskedFor) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  testing::train(options);
  const fs::path file = folder / "model/model.safetensors";
  const auto size = fs::file_size(file);
  const Decoder whole = load_decoder(Checkpoint::open(folder / "model"));

  options.setup.run.resume = true;
  options.setup.run.save_dtype = ComputeType::kBfloat16;
  testing::train(options);
  EXPECT_LT(fs::file_size(file), size * 6 / 10);
  const Checkpoint checkpoint = Checkpoint::open(folder / "model");
  EXPECT_EQ(checkpoint.config().torch_dtype, "bfloat16");
  const Decoder rounded = load_decoder(checkpoint);
  const auto expected = whole.parameters();
  const auto found = rounded.parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(found[i].tensor.equal(expected[i].tensor.to(at::kBFloat16).to(at::kFloat)))
        << expected[i].name;
  }

  options.setup.run.save_dtype = ComputeType::kFloat32;
  testing::train(options);
  EXPECT_EQ(fs::file_size(file), size) << "the state keeps every digit";
}

TEST(TrainingRunTest, RefusesWeightsThatOverflowTheTypeAskedFor) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  options.setup.run.save_dtype = ComputeType::kFloat16;
  options.setup.training.steps = 1;
  options.setup.training.schedule.warmup_steps = 0;
  options.setup.training.optimizer.learning_rate = 1e6;
  EXPECT_THAT([&] { testing::train(options); },
              ThrowsMessage<NumericalError>(AllOf(
                  HasSubstr("save_dtype: tensor 'model."), HasSubstr("must fit into float16, got"),
                  HasSubstr("use another --save-dtype and add --resume"))));
  EXPECT_TRUE(fs::exists(folder / "model/training_state.safetensors"));
}

TEST(TrainingRunTest, RefusesAFolderThatHoldsAModel) {
  const testing::TemporaryFolder folder;
  const testing::TinyRun options = testing::tiny_run(folder / "model");
  testing::train(options);
  EXPECT_THAT(
      [&] { testing::train(options); },
      ThrowsMessage<InvalidArgument>(HasSubstr("must not contain a model yet; add --resume")));
}

TEST(TrainingRunTest, NeverReplacesAModelWithoutAState) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  testing::train(options);
  fs::remove(folder / "model/training_state.safetensors");
  const auto contents = [&] {
    std::map<std::string, std::string> texts;
    for (const auto& entry : fs::directory_iterator(folder / "model")) {
      texts[entry.path().filename()] = testing::read_text(entry.path());
    }
    return texts;
  };
  const auto before = contents();
  const auto refused = ThrowsMessage<InvalidArgument>(
      AllOf(HasSubstr("contains a model but no training_state.safetensors to resume from"),
            HasSubstr("use another folder, or start from this model with --from '")));
  for (const bool resume : {false, true}) {
    options.setup.run.resume = resume;
    EXPECT_THAT([&] { testing::train(options); }, refused) << resume;
  }
  EXPECT_EQ(contents(), before);

  fs::remove(folder / "model/config.json");
  EXPECT_THAT([&] { testing::train(options); }, refused) << "weights alone";
  EXPECT_EQ(testing::read_text(folder / "model/model.safetensors"), before.at("model.safetensors"));
}

TEST(TrainingRunTest, NamesTheFirstDifferenceToTheRunToResume) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  testing::train(options);
  options.setup.run.resume = true;
  options.setup.model.hidden_size = 32;
  EXPECT_THAT(
      [&] { testing::train(options); },
      ThrowsMessage<InvalidArgument>(HasSubstr("has model.hidden_size = 16, got 32; resume with")));
  options.setup.model.hidden_size = 16;
  options.setup.training.optimizer.learning_rate = 0.5;
  EXPECT_THAT([&] { testing::train(options); },
              ThrowsMessage<InvalidArgument>(HasSubstr("has training.learning_rate = 0.001, got "
                                                       "0.5")));
}

TEST(TrainingRunTest, KeepsTheLastGoodStateWhenTheLossIsNotFinite) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  options.setup.run.save_every = 1;
  options.setup.training.optimizer.learning_rate = 1e25;  // the second step overflows
  EXPECT_THAT([&] { testing::train(options); },
              ThrowsMessage<NumericalError>(AllOf(HasSubstr("must stay finite, got"),
                                                  HasSubstr("where parameter '"),
                                                  HasSubstr("contains the state of step "))));
  EXPECT_EQ(testing::log_lines(folder / "model", "failed").size(), 1U);
  EXPECT_NO_THROW(Checkpoint::open(folder / "model"));
}

TEST(TrainingRunTest, SavesNoStateOfAStepThatLeftTheFiniteNumbers) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  options.setup.run.save_every = 1;
  options.setup.training.schedule.warmup_steps = 0;
  options.setup.training.optimizer.learning_rate = 1e40;  // the first step overflows
  EXPECT_THAT(
      [&] { testing::train(options); },
      ThrowsMessage<NumericalError>(AllOf(
          HasSubstr("training: the weights must stay finite, got "), HasSubstr(" in 'model."),
          HasSubstr("' after step 1; lower --learning-rate"), HasSubstr("; no state was saved"))));
  EXPECT_FALSE(fs::exists(folder / "model/training_state.safetensors"));
  EXPECT_FALSE(fs::exists(folder / "model/model.safetensors"));
}

TrainingJob plain_job(Decoder& decoder, BatchSource& data, const TrainingSetup& setup) {
  return {.decoder = decoder,
          .data = data,
          .setup = setup,
          .description = {},
          .files = {},
          .evaluate = {}};
}

TEST(TrainingRunTest, AGoodStateIsNeverReplacedByOneThatIsNotFinite) {
  const testing::TemporaryFolder temporary;
  const fs::path folder = temporary / "model";
  Decoder decoder(testing::tiny_config("llama"), 1);
  SequenceBatches data({{{1, 5, 9, 4, 2}, 1}, {{1, 6, 3, 2}, 1}}, {.batch_size = 2});
  const TrainingSetup setup = testing::tiny_setup(folder);
  const TrainingJob job = plain_job(decoder, data, setup);
  std::string good_state;
  const ProgressFn on_progress = [&](const Progress& progress) {
    if (progress.done != 10) return;
    good_state = testing::read_text(folder / "training_state.safetensors");
    const at::NoGradGuard no_grad;
    decoder.parameter("model.layers.1.mlp.up_proj.weight")[0][0].fill_(
        std::numeric_limits<float>::quiet_NaN());
  };
  EXPECT_THAT([&] { run_training(job, on_progress); },
              ThrowsMessage<NumericalError>(
                  AllOf(HasSubstr("training: the weights must stay finite, got nan in "
                                  "'model.layers.1.mlp.up_proj.weight' after step 10; lower"),
                        HasSubstr("' contains the state of step 5"))));
  EXPECT_FALSE(good_state.empty());
  EXPECT_EQ(testing::read_text(folder / "training_state.safetensors"), good_state);
  EXPECT_EQ(testing::log_lines(folder, "failed").size(), 1U);
  EXPECT_EQ(testing::log_lines(folder, "save").size(), 1U);
}

/// Held-out data that is slow to read.
class SlowBatches final : public BatchSource {
 public:
  static constexpr std::chrono::milliseconds kPause{200};

  std::int64_t batches_per_epoch() const override { return 1; }
  TokenBatch batch(std::int64_t epoch, std::int64_t index) override {
    std::this_thread::sleep_for(kPause);
    return batches_.batch(epoch, index);
  }

 private:
  SequenceBatches batches_{{{{1, 5, 9, 4, 2}, 1}}, {.batch_size = 1}};
};

/// Held-out data that requests a stop during its first batch, once.
class StoppingBatches final : public BatchSource {
 public:
  explicit StoppingBatches(std::stop_source stop) : stop_(std::move(stop)) {}

  std::int64_t batches_per_epoch() const override { return 1000; }
  TokenBatch batch(std::int64_t epoch, std::int64_t index) override {
    EXPECT_EQ(index > 0 && stop_.stop_requested(), false) << "batches after the request";
    stop_.request_stop();
    return batches_.batch(epoch, 0);
  }

 private:
  std::stop_source stop_;
  SequenceBatches batches_{{{{1, 5, 9, 4, 2}, 1}}, {.batch_size = 1}};
};

TEST(TrainingRunTest, AStopEndsAValidationWhichTheNextRunMakesUpFor) {
  const testing::TemporaryFolder folder;
  Decoder decoder(testing::tiny_config("llama"), 1);
  SequenceBatches data({{{1, 5, 9, 4, 2}, 1}, {{1, 6, 3, 2}, 1}}, {.batch_size = 2});
  SequenceBatches held_out({{{1, 6, 3, 2}, 1}}, {.batch_size = 1});
  TrainingSetup setup = testing::tiny_setup(folder / "model");
  setup.run.validate_every = 4;
  TrainingJob job = plain_job(decoder, data, setup);
  const std::stop_source stop;
  StoppingBatches stopping(stop);
  job.validation = &stopping;
  EXPECT_THAT([&] { run_training(job, nullptr, stop.get_token()); },
              ThrowsMessage<Interrupted>(HasSubstr("training: stopped after step 4 of 12")));
  EXPECT_TRUE(testing::log_lines(folder / "model", "validation").empty());

  job.validation = &held_out;
  setup.run.resume = true;
  run_training(job);
  std::vector<std::int64_t> validated;
  for (const Json& line : testing::log_lines(folder / "model", "validation")) {
    validated.push_back(line["step"]);
  }
  EXPECT_THAT(validated, ElementsAre(4, 8, 12));

  run_training(job);
  EXPECT_EQ(testing::log_lines(folder / "model", "validation").size(), 3U) << "none twice";
}

TEST(TrainingRunTest, RatesCountTokensAndTargetsAndNoTimeOfValidation) {
  const testing::TemporaryFolder folder;
  Decoder decoder(testing::tiny_config("llama"), 1);
  SequenceBatches data({{{1, 5, 9, 4, 2}, 3}, {{1, 6, 3, 2}, 1}}, {.batch_size = 2});
  SlowBatches validation;
  TrainingSetup setup = testing::tiny_setup(folder / "model");
  setup.run.validate_every = 1;
  TrainingJob job = plain_job(decoder, data, setup);
  job.validation = &validation;
  std::string note;
  const TrainingOutcome outcome =
      run_training(job, [&](const Progress& progress) { note = std::string(progress.note); });
  EXPECT_LT(outcome.seconds, std::chrono::duration<double>(12 * SlowBatches::kPause).count());
  EXPECT_THAT(note, HasSubstr(" tokens/s"));

  // Seven input tokens, of which five have a target, in each step.
  const Json last = testing::log_lines(folder / "model", "step").back();
  EXPECT_EQ(last["step"], 12);
  const double seconds = last["seconds"];
  // The log rounds the rates to one per second and the seconds to a millisecond.
  const double rounding = 0.5 * seconds + 1e-3 * last["tokens_per_second"].get<double>();
  EXPECT_NEAR(last["tokens_per_second"].get<double>() * seconds, 12 * 7, rounding);
  EXPECT_NEAR(last["targets_per_second"].get<double>() * seconds, 12 * 5, rounding);
}

TEST(TrainingRunTest, RefusesAStateThatIsBroken) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  testing::train(options);
  const fs::path state = folder / "model/training_state.safetensors";
  fs::resize_file(state, fs::file_size(state) - 10);
  options.setup.run.resume = true;
  EXPECT_THROW(testing::train(options), FormatError);

  fs::copy_file(folder / "model/model.safetensors", state, fs::copy_options::overwrite_existing);
  EXPECT_THAT([&] { testing::train(options); },
              ThrowsMessage<FormatError>(HasSubstr("must have the format "
                                                   "'lime-training-state/1', got 'pt'")));
}

TEST(TrainingRunTest, SaysWhereItMayNotWrite) {
  const testing::TemporaryFolder folder;
  EXPECT_THAT([&] { testing::train(testing::tiny_run(folder / "no/such/parent")); },
              ThrowsMessage<IoError>(HasSubstr(
                  "no/such/parent': the folder cannot be created: No such file or directory")));
  testing::write_text(folder / "file", "");
  EXPECT_THAT([&] { testing::train(testing::tiny_run(folder / "file")); },
              ThrowsMessage<IoError>(HasSubstr("the folder cannot be created: File exists")));
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ::chmod(folder.path().c_str(), 0500);
  EXPECT_THAT([&] { testing::train(testing::tiny_run(folder / "model")); },
              ThrowsMessage<IoError>(HasSubstr("Permission denied")));
  ::chmod(folder.path().c_str(), 0700);
}

TEST(TrainingRunTest, RefusesModelsThatCannotBe) {
  const testing::TemporaryFolder folder;
  testing::TinyRun options = testing::tiny_run(folder / "model");
  options.setup.model.num_attention_heads = 3;
  EXPECT_THAT([&] { testing::train(options); },
              ThrowsMessage<InvalidArgument>(
                  "hidden_size: must be a multiple of the 3 attention heads, got 16"));
  options.setup.model.num_attention_heads = 2;
  options.setup.model.lime.initializer_scale = -1.0;
  EXPECT_THAT([&] { testing::train(options); },
              ThrowsMessage<InvalidArgument>("router_initializer_scale: must be >= 0, got -1"));
  options.setup.model.lime.initializer_scale = 0.0;
  options.setup.model.initializer_range = 0.0;
  EXPECT_THAT([&] { testing::train(options); },
              ThrowsMessage<InvalidArgument>("initializer_range: must be > 0, got 0"));
  options.setup.model.initializer_range = 0.02;
  options.setup.model.max_position_embeddings = 6;
  EXPECT_THAT(
      [&] { testing::train(options); },
      ThrowsMessage<InvalidArgument>(HasSubstr("max_position_embeddings: must be at least")));
  EXPECT_FALSE(fs::exists(folder / "model"));
}

}  // namespace
}  // namespace lime
