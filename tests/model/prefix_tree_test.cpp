// SPDX-License-Identifier: Apache-2.0
// Passes over a tree of sequences against one pass for each sequence.
#include "model/passes/prefix_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <random>

#include "core/errors.h"
#include "model/kernels/rotary.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::NamedConfig;
using Ids = std::vector<std::int64_t>;

const std::vector<Ids> kSequences = {{3, 1, 4, 1, 5}, {3, 1, 4, 2},    {7, 7, 7}, {3, 1},
                                     {3, 1, 4, 1, 5}, {3, 1, 4, 1, 6}, {9}};

TEST(PrefixTreeTest, HoldsEqualBeginningsOnce) {
  const PrefixTree tree(kSequences);
  EXPECT_EQ(tree.num_rows(), 5 + 1 + 1 + 3 + 1);
  EXPECT_EQ(tree.depth(), 5);
  EXPECT_EQ(tree.segments().size(), 8U);
  EXPECT_EQ(tree.rows_of(0), tree.rows_of(4));
  EXPECT_THAT(tree.rows_of(3), ElementsAre(tree.rows_of(0)[0], tree.rows_of(0)[1]));
}

TEST(PrefixTreeTest, RowsAreTheTokensOfTheSequences) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Ids> sequences(1 + random() % 12);
    for (Ids& sequence : sequences) {
      sequence.resize(1 + random() % 6);
      for (std::int64_t& id : sequence) id = static_cast<std::int64_t>(random() % 3);
    }
    const PrefixTree tree(sequences);
    const at::Tensor ids = tree.ids()[0];
    const at::Tensor positions = tree.positions();
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      const std::vector<std::int64_t> rows = tree.rows_of(s);
      ASSERT_EQ(rows.size(), sequences[s].size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(ids[rows[i]].item<std::int64_t>(), sequences[s][i]);
        EXPECT_EQ(positions[rows[i]].item<std::int64_t>(), static_cast<std::int64_t>(i));
      }
    }
  }
}

class TreePassTest : public ::testing::TestWithParam<NamedConfig> {};

TEST_P(TreePassTest, EqualsOnePassForEachSequence) {
  const Decoder decoder = lively_decoder(GetParam().config, in_double());
  if (rotates_differently(decoder.config().spec.ropes, 1, 5)) {
    GTEST_SKIP() << "its rotation depends on the length of a sequence";
  }
  const PrefixTree tree(kSequences);
  const at::Tensor together = decoder.forward(tree.ids(), {.tree = &tree}).logits[0];
  for (std::size_t s = 0; s < kSequences.size(); ++s) {
    const at::Tensor rows = torch::tensor(tree.rows_of(s));
    const at::Tensor alone = decoder.forward(torch::tensor(kSequences[s]).unsqueeze(0)).logits[0];
    EXPECT_LT(max_difference(together.index_select(0, rows), alone), 1e-12) << "sequence " << s;
  }
}

TEST_P(TreePassTest, HasNoPattern) {
  const Decoder decoder = lively_decoder(GetParam().config, in_double());
  const PrefixTree tree(kSequences);
  HookSet hooks;
  const ScopedHook reader =
      hooks.read({HookKind::kPattern, 0}, [](const HookPoint&, const at::Tensor&) {});
  EXPECT_THROW(decoder.forward(tree.ids(), {.hooks = &hooks, .tree = &tree}), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Decoders, TreePassTest, ::testing::ValuesIn(testing::small_configs()),
                         testing::config_name);

}  // namespace
}  // namespace lime
