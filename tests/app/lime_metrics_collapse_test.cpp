// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics collapse, and of the options that omit massive rows and outlier
// dimensions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "app/lime_metrics_fixture.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeMetricsTest;
using ::testing::Not;
using testing::random_matrix;
using testing::SmallCapture;
using testing::write_capture;

constexpr std::int64_t kCollapseSequences = 8;
constexpr std::int64_t kCollapseTokens = 12;
constexpr std::int64_t kCollapseDim = 40;

/// Three layers; in the last two the first token of every sequence is massive, in dimension 5.
SmallCapture massive_capture() {
  SmallCapture capture;
  capture.lengths.assign(kCollapseSequences, kCollapseTokens);
  for (const int layer : {0, 1, 2}) {
    MatrixF rows = random_matrix(kCollapseSequences * kCollapseTokens, kCollapseDim,
                                 static_cast<std::uint64_t>(layer));
    for (std::int64_t s = 0; s < kCollapseSequences && layer > 0; ++s)
      rows(s * kCollapseTokens, 5) += 400.0F;
    capture.activations.push_back({"hidden", layer, rows});
  }
  return capture;
}

/// The same without the first token of every sequence.
SmallCapture others_of(const SmallCapture& capture) {
  SmallCapture others = capture;
  others.lengths.assign(kCollapseSequences, kCollapseTokens - 1);
  for (SmallCapture::Activation& activation : others.activations) {
    MatrixF rows(kCollapseSequences * (kCollapseTokens - 1), kCollapseDim);
    for (std::int64_t s = 0; s < kCollapseSequences; ++s) {
      rows.middleRows(s * (kCollapseTokens - 1), kCollapseTokens - 1) =
          activation.rows.middleRows(s * kCollapseTokens + 1, kCollapseTokens - 1);
    }
    activation.rows = rows;
  }
  return others;
}

class LimeMetricsCollapseTest : public LimeMetricsTest {
 protected:
  void write(const std::string& name, const SmallCapture& capture) const {
    write_capture(folder_ / name, capture);
  }
  static std::vector<double> means(const Json& rows) {
    std::vector<double> values;
    for (const Json& row : rows) {
      if (row.contains("mean")) values.push_back(row.at("mean").get<double>());
    }
    return values;
  }
};

TEST_F(LimeMetricsCollapseTest, SaysWhatIsInEachRangeOfLayers) {
  write("capture.h5", massive_capture());
  const std::string output = run("collapse").output;
  EXPECT_THAT(output, HasSubstr("layer 0: no collapse\n  effective rank "));
  EXPECT_THAT(output,
              HasSubstr("layers 1 to 2: massive tokens; the rest does not collapse\n  massive "
                        "tokens carry 99.7 % of the trace"));
  EXPECT_THAT(output, HasSubstr("8 of 96 tokens, all at position 0"));
  EXPECT_THAT(output, HasSubstr("what this cannot say:"));
  const Json found = rows("collapse");
  ASSERT_EQ(found.size(), 5U);  // three layers and two ranges
  EXPECT_EQ(found[0].at("verdict"), "none");
  EXPECT_EQ(found[1].at("massive_tokens"), kCollapseSequences);
  EXPECT_EQ(found[1].at("massive_position"), 0);
  EXPECT_EQ(found[1].at("massive_dimension"), 5);
  EXPECT_NEAR(found[1].at("massive_value").get<double>(), 400.0, 5.0);
  EXPECT_LT(found[1].at("participation").get<double>(), 1.1);
  EXPECT_GT(found[1].at("participation_rest").get<double>(), 20.0);
  EXPECT_EQ(found[4].at("kind"), "range");
  EXPECT_EQ(found[4].at("layer"), 1);
  EXPECT_EQ(found[4].at("last_layer"), 2);
  for (const char* format : {"csv", "latex"}) {
    EXPECT_EQ(run(std::string("collapse --format ") + format).status, 0) << format;
  }
}

TEST_F(LimeMetricsCollapseTest, GivesTheSameRowsForAnyNumberOfThreads) {
  write("capture.h5", massive_capture());
  EXPECT_EQ(difference(rows("collapse --threads 1"), rows("collapse --threads 3")), "");
}

TEST_F(LimeMetricsCollapseTest, TellsArchitectureFromTraining) {
  write("capture.h5", massive_capture());
  SmallCapture random = massive_capture();
  write("same.h5", random);
  EXPECT_THAT(run("collapse capture.h5 --random same.h5").output,
              HasSubstr("random weights show massive tokens too: architecture, not training"));
  for (SmallCapture::Activation& activation : random.activations) {
    activation.rows = random_matrix(kCollapseSequences * kCollapseTokens, kCollapseDim, 9);
  }
  write("random.h5", random);
  EXPECT_THAT(run("collapse capture.h5 --random random.h5").output,
              HasSubstr("random weights show no massive tokens: training"));
  random.activations.pop_back();
  write("shorter.h5", random);
  EXPECT_THAT(run("collapse capture.h5 --random shorter.h5").errors,
              HasSubstr("--random: 'shorter.h5' lacks site 'hidden', or some of its layers"));
}

