// SPDX-License-Identifier: Apache-2.0
#include "metrics/experts/expert_load.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/refusal.h"

namespace lime {
namespace {

VectorD load_of(std::initializer_list<double> values) {
  VectorD load(static_cast<Eigen::Index>(values.size()));
  std::ranges::copy(values, load.begin());
  return load;
}

TEST(ExpertLoadTest, BalancedLoadHasTheLargestEntropyAndNoSpread) {
  const VectorD load = VectorD::Constant(6, 4.0);
  EXPECT_NEAR(load_entropy(load), std::log(6.0), 1e-15);
  EXPECT_EQ(max_violation(load), 0.0);
  EXPECT_EQ(load_variation(load), 0.0);
  EXPECT_NEAR(load_gini(load), 0.0, 1e-15);
  EXPECT_EQ(unused_experts(load), 0.0);
}

TEST(ExpertLoadTest, OneExpertWithAllOfItIsTheOtherEnd) {
  const VectorD load = load_of({0, 5, 0, 0});
  EXPECT_EQ(load_entropy(load), 0.0);
  EXPECT_EQ(max_violation(load), 3.0);
  EXPECT_NEAR(load_variation(load), std::sqrt(3.0), 1e-15);
  EXPECT_NEAR(load_gini(load), 0.75, 1e-15);
  EXPECT_EQ(unused_experts(load), 0.75);
}

TEST(ExpertLoadTest, NoLoadHasNoMeasures) {
  const VectorD none = VectorD::Zero(3);
  for (const auto measure :
       {load_entropy, max_violation, load_variation, load_gini, unused_experts}) {
    EXPECT_TRUE(std::isnan(measure(none)));
  }
}

TEST(ExpertLoadTest, OverlapCountsConsecutivePositionsOnly) {
  const ExpertRows experts{{0, 1}, {1, 0}, {1, 2}, {3, 2}};
  const std::vector<std::int32_t> all = {0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(consecutive_overlap(experts, all), (1.0 + 0.5 + 0.5) / 3.0);
  const std::vector<std::int32_t> gap = {0, 1, 5, 6};
  EXPECT_DOUBLE_EQ(consecutive_overlap(experts, gap), 0.75);
  const std::vector<std::int32_t> alone = {0, 2, 4, 6};
  EXPECT_TRUE(std::isnan(consecutive_overlap(experts, alone)));
}

TEST(ExpertLoadTest, FixedPairsHaveOnePartner) {
  const ExpertRows pairs{{0, 1}, {1, 0}, {2, 3}};
  const MatrixD counts = coactivation_counts(pairs, 5);
  EXPECT_EQ(counts(0, 1), 2.0);
  EXPECT_EQ(counts(0, 0), 2.0);
  EXPECT_EQ(counts(0, 2), 0.0);
  EXPECT_DOUBLE_EQ(effective_partners(counts), 1.0);
  const ExpertRows all{{0, 1}, {0, 2}, {1, 2}};
  EXPECT_DOUBLE_EQ(effective_partners(coactivation_counts(all, 3)), 2.0);
  const ExpertRows single{{0}, {1}};
  EXPECT_TRUE(std::isnan(effective_partners(coactivation_counts(single, 2))));
}

TEST(ExpertLoadTest, TheCommitteeIsMostLoadedInNearlyAllGroups) {
  EXPECT_EQ(most_loaded(load_of({1, 3, 3, 0}), 2), load_of({0, 1, 1, 0}));
  EXPECT_EQ(most_loaded(load_of({2, 2, 2, 2}), 2), load_of({1, 1, 0, 0}));
  // Of 10 groups expert 0 is a member in all, 1 in 7, 2 in 3.
  const VectorD members = load_of({10, 7, 3, 0});
  const VectorD load = load_of({50, 30, 15, 5});
  const Committee strict = committee_of(members, load, 10.0, 2, 0.8);
  EXPECT_EQ(strict.size, 1.0);
  EXPECT_DOUBLE_EQ(strict.share, 0.5);
  EXPECT_DOUBLE_EQ(strict.overlap, (90.0 + 42.0 + 6.0) / (90.0 * 2.0));
  EXPECT_EQ(committee_of(members, load, 10.0, 2, 0.7).size, 2.0);
  EXPECT_TRUE(std::isnan(committee_of(load_of({1, 1, 0, 0}), load, 1.0, 2, 0.8).overlap));
}

TEST(ExpertLoadTest, RefusesNumbersThatAreNoExperts) {
  const auto refusal = [](const MatrixF& rows, std::int64_t experts) {
    return testing::refusal_of<InvalidArgument>([&] { expert_rows(rows, experts); });
  };
  EXPECT_EQ(expert_rows(MatrixF{{2, 0}, {1, 2}}, 3), (ExpertRows{{2, 0}, {1, 2}}));
  EXPECT_EQ(refusal(MatrixF{{0, 1, 2}}, 2),
            "experts: a token cannot select 3 of 2 experts; capture the indices and "
            "logits from one model");
  EXPECT_EQ(refusal(MatrixF{{0, 1}, {0, 3}}, 3),
            "experts: row 1 must have whole numbers from 0 to 2, got 3");
  EXPECT_EQ(refusal(MatrixF{{0.5F, 1}}, 3),
            "experts: row 0 must have whole numbers from 0 to 2, got 0.5");
  EXPECT_EQ(refusal(MatrixF{{NAN, 1}}, 3),
            "experts: row 0 must have whole numbers from 0 to 2, got nan");
  EXPECT_EQ(refusal(MatrixF{{1, 1}}, 3), "experts: row 0 must have different experts, got 1 twice");
}

}  // namespace
}  // namespace lime
