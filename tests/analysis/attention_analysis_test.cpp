// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/attention/make_attention.py, and with patterns known in closed form.
#include "analysis/attention/attention_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "analysis/attention/attention_patterns.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/write_capture.h"
#include "checkpoint/parse_model_config.h"
#include "core/errors.h"
#include "metrics/attention/attention_profile.h"
#include "store/results/matrix_rows.h"
#include "store/results/row_json.h"
#include "support/refusal.h"
#include "support/result_rows.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::int64_t kHeads = 2;

/// Two layers whose first head attends to the first token and whose second attends uniformly.
testing::SmallCapture capture_of_sinks(const std::string& kind = "llama") {
  testing::SmallCapture capture = testing::example_capture();
  const std::int64_t keys = 8;
  for (const int layer : {0, 1}) {
    MatrixF rows = MatrixF::Zero(16, kHeads * keys);
    Eigen::Index row = 0;
    for (const std::int64_t length : capture.lengths) {
      for (std::int64_t q = 0; q < length; ++q, ++row) {
        rows(row, 0) = 1.0F;
        rows.row(row).segment(keys, q + 1).setConstant(1.0F / static_cast<float>(q + 1));
      }
    }
    capture.activations.push_back({kPatternSite, layer, rows});
  }
  ModelConfig config = testing::tiny_config(kind);
  config.num_hidden_layers = 2;
  config.num_attention_heads = kHeads;
  config.num_key_value_heads = 2;
  config.head_dim = 2;
  capture.config = model_config_to_json(config);
  if (kind == "lime") {
    MatrixF router(2, 4);
    router << 0.5F, 0.0F, 1.0F, 0.0F, 0.0F, 0.25F, 0.0F, 1.0F;
    capture.router[1] = router;
  }
  return capture;
}

class AttentionAnalysisTest : public ::testing::Test {
 protected:
  void use(const testing::SmallCapture& capture, const std::string& name = "run.h5") {
    testing::write_capture(folder_ / name, capture);
    options_.captures.captures = {folder_ / name};
  }
  void use_golden() { options_.captures.captures = {testing::golden_file("attention/capture.h5")}; }
  Report analyze(int threads = 2) {
    const RunOptions run{.threads = threads};
    return run_analysis(prepare_attention(options_, run), run);
  }
  std::string refusal() {
    return testing::refusal_of([&] { analyze(); });
  }
  static std::optional<ResultRow> row_of(const Report& report, const Json& wanted) {
    for (const ResultRow& row : testing::table_rows(report.results.rows)) {
      bool is_it = true;
      for (const auto& [key, value] : wanted.items()) {
        is_it = is_it && row.has({key}) && row_to_json(row).at(key) == value;
      }
      if (is_it) return row;
    }
    ADD_FAILURE() << "no row " << wanted.dump();
    return std::nullopt;
  }
  static double value_of(const Report& report, const Json& wanted, const std::string& column) {
    const std::optional<ResultRow> row = row_of(report, wanted);
    return !row ? std::nan("") : row->number({column});
  }

  testing::TemporaryFolder folder_;
  AttentionOptions options_;
};

TEST_F(AttentionAnalysisTest, SummariesAreMeansOverSequencesOfMeansOverQueries) {
  use(capture_of_sinks());
  const Report report = analyze();
  // 2 layers: 6 measures of 2 heads and their mean, and the sink rate.
  EXPECT_EQ(report.results.rows.size(), 2U * (6U * 3U + 1U));
  const auto of = [&](int head, const std::string& measure, const std::string& column) {
    return value_of(report, {{"kind", "head"}, {"layer", 1}, {"head", head}, {"measure", measure}},
                    column);
  };
  EXPECT_EQ(of(0, "first_share", "mean"), 1.0);
  EXPECT_EQ(of(0, "entropy", "mean"), 0.0);
  EXPECT_EQ(of(0, "entropy", "n"), 3.0);
  // Sequences of 5, 8 and 3 tokens: the means of their distances q, q >= 1.
  EXPECT_DOUBLE_EQ(of(0, "distance", "mean"), (2.5 + 4.0 + 1.5) / 3.0);
  EXPECT_NEAR(of(0, "distance", "std"), std::sqrt((0.0278 + 1.7778 + 1.3611) / 3.0), 1e-4);
  for (const std::string_view measure : kAttentionMeasures) {
    EXPECT_NEAR(of(1, std::string(measure), "mean"), of(1, std::string(measure), "even"), 1e-6)
        << measure << ": the second head spreads evenly";
  }
  EXPECT_DOUBLE_EQ(
      value_of(report, {{"kind", "layer"}, {"layer", 0}, {"measure", "distance"}}, "mean"),
      (of(0, "distance", "mean") + of(1, "distance", "mean")) / 2.0);
}