TEST_F(LimeMetricsCollapseTest, RefusesInALine) {
  SmallCapture capture = massive_capture();
  capture.activations[1].rows(30, 7) = std::numeric_limits<float>::infinity();
  write("capture.h5", capture);
  EXPECT_THAT(run("collapse").errors,
              HasSubstr("layer 1: collapse: sequence 2: rows must be finite, got inf in row 6, "
                        "dimension 7; check the model for overflow"));
  capture = massive_capture();
  capture.rows = RowKind::kMean;
  capture.lengths.assign(kCollapseSequences * kCollapseTokens, 1);
  write("means.h5", capture);
  EXPECT_THAT(run("collapse means.h5").errors,
              HasSubstr("collapse needs every token of a sequence"));
  EXPECT_THAT(run("collapse --rank-share 2").errors, HasSubstr("--rank-share: must be in (0, 1)"));
  EXPECT_THAT(run("collapse --compare first").errors, HasSubstr("--compare"));
}

TEST_F(LimeMetricsCollapseTest, MeasuresOneSequenceAndOneLayer) {
  SmallCapture capture = massive_capture();
  capture.lengths = {kCollapseTokens};
  capture.activations.resize(1);
  capture.activations[0].rows = random_matrix(kCollapseTokens, kCollapseDim, 1);
  write("capture.h5", capture);
  const std::string output = run("collapse").output;
  EXPECT_THAT(output, HasSubstr("layer 0: no collapse"));
  EXPECT_THAT(output, HasSubstr("one sequence: a common direction cannot be told"));
  EXPECT_THAT(output, HasSubstr("one layer"));
}

TEST_F(LimeMetricsCollapseTest, MeasuresWithoutTokenIdsAndWithOtherLengths) {
  SmallCapture capture = massive_capture();
  capture.first_token = -1000000;  // unknown
  capture.lengths = {2, 22, 12, 12, 9, 15, 3, 21};
  capture.activations.resize(1);
  write("capture.h5", capture);
  const Json found = rows("collapse");
  EXPECT_EQ(found[0].at("verdict"), "none");
  EXPECT_EQ(found[0].at("sequences"), 8);
  EXPECT_FALSE(found[0].contains("massive_token"));
  capture.lengths.back() = 20;
  capture.lengths.push_back(1);
  write("single.h5", capture);
  const Json single = rows("collapse single.h5");
  EXPECT_EQ(single[0].at("sequences"), 8) << "the one of one token is skipped";
  capture.lengths = {96};
  capture.rows = RowKind::kTokens;
  capture.activations[0].rows.setZero();
  write("zero.h5", capture);
  EXPECT_THAT(refusal("collapse zero.h5", 1), HasSubstr("layer 0: collapse: all rows are zero"));
}

TEST_F(LimeMetricsCollapseTest, SkipMassiveOmitsTheRowsInEveryMeasurement) {
  write("capture.h5", massive_capture());
  write("others.h5", others_of(massive_capture()));
  for (const std::string metric :
       {"entropy --preset raw", "entropy", "geometry --measure rank,similarity"}) {
    const std::vector<double> skipped = means(rows(metric + " capture.h5 --skip-massive 4"));
    const std::vector<double> others = means(rows(metric + " others.h5"));
    ASSERT_EQ(skipped.size(), others.size());
    for (std::size_t i = 0; i < skipped.size(); ++i) {
      // Means and deviations of lime-code are computed again, in another order than stored ones.
      EXPECT_NEAR(skipped[i], others[i], 1e-12 * std::abs(others[i])) << metric;
    }
  }
  const Json skipped = rows("similarity capture.h5 --skip-massive 4 --measure cka");
  const Json others = rows("similarity others.h5 --measure cka");
  ASSERT_EQ(skipped.size(), others.size());
  for (std::size_t i = 0; i < skipped.size(); ++i) {
    EXPECT_EQ(skipped[i].at("cka_debiased"), others[i].at("cka_debiased"));
  }
  EXPECT_THAT(run("entropy --preset raw --skip-massive 4").output,
              HasSubstr(": 8 of 96 rows omitted, norm >= 4 times the median of a layer: "));
  EXPECT_THAT(run("entropy --skip-massive 1").errors, HasSubstr("--skip-massive: must be > 1"));
  EXPECT_THAT(run("entropy --skip-massive 1.0001").errors,
              HasSubstr("--skip-massive: must leave every sequence at least 2 rows"));
}

/// The same with a logit lens of random measures.
SmallCapture massive_lens() {
  SmallCapture capture = massive_capture();
  for (const int layer : {0, 1, 2}) {
    const MatrixF rows = random_matrix(kCollapseSequences * kCollapseTokens, 5,
                                       100 + static_cast<std::uint64_t>(layer));
    capture.activations.push_back({"logit_lens", layer, rows.cwiseAbs()});
  }
  return capture;
}

