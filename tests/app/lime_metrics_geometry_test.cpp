// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics geometry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "app/lime_metrics_fixture.h"
#include "metrics/summary.h"
#include "store/hdf5/hdf5_file.h"
#include "store/results_file.h"

namespace lime {
namespace {

using testing::example_capture;
using testing::golden_file;
using ::testing::HasSubstr;
using testing::LimeMetricsTest;
using testing::random_matrix;
using testing::SmallCapture;
using testing::two_models;
using testing::write_capture;

constexpr const char* kSeeGeometry = "; see lime-metrics geometry --help\n";

class LimeMetricsGeometryTest : public LimeMetricsTest {
 protected:
  /// Writes the layer "tall" of tests/golden/geometry, whose reference values are from numpy, scipy
  /// and torch.
  void write_golden_layer() const {
    const Hdf5File golden(golden_file("geometry/geometry.h5"));
    const std::vector<std::int64_t> offsets = golden.read<std::int64_t>("tall/offsets");
    SmallCapture capture;
    for (std::size_t i = 1; i < offsets.size(); ++i) {
      capture.lengths.push_back(offsets[i] - offsets[i - 1]);
    }
    capture.activations.push_back({"hidden", 0, golden.read_matrix("tall/rows")});
    write_capture(folder_ / "capture.h5", capture);
  }

