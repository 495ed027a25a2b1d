// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/experts/make_experts.py, and with routings known in closed form.
#include "analysis/experts/experts_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "analysis/engine/run_analysis.h"
#include "analysis/experts/routed_layer.h"
#include "analysis/series/series_analysis.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "store/results/matrix_rows.h"
#include "store/results/row_json.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

MatrixF matrix_of_json(const Json& rows) {
  MatrixF matrix(static_cast<Eigen::Index>(rows.size()),
                 static_cast<Eigen::Index>(rows.front().size()));
  for (Eigen::Index r = 0; r < matrix.rows(); ++r) {
    for (Eigen::Index c = 0; c < matrix.cols(); ++c) {
      matrix(r, c) = rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)].get<float>();
    }
  }
  return matrix;
}

Json golden() {
  return parse_json(testing::read_text(testing::golden_file("experts/experts.json")), "golden");
}

testing::SmallCapture golden_capture(const Json& data) {
  testing::SmallCapture capture;
  capture.lengths = data.at("lengths").get<std::vector<std::int64_t>>();
  capture.tokens = data.at("tokens").get<std::vector<std::int32_t>>();
  int layer = 0;
  for (const Json& own : data.at("layers")) {
    capture.activations.push_back({kRouterLogitsSite, layer, matrix_of_json(own.at("logits"))});
    capture.activations.push_back({kExpertWeightsSite, layer, matrix_of_json(own.at("weights"))});
    capture.activations.push_back({kExpertIndicesSite, layer, matrix_of_json(own.at("indices"))});
    ++layer;
  }
  return capture;
}

/// Returns a capture whose tokens t of a layer select the experts t and t + 1, modulo 4.
testing::SmallCapture capture_of_turns() {
  testing::SmallCapture capture;
  capture.lengths = {4, 8, 4, 4, 8, 4};
  MatrixF indices(32, 2);
  for (Eigen::Index row = 0; row < 32; ++row) {
    indices(row, 0) = static_cast<float>(row % 4);
    indices(row, 1) = static_cast<float>((row + 1) % 4);
  }
  capture.activations.push_back({kExpertIndicesSite, 1, indices});
  capture.config = {{"num_experts", 4}};
  return capture;
}

class ExpertsAnalysisTest : public ::testing::Test {
 protected:
  void use(const testing::SmallCapture& capture, const std::string& name = "run.h5") {
    testing::write_capture(folder_ / name, capture);
    options_.captures.captures = {folder_ / name};
  }
  void use_domains(const std::vector<std::string>& lines) {
    options_.domains = folder_ / "domains.txt";
    std::ofstream file(options_.domains);
    for (const std::string& line : lines) file << line << "\n";
  }
  Report analyze(int threads = 2) {
    const RunOptions run{.threads = threads};
    return run_analysis(prepare_experts(options_, run), run);
  }
  std::string refusal() {
    return testing::refusal_of([&] { analyze(); });
  }
  static ResultRow row_of(const Report& report, int layer, const std::string& measure) {
    for (const ResultRow& row : report.results.rows) {
      const bool is_layer = row.cell(col::kLayer).integer() == layer;
      if (is_layer && row.text(col::kKind).empty() && row.text(col::kMeasure) == measure) {
        return row;
      }
    }
    ADD_FAILURE() << "no row of " << measure;
    return {};
  }
  static double mean_of(const Report& report, int layer, const std::string& measure) {
    const ResultRow row = row_of(report, layer, measure);
    return row.has(col::kMean) ? row.number(col::kMean) : std::nan("");
  }
  static const NumberArray& array_of_kind(const Report& report, int layer,
                                          const std::string& kind) {
    for (const ResultRow& row : report.results.rows) {
      if (row.text(col::kKind) == kind && row.cell(col::kLayer).integer() == layer) {
        return array_in(row, col::kShare);
      }
    }
    throw InvalidArgument("no row of kind {}", kind);
  }

