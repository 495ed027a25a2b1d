// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics attention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/lime_metrics_fixture.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::ProgramRun;

class LimeMetricsAttentionTest : public testing::LimeMetricsTest {
 protected:
  std::string capture_ = "'" + testing::golden_file("attention/capture.h5").string() + "'";
};

TEST_F(LimeMetricsAttentionTest, PrintsALinePerLayerAndHead) {
  const ProgramRun result = run("attention " + capture_ + " --label LIMe");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("layer  head"));
  EXPECT_THAT(result.output, HasSubstr("\n    3  mean  "));
  EXPECT_THAT(result.output, HasSubstr("\n even "));
}

TEST_F(LimeMetricsAttentionTest, AResultIsRepeatedFromItsProvenance) {
  for (const std::string options : {"", " --sequence 1 --query 4 --layer 2-3 --head 0,2"}) {
    ASSERT_EQ(run("attention " + capture_ + options + " -o a.json --quiet").status, 0) << options;
    const ProgramRun again = run("rerun a.json");
    EXPECT_EQ(again.status, 0) << again.errors;
    EXPECT_THAT(again.output + again.errors, HasSubstr("no differences"));
  }
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
            "capture again with --sites values,hidden,attn.hook_pattern\n");
  EXPECT_THAT(refusal("attention " + capture_ + " --sequence 4", 1),
              HasSubstr("sequence: must be in 0 to 3, the sequences of '"));
  EXPECT_THAT(refusal("attention " + capture_ + " --head 4", 1),
              HasSubstr("has heads 0 to 3, got 4"));
  EXPECT_THAT(refusal("attention " + capture_ + " --layer 4", 1),
              HasSubstr("attn.hook_pattern: has no layer 4 (available: 0-3)"));
  EXPECT_THAT(refusal("attention " + capture_ + " --query 4", 2),
              HasSubstr("query: needs a sequence; add --sequence"));
}

}  // namespace
}  // namespace lime
