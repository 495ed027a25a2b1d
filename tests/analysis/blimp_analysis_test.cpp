// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/blimp/pair_tasks.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/write_capture.h"
#include "analysis/write_pairs.h"
#include "core/errors.h"
#include "store/results/row_json.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using testing::example_pairs;
using ::testing::HasSubstr;
using testing::PairCapture;
using testing::write_pairs;

class BlimpTest : public ::testing::Test {
 protected:
  void use(const PairCapture& capture, const std::string& name = "blimp.h5") {
    write_pairs(folder_ / name, capture);
    options_.captures.captures = {folder_ / name};
  }

  Report analyze(int threads = 1) {
    const RunOptions run{.threads = threads, .seed = 7};
    return run_analysis(prepare_blimp(options_, run), run);
  }

  /// Returns the only row of `name` on `level` (and in `layer`).
  Json row(const Report& report, const std::string& level, const std::string& name,
           std::optional<int> layer = std::nullopt) {
    std::vector<Json> found;
    for (const ResultRow& of_results : report.results.rows) {
      const Json candidate = row_to_json(of_results);
      if (candidate.at("level") != level || candidate.at("name") != name) continue;
      if (layer && candidate.at("layer") != *layer) continue;
      found.push_back(candidate);
    }
    EXPECT_EQ(found.size(), 1U) << level << " " << name;
    return found.empty() ? Json::object() : found.front();
  }

  std::string refusal() {
    return testing::refusal_of([&] { analyze(); });
  }

  testing::TemporaryFolder folder_;
  BlimpOptions options_;
};

/// Scores of 3 tasks of 12, 10 and 10 pairs: all correct in the first, one tie and one incorrect in
/// the second, all incorrect in the third.
PairCapture scored_pairs(const std::string& preset) {
  PairCapture capture = example_pairs();
  capture.layers.clear();
  capture.rows = RowKind::kTokens;
  capture.preset = preset;
  for (std::size_t i = 0; i < capture.num_sentences() / 2; ++i) {
    const bool is_right = i < 22;
    capture.scores.push_back(is_right ? -5.0 : -7.0);
    capture.scores.push_back(-6.0);
  }
  capture.scores[2 * 12] = -6.0;
  capture.scores[2 * 13] = -9.0;
  return capture;
}

TEST_F(BlimpTest, ProbesFindWhatTellsSentencesApart) {
  use(example_pairs());
  const Report report = analyze();
  const Json separable = row(report, "task", "one", 1);
  EXPECT_EQ(separable.at("mean"), 1.0);
  EXPECT_EQ(separable.at("std"), 0.0);
  EXPECT_EQ(separable.at("n"), 5);
  EXPECT_EQ(separable.at("pairs"), 12);
  EXPECT_EQ(separable.at("linguistics_term"), "agreement");
  EXPECT_LT(row(report, "task", "one", 0).at("mean").get<double>(), 0.9);
}

TEST_F(BlimpTest, GroupsAreUnweightedMeansOverTasks) {
  use(example_pairs());
  const Report report = analyze();
  const auto mean = [&](const char* level, const char* name) {
    return row(report, level, name, 1).at("mean").get<double>();
  };
  const double one = mean("task", "one");
  const double two = mean("task", "two");
  const double three = mean("task", "three");
  EXPECT_NEAR(mean("all", "all"), (one + two + three) / 3.0, 1e-15);
  EXPECT_NEAR(mean("linguistics_term", "agreement"), (one + three) / 2.0, 1e-15);
  EXPECT_NEAR(mean("field", "syntax_semantics"), (two + three) / 2.0, 1e-15)
      << "both spellings of the field are one";
  const double centre = (one + two + three) / 3.0;
  const double variance =
      (std::pow(one - centre, 2) + std::pow(two - centre, 2) + std::pow(three - centre, 2)) / 3.0;
  EXPECT_NEAR(row(report, "all", "all", 1).at("std").get<double>(), std::sqrt(variance), 1e-15);
}

/// Bad sentences equal their good ones up to noise: a probe trained on one member of a pair could
/// recognise the other by similarity. With whole pairs in a fold only chance remains.
TEST_F(BlimpTest, KeepsBothMembersOfAPairInOneFold) {
  PairCapture capture;
  capture.tasks = {{"alike", "", "", 60}};
  MatrixF rows = testing::random_matrix(120, 200, 3);
  for (int pair = 0; pair < 60; ++pair) rows.row(2 * pair + 1) = rows.row(2 * pair);
  capture.layers = {rows};
  use(capture);
  const Report report = analyze();
  // Equal rows get equal predictions, of which exactly one is correct.
  EXPECT_EQ(row(report, "task", "alike", 0).at("mean"), 0.5);
  EXPECT_EQ(row(report, "task", "alike", 0).at("std"), 0.0);
}