  static const Json& row_of(const Json& rows, const std::string& measure, const std::string& over) {
    for (const Json& row : rows) {
      if (row.at("measure") == measure && row.at("over") == over) return row;
    }
    throw std::runtime_error("no row of " + measure + " over " + over);
  }
};

TEST_F(LimeMetricsGeometryTest, EqualsNumpyScipyAndTorch) {
  write_golden_layer();
  const Json found = rows("geometry --ranks both --massive-threshold 20 --massive-ratio 25 --k 5");
  const Hdf5File golden(golden_file("geometry/geometry.h5"));
  const auto expect_all = [&](const std::string& measure, const std::string& name, double within) {
    EXPECT_NEAR(row_of(found, measure, "rows").at("mean").get<double>(),
                golden.read<double>("tall/all/" + name).at(0), within)
        << measure;
  };
  expect_all("effective_rank", "effective_rank", 1e-8);
  expect_all("rankme", "rankme", 1e-8);
  expect_all("participation_ratio", "participation_ratio", 1e-9);
  expect_all("stable_rank", "stable_rank", 1e-9);
  expect_all("numerical_rank", "numerical_rank", 0.0);
  expect_all("anisotropy", "mean_cosine", 1e-12);
  expect_all("anisotropy_centred", "centred_mean_cosine", 1e-12);
  const auto expect_mean = [&](const std::string& measure, const std::string& name) {
    double sum = 0.0;
    const std::vector<double> values = golden.read<double>("tall/sequences/" + name);
    for (const double value : values) sum += value;
    const Json& row = row_of(found, measure, "sequences");
    EXPECT_NEAR(row.at("mean").get<double>(), sum / static_cast<double>(values.size()), 1e-8)
        << measure;
    EXPECT_EQ(row.at("n"), 3);
    EXPECT_LE(row.at("ci_low").get<double>(), row.at("mean").get<double>());
    EXPECT_GE(row.at("ci_high").get<double>(), row.at("mean").get<double>());
  };
  for (const std::string name :
       {"effective_rank", "rankme", "participation_ratio", "stable_rank", "numerical_rank",
        "mean_token_similarity", "rank_one_residual", "rank_one_residual_1inf", "curvature",
        "massive_share", "massive_token_share"}) {
    expect_mean(name, name);
  }
  expect_mean("sequence_cosine", "mean_cosine");
  expect_mean("largest_to_median", "largest_ratio");
}

TEST_F(LimeMetricsGeometryTest, LeavesOutTheFirstTokensAndMeasuresTheDataSet) {
  write_golden_layer();
  const Json golden = read_json_file(golden_file("geometry/measures.json"));
  const Json& skip = golden.at("skip");
  const auto mean_of = [&](const std::string& command) {
    return rows(command).at(0).at("mean").get<double>();
  };
  EXPECT_NEAR(mean_of("entropy --preset raw --skip-tokens 1"), skip.at("raw").get<double>(), 1e-9);
  EXPECT_NEAR(mean_of("entropy --skip-tokens 1"), skip.at("lime-code").get<double>(), 1e-9);
  const Json ranks = rows("geometry --measure rank --skip-tokens 1");
  EXPECT_NEAR(row_of(ranks, "stable_rank", "rows").at("mean").get<double>(),
              skip.at("stable_rank").get<double>(), 1e-9);
  const Json first = rows("geometry --measure first-token");
  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(first.at(1).at("n"), 3);
  for (const std::string preset : {"raw", "lime-code"}) {
    const Json found = rows("entropy --dataset mean,last --preset " + preset);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found.at(0).at("over"), "sequences");
    EXPECT_EQ(found.at(1).at("over"), "mean rows");
    EXPECT_NEAR(found.at(1).at("mean").get<double>(),
                golden.at("dataset").at("mean").at(preset).get<double>(), 1e-6);
  }
  EXPECT_NEAR(rows("entropy --dataset last --preset raw").at(1).at("mean").get<double>(),
              golden.at("dataset").at("last").at("raw").get<double>(), 1e-9);
  EXPECT_THAT(run("entropy --dataset mean --skip-tokens 2").output,
              HasSubstr("data set of mean rows, dim 12"));
  const Json law = rows("geometry --measure power-law --power-law-first 2 --power-law-last 11");
  EXPECT_NEAR(law.at(0).at("mean").get<double>(),
              golden.at("power_law").at(0).at("alpha").get<double>(), 1e-9);
  EXPECT_EQ(law.at(0).at("fit_last"), 11);
  EXPECT_EQ(
      refusal("geometry --measure power-law", 1),
      "lime-metrics: 'capture.h5': site 'hidden', layer 0: --power-law-last: must be at most 12, "
      "the rank of the covariance, got 50; use a smaller range, or more rows\n");
  EXPECT_EQ(
      refusal("geometry --skip-tokens 24", 1),
      "lime-metrics: --skip-tokens: must leave every sequence at least 2 tokens, but sequence 1 "
      "of 'capture.h5' has 25, got 24\n");
  EXPECT_THAT(refusal("entropy --skip-tokens -1", 2), HasSubstr("--skip-tokens: must be >= 0"));
}

TEST_F(LimeMetricsGeometryTest, TreatsSeedsAsTheUnit) {
  std::string captures;
  for (int i = 0; i < 5; ++i) {
    SmallCapture capture = example_capture(static_cast<std::uint64_t>(i));
    if (i >= 3) capture.activations[0].rows.col(0).array() += 4.0F;
    write_capture(folder_ / fmt::format("c{}.h5", i), capture);
    captures += fmt::format(" c{}.h5", i);
  }
  const std::string command =
      "entropy" + captures + " --preset raw --site values --layer 0 --runs A,A,A,B,B";
  const Json found = rows(command);
  ASSERT_EQ(found.size(), 5U + 3U);
  const Json& mean = found.at(5);
  EXPECT_EQ(mean.at("kind"), "run_mean");
  EXPECT_EQ(mean.at("label"), "A");
  EXPECT_EQ(mean.at("runs"), 3);
  EXPECT_NEAR(mean.at("mean").get<double>(),
              (found.at(0).at("mean").get<double>() + found.at(1).at("mean").get<double>() +
               found.at(2).at("mean").get<double>()) /
                  3.0,
              1e-12);
  const Json& difference = found.at(7);
  EXPECT_EQ(difference.at("kind"), "run_comparison");
  EXPECT_EQ(difference.at("baseline"), "A");
  EXPECT_EQ(difference.at("p"), 0.1) << "2 of 20 assignments, or 1 of 10 of unequal groups";
  EXPECT_LT(difference.at("p_kruskal"), 0.1);
  EXPECT_EQ(found, rows(command + " --threads 3"));
  EXPECT_THAT(run("entropy c0.h5 c1.h5 c3.h5 --runs A,A,B").output,
              HasSubstr("one training run of 'B': no interval over runs"));
  EXPECT_EQ(refusal("entropy c0.h5 c1.h5 --runs A", 1),
            "lime-metrics: --runs: expected the model of each of 2 captures, got 1\n");
}

TEST_F(LimeMetricsGeometryTest, CorrelatesMeasurementsWithScores) {
  const Json golden = read_json_file(golden_file("geometry/measures.json")).at("correlations");
  Results results;
  results.metric = "geometry";
  std::string layers = "label,layer,\"task, one\"\n";
  std::string models = "label,score\n";
  for (int i = 0; i < 8; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double x = golden.at("x").at(at);
    const double y = golden.at("y").at(at);
    for (const std::string& label : {std::string("a"), fmt::format("m{}", i)}) {
      results.rows.push_back({{col::kLabel, label},
                              {col::kSite, "hidden"},
                              {col::kLayer, label == "a" ? i : 0},
                              {col::kMeasure, "rankme"},
                              {col::kMean, x}});
    }
    layers += fmt::format("a,{},{}\r\n", i, y);
    models += fmt::format("m{},{}\n", i, y);
  }
  write_results(folder_ / "g.json", results);
  testing::write_text(folder_ / "layers.csv", layers);
  testing::write_text(folder_ / "models.csv", models);
  const Json found = rows("correlates g.json --scores layers.csv");
  ASSERT_EQ(found.size(), 1U) << found;
  EXPECT_EQ(found.at(0).at("task"), "task, one");
  EXPECT_EQ(found.at(0).at("n"), 8);
  EXPECT_NEAR(found.at(0).at("spearman").get<double>(), golden.at("spearman").get<double>(), 1e-12);
  EXPECT_NEAR(found.at(0).at("partial").get<double>(), golden.at("partial").get<double>(), 1e-12);
  const Json across = rows("correlates g.json --scores models.csv");
  ASSERT_EQ(across.size(), 1U) << across;
  EXPECT_EQ(across.at(0).at("layer"), 0);
  EXPECT_NEAR(across.at(0).at("spearman").get<double>(), golden.at("spearman").get<double>(),
              1e-12);
  EXPECT_THAT(run("correlates g.json --scores layers.csv").output, HasSubstr("partial"));
  testing::write_text(folder_ / "bad.csv", "label,score\nm1,high\n");
  EXPECT_EQ(refusal("correlates g.json --scores bad.csv", 1),
            "lime-metrics: 'bad.csv', line 2, score: expected a finite number, got 'high'\n");
  testing::write_text(folder_ / "few.csv", "label,score\nm1,1\n");
  EXPECT_THAT(refusal("correlates g.json --scores few.csv", 1),
              HasSubstr("--scores: at least 4 models must be in the results and in the scores"));
}

TEST_F(LimeMetricsGeometryTest, TablesNameMeasuresAndCapturesAndCompare) {
  write_capture(folder_ / "a.h5", example_capture(1));
  write_capture(folder_ / "b.h5", example_capture(2));
  const auto one = run("geometry a.h5 --site values --k 3");
  EXPECT_EQ(one.status, 0) << one.errors;
  EXPECT_THAT(one.output, HasSubstr("values, rank, over rows (at most 4)"));
  EXPECT_THAT(one.output, HasSubstr("effective_rank"));
  EXPECT_THAT(one.output, HasSubstr("values, massive, over sequences"));
  const auto two = run("geometry a.h5 b.h5 --measure similarity --compare first");
  EXPECT_EQ(two.status, 0) << two.errors;
  EXPECT_THAT(two.output, HasSubstr("hidden, similarity, rank_one_residual, over sequences"));
  EXPECT_THAT(two.output, HasSubstr("Holm"));
  const auto latex = run("geometry a.h5 --measure rank --format latex");
  EXPECT_EQ(latex.status, 0) << latex.errors;
  EXPECT_THAT(latex.output, ::testing::Not(HasSubstr("nan")));
}

TEST_F(LimeMetricsGeometryTest, GivesTheSameNumbersForAnyThreadsAndMemory) {
  write_capture(folder_ / "capture.h5", example_capture(3));
  const Json one = rows("geometry --ranks both --k 3 --threads 1");
  EXPECT_EQ(one, rows("geometry --ranks both --k 3 --threads 3"));
  EXPECT_EQ(one, rows("geometry --ranks both --k 3 --threads 2 --memory-limit 1GB"));
}

TEST_F(LimeMetricsGeometryTest, UsesTheFirstSequencesAndTheirOwnMean) {
  SmallCapture all = example_capture(4);
  SmallCapture part = all;
  part.lengths = {5, 8};
  for (auto& activation : part.activations) activation.rows = activation.rows.topRows(13).eval();
  write_capture(folder_ / "all.h5", all);
  write_capture(folder_ / "part.h5", part);
  Json first = rows("geometry all.h5 --label x --max-sequences 2 --k 3");
  const Json second = rows("geometry part.h5 --label x --k 3");
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].at("measure"), second[i].at("measure"));
    EXPECT_NEAR(first[i].at("mean").get<double>(), second[i].at("mean").get<double>(), 1e-10)
        << first[i];
  }
}

