// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

TEST(ByteSizeTest, ReadsWhatPeopleWrite) {
  EXPECT_EQ(ByteSize::parse("2GB").bytes, 2'000'000'000);
  EXPECT_EQ(ByteSize::parse("2GiB").bytes, std::int64_t{2} << 30);
  EXPECT_EQ(ByteSize::parse("2G").bytes, std::int64_t{2} << 30);
  EXPECT_EQ(ByteSize::parse("1.5 gib").bytes, std::int64_t{3} << 29);
  EXPECT_EQ(ByteSize::parse("512mb").bytes, 512'000'000);
  EXPECT_EQ(ByteSize::parse("4096").bytes, 4096);
  EXPECT_EQ(ByteSize::parse("4096B").bytes, 4096);
}

TEST(ByteSizeTest, WritesWhatItReads) {
  for (const std::string text : {"2GB", "2G", "512M", "3K", "1001", "7TB"}) {
    EXPECT_EQ(ByteSize::parse(text).to_string(), text);
  }
}

TEST(ByteSizeTest, RefusesOtherTexts) {
  for (const std::string text :
       {"", "GB", "0", "-1GB", "2 GBs", "2XB", "1e30TB", "nan", "inf", " 1", "1 ", "2GB "}) {
    EXPECT_THROW(ByteSize::parse(text), InvalidArgument) << text;
  }
  try {
    OptionCodec<ByteSize>::parse("much", "memory_limit");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "memory_limit: expected a size such as 2GB or 512MiB, got 'much'");
  }
}

TEST(MemoryTest, GrowsWithWhatIsHeld) {
  const std::int64_t before = resident_memory();
  const std::vector<char> block(std::size_t{64} << 20, 'x');
  EXPECT_GT(resident_memory() - before, std::int64_t{60} << 20);
  EXPECT_GT(peak_resident_memory(), std::int64_t{60} << 20);
  EXPECT_GT(available_memory(), 0);
}

}  // namespace
}  // namespace lime
