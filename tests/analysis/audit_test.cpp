// SPDX-License-Identifier: Apache-2.0
// Texts, proofs and changes of an audit; lime_metrics_audit_test.cpp runs whole ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/audit/audit_changes.h"
#include "analysis/audit/audit_measurements.h"
#include "analysis/audit/audit_proofs.h"
#include "analysis/audit/audit_texts.h"
#include "analysis/write_capture.h"
#include "store/results/columns.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::SmallCapture;
using testing::TemporaryFolder;
using testing::write_capture;

class AuditTextsTest : public ::testing::Test {
 protected:
  /// Writes a capture of two sequences of four tokens.
  AuditTexts texts(std::vector<std::int32_t> tokens) const {
    SmallCapture capture;
    capture.lengths = {4, 4};
    capture.tokens = std::move(tokens);
    capture.activations = {{"hidden", 0, testing::random_matrix(8, 3, 1)}};
    write_capture(folder_ / "capture.h5", capture);
    return {folder_ / "capture.h5", 7};
  }

  TemporaryFolder folder_;
};

TEST_F(AuditTextsTest, ShuffleAndRepeatTheTokensOfEachSequence) {
  const AuditTexts made = texts({1, 2, 3, 4, 5, 6, 7, 8});
  TokenTable first(2, 3);
  first << 1, 2, 3, 5, 6, 7;
  EXPECT_EQ(made.first(3), first);
  TokenTable shuffled = made.shuffled(3);
  EXPECT_EQ(shuffled, made.shuffled(3));
  for (Eigen::Index s = 0; s < 2; ++s) std::ranges::sort(std::span(shuffled.row(s).data(), 3));
  EXPECT_EQ(shuffled, first);
  TokenTable repeated(2, 3);
  repeated << 1, 1, 1, 5, 5, 5;
  EXPECT_EQ(made.repeated(3), repeated);
}

TEST_F(AuditTextsTest, TheBeginningOfASequenceStays) {
  const AuditTexts made = texts({9, 2, 3, 4, 9, 6, 7, 8});
  EXPECT_EQ(made.shuffled(4)(0, 0), 9);
  EXPECT_EQ(made.shuffled(4)(1, 0), 9);
  TokenTable repeated(2, 3);
  repeated << 9, 2, 2, 9, 6, 6;
  EXPECT_EQ(made.repeated(3), repeated);
}

TEST(AuditProofsTest, FollowFromTheActionOnTheSite) {
  const auto has_proof = [](const char* transform, const char* metric, const char* site,
                            const char* measure, const char* per = "", const char* weighting = "") {
    const AuditMetric known = find_enum<AuditMetric>(metric).value();
    return !proof_of(transform, {known, site, measure, per, weighting}).empty();
  };
  EXPECT_TRUE(has_proof("value-scale", "entropy-raw", "hidden", "entropy"));
  EXPECT_FALSE(has_proof("value-scale", "entropy-raw", "values", "entropy"));
  EXPECT_TRUE(has_proof("value-scale", "entropy-lime-code", "values", "entropy"));
  EXPECT_TRUE(has_proof("value-rotation", "entropy-raw", "values", "entropy"));
  EXPECT_FALSE(has_proof("value-rotation", "entropy-lime-code", "values", "entropy"));
  EXPECT_FALSE(has_proof("residual-rotation", "geometry", "hidden", "largest_to_median"));
  EXPECT_TRUE(has_proof("residual-rotation", "similarity", "hidden", "influence"));
  EXPECT_FALSE(has_proof("head-permutation", "similarity", "keys", "influence"));
  EXPECT_FALSE(has_proof("head-permutation", "attention", "attn.hook_profile", "entropy", "head"));
  EXPECT_TRUE(has_proof("head-permutation", "attention", "attn.hook_profile", "entropy"));
  EXPECT_TRUE(has_proof("route-scale", "router", "weights", "mean_depth", "", "values"));
  EXPECT_FALSE(has_proof("route-scale", "router", "weights", "mean_depth", "", "none"));
}

ResultRow value_row(const char* variant, const char* measure, double mean, double half = 0.0) {
  ResultRow row{{col::kLabel, variant},
                {col::kQuantity, "entropy-raw"},
                {col::kSite, "values"},
                {col::kMeasure, measure},
                {col::kMean, mean}};
  if (half > 0.0) row.set(col::kCiLow, mean - half).set(col::kCiHigh, mean + half);
  return row;
}

std::vector<ResultRow> changes(const std::vector<ResultRow>& values, AuditOver over) {
  std::vector<const ResultRow*> pointers;
  for (const ResultRow& value : values) pointers.push_back(&value);
  return change_rows(pointers, over);
}