/// The captured sequences are the views of views.json, one token and its negative around each.
TEST_F(LimeMetricsGeometryTest, ViewsEqualThePapersEquations) {
  const Json golden = read_json_file(golden_file("geometry/views.json")).at("wide");
  SmallCapture capture;
  capture.num_views = 3;
  capture.lengths.assign(golden.at("rows").size(), 3);
  MatrixF tokens(static_cast<Eigen::Index>(3 * capture.lengths.size()), 16);
  for (std::size_t v = 0; v < capture.lengths.size(); ++v) {
    const auto row = golden.at("rows").at(v).get<std::vector<float>>();
    const auto first = static_cast<Eigen::Index>(3 * v);
    tokens.row(first) = 3.0F * Eigen::Map<const Eigen::RowVectorXf>(row.data(), 16);
    tokens.row(first + 1) = random_matrix(1, 16, v);
    tokens.row(first + 2) = -tokens.row(first + 1);
  }
  capture.activations.push_back({"hidden", 0, tokens});
  write_capture(folder_ / "capture.h5", capture);
  const std::string paper = " --label model --measure views --view-preset paper --jackknife 5";
  const Json found = rows("geometry" + paper);
  SmallCapture with_short = capture;
  for (const std::int64_t length : {3, 1, 2}) with_short.lengths.push_back(length);
  MatrixF& longer = with_short.activations[0].rows;
  longer.conservativeResize(longer.rows() + 6, Eigen::NoChange);
  longer.bottomRows(6).setConstant(2.0F);
  write_capture(folder_ / "short.h5", with_short);
  EXPECT_EQ(difference(rows("geometry short.h5" + paper), found), "");
  EXPECT_THAT(run("geometry short.h5 --measure views").output,
              HasSubstr("short: skipped 1 text of fewer than 2 tokens in a view"));
  const Json& infonce = row_of(found, "infonce", "texts");
  const auto losses = golden.at("paper").at("infonce").get<std::vector<double>>();
  EXPECT_NEAR(infonce.at("mean").get<double>(), mean_of(losses), 1e-6);
  EXPECT_EQ(infonce.at("n"), 7);
  const Json& lidar = row_of(found, "lidar", "rows");
  EXPECT_NEAR(lidar.at("mean").get<double>(), golden.at("paper").at("lidar").get<double>(), 1e-4);
  EXPECT_GT(lidar.at("stderr").get<double>(), 0.0);
  const Json& dime = row_of(found, "dime", "rows");
  EXPECT_GT(dime.at("permutation_std").get<double>(), 0.0);
  EXPECT_LT(dime.at("ci_low").get<double>(), dime.at("ci_high").get<double>());
  const std::string views = "geometry --measure views,rank --jackknife 5";
  EXPECT_EQ(rows(views + " --threads 1"), rows(views + " --threads 3"));
  EXPECT_EQ(
      refusal("geometry --measure views --max-sequences 7", 1),
      "lime-metrics: --max-sequences: must be a multiple of 3, the number of views of a text, "
      "got 7\n");
  EXPECT_EQ(
      refusal("geometry --measure views --jackknife 8", 1),
      "lime-metrics: --jackknife: must be <= 7, the number of texts of 'capture.h5', got 8\n");
}

