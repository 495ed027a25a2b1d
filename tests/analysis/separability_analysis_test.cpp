// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/separability_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "analysis/engine/run_analysis.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "store/results/row_json.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::SmallCapture;
using testing::TemporaryFolder;
using testing::write_capture;

constexpr int kRows = 120;

/// Sequences of 4 tokens; three words that are separable in layer 1 but not in layer 0.
SmallCapture words_capture(std::uint64_t seed = 1) {
  SmallCapture capture;
  capture.lengths.assign(kRows / 4, 4);
  capture.class_names = {" is", " are", " was"};
  MatrixF noise = testing::random_matrix(kRows, 5, seed);
  MatrixF apart = testing::random_matrix(kRows, 5, seed + 1);
  for (int i = 0; i < kRows; ++i) {
    capture.class_id.push_back(static_cast<std::int16_t>(i % 3));
    apart(i, i % 3) += 20.0F;
  }
  capture.activations = {{"values", 0, noise}, {"values", 1, apart}};
  return capture;
}

class SeparabilityTest : public ::testing::Test {
 protected:
  Report run(const SmallCapture& capture, SeparabilityOptions options = {}, int threads = 2) {
    // A separate folder for every run: captures are never overwritten.
    path_ = folder_ / std::to_string(num_runs_++) / "words.h5";
    std::filesystem::create_directories(path_.parent_path());
    write_capture(path_, capture);
    options.captures.captures = {path_};
    RunOptions run_options;
    run_options.threads = threads;
    return run_analysis(prepare_separability(options, run_options), run_options);
  }
  std::string refusal(const SmallCapture& capture, const SeparabilityOptions& options = {}) {
    try {
      run(capture, options);
    } catch (const Error& error) {
      std::string text = error.what();
      const std::string path = path_.parent_path().string() + "/";
      for (auto at = text.find(path); at != std::string::npos; at = text.find(path)) {
        text.erase(at, path.size());
      }
      return text;
    }
    return "nothing was refused";
  }
  static Json row(const Report& report, int layer, const std::string& method,
                  const std::string& labels) {
    for (const ResultRow& of_results : report.results.rows) {
      const Json candidate = row_to_json(of_results);
      if (candidate.at("layer") == layer && candidate.at("method") == method &&
          candidate.at("labels") == labels) {
        return candidate;
      }
    }
    throw InvalidArgument("no row of layer {}, {}, {}", layer, method, labels);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
  int num_runs_ = 0;
};

TEST_F(SeparabilityTest, SaysWhereWordsCanBeToldApart) {
  const Report report = run(words_capture());
  ASSERT_EQ(report.results.rows.size(), 2U);
  const Json& noise = row(report, 0, "converged", "words");
  const Json& apart = row(report, 1, "converged", "words");
  EXPECT_NEAR(noise.at("mean").get<double>(), 1.0 / 3.0, 0.15);
  EXPECT_EQ(apart.at("mean"), 1.0);
  EXPECT_EQ(apart.at("std"), 0.0);
  EXPECT_EQ(apart.at("n"), 5);
  EXPECT_EQ(apart.at("rows"), kRows);
  EXPECT_EQ(apart.at("confusion"), Json::parse("[[40,0,0],[0,40,0],[0,0,40]]"));
  EXPECT_NEAR(apart.at("majority").get<double>(), 1.0 / 3.0, 0.01);
  EXPECT_EQ(apart.at("converged"), true);
  EXPECT_LE(apart.at("gradient_norm").get<double>(), 1e-7);
}

TEST_F(SeparabilityTest, HasBothMethodsAndControlsSideBySide) {
  SeparabilityOptions options;
  options.method = SeparabilityMethod::kBoth;
  options.control = {ProbeControl::kShuffled, ProbeControl::kSequence,
                     ProbeControl::kRandomFeatures};
  const Report report = run(words_capture(), options);
  EXPECT_EQ(report.results.rows.size(), 2U * 2U * 4U);
  for (const std::string method : {"converged", "lime-code"}) {
    const double real = row(report, 1, method, "words").at("mean").get<double>();
    for (const std::string control : {"shuffled", "sequence", "random-features"}) {
      const Json& floor = row(report, 1, method, control);
      EXPECT_LT(floor.at("mean").get<double>(), 0.7) << method << control;
      EXPECT_NEAR(floor.at("selectivity").get<double>(), real - floor.at("mean").get<double>(),
                  1e-12);
    }
  }
}

TEST_F(SeparabilityTest, DoesNotDependOnThreads) {
  SeparabilityOptions options;
  options.method = SeparabilityMethod::kBoth;
  EXPECT_EQ(run(words_capture(), options, 1).results.rows,
            run(words_capture(), options, 3).results.rows);
}

TEST_F(SeparabilityTest, TakesOnlySomeWords) {
  SeparabilityOptions options;
  options.words = {"is", " was"};
  options.max_per_class = 10;
  const Report report = run(words_capture(), options);
  EXPECT_EQ(row(report, 1, "converged", "words").at("rows"), 20);
  EXPECT_EQ(row(report, 1, "converged", "words").at("classes"), 2);
}

TEST_F(SeparabilityTest, KeepsSequencesInOneFold) {
  // The classes are separated only by noise of the sequence: it helps only if both halves of a
  // sequence can be in different folds.
  SmallCapture capture = words_capture();
  const MatrixF direction = testing::random_matrix(kRows / 4, 60, 9);
  MatrixF rows(kRows, 60);
  for (int i = 0; i < kRows; ++i) {
    rows.row(i) = direction.row(i / 4);
    capture.class_id[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(i / 4 % 3);
  }
  capture.activations = {{"values", 0, rows}};
  SeparabilityOptions options;
  options.method = SeparabilityMethod::kBoth;
  const Report leaking = run(capture, options);
  options.group = ProbeGroup::kSequence;
  const Report grouped = run(capture, options);
  EXPECT_GT(row(leaking, 0, "converged", "words").at("mean"), 0.95);
  EXPECT_LT(row(grouped, 0, "converged", "words").at("mean"), 0.7);
  // The paper's method makes too few steps on 120 rows to memorise much, but its folds differ too.
  EXPECT_NE(row(leaking, 0, "lime-code", "words").at("mean"),
            row(grouped, 0, "lime-code", "words").at("mean"));
}

TEST_F(SeparabilityTest, RefusesCapturesWithoutClassesToTellApart) {
  SmallCapture capture = words_capture();
  capture.class_names.clear();
  capture.class_id.clear();
  EXPECT_EQ(
      refusal(capture),
      "'words.h5': has no classes to separate; capture again with --only ' is, are, was, were'");
  capture.class_names = {" is"};
  EXPECT_EQ(refusal(capture),
            "'words.h5': separability needs at least 2 classes with rows, got only ' is'; capture "
            "again with more words");
}

TEST_F(SeparabilityTest, NamesTheClassWithFewerRowsThanFolds) {
  SmallCapture capture = words_capture();
  int kept = 0;
  for (std::int16_t& id : capture.class_id) {
    if (id == 2 && ++kept > 3) id = 0;
  }
  EXPECT_EQ(refusal(capture),
            "'words.h5': folds: each class needs at least 5 rows, one per fold, but class ' was' "
            "has 3; use fewer folds or capture more text");
}

TEST_F(SeparabilityTest, NamesTheFirstValueThatIsNotFinite) {
  SmallCapture capture = words_capture();
  capture.activations[1].rows(7, 2) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(
      refusal(capture),
      "'words.h5': site 'values', layer 1: rows must be finite, got nan in sequence 1, position "
      "3, dimension 2; check the model for overflow, or capture in a wider type");
}

TEST_F(SeparabilityTest, RefusesUnfitOptions) {
  SeparabilityOptions options;
  options.folds = 1;
  EXPECT_EQ(refusal(words_capture(), options), "folds: must be >= 2, got 1");
  options.folds = 5;
  options.random_state = std::uint64_t{1} << 32;
  EXPECT_EQ(refusal(words_capture(), options), "random_state: must be < 2^32, got 4294967296");
  options.random_state = 42;
  options.control = {ProbeControl::kShuffled, ProbeControl::kShuffled};
  EXPECT_EQ(refusal(words_capture(), options), "control: 'shuffled' is named twice");
}

}  // namespace
}  // namespace lime