TEST_F(AttentionAnalysisTest, AgreesWithNumpyOnATrainedModel) {
  use_golden();
  const Json golden =
      parse_json(testing::read_text(testing::golden_file("attention/attention.json")), "golden");
  const Report all = analyze();
  options_.sequence = golden.at("provenance").at("sequence").get<std::int64_t>();
  options_.query = golden.at("provenance").at("query").get<std::int64_t>();
  const Report one = analyze();
  ASSERT_FALSE(golden.at("rows").empty());
  // Both compute in float64 from the same float32; sums differ in their order.
  constexpr double kTolerance = 1e-12;
  for (const Json& row : golden.at("rows")) {
    const Json key = {{"kind", "head"},
                      {"layer", row.at("layer")},
                      {"head", row.at("head")},
                      {"measure", row.at("measure")}};
    EXPECT_NEAR(value_of(all, key, "mean"), row.at("mean").get<double>(), kTolerance) << key;
    EXPECT_NEAR(value_of(all, key, "std"), row.at("std").get<double>(), kTolerance) << key;
    EXPECT_NEAR(value_of(one, key, "mean"), row.at("mean_of_one").get<double>(), kTolerance);
    EXPECT_NEAR(value_of(one, key, "std"), row.at("std_of_one").get<double>(), kTolerance);
  }
  for (const Json& routed : golden.at("routed")) {
    for (std::size_t m = 0; m < routed.at("shares").size(); ++m) {
      for (std::int64_t k = 0; k <= *options_.query; ++k) {
        const double share = value_of(one,
                                      {{"kind", "routed"},
                                       {"layer", routed.at("layer")},
                                       {"head", routed.at("head")},
                                       {"source_layer", m},
                                       {"key", k}},
                                      "share");
        EXPECT_NEAR(share, routed.at("shares").at(m).at(static_cast<std::size_t>(k)).get<double>(),
                    kTolerance);
      }
    }
  }
}

TEST_F(AttentionAnalysisTest, ASequenceHasItsWholePatternAndItsTokens) {
  use_golden();
  options_.sequence = 1;
  options_.captures.layer = LayerSelection::parse("2");
  options_.head = {3, 1};
  options_.checkpoint = testing::source_file("data/aet-lime");
  const Report report = analyze();
  const CaptureReader reader(options_.captures.captures.front());
  const AttentionPatterns attention = PatternReader(reader).read(2, 1);
  const auto tokens = static_cast<std::size_t>(attention.patterns.front().rows());
  std::size_t weights = 0;
  for (const ResultRow& row : testing::table_rows(report.results.rows)) {
    if (row.text(col::kKind) != "weight") continue;
    ++weights;
    EXPECT_EQ(row.integer(col::kLayer), 2);
    EXPECT_EQ(row.number(col::kWeight),
              attention.patterns[static_cast<std::size_t>(row.integer(col::kHead))](
                  row.integer(col::kQuery), row.integer(col::kKey)));
  }
  EXPECT_EQ(weights, 2 * tokens * (tokens + 1) / 2);
  const MatrixF query = PatternReader(reader).read_query(2, 1, 3);
  ASSERT_EQ(query.cols(), 4) << "the keys up to the query";
  for (Eigen::Index head = 0; head < query.rows(); ++head) {
    EXPECT_EQ(query.row(head), attention.patterns[static_cast<std::size_t>(head)].row(3).head(4));
  }
  EXPECT_EQ(row_of(report, {{"kind", "token"}, {"position", 1}})->text(col::kText), " 7");
  EXPECT_FALSE(row_of(report, {{"kind", "layer"}})->has(col::kCiLow));
}

TEST_F(AttentionAnalysisTest, AnotherCheckpointsTokenizerGivesNoTexts) {
  use_golden();
  options_.sequence = 1;
  options_.captures.layer = LayerSelection::parse("2");
  options_.checkpoint = testing::source_file("data/lm-llama");
  EXPECT_THAT(
      testing::refusal_of<InvalidArgument>([&] { analyze(); }),
      ::testing::MatchesRegex("checkpoint: the tokenizer of '" + options_.checkpoint.string() +
                              "' .sha256 [0-9a-f]+\\.\\.\\.. differs from that of '.*"
                              "capture.h5' .[0-9a-f]+\\.\\.\\..; use the checkpoint "
                              "of the capture, or omit --checkpoint"));
}

TEST_F(AttentionAnalysisTest, RoutedAttentionSaysWhatItGoesBy) {
  use(capture_of_sinks("lime"));
  options_.sequence = 0;
  options_.query = 4;
  options_.captures.layer = LayerSelection::parse("1");
  EXPECT_EQ(row_of(analyze(), {{"kind", "routed"}})->text(col::kBy), "values");
}