  testing::TemporaryFolder folder_;
  ExpertsOptions options_;
};

/// Both compute in float64 from the same float32; sums differ in their order.
constexpr double kExpertTolerance = 1e-12;

TEST_F(ExpertsAnalysisTest, LoadAndRoutingAgreeWithScipy) {
  const Json data = golden();
  use(golden_capture(data));
  options_.coactivation = true;
  const Report report = analyze();
  for (const int layer : {0, 1}) {
    const Json& expected = data.at("layers").at(static_cast<std::size_t>(layer)).at("expected");
    for (const auto& [measure, value] : expected.at("load").items()) {
      EXPECT_NEAR(mean_of(report, layer, measure), value.get<double>(), kExpertTolerance)
          << measure;
    }
    for (const auto& [measure, values] : expected.at("of_sequences").items()) {
      const auto items = values.get<std::vector<double>>();
      EXPECT_NEAR(mean_of(report, layer, measure), lime::mean_of(items), kExpertTolerance)
          << measure;
      EXPECT_EQ(row_of(report, layer, measure).integer(col::kN), std::ssize(items));
    }
    for (const auto& [measure, value] : expected.at("committee_of_documents").items()) {
      EXPECT_NEAR(mean_of(report, layer, measure), value.get<double>(), kExpertTolerance)
          << measure;
    }
    EXPECT_NEAR(mean_of(report, layer, "effective_partners"),
                expected.at("effective_partners").get<double>(), kExpertTolerance);
    EXPECT_EQ(array_of_kind(report, layer, "load").values,
              expected.at("shares").get<std::vector<double>>());
    const NumberArray& pairs = array_of_kind(report, layer, "coactivation");
    for (std::size_t i = 0; i < pairs.values.size(); ++i) {
      const Json& other = expected.at("coactivation").at(i / 8).at(i % 8);
      EXPECT_EQ(std::isnan(pairs.values[i]), other.is_null());
      if (!other.is_null()) {
        EXPECT_NEAR(pairs.values[i], other.get<double>(), kExpertTolerance);
      }
    }
    // Bootstraps of other generators: the ends of 4000 and of 10000 resamples differ by a few
    // percent of the width.
    const ResultRow entropy = row_of(report, layer, "load_entropy");
    const auto interval = expected.at("load_entropy_interval").get<std::vector<double>>();
    const double margin = 0.1 * (interval[1] - interval[0]);
    EXPECT_NEAR(entropy.number(col::kCiLow), interval[0], margin);
    EXPECT_NEAR(entropy.number(col::kCiHigh), interval[1], margin);
  }
}

TEST_F(ExpertsAnalysisTest, InformationAgreesWithScikitLearn) {
  const Json data = golden();
  use(golden_capture(data));
  use_domains(data.at("domains").get<std::vector<std::string>>());
  options_.permutations = 1000;
  const Report report = analyze();
  for (const int layer : {0, 1}) {
    const Json& expected = data.at("layers").at(static_cast<std::size_t>(layer)).at("expected");
    for (const auto& [name, value] : expected.at("information").items()) {
      const ResultRow row = row_of(report, layer, name + "_information");
      const auto number = [&](const char* key) { return value.at(key).template get<double>(); };
      EXPECT_NEAR(row.number(col::kMean) + row.number(col::kEven), number("plug_in"),
                  kExpertTolerance);
      // Means over 1000 and 2000 permutations: five standard errors of their difference.
      const double error = 5.0 * number("null_std") * std::sqrt(1.0 / 1000.0 + 1.0 / 2000.0);
      EXPECT_NEAR(row.number(col::kEven), number("null"), error) << name;
      EXPECT_NEAR(row.number(col::kP), number("p"), 0.05) << name;
      EXPECT_NEAR(row.number(col::kCeiling), number("ceiling"), kExpertTolerance);
      EXPECT_NEAR(row.number(col::kStderr), number("stderr"), kExpertTolerance);
      // Quantiles of Student's t-distribution are accurate to 0.3 percent.
      const double margin = (row.number(col::kCiHigh) - row.number(col::kCiLow)) / 2.0;
      EXPECT_NEAR(margin, number("margin"), 0.004 * number("margin"));
    }
    for (const auto& [measure, value] : expected.at("committee_of_domains").items()) {
      EXPECT_NEAR(mean_of(report, layer, measure), value.get<double>(), kExpertTolerance)
          << measure;
    }
  }
  EXPECT_EQ(report.results.rows.front().text(col::kSite), kExpertIndicesSite);
  EXPECT_THAT(
      format_report(report, ResultsFormat::kTable),
      HasSubstr("run, document_information: not above that of permuted groups in layers 0"));
}