TEST_F(LimeMetricsGeometryTest, ATextWithLongViewsMustBeLeft) {
  SmallCapture capture;
  capture.num_views = 2;
  capture.lengths = {3, 1};
  capture.activations.push_back({"hidden", 0, random_matrix(4, 8, 1)});
  write_capture(folder_ / "capture.h5", capture);
  EXPECT_EQ(refusal("geometry --measure views", 1),
            "lime-metrics: 'capture.h5': each text has a view of fewer than 2 tokens, but geometry "
            "needs more; capture longer views\n");
}

TEST_F(LimeMetricsGeometryTest, ViewsNeedACaptureOfViews) {
  write_capture(folder_ / "capture.h5", example_capture(5));
  EXPECT_EQ(
      refusal("geometry --measure views", 1),
      "lime-metrics: 'capture.h5': contains no views of texts; capture them with lime-capture "
      "--views\n");
}

TEST_F(LimeMetricsGeometryTest, AllRowsEqualIsUndefinedWhereItIsAndSaysSo) {
  SmallCapture capture;
  capture.lengths = {6, 6};
  capture.activations.push_back({"hidden", 0, MatrixF::Constant(12, 4, 0.5F)});
  write_capture(folder_ / "capture.h5", capture);
  const Json found = rows("geometry --measure rank,similarity,curvature,massive");
  EXPECT_NEAR(row_of(found, "effective_rank", "rows").at("mean").get<double>(), 1.0, 1e-6);
  EXPECT_EQ(row_of(found, "participation_ratio", "rows").at("mean"), "nan");
  EXPECT_EQ(row_of(found, "participation_ratio", "rows").at("undefined"), 1);
  EXPECT_NEAR(row_of(found, "anisotropy", "rows").at("mean").get<double>(), 1.0, 1e-12);
  EXPECT_EQ(row_of(found, "anisotropy_centred", "rows").at("mean"), "nan");
  EXPECT_EQ(row_of(found, "rank_one_residual", "sequences").at("mean").get<double>(), 0.0);
  EXPECT_EQ(row_of(found, "curvature", "sequences").at("undefined"), 2);
  EXPECT_THAT(run("geometry --measure rank").output, HasSubstr("nan: undefined"));
  const Json dimension = rows("geometry --measure dimension --k 3");
  EXPECT_EQ(row_of(dimension, "two_nn", "rows").at("mean"), "nan");
  EXPECT_EQ(row_of(dimension, "two_nn", "rows").at("n"), 1);
  EXPECT_EQ(row_of(dimension, "two_nn", "rows").at("duplicates"), 11);
  EXPECT_EQ(refusal("geometry --measure dimension", 1),
            "lime-metrics: --k: must be < 12, the number of rows of 'capture.h5', got 20\n");
  EXPECT_EQ(refusal("similarity --label a", 1),
            "lime-metrics: 'capture.h5': site 'hidden': 'a', layer 0: similarity: all 12 rows are "
            "equal, so their similarity is undefined\n");
}