TEST(AuditChangesTest, DivideTheLargestChangeByTheHalfWidth) {
  std::vector<ResultRow> values;
  for (const int layer : {0, 1}) {
    values.push_back(value_row("original", "entropy", 2.0, 0.1).set(col::kLayer, layer));
    values.push_back(
        value_row("value-scale", "entropy", layer == 0 ? 2.0 : 1.5, 0.3).set(col::kLayer, layer));
    values.push_back(value_row("value-rotation", "entropy", 2.0, 0.2).set(col::kLayer, layer));
  }
  const std::vector<ResultRow> rows = changes(values, AuditOver::kCoordinates);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].text(col::kLabel), "value-scale");
  EXPECT_EQ(rows[0].text(col::kVerdict), audit_verdict::kCoordinates);
  EXPECT_NEAR(rows[0].number(col::kHalfWidths), 5.0, 1e-12);
  EXPECT_NEAR(rows[0].number(col::kRelativeChange), 0.25, 1e-12);
  EXPECT_EQ(rows[0].integer(col::kLayer), 1);
  EXPECT_EQ(rows[0].number(col::kMean), 1.5);
  EXPECT_EQ(cell_text(change_cell(rows[0])), "5.0");
  EXPECT_EQ(cell_text(change_cell(rows[1])), "=");
  EXPECT_EQ(rows[1].text(col::kProof), "it is a function of inner products");
}

TEST(AuditChangesTest, AnIntervalOfRoundingIsNone) {
  const std::vector<ResultRow> rows = changes(
      {value_row("original", "entropy", 2.0, 1e-15), value_row("value-scale", "entropy", 3.0)},
      AuditOver::kCoordinates);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(cell_text(change_cell(rows[0])), "50 %");
}

TEST(AuditChangesTest, PairsOfLayersAreOfOneVariant) {
  std::vector<ResultRow> values;
  for (const char* const variant : {"original", "value-rotation"}) {
    values.push_back(value_row(variant, "cka", 0.5).set(col::kOtherLabel, variant));
  }
  const std::vector<ResultRow> rows = changes(values, AuditOver::kCoordinates);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(cell_text(change_cell(rows[0])), "=");
}

TEST(AuditChangesTest, NameContradictionsAndWhatIsUndefined) {
  const std::vector<ResultRow> rows =
      changes({value_row("original", "entropy", 2.0), value_row("original", "rank", 2.0),
               value_row("value-rotation", "entropy", 3.0), value_row("512 tokens", "rank", 2.0)},
              AuditOver::kCoordinates);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(cell_text(change_cell(rows[0])), "!50 %");
  EXPECT_EQ(rows[0].text(col::kVerdict), audit_verdict::kContradiction);
  EXPECT_EQ(cell_text(change_cell(rows[1])), "!undefined");
}

TEST(AuditChangesTest, OfTextsAreWithinTheIntervalOrNot) {
  const std::vector<ResultRow> rows = changes(
      {value_row("64 tokens", "entropy", 2.0, 0.1), value_row("128 tokens", "entropy", 2.05, 0.1),
       value_row("shuffled", "entropy", 2.5, 0.1), value_row("repeated", "entropy", 2.0, 0.1)},
      AuditOver::kTexts);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].text(col::kVerdict), audit_verdict::kWithin);
  EXPECT_EQ(rows[1].text(col::kVerdict), audit_verdict::kText);
  EXPECT_EQ(rows[2].text(col::kVerdict), audit_verdict::kConstant);
  EXPECT_FALSE(rows[0].has(col::kProof));
}

TEST(AuditedRowsTest, KeepThePlaceAndTheInterval) {
  const AuditMeasurement& attention =
      *std::ranges::find(audit_measurements(), AuditMetric::kAttention, &AuditMeasurement::metric);
  const std::vector<ResultRow> rows = audited_rows(attention, {{col::kSite, "attn.hook_profile"},
                                                               {col::kLayer, 3},
                                                               {col::kKind, "head"},
                                                               {col::kHead, 2},
                                                               {col::kMeasure, "distance"},
                                                               {col::kMean, 4.0},
                                                               {col::kCiLow, 3.0},
                                                               {col::kCiHigh, 5.0}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].text(col::kMeasure), "distance");
  EXPECT_EQ(rows[0].text(col::kPer), "head");
  EXPECT_EQ(rows[0].integer(col::kHead), 2);
  EXPECT_EQ(rows[0].number(col::kCiHigh), 5.0);
}

TEST(AuditChangesTest, NameTheMeasureByWhatTellsItFromOthers) {
  std::vector<ResultRow> values;
  for (const char* const variant : {"original", "value-rotation"}) {
    values.push_back(value_row(variant, "distance", 2.0).set(col::kPer, "head"));
    values.push_back(value_row(variant, "mean_depth", 2.0).set(col::kWeighting, "keys"));
    values.push_back(value_row(variant, "mean_depth", 2.0).set(col::kWeighting, "values"));
  }
  const std::vector<ResultRow> rows = changes(values, AuditOver::kCoordinates);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].text(col::kMeasure), "distance per head");
  EXPECT_EQ(rows[1].text(col::kMeasure), "mean_depth, keys");
  EXPECT_EQ(rows[2].text(col::kMeasure), "mean_depth, values");
}

TEST(AuditedRowsTest, OmitALayerAndItself) {
  const AuditMeasurement& neighbors =
      *std::ranges::find(audit_measurements(), AuditMetric::kNeighbors, &AuditMeasurement::metric);
  ResultRow row{{col::kSite, "hidden"}, {col::kLayer, 3}, {col::kOtherLayer, 3}};
  row.set_cell("imbalance", 0.1);
  EXPECT_EQ(audited_rows(neighbors, row).size(), 0U);
  EXPECT_EQ(audited_rows(neighbors, row.set(col::kOtherLayer, 4)).size(), 1U);
}

}  // namespace
}  // namespace lime