TEST_F(ExpertsAnalysisTest, NeedsNothingButTheNumbersOfExperts) {
  use(capture_of_turns());
  const Report report = analyze();
  EXPECT_NEAR(mean_of(report, 1, "effective_experts"), 4.0, kExpertTolerance);
  EXPECT_EQ(mean_of(report, 1, "max_violation"), 0.0);
  EXPECT_EQ(mean_of(report, 1, "overlap"), 0.5);
  EXPECT_EQ(row_of(report, 1, "overlap").number(col::kEven), 0.5);
  EXPECT_NEAR(mean_of(report, 1, "effective_partners"), 2.0, kExpertTolerance);
  const std::string text = format_report(report, ResultsFormat::kJson);
  EXPECT_THAT(text, Not(HasSubstr("routing_entropy")));
  EXPECT_THAT(text, Not(HasSubstr("balance_loss")));
}

TEST_F(ExpertsAnalysisTest, ListsTheTokensOfASequence) {
  testing::SmallCapture capture = capture_of_turns();
  MatrixF weights(32, 2);
  weights.col(0).setConstant(0.25F);
  weights.col(1).setConstant(0.75F);
  capture.activations.push_back({kExpertWeightsSite, 1, weights});
  use(capture);
  options_.sequence = 1;
  std::vector<ResultRow> tokens = analyze().results.rows;
  std::erase_if(tokens, [](const ResultRow& row) { return row.text(col::kKind) != "token"; });
  ASSERT_EQ(tokens.size(), 8U);
  for (std::int64_t t = 0; t < 8; ++t) {
    const ResultRow& row = tokens[static_cast<std::size_t>(t)];
    // Sequence 1 begins with row 4, which selects the experts 0 and 1.
    const auto first = static_cast<double>(t % 4);
    const auto second = static_cast<double>((t + 1) % 4);
    EXPECT_EQ(row.integer(col::kSequence), 1);
    EXPECT_EQ(row.integer(col::kPosition), t);
    EXPECT_EQ(static_cast<double>(row.integer(col::kExpert)), second);
    EXPECT_EQ(row.number(col::kWeight), 0.75);
    EXPECT_EQ(row.cell(col::kExperts).array()->values, (std::vector<double>{first, second}));
  }
  options_.sequence = 6;
  EXPECT_THAT(refusal(), HasSubstr("sequence: must be < 6, the number of sequences of"));
}

TEST_F(ExpertsAnalysisTest, ClassesOfTokensAreGroups) {
  testing::SmallCapture capture = capture_of_turns();
  capture.class_names = {" even", " odd"};
  for (std::int16_t row = 0; row < 32; ++row) {
    capture.class_id.push_back(static_cast<std::int16_t>(row % 2));
  }
  use(capture);
  const Report report = analyze();
  EXPECT_NEAR(mean_of(report, 1, "class_information") +
                  row_of(report, 1, "class_information").number(col::kEven),
              0.0, kExpertTolerance)
      << "even tokens select 0, 1, 2, 3, and so do odd ones";
  EXPECT_EQ(array_of_kind(report, 1, "group").values, std::vector<double>(4, 0.25));
}