TEST_F(LimeMetricsGeometryTest, DuplicatesAreDroppedAndCounted) {
  SmallCapture capture;
  capture.lengths = {40, 40};
  MatrixF rows_twice(80, 5);
  rows_twice << random_matrix(40, 5, 1), random_matrix(40, 5, 1);
  capture.activations.push_back({"hidden", 0, rows_twice});
  write_capture(folder_ / "capture.h5", capture);
  const Json found = rows("geometry --measure dimension --k 5");
  for (const std::string measure : {"two_nn", "mle"}) {
    EXPECT_EQ(row_of(found, measure, "rows").at("n"), 40);
    EXPECT_EQ(row_of(found, measure, "rows").at("duplicates"), 40);
    EXPECT_TRUE(std::isfinite(row_of(found, measure, "rows").at("mean").get<double>()));
  }
}

TEST_F(LimeMetricsGeometryTest, NamesTheFirstPlaceThatIsNotFinite) {
  SmallCapture capture = example_capture();
  capture.activations[0].rows(5 + 2, 3) = std::numeric_limits<float>::quiet_NaN();
  write_capture(folder_ / "capture.h5", capture);
  EXPECT_EQ(refusal("geometry --k 3", 1),
            "lime-metrics: 'capture.h5': site 'values', layer 0: geometry: sequence 1: "
            "representations must be finite, got nan at token 2, dimension 3; check the model for "
            "overflow, or capture in a wider type\n");
}

