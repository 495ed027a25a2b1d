// SPDX-License-Identifier: Apache-2.0
// Captures with random weights and with the tokens of another capture, and lime-metrics collapse
// against them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/lime_capture_fixture.h"
#include "core/json.h"
#include "store/capture_reader.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeCaptureTest;
using testing::ProgramRun;
using testing::run_command;

class RandomWeightsTest : public LimeCaptureTest {
 protected:
  void capture(const std::string& arguments) const {
    const ProgramRun result =
        run_command("cd '" + folder_.path().string() +
                    "' && " LIME_CAPTURE " --checkpoint model --quiet --sites hidden " + arguments);
    EXPECT_EQ(result.status, 0) << result.errors;
  }
  ProgramRun collapse(const std::string& arguments) const {
    return run_command("cd '" + folder_.path().string() + "' && " LIME_METRICS " collapse " +
                       arguments);
  }
  /// Returns the rows of a layer of a capture.
  std::vector<float> values(const std::string& file, int layer) const {
    const CaptureReader reader(folder_ / file);
    const MatrixF rows = reader.read_rows("hidden", layer, 0, reader.num_rows());
    return {rows.data(), rows.data() + rows.size()};
  }
};

TEST_F(RandomWeightsTest, AreDrawnWithTheSeedForAnyNumberOfThreads) {
  capture("--text text.txt --seq-len 20 --random-weights --seed 5 --threads 1 -o a.h5");
  capture("--text text.txt --seq-len 20 --random-weights --seed 5 --threads 3 -o b.h5");
  capture("--text text.txt --seq-len 20 --random-weights --seed 6 -o other.h5");
  capture("--text text.txt --seq-len 20 --seed 5 -o trained.h5");
  EXPECT_EQ(values("a.h5", 1), values("b.h5", 1));
  EXPECT_NE(values("a.h5", 1), values("other.h5", 1));
  EXPECT_NE(values("a.h5", 1), values("trained.h5", 1));
  const CaptureReader random(folder_ / "a.h5");
  const CaptureReader trained(folder_ / "trained.h5");
  EXPECT_NE(random.info().checkpoint_sha256, trained.info().checkpoint_sha256);
  EXPECT_FALSE(trained.info().options.contains("random_weights"));
  EXPECT_THAT(run("info a.h5").output, HasSubstr("weights           random, seed 5"));
}

TEST_F(RandomWeightsTest, ACaptureIsAnInputOfTokens) {
  testing::write_text(folder_ / "lines.txt", testing::tiny_text(30) + "\n" + testing::tiny_text(9) +
                                                 "\n" + testing::tiny_text(17) + "\n");
  capture("--lines lines.txt -o lines.h5");
  capture("--tokens lines.h5 -o again.h5");
  const CaptureReader first(folder_ / "lines.h5");
  const CaptureReader second(folder_ / "again.h5");
  EXPECT_EQ(first.offsets(), second.offsets());
  EXPECT_EQ(first.rows().token, second.rows().token);
  EXPECT_EQ(values("lines.h5", 1), values("again.h5", 1));
  capture("--lines lines.txt --rows mean -o means.h5");
  expect_refusal("--checkpoint model --tokens means.h5", 1,
                 "--tokens: 'means.h5' contains only some tokens of its sequences; use a capture "
                 "with a row per token");
  expect_refusal("--checkpoint model --tokens lines.h5 --bos always", 1,
                 "--bos: 'lines.h5' is a capture, which contains the first tokens of each "
                 "sequence; omit --bos and --packing");
}

TEST_F(RandomWeightsTest, CollapseComparesWithThem) {
  capture("--text text.txt --seq-len 20 -o model.h5");
  const ProgramRun made =
      collapse("model.h5 --checkpoint model --against-random --seed 3 -o against.json");
  ASSERT_EQ(made.status, 0) << made.errors;
  capture("--text text.txt --seq-len 20 --random-weights --seed 3 -o random.h5");
  EXPECT_EQ(values("model.random-3.h5", 1), values("random.h5", 1));
  // The file is used again, results name it, and rerunning them reproduces them.
  const ProgramRun again =
      collapse("model.h5 --checkpoint model --random model.random-3.h5 --seed 3 -o random.json");
  ASSERT_EQ(again.status, 0) << again.errors;
  const auto result = [&](const char* name) {
    return parse_json(testing::read_text(folder_ / name), name);
  };
  EXPECT_EQ(result("against.json").at("rows"), result("random.json").at("rows"));
  EXPECT_EQ(result("against.json").at("options"), result("random.json").at("options"));
  EXPECT_EQ(
      run_command("cd '" + folder_.path().string() + "' && " LIME_METRICS " rerun against.json")
          .status,
      0);
}

TEST_F(RandomWeightsTest, CollapseRefusesWhatItCannotCompare) {
  capture("--text text.txt --seq-len 20 -o model.h5");
  EXPECT_THAT(collapse("model.h5 --against-random").errors,
              HasSubstr("--against-random: requires --checkpoint, the model whose config"));
  EXPECT_THAT(collapse("model.h5 --against-random --random a.h5 --checkpoint model").errors,
              HasSubstr("--against-random: captures random weights, but --random names"));
  EXPECT_THAT(collapse("model.h5 --against-random --checkpoint none").errors,
              HasSubstr("--against-random: lime-capture ended with status 1"));
  capture("--text text.txt --seq-len 20 -o model.random-0.h5");
  EXPECT_THAT(
      collapse("model.h5 --against-random --checkpoint model").errors,
      HasSubstr("'model.random-0.h5' exists and is not a capture of this config with random "
                "weights of seed 0"));
}

}  // namespace
}  // namespace lime