TEST_F(ExpertsAnalysisTest, NumbersDoNotDependOnThreads) {
  use(golden_capture(golden()));
  EXPECT_EQ(analyze(1).results.rows, analyze(3).results.rows);
}

TEST_F(ExpertsAnalysisTest, CapturesOfOneTextAreCompared) {
  use(capture_of_turns(), "b.h5");
  use(capture_of_turns(), "a.h5");
  options_.captures.captures.push_back(folder_ / "b.h5");
  const RunOptions run{.threads = 2};
  Analysis analysis = prepare_experts(options_, run);
  analysis.compare.compare = ComparePairs::kFirst;
  const Report report = run_analysis(analysis, run);
  const auto is_difference = [](const ResultRow& row) {
    return row.text(col::kKind) == "comparison" && row.text(col::kMeasure) == "overlap" &&
           row.number(col::kDifference) == 0.0;
  };
  EXPECT_TRUE(std::ranges::any_of(report.results.rows, is_difference));
  EXPECT_THAT(format_report(report, ResultsFormat::kTable), HasSubstr("routing, overlap"));
}

TEST_F(ExpertsAnalysisTest, ASeriesHasTheirCurves) {
  use(capture_of_turns(), "step-1.h5");
  use(capture_of_turns(), "step-2.h5");
  SeriesOptions options;
  options.inputs = {folder_ / "step-1.h5", folder_ / "step-2.h5"};
  options.metric = {SeriesMetric::kExperts};
  const RunOptions run{.threads = 1};
  const Report report = run_analysis(prepare_series(options, run), run);
  std::int64_t found = 0;
  for (const ResultRow& row : report.results.rows) {
    const bool is_it = row.text(col::kMeasure).starts_with("effective_experts") &&
                       row.text(col::kQuantity) == "experts";
    if (!is_it) continue;
    EXPECT_NEAR(row.number(col::kMean), 4.0, kExpertTolerance);
    ++found;
  }
  EXPECT_EQ(found, 2);
}

TEST_F(ExpertsAnalysisTest, RefusesCapturesWithoutTheSites) {
  use(testing::example_capture(), "a.h5");
  EXPECT_THAT(refusal(),
              EndsWith("a.h5': contains no expert indices (its sites: values, hidden); "
                       "capture a mixture of experts with --sites mlp.hook_router_logits,"
                       "mlp.hook_expert_weights,mlp.hook_expert_indices"));
  testing::SmallCapture capture = capture_of_turns();
  capture.config = Json::object();
  use(capture, "b.h5");
  EXPECT_THAT(refusal(), HasSubstr("contains no router logits of layer 1, and its config has no "
                                   "number of experts (num_experts, num_local_experts, "));
  capture.config = {{"num_experts", 1}};
  use(capture, "c.h5");
  EXPECT_THAT(refusal(), EndsWith("c.h5': layer 1 selects 2 experts per token, but has 1; capture "
                                  "its sites from one model"));
  capture.config = {{"num_experts", 3}};
  use(capture, "d.h5");
  EXPECT_THAT(refusal(), HasSubstr("experts: sequence 0: experts: row 2 must have whole numbers "
                                   "from 0 to 2, got 3"));
  capture.activations.push_back({kExpertWeightsSite, 1, MatrixF::Ones(32, 3)});
  use(capture, "e.h5");
  EXPECT_THAT(refusal(), EndsWith("layer 1 has weights of 3 experts per token, but indices of 2"));
}

TEST_F(ExpertsAnalysisTest, RefusesDomainsThatDoNotFit) {
  use(capture_of_turns());
  use_domains({"law", "code"});
  EXPECT_THAT(refusal(), HasSubstr("must have a line for each of the 6 sequences of "));
  use_domains({"law", "", "code", "law", "law", "law"});
  EXPECT_THAT(refusal(), HasSubstr("line 2 is blank; write the domain of a sequence in each line"));
  options_.committee = 0.0;
  EXPECT_EQ(refusal(), "committee: must be in (0, 1], got 0");
}

}  // namespace
}  // namespace lime
