// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics attention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/lime_metrics_fixture.h"
#include "checkpoint/checkpoint.h"
#include "metrics/attention/attention_profile.h"
#include "store/capture_reader.h"

namespace lime {
namespace {

using testing::golden_file;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::SmallCapture;

class LimeMetricsAttentionTest : public testing::LimeMetricsTest {
 protected:
  std::string capture_ = "'" + testing::golden_file("attention/capture.h5").string() + "'";
};

TEST_F(LimeMetricsAttentionTest, PrintsALinePerLayerAndHead) {
  const ProgramRun result = run("attention " + capture_ + " --label LIMe");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("layer  head"));
  EXPECT_THAT(result.output, HasSubstr("\n      3  mean  "));
  EXPECT_THAT(result.output, HasSubstr("\nuniform "));
}

TEST_F(LimeMetricsAttentionTest, AResultIsRepeatedFromItsProvenance) {
  for (const std::string options : {"", " --sequence 1 --query 4 --layer 2-3 --head 0,2"}) {
    ASSERT_EQ(run("attention " + capture_ + options + " -o a.json --quiet").status, 0) << options;
    const ProgramRun again = run("rerun a.json");
    EXPECT_EQ(again.status, 0) << again.errors;
    EXPECT_THAT(again.output + again.errors, HasSubstr("no differences"));
  }
}

TEST_F(LimeMetricsAttentionTest, ProfilesAloneGiveTheSummariesOfPatterns) {
  const CaptureReader patterns(testing::golden_file("attention/capture.h5"));
  SmallCapture profiles;
  profiles.config = patterns.config();
  for (const int layer : patterns.layers("attn.hook_pattern")) {
    MatrixF rows(patterns.num_rows(), 4 * 6);
    for (std::int64_t i = 0; i < patterns.num_sequences(); ++i) {
      const MatrixF of_heads = patterns.read_sequence("attn.hook_pattern", layer, i);
      const Eigen::Index tokens = of_heads.rows();
      if (layer == 0) profiles.lengths.push_back(tokens);
      for (Eigen::Index h = 0; h < 4; ++h) {
        const MatrixF pattern = of_heads.middleCols(h * of_heads.cols() / 4, tokens);
        rows.block(patterns.offsets()[static_cast<std::size_t>(i)], h * 6, tokens, 6) =
            attention_profile(pattern).cast<float>();
      }
    }
    profiles.activations.push_back({"attn.hook_profile", layer, rows});
  }
  testing::write_capture(folder_ / "profiles.h5", profiles);
  const Json expected = rows("attention " + capture_ + " --label x --sink-threshold 0.2");
  const Json found = rows("attention profiles.h5 --label x --sink-threshold 0.2");
  ASSERT_EQ(found.size(), expected.size());
  int sinks = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].at("measure"), expected[i].at("measure"));
    EXPECT_NEAR(found[i].at("mean").get<double>(), expected[i].at("mean").get<double>(), 1e-6);
    sinks += found[i].at("measure") == "sink_rate" ? 1 : 0;
  }
  EXPECT_EQ(sinks, 4);
  EXPECT_THAT(refusal("attention profiles.h5 --sequence 0", 1),
              HasSubstr("contains summaries of attention, but no patterns; capture again with "
                        "--sites attn.hook_pattern"));
  EXPECT_THAT(refusal("entropy profiles.h5", 1), HasSubstr("which is not a representation"));
}

