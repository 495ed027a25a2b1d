// SPDX-License-Identifier: Apache-2.0
// Attention and the logit lens measured inside the passes equal those of a capture.
#include <gtest/gtest.h>

#include "analysis/attention/attention_analysis.h"
#include "analysis/entropy/entropy_analysis.h"
#include "analysis/lens/lens_analysis.h"
#include "measure/measure_fixture.h"

namespace lime {
namespace {

using testing::expect_equal_rows;

class MeasureAttentionTest : public testing::MeasureTest {};

TEST_F(MeasureAttentionTest, EqualsTheCapture) {
  AttentionOptions options;
  options.skip_queries = 2;
  const Results expected = captured(prepare_attention, options, {"attn.hook_profile"});
  expect_equal_rows(measured("attention skip-queries=2"), expected, 0.0);
  use_device();
  expect_equal_rows(measured("attention skip-queries=2"), expected, 1e-6);
}

TEST_F(MeasureAttentionTest, EqualsTheCaptureForSomeHeadsAndLengths) {
  use_lines();
  AttentionOptions options;
  options.head = {1};
  const Results expected = captured(prepare_attention, options, {"attn.hook_profile"});
  expect_equal_rows(measured("attention head=1"), expected, 0.0);
  use_device();
  expect_equal_rows(measured("attention head=1"), expected, 1e-6);
}

TEST_F(MeasureAttentionTest, RefusesWhatNeedsStoredPatterns) {
  EXPECT_EQ(refusal("attention sequence=1"),
            "measure: attention cannot have the option 'sequence'; it is of one stored sequence: "
            "store a capture, and use lime-metrics attention");
  EXPECT_EQ(refusal("attention head=9"), "head: 'model' has heads 0 to 3, got 9");
  EXPECT_EQ(refusal("attention skip-queries=20"),
            "measure: sequence 0 has 20 tokens, and skip-queries of attention omits 20; use a "
            "smaller skip-queries, or measure without the sequence");
  options_.sites = {"hidden"};
  EXPECT_EQ(refusal("attention"),
            "sites: the measurements read sites of their own (attn.hook_profile); omit --sites");
}

class MeasureLensTest : public testing::MeasureTest {};

TEST_F(MeasureLensTest, EqualsTheCapture) {
  use_lines();
  LensOptions options;
  options.captures.skip_tokens = 1;
  const Results expected = captured(prepare_lens, options, {"logit_lens"});
  expect_equal_rows(measured("lens skip-tokens=1"), expected, 0.0);
  use_device();
  expect_equal_rows(measured("lens skip-tokens=1"), expected, 1e-6);
}

TEST_F(MeasureLensTest, RefusesTheTunedLens) {
  EXPECT_EQ(refusal("lens ridge=1"),
            "measure: lens cannot have the option 'ridge'; the tuned lens is fitted to stored "
            "activations: store a capture, and use lime-metrics lens");
}

TEST_F(MeasureLensTest, MeasuresEverythingInOneRun) {
  measure_.measure = {"entropy,geometry,attention,lens"};
  const MeasureResult result = run_measure(options_, measure_);
  ASSERT_EQ(result.outputs.size(), 4U);
  EXPECT_EQ(result.outputs[2], folder_ / "results.attention.json");
  expect_equal_rows(read_results(result.outputs[0]),
                    captured(prepare_entropy, EntropyAnalysisOptions{}), 0.0);
  expect_equal_rows(read_results(result.outputs[3]),
                    captured(prepare_lens, LensOptions{}, {"logit_lens"}), 0.0);
}

}  // namespace
}  // namespace lime