TEST_F(LimeMetricsGeometryTest, RefusesWhatHasNoSequencesOfTokens) {
  SmallCapture pooled = example_capture();
  pooled.rows = RowKind::kMean;
  write_capture(folder_ / "pooled.h5", pooled);
  EXPECT_EQ(refusal("geometry pooled.h5", 1),
            "lime-metrics: 'pooled.h5': contains one row per sequence (--rows mean), but geometry "
            "needs every token of a sequence; capture again with --rows tokens\n");
  SmallCapture some = example_capture();
  some.class_names = {" is"};
  write_capture(folder_ / "some.h5", some);
  EXPECT_EQ(refusal("geometry some.h5", 1),
            "lime-metrics: 'some.h5': contains only some tokens (' is'), but geometry needs every "
            "token of a sequence; capture again without --only\n");
  SmallCapture single;
  single.lengths = {4, 1};
  single.activations.push_back({"hidden", 0, random_matrix(5, 3, 1)});
  single.lengths = {1, 1, 1, 1, 1};
  write_capture(folder_ / "single.h5", single);
  EXPECT_EQ(refusal("geometry single.h5", 1),
            "lime-metrics: 'single.h5': sequence 0 has 1 token, but geometry needs at least 2; "
            "capture again without it\n");
  single.lengths = {4, 1};
  write_capture(folder_ / "short.h5", single);
  EXPECT_THAT(run("geometry short.h5").output,
              HasSubstr("short: skipped 1 sequence of fewer than 2 tokens"));
}

TEST_F(LimeMetricsGeometryTest, WrongOptionsAreOneLine) {
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_EQ(refusal("geometry --k 1", 2),
            std::string("lime-metrics: --k: must be >= 2, got 1") + kSeeGeometry);
  EXPECT_EQ(refusal("geometry --k 20 --neighbor-rows 20", 2),
            std::string("lime-metrics: --k: must be < the number of neighbor rows, 20, got 20") +
                kSeeGeometry);
  EXPECT_EQ(refusal("geometry --measure ranks", 2),
            std::string("lime-metrics: --measure: expected one of rank, similarity, curvature, "
                        "massive, dimension, first-token, power-law, views, got 'ranks'") +
                kSeeGeometry);
  EXPECT_EQ(refusal("geometry --rank-tolerance 0", 2),
            std::string("lime-metrics: --rank-tolerance: must be in [1e-07, 1), got 0; smaller "
                        "singular values are rounding noise") +
                kSeeGeometry);
  EXPECT_EQ(refusal("geometry --two-nn-discard 1", 2),
            std::string("lime-metrics: --two-nn-discard: must be in [0, 1), got 1") + kSeeGeometry);
  EXPECT_EQ(refusal("geometry --massive-ratio 0.5", 2),
            std::string("lime-metrics: --massive-ratio: must be >= 1, got 0.5") + kSeeGeometry);
  EXPECT_THAT(refusal("geometry --layer ''", 2), HasSubstr("layer"));
}

/// `rows` without sequence `left_out` of six rows.
MatrixF without_sequence(const MatrixF& rows, Eigen::Index left_out) {
  MatrixF rest(rows.rows() - 6, rows.cols());
  rest << rows.topRows(6 * left_out), rows.bottomRows(rows.rows() - 6 * (left_out + 1));
  return rest;
}

