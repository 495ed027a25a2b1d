// SPDX-License-Identifier: Apache-2.0
#include "core/errors.h"

#include <gtest/gtest.h>

#include <string>

namespace lime {
namespace {

template <typename Exception, typename Call> std::string text_of(const Call& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(ThrowIfTest, FormatsTheTextOfTheError) {
  EXPECT_EQ(text_of<InvalidArgument>([] { throw_if(true, "k: must be >= 2, got {}", 1); }),
            "k: must be >= 2, got 1");
  EXPECT_EQ(text_of<FormatError>([] { throw_if<FormatError>(true, "'{}': is empty", "a.h5"); }),
            "'a.h5': is empty");
  EXPECT_NO_THROW(throw_if(false, "k: must be >= 2, got {}", 3));
}

TEST(ThrowIfTest, LeavesATextWithoutArgumentsAsItIs) {
  EXPECT_EQ(text_of<IoError>([] { throw_if<IoError>(true, "write {\"a\": 1}"); }),
            "write {\"a\": 1}");
}

TEST(ErrorTest, ShowsTextsWithNulWhole) {
  const std::string name("a\0b", 3);
  EXPECT_EQ(text_of<FormatError>([&] { throw FormatError("'{}': unknown key; remove it", name); }),
            "'a\\x00b': unknown key; remove it");
  EXPECT_STREQ(IoError(name + "; retry").what(), "a\\x00b; retry");
}

}  // namespace
}  // namespace lime
