// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics similarity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/lime_metrics_fixture.h"

namespace lime {
namespace {

using testing::example_capture;
using ::testing::HasSubstr;
using testing::SmallCapture;
using testing::two_models;
using testing::write_capture;

using LimeMetricsSimilarityTest = testing::LimeMetricsTest;

constexpr const char* kSeeSimilarity = "; see lime-metrics similarity --help\n";

TEST_F(LimeMetricsSimilarityTest, WrongOptionsAreOneLine) {
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_EQ(refusal("similarity --max-rows 3", 2),
            std::string("lime-metrics: --max-rows: must be >= 4, got 3") + kSeeSimilarity);
  EXPECT_EQ(refusal("similarity --maps between", 2),
            std::string("lime-metrics: --maps: between requires at least two captures, got 1") +
                kSeeSimilarity);
}

TEST_F(LimeMetricsSimilarityTest, MapsLayersOfOneModelAndOfTwo) {
  write_capture(folder_ / "a.h5", example_capture(1));
  write_capture(folder_ / "b.h5", example_capture(2));
  const Json found = rows("similarity a.h5 b.h5 --site hidden");
  ASSERT_EQ(found.size(), 12U);  // a with a, a with b, b with b; 2 x 2 each
  for (const Json& row : found) {
    const bool same =
        row.at("label") == row.at("other_label") && row.at("layer") == row.at("other_layer");
    EXPECT_EQ(row.at("n"), 16);
    if (same) {
      EXPECT_NEAR(row.at("cka").get<double>(), 1.0, 1e-12);
      EXPECT_NEAR(row.at("cka_debiased").get<double>(), 1.0, 1e-12);
      EXPECT_NEAR(row.at("procrustes").get<double>(), 0.0, 1e-6);
    } else {
      EXPECT_LT(row.at("cka").get<double>(), 1.0);
      EXPECT_GT(row.at("procrustes").get<double>(), 0.0);
    }
  }
  EXPECT_EQ(rows("similarity a.h5 b.h5 --maps between").size(), 8U);
  EXPECT_EQ(rows("similarity a.h5 b.h5 --maps within --site values").size(), 8U);
  EXPECT_EQ(found, rows("similarity a.h5 b.h5 --site hidden --threads 3"));
  const auto text = run("similarity a.h5 --site hidden");
  EXPECT_THAT(text.output, HasSubstr("a, hidden: layers against layers, percent"));
  EXPECT_THAT(text.output, HasSubstr("100"));
  EXPECT_THAT(run("similarity a.h5 --show procrustes").output, HasSubstr("0.00"));
}

TEST_F(LimeMetricsSimilarityTest, MapsHowFarLayersTurnWithIntervalsOverSequences) {
  const auto [capture, unused] = two_models();
  write_capture(folder_ / "a.h5", capture);
  const Json found = rows("similarity a.h5 --measure change");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_FALSE(found.at(1).contains("cka"));
  EXPECT_NEAR(found.at(0).at("influence").get<double>(), 0.0, 1e-12);
  const Json& pair = found.at(1);
  EXPECT_LT(pair.at("influence_low").get<double>(), pair.at("influence").get<double>());
  EXPECT_GT(pair.at("angle_high").get<double>(), pair.at("angle").get<double>());
  EXPECT_EQ(pair.at("influence"), found.at(2).at("influence"));
  const auto text = run("similarity a.h5 --measure change");
  EXPECT_THAT(text.output,
              HasSubstr("a, hidden: smallest angle across n = 1, 2, ... layers: 0 to 1 "));
  const Json near = rows("similarity a.h5 --measure neighbors --k 3");
  ASSERT_EQ(near.size(), 4U);
  EXPECT_EQ(near.at(0).at("mutual_knn"), 1.0);
  EXPECT_NEAR(near.at(3).at("imbalance").get<double>(), 2.0 / 42.0, 1e-12);
  EXPECT_EQ(near.at(1).at("mutual_knn"), near.at(2).at("mutual_knn"));
  EXPECT_NE(near.at(1).at("imbalance"), near.at(2).at("imbalance"));
  EXPECT_LT(near.at(1).at("imbalance_low"), near.at(1).at("imbalance"));
  EXPECT_EQ(refusal("similarity a.h5 --measure neighbors --k 42", 1),
            "lime-metrics: --k: must be < 42, the number of rows of 'a.h5', got 42\n");
  EXPECT_EQ(refusal("similarity a.h5 --measure change --show cka", 2),
            std::string("lime-metrics: --show: 'cka' is not computed; add cka to --measure") +
                kSeeSimilarity);
}

TEST_F(LimeMetricsSimilarityTest, ComparesMapsOfTwoModels) {
  const auto [first, second] = two_models();
  write_capture(folder_ / "a.h5", first);
  write_capture(folder_ / "b.h5", second);
  const Json found =
      rows("similarity a.h5 b.h5 --maps within --show cka --jackknife 7 --compare first");
  const auto value = [&](const std::string& label) {
    for (const Json& row : found) {
      if (row.value("kind", "") == "comparison" || row.at("label") != label) continue;
      if (row.at("layer") != 0 || row.at("other_layer") != 1) continue;
      EXPECT_LT(row.at("cka_low").get<double>(), row.at("cka").get<double>());
      EXPECT_GT(row.at("procrustes_high").get<double>(), row.at("procrustes").get<double>());
      return row.at("cka").get<double>();
    }
    return 0.0;
  };
  const Json& last = found.back();
  ASSERT_EQ(last.value("kind", ""), "comparison");
  EXPECT_EQ(last.at("quantity"), "cka");
  EXPECT_EQ(last.at("layer"), 0);
  EXPECT_EQ(last.at("other_layer"), 1);
  EXPECT_EQ(last.at("n"), 7);
  // Both means are corrected for their bias of order 1 / n, which is similar.
  EXPECT_NEAR(last.at("difference").get<double>(), value("b") - value("a"), 0.1);
  EXPECT_EQ(found, rows("similarity a.h5 b.h5 --maps within --show cka --jackknife 7 "
                        "--compare first --threads 3"));
  EXPECT_EQ(refusal("similarity a.h5 b.h5 --compare first", 1),
            "lime-metrics: --compare: maps have no values per item; add --jackknife 10\n");
  EXPECT_EQ(refusal("similarity a.h5 --jackknife 2", 2),
            std::string("lime-metrics: --jackknife: must be >= 5, or 0 for none, got 2") +
                kSeeSimilarity);
}

TEST_F(LimeMetricsSimilarityTest, RefusesMapsBetweenDifferentTexts) {
  write_capture(folder_ / "a.h5", example_capture(1));
  SmallCapture other = example_capture(2);
  other.first_token = 7;
  write_capture(folder_ / "b.h5", other);
  EXPECT_EQ(
      refusal("similarity a.h5 b.h5", 1),
      "lime-metrics: 'a.h5' and 'b.h5': contain different tokens, but layers are compared token by "
      "token; capture both with the same text and tokenizer, or use --maps within\n");
  EXPECT_EQ(rows("similarity a.h5 b.h5 --maps within").size(), 16U);
}

}  // namespace
}  // namespace lime