TEST_F(BlimpTest, ControlLabelsLeaveChance) {
  PairCapture capture;
  capture.tasks = {{"clear", "syntax", "binding", 200}};
  capture.layers = {testing::random_matrix(400, 3, 5)};
  for (int i = 0; i < 400; ++i) capture.layers[0](i, 0) += i % 2 == 0 ? 8.0F : -8.0F;
  use(capture);
  options_.control = true;
  const Json clear = row(analyze(), "task", "clear", 0);
  EXPECT_EQ(clear.at("mean"), 1.0);
  EXPECT_NEAR(clear.at("control").get<double>(), 0.5, 0.12);
}

TEST_F(BlimpTest, GivesTheSameBitsForAnyNumberOfThreads) {
  use(example_pairs());
  const Report one = analyze(1);
  const Report three = analyze(3);
  EXPECT_EQ(results_to_csv(one.results), results_to_csv(three.results));
}

TEST_F(BlimpTest, TakesTheTasksAskedFor) {
  use(example_pairs());
  options_.task = {"three", "one"};
  const Report report = analyze();
  EXPECT_EQ(row(report, "all", "all", 0).at("tasks"), 2);
  EXPECT_EQ(row(report, "all", "all", 0).at("pairs"), 22);
}

TEST_F(BlimpTest, ZeroShotCountsAsTheHarnessDoes) {
  use(scored_pairs("lm-eval"));
  options_.zero_shot = true;
  const Report report = analyze();
  EXPECT_EQ(row(report, "task", "one").at("mean"), 1.0);
  EXPECT_DOUBLE_EQ(row(report, "task", "two").at("mean"), 0.9) << "the tie is right";
  EXPECT_EQ(row(report, "task", "two").at("ties"), 1);
  EXPECT_EQ(row(report, "task", "three").at("mean"), 0.0);
  EXPECT_DOUBLE_EQ(row(report, "all", "all").at("mean"), 1.9 / 3.0)
      << "tasks count alike, whatever their size";
  EXPECT_NEAR(row(report, "task", "two").at("stderr").get<double>(), std::sqrt(0.09 / 9.0), 1e-15);
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("1 tie, counted as right (two: 0)")));
}

TEST_F(BlimpTest, AGroupOfOneTaskHasTheIntervalOfTheTask) {
  use(scored_pairs("lm-eval"));
  options_.zero_shot = true;
  const Report report = analyze();
  const Json task = row(report, "task", "two");
  const Json group = row(report, "linguistics_term", "binding");
  for (const char* const column : {"mean", "ci_low", "ci_high"}) {
    EXPECT_EQ(group.at(column), task.at(column)) << column;
    EXPECT_TRUE(std::isfinite(group.at(column).get<double>())) << column;
  }
  EXPECT_NE(row(report, "linguistics_term", "agreement").at("ci_low"),
            row(report, "task", "one").at("ci_low"));
  EXPECT_THAT(report.legend, HasSubstr("Wilson interval over pairs for single tasks"));
}

TEST_F(BlimpTest, ZeroShotCountsAsThePaperDoes) {
  use(scored_pairs("blimp-paper"));
  options_.zero_shot = true;
  const Report report = analyze();
  EXPECT_DOUBLE_EQ(row(report, "task", "two").at("mean"), 0.8) << "the tie is wrong";
  EXPECT_EQ(row(report, "task", "two").at("ties"), 1);
}

TEST_F(BlimpTest, SamplesAverageToTheMeanOverTasks) {
  use(scored_pairs("lm-eval"));
  options_.zero_shot = true;
  const RunOptions run{.threads = 1};
  const Analysis analysis = prepare_blimp(options_, run);
  ThreadPool pool(1);
  const UnitResult unit =
      analysis.units.at(0).measure({.pool = pool, .on_progress = {}, .stop = {}});
  const std::vector<double>& values = unit.samples.at(0).values;
  ASSERT_EQ(values.size(), 32U);
  double sum = 0.0;
  for (const double value : values) sum += value;
  EXPECT_NEAR(sum / 32.0, 1.9 / 3.0, 1e-15);
}

TEST_F(BlimpTest, WritesEveryJudgement) {
  use(scored_pairs("lm-eval"));
  options_.zero_shot = true;
  options_.judgements = folder_ / "judged.jsonl";
  analyze();
  const std::string text = testing::read_text(folder_ / "judged.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 32);
  std::istringstream lines(text);
  std::vector<Json> judged;
  for (std::string line; std::getline(lines, line);) judged.push_back(Json::parse(line));
  EXPECT_EQ(judged[12].at("verdict"), "tie");
  EXPECT_EQ(judged[13].at("verdict"), "wrong");
  EXPECT_EQ(judged[13].at("task"), "two");
  EXPECT_EQ(judged[13].at("pair"), 1);
  EXPECT_EQ(judged[13].at("sentence_good"), "sentence 26");
  EXPECT_EQ(judged[13].at("log_likelihood_good"), -9.0);
}

TEST_F(BlimpTest, WritesJudgementsOfProbesThatAgreeWithTheirAccuracy) {
  use(example_pairs());
  options_.judgements = folder_ / "judged.jsonl";
  options_.captures.layer = LayerSelection::parse("0");
  const Report report = analyze();
  std::istringstream lines(testing::read_text(folder_ / "judged.jsonl"));
  int right = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json judged = Json::parse(line);
    if (judged.at("task") != "two") continue;
    right += int(judged.at("good_right").get<bool>()) + int(judged.at("bad_right").get<bool>());
  }
  EXPECT_NEAR(right / 20.0, row(report, "task", "two", 0).at("mean").get<double>(), 1e-15);
}

