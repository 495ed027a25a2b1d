// SPDX-License-Identifier: Apache-2.0
#include "core/files/sha256.h"

#include <gtest/gtest.h>

#include <string>

#include "core/errors.h"
#include "support/test_data.h"

namespace lime {
namespace {

// Examples from FIPS 180-4.
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kMillion = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256Test, EqualsTheExamplesOfTheStandard) {
  EXPECT_EQ(sha256_of("abc"), kAbc);
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of(std::string(1000000, 'a')), kMillion);
}

TEST(Sha256Test, DoesNotDependOnHowTheTextIsCut) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  EXPECT_EQ(hash.hex_digest(), kAbc);
}

TEST(Sha256Test, HashesFiles) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "a", "abc");
  EXPECT_EQ(sha256_of_file(folder / "a"), kAbc);
  testing::write_text(folder / "b", std::string(3 << 20, 'x'));  // several blocks
  EXPECT_EQ(sha256_of_file(folder / "b"), sha256_of(std::string(3 << 20, 'x')));
  testing::write_text(folder / "c", "");
  EXPECT_EQ(sha256_of_file(folder / "c"), sha256_of(""));
  std::int64_t read = 0;
  sha256_of_file(folder / "b", [&](std::int64_t bytes) { read += bytes; });
  EXPECT_EQ(read, 3 << 20);
  EXPECT_THROW(sha256_of_file(folder / "none"), IoError);
  EXPECT_THROW(sha256_of_file(folder.path()), IoError);
}

}  // namespace
}  // namespace lime
