// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics blimp: output, and a one-line error for each bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "analysis/write_pairs.h"
#include "app/lime_metrics_fixture.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::PairCapture;

class LimeMetricsBlimpTest : public testing::LimeMetricsTest {
 protected:
  void write(const PairCapture& capture, const std::string& name = "blimp.h5") const {
    testing::write_pairs(folder_ / name, capture);
  }

  static PairCapture scored() {
    PairCapture capture = testing::example_pairs();
    capture.preset = "lm-eval";
    for (std::size_t i = 0; i < capture.num_sentences(); ++i) {
      capture.scores.push_back(i % 2 == 0 ? -20.0 : -21.5);
    }
    return capture;
  }
};

TEST_F(LimeMetricsBlimpTest, PrintsLayersAndPhenomena) {
  write(testing::example_pairs());
  const auto result = run("blimp blimp.h5");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("accuracy of a linear probe"));
  EXPECT_THAT(result.output, HasSubstr("3 tasks, 32 pairs"));
  EXPECT_THAT(result.output, HasSubstr("agreement"));
  EXPECT_THAT(result.output, HasSubstr("mean over tasks"));
}

TEST_F(LimeMetricsBlimpTest, ScoresZeroShot) {
  write(scored());
  const auto result = run("blimp --zero-shot blimp.h5 --by task --judgements judged.jsonl");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("zero-shot accuracy on minimal pairs, preset lm-eval"));
  EXPECT_THAT(result.output, HasSubstr("no ties"));
  EXPECT_TRUE(exists(folder_ / "judged.jsonl"));
  for (const Json& row : rows("blimp --zero-shot blimp.h5")) EXPECT_EQ(row.at("mean"), 1.0);
}

TEST_F(LimeMetricsBlimpTest, ResultsReadBackTheSame) {
  write(scored());
  EXPECT_EQ(difference(rows("blimp blimp.h5 --threads 1"), rows("blimp blimp.h5 --threads 3")), "");
  EXPECT_NE(rows("blimp blimp.h5 --seed 1"), rows("blimp blimp.h5 --seed 2"));
}

TEST_F(LimeMetricsBlimpTest, RefusesBadPairsInOneLine) {
  PairCapture capture = testing::example_pairs();
  capture.lost = {27};
  write(capture, "lost.h5");
  EXPECT_THAT(refusal("blimp lost.h5", 1),
              HasSubstr("task 'two': pair 1 must have one good and one bad sentence"));
  capture = testing::example_pairs();
  capture.layers[0](3, 1) = std::numeric_limits<float>::quiet_NaN();
  write(capture, "nan.h5");
  EXPECT_THAT(refusal("blimp nan.h5 -o out.json --quiet", 1),
              HasSubstr("'nan.h5': site 'hidden', layer 0: rows must be finite, got nan in "
                        "dimension 1 of sequence 3"));
  write(testing::example_pairs());
  EXPECT_THAT(refusal("blimp blimp.h5 --folds 20", 1), HasSubstr("fewer than the 20 folds"));
  EXPECT_THAT(refusal("blimp blimp.h5 --folds 1", 2), HasSubstr("--folds: must be >= 2, got 1"));
  EXPECT_THAT(refusal("blimp blimp.h5 --zero-shot", 1), HasSubstr("contains no log-likelihoods"));
  EXPECT_THAT(refusal("blimp blimp.h5 --task four", 1), HasSubstr("has no task 'four'"));
  EXPECT_THAT(refusal("blimp blimp.h5 --judgements no/such/folder.jsonl", 1),
              HasSubstr("no/such/folder.jsonl"));
  testing::write_capture(folder_ / "text.h5", testing::example_capture());
  EXPECT_THAT(refusal("blimp text.h5", 1), HasSubstr("contains no minimal pairs"));
}

}  // namespace
}  // namespace lime
