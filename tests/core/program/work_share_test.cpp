// SPDX-License-Identifier: Apache-2.0
#include "core/program/work_share.h"

#include <gtest/gtest.h>

#include <string>

#include "core/errors.h"
#include "core/options.h"

namespace lime {
namespace {

TEST(WorkShareTest, IsReadFromText) {
  using Codec = OptionCodec<WorkShare>;
  EXPECT_EQ(Codec::parse("2/5", "shard"), (WorkShare{2, 5}));
  for (const char* const text : {"5/5", "-1/2", "1", "1/0", "/", "a/b", "1/2/3"}) {
    EXPECT_THROW(Codec::parse(text, "shard"), InvalidArgument) << text;
  }
}

TEST(WorkShareTest, CoversAllItemsOnce) {
  for (int item = 0; item < 10; ++item) {
    int holders = 0;
    for (int index = 0; index < 3; ++index) holders += WorkShare{index, 3}.holds(item) ? 1 : 0;
    EXPECT_EQ(holders, 1) << item;
  }
}

}  // namespace
}  // namespace lime
