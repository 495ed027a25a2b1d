// SPDX-License-Identifier: Apache-2.0
#include "metrics/experts/expert_information.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/random.h"
#include "support/refusal.h"

namespace lime {
namespace {

/// Each token is a unit with one of these groups.
TokenGroups groups_of(std::vector<std::int32_t> group) {
  TokenGroups groups{.name = "class", .group_of_unit = std::move(group)};
  groups.unit_of_row.resize(groups.group_of_unit.size());
  std::iota(groups.unit_of_row.begin(), groups.unit_of_row.end(), 0);
  groups.num_groups = 1 + *std::ranges::max_element(groups.group_of_unit);
  return groups;
}

ExpertInformation information_of(const ExpertRows& experts, std::int64_t num_experts,
                                 const TokenGroups& groups, int threads = 2) {
  ThreadPool pool(threads);
  return expert_information(experts, num_experts, groups, {.seed = 3}, pool);
}

/// Tokens in groups 0, 1, 2, 0, 1, ..., whose expert is drawn at random or is that of the group.
std::pair<ExpertRows, TokenGroups> example(bool depends) {
  Random random(7);
  ExpertRows experts(300, 1);
  std::vector<std::int32_t> group;
  for (std::int32_t i = 0; i < 300; ++i) {
    group.push_back(i % 3);
    experts(i, 0) = depends ? i % 3 : static_cast<std::int32_t>(random.below(4));
  }
  return {experts, groups_of(std::move(group))};
}

TEST(ExpertInformationTest, AnExpertPerGroupHasTheEntropyOfTheGroup) {
  const auto [experts, groups] = example(true);
  const ExpertInformation found = information_of(experts, 4, groups);
  EXPECT_NEAR(found.plug_in, std::log(3.0), 1e-12);
  EXPECT_NEAR(found.ceiling, std::log(3.0), 1e-12);
  EXPECT_DOUBLE_EQ(found.p, 1.0 / 201.0);
  EXPECT_EQ(found.specialised, 1.0) << "the unused expert does not count";
}

TEST(ExpertInformationTest, IndependentExpertsAreWithinTheNull) {
  const auto [experts, groups] = example(false);
  const ExpertInformation found = information_of(experts, 4, groups);
  // The bias of frequencies: (E - 1)(G - 1) / (2 n).
  EXPECT_NEAR(found.null, 3.0 * 2.0 / 600.0, 0.002);
  EXPECT_GT(found.p, 0.05);
  EXPECT_LT(found.plug_in, 0.03);
}

TEST(ExpertInformationTest, AUnitKeepsItsTokensTogether) {
  // Four documents with an expert each: any division into two domains looks informative.
  ExpertRows experts(40, 1);
  TokenGroups groups{.name = "domain", .group_of_unit = {0, 0, 1, 1}, .num_groups = 2};
  for (std::int32_t i = 0; i < 40; ++i) {
    experts(i, 0) = i / 10;
    groups.unit_of_row.push_back(i / 10);
  }
  const ExpertInformation found = information_of(experts, 4, groups);
  EXPECT_NEAR(found.plug_in, std::log(2.0), 1e-12);
  EXPECT_NEAR(found.null, std::log(2.0), 1e-12);
  EXPECT_EQ(found.p, 1.0);
  EXPECT_EQ(found.specialised, 0.0);
}

TEST(ExpertInformationTest, LeavesOutRowsAndTokensWithoutGroup) {
  auto [experts, groups] = example(true);
  // Without the tokens of group 2 two groups remain.
  for (std::size_t i = 2; i < 300; i += 3) groups.unit_of_row[i] = -1;
  EXPECT_NEAR(information_without(experts, 4, groups, 0, 0), std::log(2.0), 1e-12);
  for (std::size_t i = 1; i < 150; i += 3) groups.unit_of_row[i] = -1;
  EXPECT_NEAR(information_without(experts, 4, groups, 150, 300), 0.0, 1e-12);
  EXPECT_TRUE(std::isnan(information_without(experts, 4, groups, 0, 300)));
  for (std::int32_t& unit : groups.unit_of_row) unit = -1;
  EXPECT_EQ(
      testing::refusal_of<InvalidArgument>([&, &e = experts] { information_of(e, 4, groups); }),
      "experts: no token has a group of 'class'");
}

TEST(ExpertInformationTest, DoesNotDependOnThreads) {
  const auto [experts, groups] = example(false);
  const ExpertInformation one = information_of(experts, 4, groups, 1);
  const ExpertInformation three = information_of(experts, 4, groups, 3);
  EXPECT_EQ(one.null, three.null);
  EXPECT_EQ(one.p, three.p);
  EXPECT_EQ(one.specialised, three.specialised);
}

}  // namespace
}  // namespace lime
