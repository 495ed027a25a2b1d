// SPDX-License-Identifier: Apache-2.0
#include "core/layer_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::ElementsAre;

std::string selection_refusal(const std::string& text) {
  return testing::refusal_of<InvalidArgument>([&] { LayerSelection::parse(text); });
}

TEST(LayerSelectionTest, TakesAllLayersByDefault) {
  EXPECT_TRUE(LayerSelection().is_all());
  EXPECT_TRUE(LayerSelection::parse("all").contains(123));
  EXPECT_THAT(LayerSelection().choose_from({0, 1, 5}, "x"), ElementsAre(0, 1, 5));
}

TEST(LayerSelectionTest, TakesListsAndRangesInAscendingOrderOnce) {
  const LayerSelection selection = LayerSelection::parse("5,0,3-5");
  EXPECT_THAT(selection.choose_from({0, 1, 2, 3, 4, 5, 6}, "x"), ElementsAre(0, 3, 4, 5));
  EXPECT_FALSE(selection.contains(1));
}

TEST(LayerSelectionTest, WritesWhatItReads) {
  for (const char* text : {"all", "0", "0,3,8-15"}) {
    EXPECT_EQ(LayerSelection::parse(text).to_string(), text);
  }
}

TEST(LayerSelectionTest, RefusesWhatIsNoList) {
  for (const char* text : {"", "a", "-1", "1-", "1,,2", "1;2", "0x1", "all,1", "99999999999", "1.5",
                           " 5", "5 ", "0, 3", " all"}) {
    EXPECT_EQ(selection_refusal(text),
              fmt::format("layers: expected all or a list such as 0,3,8-15, got '{}'", text));
  }
  EXPECT_EQ(selection_refusal("3-1"), "layers: a range must be ascending, got '3-1'; write 1-3");
}

TEST(LayerSelectionTest, SaysWhichLayersThereAreWhereOneIsMissing) {
  try {
    LayerSelection::parse("0,7").choose_from({0, 1, 2, 5}, "'c.h5'");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "'c.h5': layer 7 does not exist (available: 0-2,5)");
  }
}

TEST(LayersToStringTest, JoinsNeighbours) {
  EXPECT_EQ(layers_to_string({}), "none");
  EXPECT_EQ(layers_to_string({4}), "4");
  EXPECT_EQ(layers_to_string({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace lime
