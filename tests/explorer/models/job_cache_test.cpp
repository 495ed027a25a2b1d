// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/job_cache.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QThread>
#include <atomic>
#include <stdexcept>

#include "explorer/explorer_fixture.h"

namespace lime::explorer::testing {
namespace {

class JobCacheTest : public ::testing::Test {
 protected:
  void request(int key) {
    cache_.request(key, {.title = QStringLiteral("job")}, [this, key](const JobContext&) {
      ++runs_;
      if (key < 0) throw std::runtime_error("negative");
      return 10 * key;
    });
  }
  void finish() {
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  }

  std::atomic<int> runs_ = 0;
  JobRunner jobs_;
  JobCache<int, int> cache_{jobs_};
};

TEST_F(JobCacheTest, ComputesEachKeyOnceAndKeepsTheAnswer) {
  QSignalSpy changed(&cache_, &JobCacheSignals::changed);
  request(3);
  request(3);
  EXPECT_TRUE(cache_.isBusy());
  EXPECT_FALSE(cache_.at(3).result);
  ASSERT_NO_FATAL_FAILURE(finish());
  request(3);
  EXPECT_FALSE(cache_.isBusy());
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(cache_.at(3).result, 30);
  EXPECT_EQ(changed.count(), 1) << "an answer is announced once";
  EXPECT_FALSE(cache_.at(4).result);
}

TEST_F(JobCacheTest, KeepsTheReasonOfAFailure) {
  request(-1);
  ASSERT_NO_FATAL_FAILURE(finish());
  EXPECT_FALSE(cache_.at(-1).result);
  EXPECT_EQ(cache_.at(-1).problem, "negative");
}

TEST_F(JobCacheTest, ACancelledJobIsMarkedAsStopped) {
  request(3);
  jobs_.cancelAll();
  ASSERT_NO_FATAL_FAILURE(finish());
  EXPECT_FALSE(cache_.at(3).result);
  EXPECT_TRUE(cache_.at(3).problem.startsWith("cancelled")) << cache_.at(3).problem.toStdString();
}

TEST_F(JobCacheTest, DroppedKeysAreCancelledAndComputedAgainOnRequest) {
  request(3);
  request(4);
  cache_.keepOnly(4);
  ASSERT_NO_FATAL_FAILURE(finish());
  EXPECT_FALSE(cache_.at(3).result);
  EXPECT_TRUE(cache_.at(3).problem.isEmpty());
  EXPECT_EQ(cache_.at(4).result, 40);
  request(3);
  ASSERT_NO_FATAL_FAILURE(finish());
  EXPECT_EQ(cache_.at(3).result, 30);
}

TEST_F(JobCacheTest, ShowsWhatAJobPublishesUntilItIsDone) {
  std::atomic<bool> may_end = false;
  cache_.requestInParts(3, {.title = QStringLiteral("job")},
                        [&](const JobContext&, const std::function<void(int)>& publish) {
                          publish(1);
                          publish(2);
                          while (!may_end) QThread::msleep(1);
                          return 30;
                        });
  ASSERT_TRUE(waitUntil([this] { return cache_.at(3).result == 2; }));
  EXPECT_TRUE(cache_.isBusy());
  may_end = true;
  ASSERT_NO_FATAL_FAILURE(finish());
  EXPECT_EQ(cache_.at(3).result, 30);
}

TEST_F(JobCacheTest, WhatADroppedJobPublishesIsDropped) {
  std::atomic<bool> may_publish = false;
  QSignalSpy changed(&cache_, &JobCacheSignals::changed);
  cache_.requestInParts(3, {.title = QStringLiteral("job")},
                        [&](const JobContext&, const std::function<void(int)>& publish) {
                          while (!may_publish) QThread::msleep(1);
                          publish(1);
                          return 30;
                        });
  cache_.clear();
  ASSERT_EQ(changed.count(), 1);
  may_publish = true;
  ASSERT_NO_FATAL_FAILURE(finish());
  EXPECT_EQ(changed.count(), 1);
  EXPECT_FALSE(cache_.at(3).result);
}

}  // namespace
}  // namespace lime::explorer::testing