TEST_F(LimeMetricsCollapseTest, SkipMassiveOmitsTokensOfTheLens) {
  write("capture.h5", massive_lens());
  // Of every sequence the first token is massive.
  EXPECT_EQ(difference(rows("lens --skip-massive 4"), rows("lens --skip-tokens 1")), "");
  EXPECT_NE(difference(rows("lens --skip-massive 4"), rows("lens")), "");
  EXPECT_THAT(run("lens --skip-massive 4").output, HasSubstr(": 8 of 96 rows omitted, norm >= 4"));
  SmallCapture alone = massive_lens();
  alone.activations.erase(alone.activations.begin(), alone.activations.begin() + 3);
  write("alone.h5", alone);
  EXPECT_THAT(run("lens alone.h5 --skip-massive 4").errors,
              HasSubstr("--skip-massive: 'alone.h5' has no site hidden in the selected layers"));
  EXPECT_THAT(run("lens --skip-dims 3").errors, HasSubstr("--skip-dims"));
}

TEST_F(LimeMetricsCollapseTest, SkipMassiveAndSkipDimsApplyToSeries) {
  write("m-step-1.h5", massive_lens());
  SmallCapture other = massive_lens();
  other.activations[0].rows *= 2.0F;
  write("m-step-2.h5", other);
  for (const std::string skip : {" --skip-massive 4", " --skip-dims 5-5"}) {
    const Json series = rows("series m-step-1.h5 m-step-2.h5 --metric entropy,drift" + skip);
    const Json entropies = rows("entropy m-step-1.h5" + skip);
    ASSERT_EQ(entropies.size(), 3U);
    for (const Json& row : entropies) {
      const auto found =
          rows_with(series, {{"quantity", "entropy"}, {"step", 1}, {"layer", row.at("layer")}});
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(found[0].at("mean"), row.at("mean")) << skip;
    }
    const Json map = rows("similarity m-step-1.h5 m-step-2.h5 --maps between --measure cka" + skip);
    const auto drift =
        rows_with(series, {{"reference", "first"}, {"layer", 0}, {"measure", "cka"}});
    ASSERT_EQ(drift.size(), 1U);
    EXPECT_EQ(drift[0].at("mean"), map[0].at("cka")) << skip;
  }
  EXPECT_THAT(run("series m-step-1.h5 m-step-2.h5 --skip-massive 4").output,
              HasSubstr(": 8 of 96 rows omitted"));
  EXPECT_THAT(run("series m-step-1.h5 m-step-2.h5 --metric lens --skip-dims 3").errors,
              HasSubstr("--skip-dims: does not apply to --metric lens"));
  EXPECT_THAT(run("series m-step-1.h5 m-step-2.h5 --metric attention --skip-massive 4").errors,
              HasSubstr("--skip-massive: does not apply to --metric attention"));
  ASSERT_EQ(run("entropy m-step-1.h5 m-step-2.h5 -o m-step-3.json").status, 0);
  EXPECT_THAT(run("series m-step-3.json --skip-massive 4").errors,
              HasSubstr("--skip-massive: applies to captures"));
}

TEST_F(LimeMetricsCollapseTest, SkipDimsOmitsDimensions) {
  SmallCapture capture = massive_capture();
  write("capture.h5", capture);
  for (SmallCapture::Activation& activation : capture.activations) {
    MatrixF rows(activation.rows.rows(), kCollapseDim - 1);
    rows << activation.rows.leftCols(5), activation.rows.rightCols(kCollapseDim - 6);
    activation.rows = rows;
  }
  write("without.h5", capture);
  const std::vector<double> expected = means(rows("entropy without.h5 --preset raw"));
  EXPECT_EQ(means(rows("entropy capture.h5 --preset raw --skip-dims 5-5")), expected);
  const std::vector<double> largest =
      means(rows("entropy capture.h5 --preset raw --skip-dims 1 --layer 1,2"));
  EXPECT_EQ(largest, std::vector<double>(expected.begin() + 1, expected.end()));
  EXPECT_THAT(run("entropy --preset raw --skip-dims 5-5").output,
              HasSubstr(": dimensions omitted: 5"));
  EXPECT_THAT(run("entropy --skip-dims 40-41").errors,
              HasSubstr("--skip-dims: site 'hidden' of 'capture.h5' has dimensions 0 to 39"));
  EXPECT_THAT(run("entropy --skip-dims 40").errors,
              HasSubstr("--skip-dims: must leave at least one of the 40 dimensions"));
}

TEST_F(LimeMetricsCollapseTest, EveryMeasurementNotesRowsThatCarryTheTrace) {
  write("capture.h5", massive_capture());
  const std::string note = ", hidden: in layers 1-2 a few rows carry more than half of the trace";
  for (const char* metric :
       {"entropy --preset raw", "geometry --measure rank", "similarity", "tsne --perplexity 5"}) {
    EXPECT_THAT(run(metric).output, HasSubstr(note)) << metric;
  }
  EXPECT_THAT(run("entropy --preset raw --skip-massive 4").output, Not(HasSubstr(note)));
  EXPECT_THAT(
      run("geometry --measure massive").output,
      HasSubstr(", hidden, layers 1-2: massive tokens: 8 of 96 rows, 8 at position 0, 8 with "
                "their largest magnitude in dimension 5 (up to 40"));
}

}  // namespace
}  // namespace lime
