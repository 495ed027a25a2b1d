// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "analysis/engine/run_analysis.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::example_capture;
using ::testing::HasSubstr;
using testing::SmallCapture;
using testing::write_capture;

Report analyze_entropy(const EntropyAnalysisOptions& options, const RunOptions& run,
                       const ProgressFn& on_progress = {}, const std::stop_token& stop = {}) {
  return run_analysis(prepare_entropy(options, run), run, on_progress, stop);
}

class AnalyzeEntropyTest : public ::testing::Test {
 protected:
  /// Writes `capture` and sets it as input in the options.
  void use(const SmallCapture& capture, const std::string& name = "capture.h5") {
    write_capture(folder_ / name, capture);
    options_.captures.captures = {folder_ / name};
  }

  double mean_of_row(std::size_t row) {
    return analyze_entropy(options_, {}).results.rows.at(row).number(col::kMean);
  }

  testing::TemporaryFolder folder_;
  EntropyAnalysisOptions options_;
};

TEST_F(AnalyzeEntropyTest, IsLogOfTheNumberOfOrthonormalTokens) {
  SmallCapture capture;
  capture.lengths = {4, 4};
  MatrixF rows(8, 16);
  rows << MatrixF::Identity(4, 16), 3.0F * MatrixF::Identity(4, 16);
  capture.activations.push_back({"hidden", 0, rows});
  use(capture);
  options_.entropy.preset = EntropyPreset::kRaw;
  for (const double alpha : {0.5, 1.0, 2.0, std::numeric_limits<double>::infinity()}) {
    options_.entropy.alpha = {alpha};
    EXPECT_NEAR(mean_of_row(0), std::log(4.0), 1e-12) << "alpha=" << alpha;
  }
}

TEST_F(AnalyzeEntropyTest, IsZeroWhenAllTokensAreEqual) {
  SmallCapture capture;
  capture.lengths = {5};
  capture.activations.push_back({"hidden", 0, MatrixF::Ones(5, 3)});
  use(capture);
  options_.entropy.preset = EntropyPreset::kSeqVcr;
  // alpha = 1: rounding errors in zero eigenvalues contribute to first order.
  EXPECT_NEAR(mean_of_row(0), 0.0, 1e-12);
}

TEST_F(AnalyzeEntropyTest, CountsSequencesOverAllLayersAndSites) {
  use(example_capture());
  std::vector<Progress> calls;
  analyze_entropy(options_, {.threads = 1, .seed = 0},
                  [&](const Progress& progress) { calls.push_back(progress); });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].total, 12);  // 3 sequences, 2 layers, 2 sites
    EXPECT_GE(calls[i].done, i > 0 ? calls[i - 1].done : 0);
  }
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.back().done, 12);
  EXPECT_EQ(calls.back().note, "hidden, layer 1");
}

TEST_F(AnalyzeEntropyTest, StopsOnRequest) {
  use(example_capture());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(analyze_entropy(options_, {}, {}, stop.get_token()), Interrupted);
}

TEST_F(AnalyzeEntropyTest, StatisticsStayThoseOfAllSequences) {
  use(example_capture());
  const Results all = analyze_entropy(options_, {}).results;
  options_.captures.max_sequences = 1;
  options_.summary.resamples = 0;
  const Results first = analyze_entropy(options_, {}).results;
  EXPECT_EQ(first.rows[0].cell(col::kN), 1);

  // The same rows as a separate capture are standardised with their own statistics.
  SmallCapture alone = example_capture();
  alone.lengths = {5};
  for (auto& activation : alone.activations) {
    activation.rows = activation.rows.topRows(5).eval();
  }
  use(alone, "alone.h5");
  const Results own = analyze_entropy(options_, {}).results;
  EXPECT_GT(std::abs(first.rows[0].number(col::kMean) - own.rows[0].number(col::kMean)), 1e-3);
  options_.entropy.preset = EntropyPreset::kRaw;
  const double raw_alone = mean_of_row(0);
  options_.captures.captures = {folder_ / "capture.h5"};
  EXPECT_EQ(mean_of_row(0), raw_alone);
}

TEST_F(AnalyzeEntropyTest, OneSequenceHasNoInterval) {
  SmallCapture capture = example_capture();
  capture.lengths = {16};
  use(capture);
  const Report report = analyze_entropy(options_, {});
  EXPECT_TRUE(std::isnan(report.results.rows[0].number(col::kCiLow)));
  EXPECT_THAT(results_to_json(report.results), HasSubstr("\"ci_low\":\"nan\""));
}

TEST_F(AnalyzeEntropyTest, EqualLengthsHaveOneCeiling) {
  SmallCapture capture;
  capture.lengths.assign(7, 6);  // the mean of seven equal logarithms would have rounding errors
  capture.activations.push_back({"hidden", 0, testing::random_matrix(42, 3, 1)});
  use(capture);
  const Report report = analyze_entropy(options_, {});
  EXPECT_EQ(report.results.rows[0].cell(col::kCeiling), std::log(3.0));
  EXPECT_THAT(format_report(report, ResultsFormat::kTable),
              HasSubstr("hidden (dim 3, tokens 6, ceiling 1.099)\n"));
}

TEST_F(AnalyzeEntropyTest, EveryOrderHasRowsAndABlockOfItsOwn) {
  use(example_capture());
  options_.captures.site = {"values"};
  options_.entropy.alpha = {0.5, std::numeric_limits<double>::infinity()};
  const Report report = analyze_entropy(options_, {});
  EXPECT_EQ(report.results.rows.size(), 4u);
  EXPECT_TRUE(std::isinf(report.results.rows[1].number(col::kAlpha)));
  const std::string text = format_report(report, ResultsFormat::kTable);
  EXPECT_THAT(text, HasSubstr("values, alpha 0.5 ("));
  EXPECT_THAT(text, HasSubstr("values, alpha inf ("));
}

TEST_F(AnalyzeEntropyTest, CapturesOfDifferentWidthHaveTheirOwnCeilings) {
  use(example_capture(), "a.h5");
  SmallCapture wide = example_capture();
  for (auto& activation : wide.activations) {
    activation.rows = testing::random_matrix(16, 12, 3);
  }
  write_capture(folder_ / "b.h5", wide);
  options_.captures.captures.push_back(folder_ / "b.h5");
  const std::string text = format_report(analyze_entropy(options_, {}), ResultsFormat::kTable);
  EXPECT_THAT(text, HasSubstr("values (a: dim 4, tokens 5.3 (min 3), ceiling 1.290 (min 1.099); "
                              "b: dim 12, tokens 5.3 (min 3), ceiling 1.596 (min 1.099))"));
}

}  // namespace
}  // namespace lime