TEST_F(AttentionAnalysisTest, SkippedQueriesDoNotCount) {
  use(capture_of_sinks());
  options_.skip_queries = 0;
  EXPECT_DOUBLE_EQ(value_of(analyze(), {{"kind", "head"}, {"measure", "distance"}}, "mean"),
                   (2.0 + 3.5 + 1.0) / 3.0);
  options_.skip_queries = 2;
  EXPECT_DOUBLE_EQ(value_of(analyze(), {{"kind", "head"}, {"measure", "distance"}}, "mean"),
                   (3.0 + 4.5 + 2.0) / 3.0);
  options_.skip_queries = 3;
  EXPECT_THAT(refusal(), HasSubstr("sequence 2 has 3 tokens, and 3 queries are skipped"));
}

TEST_F(AttentionAnalysisTest, NumbersDoNotDependOnThreads) {
  use_golden();
  EXPECT_EQ(analyze(1).results.rows, analyze(3).results.rows);
  options_.sequence = 2;
  EXPECT_EQ(analyze(1).results.rows, analyze(3).results.rows);
}

TEST_F(AttentionAnalysisTest, CapturesOfOneTextAreCompared) {
  use(capture_of_sinks());
  testing::write_capture(folder_ / "other.h5", capture_of_sinks());
  options_.captures.captures.push_back(folder_ / "other.h5");
  const RunOptions run{.threads = 2};
  Analysis analysis = prepare_attention(options_, run);
  analysis.compare.compare = ComparePairs::kFirst;
  const Report report = run_analysis(analysis, run);
  EXPECT_EQ(value_of(report, {{"kind", "comparison"}, {"quantity", "first_share"}, {"layer", 1}},
                     "difference"),
            0.0);
}

TEST_F(AttentionAnalysisTest, TablesHaveALinePerLayerAndHead) {
  use(capture_of_sinks());
  const Report report = analyze();
  const std::string table = format_report(report, ResultsFormat::kTable);
  EXPECT_THAT(table, HasSubstr("layer  head"));
  EXPECT_THAT(table, HasSubstr("previous %"));
  EXPECT_THAT(table, HasSubstr("\nuniform"));
  EXPECT_THAT(format_report(report, ResultsFormat::kLatex), HasSubstr("toprule"));
  EXPECT_THAT(format_report(report, ResultsFormat::kCsv), HasSubstr("measure"));
  options_.sequence = 1;
  options_.head = {0};
  EXPECT_THAT(format_report(analyze(), ResultsFormat::kTable),
              HasSubstr("run, layer 1, head 0: percentage of a query's attention"));
}

TEST_F(AttentionAnalysisTest, RefusesWhatItCannotMeasure) {
  use(testing::example_capture());
  EXPECT_THAT(refusal(),
              EndsWith("contains no attention patterns (its sites: values, hidden); "
                       "capture again with --sites values,hidden,attn.hook_pattern, or with "
                       "attn.hook_profile for summaries alone"));
  use(capture_of_sinks(), "patterns.h5");
  options_.sequence = 3;
  EXPECT_THAT(refusal(), HasSubstr("sequence: must be in 0 to 2, the sequences of"));
  options_.sequence = -1;
  EXPECT_EQ(refusal(), "sequence: must be >= 0, got -1");
  options_.sequence = 0;
  options_.query = 1;
  EXPECT_THAT(refusal(), HasSubstr("contains no routers to follow: its model has none"));
  options_.query = 5;
  EXPECT_THAT(refusal(), HasSubstr("query: must be in 0 to 4, the tokens of sequence 0 of"));
  options_.sequence = std::nullopt;
  EXPECT_EQ(refusal(), "query: needs a sequence; add --sequence");
  options_.query = std::nullopt;
  options_.head = {0, 2};
  EXPECT_THAT(refusal(), HasSubstr("has heads 0 to 1, got 2"));
  options_.head = {-1};
  EXPECT_EQ(refusal(), "head: must be >= 0, got -1");
  options_.head.clear();
  options_.captures.layer = LayerSelection::parse("1,4");
  EXPECT_THAT(refusal(), EndsWith("attn.hook_pattern: layer 4 does not exist (available: 0-1)"));
}

TEST_F(AttentionAnalysisTest, RefusesPatternsThatAreNone) {
  testing::SmallCapture capture = capture_of_sinks();
  capture.activations.back().rows.row(9).setConstant(0.3F);
  use(capture);
  EXPECT_THAT(refusal(),
              HasSubstr("sequence 1, head 0: attention: the weights of query 4 must sum to 1"));
  capture.activations.back().rows.conservativeResize(16, 15);
  use(capture, "odd.h5");
  EXPECT_THAT(refusal(), HasSubstr("cannot have 15 values per row"));
}

}  // namespace
}  // namespace lime