TEST_F(LimeMetricsGeometryTest, JackknifeIsThatOfTheCapturesWithoutEachBlock) {
  const auto [capture, unused] = two_models();
  write_capture(folder_ / "capture.h5", capture);
  const std::string measures = " --measure rank,similarity,dimension --k 3 --layer 0";
  const Json all = rows("geometry --jackknife 7" + measures);
  std::vector<Json> without;
  for (Eigen::Index g = 0; g < 7; ++g) {
    SmallCapture rest;
    rest.lengths.assign(6, 6);
    rest.activations.push_back({"hidden", 0, without_sequence(capture.activations[0].rows, g)});
    write_capture(folder_ / fmt::format("rest{}.h5", g), rest);
    without.push_back(rows(fmt::format("geometry rest{}.h5{}", g, measures)));
  }
  for (const std::string measure : {"effective_rank", "participation_ratio", "stable_rank",
                                    "anisotropy", "anisotropy_centred", "two_nn", "mle"}) {
    const Json& row = row_of(all, measure, "rows");
    std::vector<double> values;
    double mean = 0.0;
    for (const Json& rest : without) {
      values.push_back(row_of(rest, measure, "rows").at("mean").get<double>());
      mean += values.back() / 7.0;
    }
    double squares = 0.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    EXPECT_NEAR(row.at("stderr").get<double>(), std::sqrt(6.0 / 7.0 * squares), 1e-8) << measure;
    EXPECT_LT(row.at("ci_low").get<double>(), row.at("mean").get<double>());
    EXPECT_GT(row.at("ci_high").get<double>(), row.at("mean").get<double>());
  }
  EXPECT_EQ(all, rows("geometry --jackknife 7 --threads 3" + measures));
}

TEST_F(LimeMetricsGeometryTest, ComparesWhatIsMeasuredOfAllRowsBlockByBlock) {
  const auto [first, second] = two_models();
  write_capture(folder_ / "a.h5", first);
  write_capture(folder_ / "b.h5", second);
  const Json found =
      rows("geometry a.h5 b.h5 --measure rank,similarity --jackknife 7 --compare first");
  int compared = 0;
  for (const Json& row : found) {
    if (row.value("kind", "") != "comparison" || row.at("items") != "blocks") continue;
    ++compared;
    EXPECT_EQ(row.at("n"), 7);
    if (row.at("quantity") != "anisotropy") continue;
    if (row.at("layer") == 0) {
      EXPECT_EQ(row.at("difference"), 0.0);
    } else {
      EXPECT_GT(row.at("ci_low").get<double>(), 0.0);
      EXPECT_NEAR(row.at("p").get<double>(), 2.0 / 128.0, 1e-12);
      EXPECT_NEAR(row.at("p_holm").get<double>(), 4.0 / 128.0, 1e-12);
    }
  }
  EXPECT_EQ(compared, 2 * 7);
  const Json both =
      rows("geometry a.h5 b.h5 --measure rank --ranks both --jackknife 7 --compare first");
  for (const char* const over : {"rows", "sequences"}) {
    const Json row = row_with(
        both, {{"kind", "comparison"}, {"quantity", "rankme"}, {"layer", 1}, {"over", over}});
    EXPECT_EQ(row.at("items"), over == std::string("rows") ? "blocks" : "sequences");
  }
  EXPECT_THAT(run("geometry a.h5 --measure rank").output, HasSubstr("add --jackknife 10"));
  EXPECT_EQ(refusal("geometry a.h5 b.h5 --measure rank --compare first", 1),
            "lime-metrics: --compare: measures of all rows together have no values per item; add "
            "--jackknife 10\n");
  EXPECT_EQ(refusal("geometry a.h5 --jackknife 8", 1),
            "lime-metrics: --jackknife: must be <= 7, the number of sequences of 'a.h5', got 8\n");
  EXPECT_EQ(
      refusal("geometry a.h5 --jackknife 4", 2),
      std::string("lime-metrics: --jackknife: must be >= 5, or 0 for none, got 4") + kSeeGeometry);
}

}  // namespace
}  // namespace lime