TEST_F(BlimpTest, SetsTheTableOfThePaper) {
  use(example_pairs());
  options_.by = BlimpBreakdown::kTask;
  const std::string table = format_report(analyze(), ResultsFormat::kLatex);
  EXPECT_THAT(table, HasSubstr("\\rotatebox{90}{one} & \\rotatebox{90}{two} & "
                               "\\rotatebox{90}{three} & Avg"));
  EXPECT_THAT(table, ::testing::ContainsRegex("blimp & hidden & [0-9.]+ .[0-9.]+. & "));
}

TEST_F(BlimpTest, SetsTableTwoOfThePaper) {
  use(example_pairs());
  options_.by = BlimpBreakdown::kLayer;
  const std::string table = format_report(analyze(), ResultsFormat::kLatex);
  EXPECT_THAT(table, HasSubstr("layer & blimp, hidden \\\\"));
  EXPECT_THAT(table, ::testing::ContainsRegex("\n0 & .[0-9.]+ .pm [0-9.]+. "));
  options_.zero_shot = true;
  EXPECT_THAT(refusal(), HasSubstr("by: layer requires probes"));
}

TEST_F(BlimpTest, RefusesPairsThatLackAMember) {
  PairCapture capture = example_pairs();
  capture.lost = {27};
  use(capture);
  EXPECT_THAT(refusal(),
              HasSubstr("task 'two': pair 1 must have one good and one bad sentence, got 1 and 0"));
}

TEST_F(BlimpTest, RefusesFewerPairsThanFolds) {
  use(example_pairs());
  options_.folds = 11;
  EXPECT_THAT(refusal(), HasSubstr("task 'two' has 10 pairs, fewer than the 11 folds; use fewer "
                                   "--folds or omit the task with --task"));
}

TEST_F(BlimpTest, RefusesRowsThatAreNotNumbers) {
  PairCapture capture = example_pairs();
  capture.layers[1](26, 2) = std::numeric_limits<float>::quiet_NaN();
  capture.layers[1](40, 0) = std::numeric_limits<float>::quiet_NaN();
  use(capture);
  EXPECT_THAT(refusal(),
              HasSubstr("site 'hidden', layer 1: rows must be finite, got nan in "
                        "dimension 2 of sequence 26 (task 'two', pair 1: 'sentence 26')"));
}

TEST_F(BlimpTest, RefusesCapturesOfAnotherKind) {
  testing::write_capture(folder_ / "text.h5", testing::example_capture());
  options_.captures.captures = {folder_ / "text.h5"};
  EXPECT_THAT(refusal(), HasSubstr("contains no minimal pairs (its sequences have no labels and "
                                   "pairs); capture them with lime-capture --pairs"));
  PairCapture capture = example_pairs();
  capture.rows = RowKind::kTokens;
  use(capture, "tokens.h5");
  EXPECT_THAT(refusal(), HasSubstr("capture again with --rows mean or --rows last"));
  options_.zero_shot = true;
  EXPECT_THAT(
      refusal(),
      HasSubstr(
          "contains no log-likelihoods; capture the pairs with lime-capture --log-likelihood"));
  options_.zero_shot = false;
  use(scored_pairs("lm-eval"), "scored.h5");
  EXPECT_THAT(refusal(), HasSubstr("contains no activations to probe"));
}

TEST_F(BlimpTest, RefusesTasksThatAreNotThere) {
  use(example_pairs());
  options_.task = {"four"};
  EXPECT_THAT(refusal(), HasSubstr("has no task 'four' (its tasks: one, two, three)"));
}

TEST_F(BlimpTest, RefusesToMixPresets) {
  use(scored_pairs("lm-eval"), "a.h5");
  use(scored_pairs("blimp-paper"), "b.h5");
  options_.captures.captures = {folder_ / "a.h5", folder_ / "b.h5"};
  options_.zero_shot = true;
  EXPECT_THAT(refusal(), HasSubstr("all captures must use the same preset"));
}

TEST_F(BlimpTest, RefusesOptionsAtOdds) {
  use(scored_pairs("lm-eval"));
  options_.zero_shot = true;
  options_.captures.layer = LayerSelection::parse("0");
  EXPECT_THAT(refusal(), HasSubstr("zero_shot: scores the whole model"));
  options_.zero_shot = false;
  options_.folds = 1;
  EXPECT_THAT(refusal(), HasSubstr("folds: must be >= 2, got 1"));
}

TEST(LimePaperTasksTest, AreTen) { EXPECT_EQ(lime_paper_tasks().size(), 10U); }

}  // namespace
}  // namespace lime
