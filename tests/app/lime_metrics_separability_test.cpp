// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics separability.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "app/lime_metrics_fixture.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeMetricsTest;
using testing::ProgramRun;
using testing::read_text;
using testing::SmallCapture;
using testing::write_capture;

constexpr int kRows = 120;

/// Sequences of 4 rows of three alternating words, separable in layer 1 but not in layer 0.
SmallCapture three_words() {
  SmallCapture capture;
  capture.lengths.assign(kRows / 4, 4);
  capture.class_names = {" is", " are", " was"};
  const MatrixF noise = testing::random_matrix(kRows, 6, 1);
  MatrixF apart = testing::random_matrix(kRows, 6, 2);
  for (int i = 0; i < kRows; ++i) {
    capture.class_id.push_back(static_cast<std::int16_t>(i % 3));
    apart(i, i % 3) += 20.0F;
  }
  capture.activations = {{"values", 0, noise}, {"values", 1, apart}};
  return capture;
}

class LimeMetricsSeparabilityTest : public LimeMetricsTest {
 protected:
  LimeMetricsSeparabilityTest() { write_capture(folder_ / "capture.h5", three_words()); }
  std::string refusal_of(const SmallCapture& capture, const std::string& options = "") const {
    write_capture(folder_ / "other.h5", capture);
    return refusal("separability other.h5 " + options, 1);
  }
};

TEST_F(LimeMetricsSeparabilityTest, SaysInWhichLayerWordsAreApart) {
  const ProgramRun result = run("separability --label small -o words.json -o words.csv");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("small: 120 rows (' is' 40, ' are' 40, ' was' 40)"));
  EXPECT_THAT(result.output, HasSubstr("values, converged (dim 6, majority 0.333)"));
  EXPECT_THAT(read_text(folder_ / "words.csv"),
              HasSubstr("small,values,1,converged,words,1.0,0.0,5"));
  const Json table = rows("separability --layer 1");
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(table.at(0).at("mean"), 1.0);
  EXPECT_EQ(table.at(0).at("confusion"), Json::parse("[[40,0,0],[0,40,0],[0,0,40]]"));
  EXPECT_EQ(run("rerun words.json").status, 0);
}

TEST_F(LimeMetricsSeparabilityTest, HasMethodsAndControlsAsBlocks) {
  const ProgramRun result = run("separability --method both --control shuffled,random-features");
  EXPECT_EQ(result.status, 0) << result.errors;
  for (const std::string heading :
       {"values, converged (", "values, converged, shuffled (",
        "values, converged, random-features", "values, lime-code (",
        "values, lime-code, shuffled (", "values, lime-code, random-features"}) {
    EXPECT_THAT(result.output, HasSubstr(heading));
  }
}

TEST_F(LimeMetricsSeparabilityTest, ComparesCapturesOfTheSameWordsOnly) {
  write_capture(folder_ / "same.h5", three_words());
  EXPECT_EQ(run("separability capture.h5 same.h5 --compare first").status, 0);
  SmallCapture elsewhere = three_words();
  elsewhere.first_token = 7;
  write_capture(folder_ / "elsewhere.h5", elsewhere);
  EXPECT_THAT(refusal("separability capture.h5 elsewhere.h5 --compare first", 1),
              HasSubstr("elsewhere"));
}

TEST_F(LimeMetricsSeparabilityTest, RefusesCapturesWithoutClassesToTellApart) {
  SmallCapture capture = three_words();
  capture.class_id.assign(kRows, 1);
  EXPECT_EQ(refusal_of(capture),
            "lime-metrics: 'other.h5': separability needs at least 2 classes with rows, got only "
            "' are'; capture again with more words\n");
  capture.class_names.clear();
  capture.class_id.clear();
  write_capture(folder_ / "none.h5", capture);
  EXPECT_EQ(refusal("separability none.h5", 1),
            "lime-metrics: 'none.h5': has no classes to separate; capture again with --only ' is, "
            "are, was, were'\n");
}

TEST_F(LimeMetricsSeparabilityTest, NamesTheClassWithFewerRowsThanFolds) {
  SmallCapture capture = three_words();
  int kept = 0;
  for (std::int16_t& id : capture.class_id) {
    if (id == 2 && ++kept > 3) id = 0;
  }
  EXPECT_EQ(
      refusal_of(capture),
      "lime-metrics: 'other.h5': --folds: each class needs at least 5 rows, one per fold, but "
      "class ' was' has 3; use fewer folds or capture more text\n");
}

TEST_F(LimeMetricsSeparabilityTest, NamesTheFirstValueThatIsNotFinite) {
  SmallCapture capture = three_words();
  capture.activations[1].rows(7, 2) = std::numeric_limits<float>::quiet_NaN();
  // Row 7 is the fourth token of the second sequence, for any selected words.
  write_capture(folder_ / "nan.h5", capture);
  for (const std::string options : {"", "--words is,are", "--method lime-code"}) {
    EXPECT_EQ(refusal("separability nan.h5 " + options, 1),
              "lime-metrics: 'nan.h5': site 'values', layer 1: rows must be finite, got nan in "
              "sequence 1, position 3, dimension 2; check the model for overflow, or capture in a "
              "wider type\n");
  }
}

TEST_F(LimeMetricsSeparabilityTest, RefusesWordsThatWereNotCaptured) {
  EXPECT_EQ(refusal("separability --words were,is", 1),
            "lime-metrics: class: unknown class in 'capture.h5' (its classes: ' is', ' are', ' "
            "was'), got 'were'\n");
}

TEST_F(LimeMetricsSeparabilityTest, RefusesUnfitOptions) {
  const std::string see = "; see lime-metrics separability --help\n";
  EXPECT_EQ(refusal("separability --folds 1", 2),
            "lime-metrics: --folds: must be >= 2, got 1" + see);
  EXPECT_EQ(refusal("separability --layer ''", 2),
            "lime-metrics: --layer: expected all or a list such as 0,3,8-15, got ''" + see);
  EXPECT_EQ(refusal("separability --c 0", 2),
            "lime-metrics: --c: must be > 0 and finite, got 0" + see);
  EXPECT_THAT(refusal("separability --group sequence --folds 31", 1),
              HasSubstr("lime-metrics: 'capture.h5': --folds: "));
}

TEST_F(LimeMetricsSeparabilityTest, SaysHowMuchMemoryItNeedsBeforeItStarts) {
  EXPECT_THAT(refusal("separability --memory-limit 1MiB", 1), HasSubstr("set --memory-limit to"));
}

}  // namespace
}  // namespace lime
