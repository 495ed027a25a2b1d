// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/adam_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/errors.h"
#include "core/threads/thread_pool.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(AdamProbeTest, CountsTheShortBatchAsMuchAsTheOthers) {
  // 130 rows in two folds: batches of 64 and 1. All rows have class 0 except one of class 1.
  const MatrixF rows = testing::random_matrix(130, 4, 1).cast<float>();
  std::vector<int> classes(130, 0);
  Folds folds{2, std::vector<int>(130, 1)};
  for (std::size_t i = 0; i < 65; ++i) folds.fold_of_row[i] = 0;
  classes[64] = 1;  // the last test row of fold 0, alone in its batch
  ThreadPool pool(2);
  const std::vector<AdamProbeFold> result =
      cross_validate_adam({rows, classes, 2}, folds, {.epochs = 200}, pool);
  EXPECT_DOUBLE_EQ(result[0].accuracy, 0.5);
  EXPECT_DOUBLE_EQ(result[0].row_accuracy, 64.0 / 65.0);
}

TEST(AdamProbeTest, OneEpochStaysBelowTheOptimum) {
  // Classes differ along columns of small scale: steps of 1e-2 are too small for one epoch.
  MatrixD rows = testing::random_matrix(512, 64, 2, 1.5);
  std::vector<int> classes;
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    classes.push_back(static_cast<int>(i % 2));
    rows(i, 40) += i % 2 == 0 ? 0.02 : -0.02;
  }
  const MatrixF values = rows.cast<float>();
  ThreadPool pool(2);
  const Folds folds = make_folds(classes, {});
  const ProbeResult optimum = cross_validate({values, classes, 2}, folds, {}, pool);
  for (const AdamProbeFold& fold : cross_validate_adam({values, classes, 2}, folds, {}, pool)) {
    EXPECT_LT(fold.accuracy, 0.8);
  }
  for (const ProbeFold& fold : optimum.folds) EXPECT_GT(fold.accuracy, 0.9);
}

TEST(AdamProbeTest, DependsOnTheSeedOnly) {
  const MatrixF rows = testing::random_matrix(100, 5, 3).cast<float>();
  std::vector<int> classes;
  for (int i = 0; i < 100; ++i) classes.push_back(i % 3);
  const Folds folds = make_folds(classes, {}, {.kind = FoldKind::kShuffled, .seed = 42});
  ThreadPool one(1);
  ThreadPool two(2);
  const auto a = cross_validate_adam({rows, classes, 3}, folds, {}, one);
  const auto b = cross_validate_adam({rows, classes, 3}, folds, {}, two);
  for (std::size_t f = 0; f < a.size(); ++f) EXPECT_EQ(a[f].accuracy, b[f].accuracy);
}

TEST(AdamProbeTest, RefusesUnfitOptions) {
  EXPECT_THAT(
      [] { AdamProbeOptions{.learning_rate = 0.0}.validate(); },
      ThrowsMessage<InvalidArgument>(StrEq("learning_rate: must be > 0 and finite, got 0")));
  EXPECT_THAT([] { AdamProbeOptions{.batch_size = 0}.validate(); },
              ThrowsMessage<InvalidArgument>(StrEq("batch_size: must be > 0, got 0")));
}

}  // namespace
}  // namespace lime
