// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapse/collapse_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/collapse/verdict_text.h"
#include "store/results/columns.h"

namespace lime {
namespace {

/// Returns a layer whose massive tokens carry `share` of the trace, within 0.1.
LayerFacts facts_with(double share, const std::vector<int>& dimensions) {
  LayerFacts facts;
  facts.layer = 3;
  facts.causes.rows = 100;
  facts.causes.sequences = 4;
  facts.causes.dim = 16;
  facts.causes.dimensions = dimensions;
  facts.causes.massive_share = {share, share - 0.1, share + 0.1};
  facts.causes.effective_rank = {12.0, 11.0, 13.0};
  facts.causes.rank_ceiling = 15.0;
  facts.findings = findings_of(facts.causes, {});
  return facts;
}

TEST(CollapseRowsTest, FactsComeBackFromTheirRow) {
  for (const double share : {0.05, 0.55, 0.95}) {
    const LayerFacts facts = facts_with(share, {7, 3});
    const LayerFacts back = facts_of_row(row_of_facts(facts, ""), 3, {});
    EXPECT_EQ(back.layer, 3);
    EXPECT_EQ(back.findings, facts.findings) << share;
    EXPECT_EQ(back.causes.dimensions, facts.causes.dimensions);
    EXPECT_EQ(back.causes.massive_share.low, facts.causes.massive_share.low);
  }
}

TEST(CollapseRowsTest, SayWhetherACauseIsCertain) {
  const auto row = [](double share) { return row_of_facts(facts_with(share, {}), ""); };
  EXPECT_EQ(row(0.05).text(col::kVerdict), kNoCause);
  EXPECT_EQ(row(0.05).cell(col::kCertain).boolean(), false);
  EXPECT_EQ(row(0.55).text(col::kVerdict), "massive tokens (undecided)");
  EXPECT_EQ(row(0.55).cell(col::kCertain).boolean(), false);
  EXPECT_EQ(row(0.95).text(col::kVerdict), "massive tokens");
  EXPECT_EQ(row(0.95).cell(col::kCertain).boolean(), true);
}

}  // namespace
}  // namespace lime
