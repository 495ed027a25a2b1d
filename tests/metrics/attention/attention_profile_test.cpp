// SPDX-License-Identifier: Apache-2.0
#include "metrics/attention/attention_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

constexpr Eigen::Index kTokens = 6;

/// Columns of the profile, in the order of kAttentionMeasures.
enum Measure { kEntropy, kKeys, kDistance, kFirst, kPrevious, kOwn };

MatrixF uniform_pattern() {
  MatrixF pattern = MatrixF::Zero(kTokens, kTokens);
  for (Eigen::Index q = 0; q < kTokens; ++q) {
    pattern.row(q).head(q + 1).setConstant(1.0F / static_cast<float>(q + 1));
  }
  return pattern;
}

std::string refusal(const MatrixF& pattern) {
  return testing::refusal_of<InvalidArgument>([&] { attention_profile(pattern); });
}

TEST(AttentionProfileTest, UniformAttentionSeesAllKeysAlike) {
  const MatrixD profile = attention_profile(uniform_pattern());
  for (Eigen::Index q = 0; q < kTokens; ++q) {
    const auto keys = static_cast<double>(q + 1);
    // Weights are float32: 1 / 6 has an error of 1e-8.
    EXPECT_NEAR(profile(q, kEntropy), std::log(keys), 1e-6);
    EXPECT_NEAR(profile(q, kKeys), keys, 1e-5);
    EXPECT_NEAR(profile(q, kDistance), static_cast<double>(q) / 2.0, 1e-6);
    EXPECT_NEAR(profile(q, kFirst), 1.0 / keys, 1e-7);
    EXPECT_NEAR(profile(q, kPrevious), q > 0 ? 1.0 / keys : 0.0, 1e-7);
    EXPECT_NEAR(profile(q, kOwn), 1.0 / keys, 1e-7);
  }
  EXPECT_TRUE(profile.isApprox(even_attention_profile(kTokens), 1e-6));
}

TEST(AttentionProfileTest, TheIdentitySeesTheTokenItself) {
  const MatrixD profile = attention_profile(MatrixF::Identity(kTokens, kTokens));
  for (Eigen::Index q = 0; q < kTokens; ++q) {
    EXPECT_EQ(profile(q, kEntropy), 0.0);
    EXPECT_EQ(profile(q, kKeys), 1.0);
    EXPECT_EQ(profile(q, kDistance), 0.0);
    EXPECT_EQ(profile(q, kFirst), q == 0 ? 1.0 : 0.0);
    EXPECT_EQ(profile(q, kPrevious), 0.0);
    EXPECT_EQ(profile(q, kOwn), 1.0);
  }
}

TEST(AttentionProfileTest, ASinkTakesAllFromFarAway) {
  MatrixF pattern = MatrixF::Zero(kTokens, kTokens);
  pattern.col(0).setOnes();
  const MatrixD profile = attention_profile(pattern);
  for (Eigen::Index q = 0; q < kTokens; ++q) {
    EXPECT_EQ(profile(q, kEntropy), 0.0);
    EXPECT_EQ(profile(q, kDistance), static_cast<double>(q));
    EXPECT_EQ(profile(q, kFirst), 1.0);
    EXPECT_EQ(profile(q, kPrevious), q == 1 ? 1.0 : 0.0);
  }
}

TEST(AttentionProfileTest, APreviousTokenHeadLooksOneBack) {
  MatrixF pattern = MatrixF::Zero(kTokens, kTokens);
  pattern(0, 0) = 1.0F;
  for (Eigen::Index q = 1; q < kTokens; ++q) pattern(q, q - 1) = 1.0F;
  const MatrixD profile = attention_profile(pattern);
  EXPECT_EQ(profile.col(kPrevious).tail(kTokens - 1).minCoeff(), 1.0);
  EXPECT_EQ(profile.col(kDistance).tail(kTokens - 1).mean(), 1.0);
}

TEST(AttentionProfileTest, KeysBehindTheQueryAreNotLookedAt) {
  MatrixF pattern = uniform_pattern();
  const MatrixD profile = attention_profile(pattern);
  pattern(2, 4) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(attention_profile(pattern), profile);
}

TEST(AttentionProfileTest, BitsDoNotDependOnWhereThePatternLies) {
  MatrixF wide = MatrixF::Zero(kTokens, 3 * kTokens + 1);
  for (const Eigen::Index first : {0, 1, 2, 3, 7}) {
    wide.middleCols(first, kTokens) = uniform_pattern();
    EXPECT_EQ(attention_profile(wide.middleCols(first, kTokens)),
              attention_profile(uniform_pattern()));
  }
}

TEST(AttentionProfileTest, RefusesWhatIsNoAttention) {
  EXPECT_EQ(refusal(MatrixF::Zero(2, 3)),
            "attention: a pattern must be square, [queries, keys], got [2, 3]");
  MatrixF pattern = uniform_pattern();
  pattern(3, 1) = 0.5F;
  EXPECT_THAT(refusal(pattern), HasSubstr("the weights of query 3 must sum to 1 within 0.01"));
  pattern(3, 1) = -0.1F;
  EXPECT_THAT(refusal(pattern), HasSubstr("query 3 must have finite weights >= 0, got -0.1"));
  pattern(3, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(pattern), HasSubstr("query 3 must have finite weights >= 0, got nan"));
}

}  // namespace
}  // namespace lime