TEST_F(LimeMetricsAttentionTest, SummarisesTheLogitLens) {
  testing::SmallCapture capture;
  capture.lengths = {3, 4};
  MatrixF rows(7, 5);
  rows << 1, 2, 1, 3, 1, 3, 4, 0, 5, 9, 8, 8, 8, 0, 0,  //
      2, 1, 1, 1, 1, 4, 1, 1, 1, 1, 6, 1, 1, 1, 4, 8, 8, 8, 0, 0;
  capture.activations.push_back({"logit_lens", 0, rows});
  testing::write_capture(folder_ / "lens.h5", capture);
  const Json found = this->rows("lens lens.h5");
  ASSERT_EQ(found.size(), 6U);
  const std::vector<double> means = {3.0, 2.0, 0.75, 2.5, 3.5, (0.5 + 2.0 / 3.0) / 2.0};
  for (std::size_t m = 0; m < 6; ++m) EXPECT_EQ(found.at(m).at("mean"), means[m]) << found.at(m);
  EXPECT_THAT(run("lens lens.h5").output, HasSubstr("kl_to_final"));
  SmallCapture with_short = capture;
  with_short.lengths = {3, 1, 4};
  MatrixF& longer = with_short.activations[0].rows;
  longer.resize(8, 5);
  longer << rows.topRows(3), Eigen::RowVectorXf::Constant(5, 9.0F), rows.bottomRows(4);
  testing::write_capture(folder_ / "short.h5", with_short);
  EXPECT_EQ(difference(this->rows("lens short.h5 --label lens"), found), "");
  EXPECT_THAT(run("lens short.h5").output,
              HasSubstr("short: skipped 1 sequence of fewer than 2 tokens"));
  EXPECT_THAT(run("lens short.h5 --skip-tokens 1").output, HasSubstr("short: skipped 1 sequence"));
  testing::write_capture(folder_ / "plain.h5", testing::example_capture());
  EXPECT_EQ(refusal("lens plain.h5", 1),
            "lime-metrics: 'plain.h5': contains no logit lens (its sites: values, hidden); capture "
            "again with --sites hidden,logit_lens\n");
}

TEST_F(LimeMetricsAttentionTest, EveryFormatIsWritten) {
  const ProgramRun result =
      run("attention " + capture_ + " --sequence 0 --layer 1 -o a.json -o a.csv -o a.tex -o a.txt");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(testing::read_text(folder_ / "a.csv"), HasSubstr(",weight"));
  EXPECT_THAT(testing::read_text(folder_ / "a.tex"), HasSubstr("\\toprule"));
}

TEST_F(LimeMetricsAttentionTest, RefusesWithOneLine) {
  testing::write_capture(folder_ / "plain.h5", testing::example_capture());
  EXPECT_EQ(refusal("attention plain.h5", 1),
            "lime-metrics: 'plain.h5': contains no attention patterns (its sites: values, hidden); "
            "capture again with --sites values,hidden,attn.hook_pattern, or with attn.hook_profile "
            "for summaries alone\n");
  EXPECT_THAT(refusal("attention " + capture_ + " --sequence 4", 1),
              HasSubstr("--sequence: must be in 0 to 3, the sequences of '"));
  EXPECT_THAT(refusal("attention " + capture_ + " --head 4", 1),
              HasSubstr("has heads 0 to 3, got 4"));
  EXPECT_THAT(refusal("attention " + capture_ + " --layer 4", 1),
              HasSubstr("attn.hook_pattern: layer 4 does not exist (available: 0-3)"));
  EXPECT_THAT(refusal("attention " + capture_ + " --query 4", 2),
              HasSubstr("--query: needs a sequence; add --sequence"));
}

TEST_F(LimeMetricsAttentionTest, TunedLensEqualsNumpyAndTransformers) {
  const Hdf5File golden(golden_file("tuned_lens.h5"));
  const std::string model = golden_file("model/llama-plain").string();
  SmallCapture capture;
  capture.lengths = golden.read<std::int64_t>("lengths");
  capture.checkpoint_sha256 = Checkpoint::open(model).sha256();
  for (const int layer : {0, 1, 2}) {
    capture.activations.push_back(
        {"hidden", layer, golden.read_matrix(fmt::format("hidden/{}", layer))});
  }
  testing::write_capture(folder_ / "tuned.h5", capture);
  const Json found = rows("lens tuned.h5 --ridge 0.01 --tuned " + model);
  ASSERT_EQ(found.size(), 3U * 6U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].at("site"), "tuned_lens");
    // Logits are in float32.
    EXPECT_NEAR(found[i].at("mean").get<double>(),
                golden.read<double>(fmt::format("expected/{}", i / 6)).at(i % 6), 2e-5)
        << found[i].dump();
  }
  EXPECT_EQ(
      refusal("lens tuned.h5 --layer 0 --max-sequences 1 --tuned " + model, 1),
      "lime-metrics: 'tuned.h5': --tuned needs at least 2 sequences: one to fit the lens, one to "
      "measure it\n");
  EXPECT_THAT(
      refusal("lens tuned.h5 --tuned " + golden_file("model/llama-linear-rope").string(), 1),
      HasSubstr("was captured from another checkpoint"));
  capture.activations.pop_back();
  testing::write_capture(folder_ / "first.h5", capture);
  EXPECT_THAT(refusal("lens first.h5 --tuned " + model, 1),
              HasSubstr("lacks hidden of layer 2, the last one; capture again with --layers all"));
}

}  // namespace
}  // namespace lime
