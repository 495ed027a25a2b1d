// SPDX-License-Identifier: Apache-2.0
#include "analysis/tokens/tokens_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "analysis/attention/attention_patterns.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/write_capture.h"
#include "checkpoint/tokenizer.h"
#include "core/errors.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/matrix_entropy.h"
#include "store/results/row_json.h"
#include "support/refusal.h"
#include "support/statistics.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

class TokensAnalysisTest : public ::testing::Test {
 protected:
  void use(const testing::SmallCapture& capture, const std::string& name = "run.h5") {
    testing::write_capture(folder_ / name, capture);
    options_.captures.captures = {folder_ / name};
  }
  Report analyze(int threads = 2) {
    const RunOptions run{.threads = threads};
    return run_analysis(prepare_tokens(options_, run), run);
  }
  std::string refusal() {
    return testing::refusal_of([&] { analyze(); });
  }

  testing::TemporaryFolder folder_;
  TokensOptions options_;
};

TEST_F(TokensAnalysisTest, HasARowPerTokenAndLayer) {
  use(testing::example_capture());
  options_.sequence = 1;
  options_.captures.site = {"hidden"};
  const Report report = analyze();
  ASSERT_EQ(report.results.rows.size(), 2U * 8U);
  const CaptureReader reader(folder_ / "run.h5");
  const MatrixF rows = reader.read_sequence("hidden", 1, 1);
  const MatrixF all = reader.read_all("hidden", 1);
  const MatrixD z = standardize(rows, make_standardization(testing::statistics_of(all)));
  const Json third = row_to_json(report.results.rows.at(8 + 2));
  EXPECT_EQ(third.at("layer"), 1);
  EXPECT_EQ(third.at("position"), 2);
  EXPECT_EQ(third.at("token"), reader.rows().token.at(5 + 2));
  EXPECT_FALSE(third.contains("text"));
  EXPECT_NEAR(third.at("norm").get<double>(), rows.row(2).cast<double>().norm(), 1e-12);
  const double dot = rows.row(2).cast<double>().dot(rows.row(3).cast<double>());
  EXPECT_NEAR(third.at("next_cosine").get<double>(),
              dot / rows.row(2).cast<double>().norm() / rows.row(3).cast<double>().norm(), 1e-12);
  MatrixD rest(7, 6);
  rest << z.topRows(2), z.bottomRows(5);
  EXPECT_NEAR(third.at("entropy_contribution").get<double>(),
              matrix_renyi_entropy(ConstMatrixRefD(z), 0.5) -
                  matrix_renyi_entropy(ConstMatrixRefD(rest), 0.5),
              1e-7);
  EXPECT_TRUE(report.results.rows.at(7).cell(col::kNextCosine).is_empty()) << "nothing follows";
}

TEST_F(TokensAnalysisTest, WithoutEntropyTheOtherColumnsStayTheSame) {
  use(testing::example_capture());
  Report whole = analyze();
  options_.no_entropy = true;
  const Report part = analyze();
  for (ResultRow& row : whole.results.rows) row.erase(col::kEntropyContribution);
  EXPECT_EQ(part.results.rows, whole.results.rows);
}

TEST_F(TokensAnalysisTest, ReadsTheLogitLensIfTheCaptureHasIt) {
  testing::SmallCapture capture = testing::example_capture();
  MatrixF lens = MatrixF::Zero(16, 5);
  lens.row(6) << 0.5F, 1.0F, 1.0F, std::log(4.0F), 7.0F;
  capture.activations.push_back({"logit_lens", 1, lens});
  use(capture);
  options_.sequence = 1;
  options_.captures.site = {"hidden"};
  const std::vector<ResultRow> rows = analyze().results.rows;
  const ResultRow& second = rows.at(8 + 1);
  EXPECT_NEAR(second.number(col::kLensProbability), 0.25, 1e-7);
  EXPECT_EQ(second.number(col::kLensRank), 7.0);
  EXPECT_EQ(second.number(col::kLensKl), 0.5);
  EXPECT_FALSE(rows.at(1).has(col::kLensRank)) << "layer 0 has no lens";
  EXPECT_FALSE(rows.at(8 + 7).has(col::kLensRank)) << "the last token has no next one";
}

TEST_F(TokensAnalysisTest, TablesShowEveryToken) {
  use(testing::example_capture());
  const Report report = analyze();
  const std::string table = format_report(report, ResultsFormat::kTable);
  EXPECT_THAT(table, HasSubstr("next cosine"));
  EXPECT_THAT(table, HasSubstr("sequence 0"));
  EXPECT_THAT(format_report(report, ResultsFormat::kLatex), HasSubstr("toprule"));
}

TEST_F(TokensAnalysisTest, NumbersDoNotDependOnThreads) {
  use(testing::example_capture());
  EXPECT_EQ(analyze(1).results.rows, analyze(3).results.rows);
}

TEST_F(TokensAnalysisTest, RefusesWhatItCannotMeasure) {
  use(testing::example_capture());
  options_.sequence = 3;
  EXPECT_THAT(refusal(), HasSubstr("sequence: must be < 3, the number of sequences of"));
  options_.sequence = -1;
  EXPECT_EQ(refusal(), "sequence: must be >= 0, got -1");
  options_.sequence = 0;
  testing::SmallCapture words = testing::example_capture();
  words.class_names = {" is"};
  use(words, "words.h5");
  EXPECT_THAT(refusal(), HasSubstr("needs every token of a sequence"));
}

TEST_F(TokensAnalysisTest, TextsComeFromTheTokenizerOfTheCapture) {
  const std::filesystem::path lime = testing::source_file("data/aet-lime");
  testing::SmallCapture capture = testing::example_capture();
  capture.tokenizer_sha256 = load_tokenizer(lime)->sha256();
  use(capture);
  options_.checkpoint = lime;
  EXPECT_TRUE(analyze().results.rows.front().has(col::kText));
  options_.checkpoint = testing::source_file("data/lm-llama");
  const std::string other = load_tokenizer(options_.checkpoint)->sha256().substr(0, 12);
  EXPECT_EQ(refusal(), "checkpoint: the tokenizer of '" + options_.checkpoint.string() +
                           "' (sha256 " + other + "...) differs from that of '" +
                           (folder_ / "run.h5").string() + "' (" +
                           capture.tokenizer_sha256.substr(0, 12) +
                           "...); use the checkpoint of the capture, or omit --checkpoint");
  use(testing::example_capture(), "of_ids.h5");
  EXPECT_TRUE(analyze().results.rows.front().has(col::kText)) << "it does not say which it had";
}

TEST_F(TokensAnalysisTest, ACaptureWithoutPatternsSaysHowToCaptureThem) {
  use(testing::example_capture());
  const CaptureReader reader(folder_ / "run.h5");
  try {
    PatternReader(reader).read(1, 0);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("capture again with --sites values,hidden,attn.hook_pattern"));
  }
}

}  // namespace
}  // namespace lime
