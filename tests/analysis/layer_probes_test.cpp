// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/layer_probes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "analysis/engine/run_analysis.h"
#include "analysis/write_capture.h"
#include "analysis/write_pairs.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kRows = 120;

/// Three words that the first dimensions separate approximately.
testing::SmallCapture words_capture() {
  testing::SmallCapture capture;
  capture.lengths.assign(kRows / 4, 4);
  capture.class_names = {" is", " are", " was"};
  MatrixF rows = testing::random_matrix(kRows, 5, 1);
  for (int i = 0; i < kRows; ++i) {
    capture.class_id.push_back(static_cast<std::int16_t>(i % 3));
    rows(i, i % 3) += 1.5F;
  }
  capture.activations = {{"values", 0, rows}};
  return capture;
}

class LayerProbesTest : public ::testing::Test {
 protected:
  CaptureReader words() const {
    testing::write_capture(folder_ / "words.h5", words_capture());
    return CaptureReader(folder_ / "words.h5");
  }
  CaptureReader pairs() const {
    testing::write_pairs(folder_ / "pairs.h5", testing::example_pairs());
    return CaptureReader(folder_ / "pairs.h5");
  }

  testing::TemporaryFolder folder_;
  ThreadPool pool_{2};
};

TEST_F(LayerProbesTest, SeparabilityHasTheNumbersOfTheAnalysis) {
  const CaptureReader reader = words();
  SeparabilityOptions options;
  options.captures.captures = {reader.path()};
  options.control = {ProbeControl::kShuffled};
  for (const ProbeGroup group : {ProbeGroup::kNone, ProbeGroup::kSequence}) {
    options.group = group;
    const Report report = run_analysis(prepare_separability(options, {}), {});
    const ResultRow& row = report.results.rows.at(0);
    const TokenProbe layer = probe_tokens_of_layer(reader, "values", 0, options, pool_);
    EXPECT_EQ(row.cell(col::kConfusion), array_of(layer.confusion));
    double mean = 0.0;
    for (const double accuracy : layer.accuracies) mean += accuracy / 5.0;
    EXPECT_NEAR(row.number(col::kMean), mean, 1e-12);
  }
}

TEST_F(LayerProbesTest, EveryTokenIsJudgedOnce) {
  const TokenProbe layer = probe_tokens_of_layer(words(), "values", 0, {}, pool_);
  EXPECT_THAT(layer.class_names, ElementsAre(" is", " are", " was"));
  ASSERT_EQ(layer.predictions.size(), static_cast<std::size_t>(kRows));
  Eigen::MatrixXi confusion = Eigen::MatrixXi::Zero(3, 3);
  std::set<std::int64_t> rows;
  for (const TokenPrediction& one : layer.predictions) {
    rows.insert(one.row);
    EXPECT_EQ(one.truth, one.row % 3);
    ++confusion(one.truth, one.predicted);
    EXPECT_GE(one.predicted_probability, one.truth_probability);
    EXPECT_LE(one.predicted_probability, 1.0 + 1e-6);
    EXPECT_GE(one.predicted_probability, 1.0 / 3.0 - 1e-6);
  }
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(kRows));
  EXPECT_EQ(confusion, layer.confusion);
  EXPECT_GT(confusion.sum(), confusion.trace());
}

TEST_F(LayerProbesTest, BlimpHasTheNumbersOfTheAnalysis) {
  const CaptureReader reader = pairs();
  BlimpOptions options;
  options.captures.captures = {reader.path()};
  options.control = true;
  const RunOptions run{.threads = 1, .seed = 7};
  const Report report = run_analysis(prepare_blimp(options, run), run);
  options.probe.seed = 7;
  for (const int layer : {0, 1}) {
    const PairProbes explored = probe_pairs_of_layer(reader, "hidden", layer, options, pool_);
    ASSERT_EQ(explored.tasks.size(), 3U);
    for (std::size_t t = 0; t < 3; ++t) {
      for (const ResultRow& row : report.results.rows) {
        if (row.cell(col::kLayer) != layer || row.cell(col::kLevel) != "task") continue;
        if (row.cell(col::kName) != explored.tasks[t]) continue;
        EXPECT_NEAR(row.number(col::kMean), explored.accuracies[t], 1e-12);
      }
    }
    EXPECT_EQ(explored.predictions.size(), 32U);
    int right = 0;
    for (const PairPrediction& one : explored.predictions) {
      right += (one.good_is_correct ? 1 : 0) + (one.bad_is_correct ? 1 : 0);
      EXPECT_EQ(one.good_is_correct, one.good_probability > 0.5);
    }
    EXPECT_EQ(right, explored.confusion.trace());
    EXPECT_EQ(explored.confusion.sum(), 64);
  }
}

TEST_F(LayerProbesTest, OneTaskIsTheSameAloneAndAmongOthers) {
  const CaptureReader reader = pairs();
  BlimpOptions one;
  one.task = {probe_pairs_of_layer(reader, "hidden", 1, {}, pool_).tasks.at(1)};
  EXPECT_EQ(probe_pairs_of_layer(reader, "hidden", 1, one, pool_).accuracies.at(0),
            probe_pairs_of_layer(reader, "hidden", 1, {}, pool_).accuracies.at(1));
}

TEST_F(LayerProbesTest, StoredOptionsComeBack) {
  SeparabilityOptions before;
  before.words = {" is", " was"};
  before.folds = 3;
  before.random_state = 9;
  before.probe.c = {0.1, 1.0};
  before.max_per_class = 20;
  before.group = ProbeGroup::kSequence;
  Json stored = stored_options(before);
  stored["of_a_later_version"] = 1;
  SeparabilityOptions after;
  assign_stored_options(after, stored);
  stored.erase("of_a_later_version");
  stored["captures"] = Json::array({"capture.h5"});
  EXPECT_EQ(stored_options(after), stored);
}

TEST_F(LayerProbesTest, RefusesWhatItCannotProbe) {
  testing::write_capture(folder_ / "plain.h5", testing::example_capture());
  const CaptureReader plain(folder_ / "plain.h5");
  const auto refusal = [&](const auto& explore) -> std::string {
    return testing::refusal_of<InvalidArgument>([&] { explore(); });
  };
  EXPECT_THAT(refusal([&] { probe_tokens_of_layer(plain, "values", 0, {}, pool_); }),
              HasSubstr("has no classes to separate"));
  EXPECT_THAT(refusal([&] { probe_pairs_of_layer(plain, "values", 0, {}, pool_); }),
              HasSubstr("contains no minimal pairs"));
}

TEST_F(LayerProbesTest, CanBeStopped) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(probe_tokens_of_layer(words(), "values", 0, {}, pool_, stop.get_token()),
               Interrupted);
  EXPECT_THROW(probe_pairs_of_layer(pairs(), "hidden", 0, {}, pool_, {}, stop.get_token()),
               Interrupted);
}

}  // namespace
}  // namespace lime
