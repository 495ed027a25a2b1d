// SPDX-License-Identifier: Apache-2.0
#include "capture/row_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CaptureInput three_sequences() {
  CaptureInput input;
  input.add({}, std::vector<std::int32_t>{7, 8, 7}, {});
  input.add({}, std::vector<std::int32_t>{9, 7}, {});
  input.add({}, std::vector<std::int32_t>{8, 7, 8}, {});
  return input;
}

TEST(RowSelectionTest, KeepsEveryToken) {
  const CaptureInput input = three_sequences();
  const RowSelection selection(input, RowKind::kTokens);
  EXPECT_TRUE(selection.keeps_all());
  EXPECT_EQ(selection.num_rows(), 8);
  const RowTable rows = selection.rows_of(1, 2);
  EXPECT_THAT(rows.sequence, ElementsAre(1, 1, 2, 2, 2));
  EXPECT_THAT(rows.position, ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(rows.token, ElementsAre(9, 7, 8, 7, 8));
  EXPECT_THAT(rows.class_id, IsEmpty());
}

TEST(RowSelectionTest, KeepsOneRowPerSequenceWherePooled) {
  const CaptureInput input = three_sequences();
  for (const RowKind kind : {RowKind::kMean, RowKind::kLast}) {
    const RowSelection selection(input, kind);
    EXPECT_FALSE(selection.keeps_all());
    EXPECT_EQ(selection.num_rows(), 3);
    const RowTable rows = selection.rows_of(0, 3);
    EXPECT_THAT(rows.sequence, ElementsAre(0, 1, 2));
    EXPECT_THAT(rows.position, ElementsAre(2, 1, 2)) << "of the last token";
    EXPECT_THAT(rows.token, ElementsAre(7, 7, 8));
  }
}

TEST(RowSelectionTest, KeepsChosenTokensWithTheirClasses) {
  const CaptureInput input = three_sequences();
  const RowSelection selection(input, {{"b", 8}, {"c", 9}}, 10);
  EXPECT_FALSE(selection.keeps_all());
  EXPECT_EQ(selection.num_rows(), 4);
  EXPECT_EQ(selection.num_sequences(), 3);
  EXPECT_THAT(selection.rows_per_class(), ElementsAre(3, 1));
  const RowTable rows = selection.rows_of(0, 3);
  EXPECT_THAT(rows.sequence, ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(rows.position, ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(rows.token, ElementsAre(8, 9, 8, 8));
  EXPECT_THAT(rows.class_id, ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(selection.rows_of(1, 1).size(), 1);
}

TEST(RowSelectionTest, EndsWhenEveryClassIsFull) {
  const CaptureInput input = three_sequences();
  const RowSelection selection(input, {{"a", 7}, {"b", 8}}, 1);
  EXPECT_THAT(selection.rows_per_class(), ElementsAre(1, 1));
  EXPECT_EQ(selection.num_sequences(), 1);
  const RowTable rows = selection.rows_of(0, 1);
  EXPECT_THAT(rows.position, ElementsAre(0, 1)) << "the first of each in the order of the text";
}

}  // namespace
}  // namespace lime
