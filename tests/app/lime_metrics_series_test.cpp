// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics series.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "app/lime_metrics_fixture.h"
#include "store/results_file.h"

namespace lime {
namespace {

using testing::example_capture;
using ::testing::HasSubstr;
using testing::LimeMetricsTest;
using testing::SmallCapture;
using testing::write_capture;

class LimeMetricsSeriesTest : public LimeMetricsTest {
 protected:
  void write_steps(const std::string& model, const std::vector<int>& steps) const {
    for (const int step : steps) {
      write_capture(folder_ / fmt::format("{}-step-{}.h5", model, step),
                    example_capture(static_cast<std::uint64_t>(step) + 1));
    }
  }
};

TEST_F(LimeMetricsSeriesTest, EqualsTheMetricsOfEachStep) {
  write_steps("m", {0, 100, 2000});
  const Json series = rows("series m-step-*.h5 --metric drift,entropy,geometry --site hidden");
  const auto entropies = rows("entropy m-step-100.h5 --label m --site hidden");
  for (const Json& row : entropies) {
    const auto found =
        rows_with(series, {{"quantity", "entropy"}, {"step", 100}, {"layer", row.at("layer")}});
    ASSERT_EQ(found.size(), 1U);
    for (const char* const name : {"mean", "ci_low", "ci_high", "n"}) {
      EXPECT_EQ(found[0].at(name), row.at(name)) << name;
    }
    EXPECT_EQ(found[0].at("label"), "m");
  }
  const std::map<std::string, std::string> references = {
      {"first", "m-step-0.h5"}, {"previous", "m-step-100.h5"}, {"last", "m-step-2000.h5"}};
  for (const auto& [reference, file] : references) {
    const int step = reference == "last" ? 100 : 2000;
    const Json maps =
        rows(fmt::format("similarity {} m-step-{}.h5 --maps between --site hidden", file, step));
    for (const Json& row : maps) {
      if (row.at("layer") != row.at("other_layer")) continue;
      for (const char* const name : {"cka", "cka_debiased", "procrustes", "influence", "angle"}) {
        const auto found = rows_with(series, {{"reference", reference},
                                              {"step", step},
                                              {"layer", row.at("layer")},
                                              {"measure", name},
                                              {"quantity", "drift"}});
        ASSERT_EQ(found.size(), 1U) << reference << name;
        EXPECT_EQ(found[0].at("mean"), row.at(name));
      }
    }
  }
  EXPECT_TRUE(rows_with(series, {{"reference", "first"}, {"step", 0}}).empty());
  EXPECT_TRUE(rows_with(series, {{"reference", "last"}, {"step", 2000}}).empty());
  EXPECT_EQ(rows_with(series, {{"measure", "rankme, over rows"}, {"step", 0}}).size(), 2U);
}

TEST_F(LimeMetricsSeriesTest, ReadsResultsOfAnyMetric) {
  write_steps("m", {5, 10, 20});
  run("geometry m-step-*.h5 --site hidden --measure rank --ranks both -o g.json");
  const Json series = rows("series g.json");
  EXPECT_EQ(rows_with(series, {{"measure", "rankme"}, {"label", "m"}}).size(), 6U);
  EXPECT_FALSE(rows_with(series, {{"kind", "turn"}}).empty());
  const auto maps = run("similarity m-step-5.h5 m-step-10.h5 --maps within -o s.json --quiet");
  EXPECT_EQ(maps.status, 0) << maps.errors;
  EXPECT_FALSE(rows_with(rows("series s.json"), {{"measure", "angle, other_layer 1"}}).empty());
  const auto both = run("series g.json m-step-*.h5 --metric entropy -o both.json");
  EXPECT_EQ(both.status, 0) << both.errors;
  EXPECT_THAT(both.output, HasSubstr("m, hidden, entropy, alpha 0.5, lime-code"));
  EXPECT_EQ(run("rerun both.json").status, 0);
}

TEST_F(LimeMetricsSeriesTest, FindsWhereAMeasurementTurns) {
  Results results;
  results.metric = "entropy";
  const std::vector<double> means = {1.0, 2.0, 3.0, 2.5, 0.5};
  for (std::size_t i = 0; i < means.size(); ++i) {
    const std::string label = fmt::format("lime-step-{}", 100 * i);
    results.rows.push_back({{col::kLabel, label},
                            {col::kSite, "hidden"},
                            {col::kLayer, 2},
                            {col::kMean, means[i]},
                            {col::kCiLow, means[i] - 0.3},
                            {col::kCiHigh, means[i] + 0.3}});
  }
  write_results(folder_ / "e.json", results);
  const auto turns = rows_with(rows("series e.json"), {{"kind", "turn"}});
  ASSERT_EQ(turns.size(), 2U);
  EXPECT_EQ(turns[1].at("turn"), "bend");
  EXPECT_EQ(turns[1].at("step"), 300);
  EXPECT_EQ(turns[0].at("turn"), "maximum");
  EXPECT_EQ(turns[0].at("step"), 200);
  EXPECT_EQ(turns[0].at("step_low"), 100);
  EXPECT_EQ(turns[0].at("step_high"), 400);
  EXPECT_EQ(turns[0].at("layer"), 2);
}

TEST_F(LimeMetricsSeriesTest, NamesTheColumnOfRowsWithoutLayers) {
  Results results;
  results.metric = "loss";
  for (const int step : {0, 100}) {
    results.rows.push_back({{col::kLabel, fmt::format("m-step-{}", step)}, {col::kMean, 2.5}});
  }
  write_results(folder_ / "loss.json", results);
  EXPECT_THAT(run("series loss.json").output, HasSubstr("m, loss\nstep   model\n"));
}

TEST_F(LimeMetricsSeriesTest, RefusesInputsThatAreNoSeries) {
  write_steps("m", {5, 10});
  write_capture(folder_ / "plain.h5", example_capture());
  EXPECT_THAT(refusal("series m-step-5.h5 plain.h5", 1),
              HasSubstr("'plain.h5' names no training step; call it e.g. model-step-1000, or add "
                        "--steps"));
  EXPECT_THAT(refusal("series m-step-5.h5", 1),
              HasSubstr("'m' has one step, 5; a series requires"));
  EXPECT_THAT(refusal("series m-step-5.h5 m-step-10.h5 --steps 7,7 --model m m", 1),
              HasSubstr("'m-step-5.h5' and 'm-step-10.h5' are both step 7 of 'm'"));
  EXPECT_THAT(refusal("series m-step-5.h5 m-step-10.h5 --steps 7", 2),
              HasSubstr("--steps: expected one per input, got 1 for 2"));
  SmallCapture other = example_capture();
  other.first_token = 9;
  write_capture(folder_ / "m-step-20.h5", other);
  EXPECT_THAT(refusal("series m-step-*.h5 --metric entropy", 1),
              HasSubstr("contain different tokens, but a series requires the same at every step"));
  other.tokenizer_sha256 = "abc";
  std::filesystem::remove(folder_ / "m-step-20.h5");
  std::filesystem::remove_all(folder_ / "m-step-20.shards");
  write_capture(folder_ / "m-step-20.h5", other);
  EXPECT_THAT(refusal("series m-step-*.h5", 1), HasSubstr("have different tokenizers"));
  std::filesystem::create_directory(folder_ / "step-7");
  EXPECT_THAT(refusal("series step-7 m-step-5.h5", 1),
              HasSubstr("'step-7' is a folder; capture the checkpoint with lime-capture"));
  Results results;
  results.metric = "entropy";
  results.rows.push_back({{col::kLabel, "m-step-1"}, {col::kLayer, 0}, {col::kMean, 1.0}});
  results.inputs.push_back({"m-step-1.h5", "", "m-step-1", "aa"});
  write_results(folder_ / "one.json", results);
  results.rows.front().set(col::kLabel, "m-step-2");
  results.inputs = {{"m-step-2.h5", "", "m-step-2", "bb"}};
  write_results(folder_ / "two.json", results);
  EXPECT_THAT(refusal("series one.json two.json", 1),
              HasSubstr("the steps of 'm' must be of one text, 'm-step-1.h5' and 'm-step-2.h5' "
                        "differ"));
}

}  // namespace
}  // namespace lime
