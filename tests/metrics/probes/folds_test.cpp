// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/folds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(FoldsTest, StratifiedFoldsHaveTheSharesOfTheClasses) {
  std::vector<int> classes;
  for (int i = 0; i < 100; ++i) classes.push_back(i % 10 == 0 ? 1 : 0);
  const Folds folds = make_folds(classes, {}, {.num_folds = 5, .seed = 3});
  std::map<std::pair<int, int>, int> counts;
  for (std::size_t i = 0; i < classes.size(); ++i) ++counts[{folds.fold_of_row[i], classes[i]}];
  for (int fold = 0; fold < 5; ++fold) {
    EXPECT_EQ((counts[{fold, 0}]), 18);
    EXPECT_EQ((counts[{fold, 1}]), 2);
  }
}

TEST(FoldsTest, GroupsStayTogether) {
  std::vector<int> groups;
  for (int i = 0; i < 60; ++i) groups.push_back(i / 2);
  for (const bool shuffle : {true, false}) {
    const Folds folds =
        make_folds({}, groups, {.kind = FoldKind::kGrouped, .shuffle = shuffle, .seed = 1});
    for (std::size_t i = 0; i < groups.size(); i += 2) {
      EXPECT_EQ(folds.fold_of_row[i], folds.fold_of_row[i + 1]);
    }
    for (int fold = 0; fold < 5; ++fold) {
      EXPECT_EQ(std::count(folds.fold_of_row.begin(), folds.fold_of_row.end(), fold), 12);
    }
  }
}

TEST(FoldsTest, TrainingRowsAreThoseOfTheOtherFolds) {
  const Folds folds{3, {0, 2, 1, 0}};
  EXPECT_THAT(folds.training_rows(0), ElementsAre(0, 1, 1, 0));
}

TEST(FoldsTest, RefusesWhatCannotBeDealtOut) {
  const std::vector<int> classes = {0, 1, 0, 1};
  EXPECT_THAT([&] { make_folds(classes, {}, {.num_folds = 1}); },
              ThrowsMessage<InvalidArgument>(StrEq("folds: must be >= 2, got 1")));
  EXPECT_THAT(
      [&] { make_folds(classes, {}, {.num_folds = 5}); },
      ThrowsMessage<InvalidArgument>(StrEq("folds: must be at most the number of rows, 4, got 5")));
  const std::vector<int> groups = {7, 7, 8, 8};
  EXPECT_THAT([&] { make_folds(classes, groups, {.kind = FoldKind::kGrouped, .num_folds = 3}); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("folds: must be at most the number of groups, 2, got 3")));
  EXPECT_THAT(
      [&] {
        make_folds(classes, std::vector<int>{1, 2}, {.kind = FoldKind::kGrouped});
      },
      ThrowsMessage<InvalidArgument>(StrEq("folds: needs a group for each of 4 rows, got 2")));
}

TEST(FoldsTest, NamesTheClassWithTooFewRows) {
  const std::vector<int> classes = {0, 0, 0, 1, 1, 0, 0};
  const std::vector<std::string> names = {" is", " was"};
  EXPECT_THAT([&] { require_rows_per_class(classes, names, 3); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("folds: each class needs at least 3 rows, one per fold, but class ' was' "
                        "has 2; use fewer folds or capture more text")));
  EXPECT_NO_THROW(require_rows_per_class(classes, names, 2));
}

}  // namespace
}  // namespace lime
