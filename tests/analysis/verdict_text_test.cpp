// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapse/verdict_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "metrics/collapse/collapse_verdict.h"

namespace lime {
namespace {

TEST(VerdictTextTest, FindsCertainCausesInEveryVerdict) {
  const std::vector<CollapseFinding> certain = {{CollapseCause::kMassiveTokens, true}};
  const std::vector<CollapseFinding> undecided = {{CollapseCause::kMassiveTokens, false},
                                                  {CollapseCause::kOutlierDimensions, false}};
  const std::vector<CollapseFinding> both = {{CollapseCause::kMassiveTokens, false},
                                             {CollapseCause::kOutlierDimensions, true}};
  EXPECT_TRUE(has_certain_cause(findings_text(certain)));
  EXPECT_TRUE(has_certain_cause(findings_text(both)));
  EXPECT_FALSE(has_certain_cause(findings_text(undecided)));
  EXPECT_FALSE(has_certain_cause(findings_text({})));
  EXPECT_EQ(findings_text({}), kNoCause);
}

}  // namespace
}  // namespace lime
