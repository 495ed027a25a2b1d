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
  EXPECT_EQ(text_of<IoError>([] { throw_if<IoError>(true, OptionName("k"), "got {}", 1); }),
            "k: got 1");
  EXPECT_NO_THROW(throw_if(false, "k: must be >= 2, got {}", 3));
  EXPECT_NO_THROW(throw_if(false, OptionName("k"), "must be >= 2, got {}", 3));
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
  EXPECT_EQ(text_of<InvalidArgument>(
                [&] { throw prefixed(name, InvalidArgument(OptionName("k"), "got {}", name)); }),
            "a\\x00b: k: got a\\x00b");
}

std::string dashed(const std::string& option) { return "--" + option; }

TEST(ErrorTest, KnowsTheOptionThatItIsAbout) {
  const InvalidArgument error(OptionName("k"), "must be < {}, got {}", 3, 7);
  EXPECT_STREQ(error.what(), "k: must be < 3, got 7");
  EXPECT_EQ(error.option(), "k");
  EXPECT_EQ(error.problem(), "must be < 3, got 7");
  EXPECT_EQ(error.spelled(dashed), "--k: must be < 3, got 7");
}

TEST(ErrorTest, SpellsTheOptionBehindWhereItWasFound) {
  InvalidArgument error =
      prefixed("'k: a.h5'", prefixed("layer 3", InvalidArgument(OptionName("k"), "must be < 3")));
  EXPECT_STREQ(error.what(), "'k: a.h5': layer 3: k: must be < 3");
  EXPECT_EQ(error.problem(), "must be < 3");
  error.spell(dashed);
  EXPECT_STREQ(error.what(), "'k: a.h5': layer 3: --k: must be < 3");
  EXPECT_EQ(error.spelled(dashed), "'k: a.h5': layer 3: --k: must be < 3");
}

TEST(ErrorTest, SpellsNothingWithoutAnOption) {
  const NumericalError error("k: must be finite");
  EXPECT_EQ(error.option(), "");
  EXPECT_EQ(error.problem(), "k: must be finite");
  EXPECT_EQ(error.spelled(dashed), "k: must be finite");
}

}  // namespace
}  // namespace lime
