// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/streams/make_streams.py.
#include "analysis/streams/streams_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/engine/run_analysis.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "metrics/streams/stream_measures.h"
#include "store/results/matrix_rows.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

Json golden_streams() {
  return parse_json(testing::read_text(testing::golden_file("streams/streams.json")), "golden");
}

MatrixF rows_of_json(const Json& rows) {
  MatrixF matrix(static_cast<Eigen::Index>(rows.size()),
                 static_cast<Eigen::Index>(rows.front().size()));
  for (Eigen::Index r = 0; r < matrix.rows(); ++r) {
    for (Eigen::Index c = 0; c < matrix.cols(); ++c) {
      matrix(r, c) = rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)].get<float>();
    }
  }
  return matrix;
}

testing::SmallCapture capture_of_streams() {
  const Json data = golden_streams();
  testing::SmallCapture capture;
  capture.lengths = data.at("lengths").get<std::vector<std::int64_t>>();
  capture.activations = {{kStreamsSite, 2, rows_of_json(data.at("streams"))},
                         {kStreamWeightsSite, 2, rows_of_json(data.at("weights"))}};
  return capture;
}

class StreamsAnalysisTest : public ::testing::Test {
 protected:
  void use(const testing::SmallCapture& capture, const std::string& name = "run.h5") {
    testing::write_capture(folder_ / name, capture);
    options_.captures.captures = {folder_ / name};
  }
  Report analyze(int threads = 2) {
    const RunOptions run{.threads = threads};
    return run_analysis(prepare_streams(options_, run), run);
  }
  std::string refusal() {
    return testing::refusal_of([&] { analyze(); });
  }
  static const ResultRow& row_of(const Report& report,
                                 std::initializer_list<ResultRow::Text> texts) {
    const auto rows = rows_with(report.results.rows, texts);
    throw_if(rows.empty(), "no such row");
    return *rows.front();
  }

  testing::TemporaryFolder folder_;
  StreamsOptions options_;
};

TEST_F(StreamsAnalysisTest, AgreesWithScipy) {
  const Json data = golden_streams();
  use(capture_of_streams());
  const Report report = analyze();
  // Both compute in float64 from the same float32; sums differ in their order.
  constexpr double kStreamTolerance = 1e-12;
  for (std::size_t m = 0; m < kStreamMeasures.size(); ++m) {
    const ResultRow& row = row_of(report, {{col::kMeasure, kStreamMeasures[m]}});
    EXPECT_NEAR(row.number(col::kMean), data.at("measures").at(m).get<double>(), kStreamTolerance);
    EXPECT_EQ(row.integer(col::kN), 4);
  }
  for (const std::size_t part : {0, 1}) {
    const std::string read = part == 0 ? "attn" : "mlp";
    for (std::size_t m = 0; m < kMixingMeasures.size(); ++m) {
      const ResultRow& row =
          row_of(report, {{col::kMeasure, kMixingMeasures[m]}, {col::kRead, read}});
      EXPECT_NEAR(row.number(col::kMean), data.at("mixing").at(part).at(m).get<double>(),
                  kStreamTolerance);
    }
    const NumberArray& mixing =
        array_in(row_of(report, {{col::kKind, "mixing"}, {col::kRead, read}}), col::kWeight);
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_NEAR(mixing.values[i],
                  data.at("mean_mixing").at(part).at(i / 3).at(i % 3).get<double>(),
                  kStreamTolerance);
    }
  }
  const auto energies = rows_with(report.results.rows, {{col::kKind, "stream"}});
  ASSERT_EQ(energies.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(energies[i]->number(col::kMean), data.at("energies").at(i).get<double>(),
                kStreamTolerance);
  }
  const std::string table = format_report(report, ResultsFormat::kTable);
  EXPECT_THAT(table, HasSubstr("mixing before mlp"));
  EXPECT_THAT(table, HasSubstr("stream 2"));
}

TEST_F(StreamsAnalysisTest, OneSiteIsEnough) {
  testing::SmallCapture capture = capture_of_streams();
  const auto weights = capture.activations.back();
  capture.activations.pop_back();
  capture.config = {{"mhc", {{"hc_mult", 3}}}};
  use(capture);
  EXPECT_THAT(format_report(analyze(), ResultsFormat::kJson), Not(HasSubstr("identity_distance")));
  capture.activations = {weights};
  use(capture, "weights.h5");
  EXPECT_THAT(format_report(analyze(), ResultsFormat::kJson), Not(HasSubstr("dominance")));
}

TEST_F(StreamsAnalysisTest, NumbersDoNotDependOnThreads) {
  use(capture_of_streams());
  EXPECT_EQ(analyze(1).results.rows, analyze(3).results.rows);
}

TEST_F(StreamsAnalysisTest, RefusesCapturesWithoutStreams) {
  use(testing::example_capture());
  EXPECT_THAT(refusal(), EndsWith("contains no residual streams (its sites: values, hidden); "
                                  "capture a model with Hyper-Connections with --sites "
                                  "hook_streams,hook_stream_weights"));
  testing::SmallCapture capture = capture_of_streams();
  capture.activations.pop_back();
  use(capture, "b.h5");
  EXPECT_THAT(refusal(),
              EndsWith("hook_streams of layer 2 have 12 columns, which are not a "
                       "multiple of the 0 streams of the config (hc_mult, altup_num_inputs "
                       "or hyper_connections.rate)"));
  capture.activations = {{kStreamWeightsSite, 0, MatrixF::Ones(19, 31)}};
  use(capture, "c.h5");
  EXPECT_THAT(refusal(),
              EndsWith("hook_stream_weights of layer 0 must have 2 n (n + 2) columns for "
                       "n streams, got 31"));
}

}  // namespace
}  // namespace lime
