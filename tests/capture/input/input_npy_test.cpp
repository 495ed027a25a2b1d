// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capture/input/input_tokens.h"
#include "capture/npy_file.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::npy_bytes;
using testing::npy_int32;

class InputNpyTest : public ::testing::Test {
 protected:
  NpyIntegers read(const std::string& bytes) {
    testing::write_text(file_, bytes);
    return read_npy_integers(file_);
  }

  std::string refusal(const std::string& bytes) {
    return testing::refusal_of<FormatError>([&] { read(bytes); });
  }

  testing::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "ids.npy";
};

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

TEST_F(InputNpyTest, ReadsOneAndTwoDimensions) {
  const NpyIntegers flat = read(npy_int32({5, 0, 7}, "(3,)"));
  EXPECT_THAT(flat.values, ElementsAre(5, 0, 7));
  EXPECT_THAT(flat.shape, ElementsAre(3));
  const NpyIntegers table = read(npy_int32({1, 2, 3, 4, 5, 6}, "(2, 3)"));
  EXPECT_THAT(table.values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(table.shape, ElementsAre(2, 3));
}

TEST_F(InputNpyTest, ReadsEveryWidthSignAndByteOrder) {
  const auto one = [&](const std::string& descr, const std::string& data) {
    return read(npy_bytes(dictionary("'" + descr + "'", "(1,)"), data)).values.at(0);
  };
  using namespace std::string_literals;
  EXPECT_EQ(one("|u1", "\xff"), 255);
  EXPECT_EQ(one("|i1", "\xff"), -1);
  EXPECT_EQ(one("<u2", "\x01\xff"), 0xff01);
  EXPECT_EQ(one(">u2", "\x01\xff"), 0x01ff);
  EXPECT_EQ(one("<i2", "\xfe\xff"), -2);
  EXPECT_EQ(one("<u4", "\xff\xff\xff\xff"), 0xffffffff);
  EXPECT_EQ(one(">i4", "\xff\xff\xff\xfd"), -3);
  EXPECT_EQ(one("<i8", "\x05\0\0\0\0\0\0\0"s), 5);
  EXPECT_EQ(one(">i8", "\0\0\0\0\0\0\1\0"s), 256);
  EXPECT_EQ(one("<u8", "\x05\0\0\0\0\0\0\0"s), 5);
}

TEST_F(InputNpyTest, ReadsWhatNumPyWrites) {
  const std::string script = " -c \"import numpy as n; n.save('" + file_.string() +
                             "', n.arange(6, dtype='uint16').reshape(2, 3))\"";
  if (testing::run_command("python3" + script).status != 0 &&
      testing::run_command("/usr/bin/python3" + script).status != 0) {
    GTEST_SKIP() << "needs a python3 with numpy (Debian: python3-numpy)";
  }
  EXPECT_THAT(read_npy_integers(file_).values, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(InputNpyTest, RefusesOtherNumbers) {
  EXPECT_THAT(refusal(npy_bytes(dictionary("'<f4'", "(1,)"), "abcd")),
              HasSubstr("token ids must be whole numbers, got type '<f4'"));
  EXPECT_THAT(refusal(npy_bytes(dictionary("[('a', '<i4')]", "(1,)"), "abcd")),
              HasSubstr("whole numbers"));
  EXPECT_THAT(refusal(npy_bytes(dictionary("'|O'", "(1,)"), "abcd")), HasSubstr("'|O'"));
  EXPECT_THAT(refusal(npy_bytes(dictionary("'<u8'", "(1,)"), "\xff\xff\xff\xff\xff\xff\xff\xff")),
              HasSubstr("must be below 2^63, got 18446744073709551615 at element 0"));
}

TEST_F(InputNpyTest, RefusesShapesAtOddsWithTheData) {
  EXPECT_THAT(refusal(npy_int32({1, 2}, "(3,)")),
              HasSubstr("contains 8 bytes of numbers, but its shape (3) requires 12"));
  EXPECT_THAT(refusal(npy_int32({1, 2, 3}, "(2,)")), HasSubstr("requires 8"));
  EXPECT_THAT(refusal(npy_int32({1}, "()")), HasSubstr("1 or 2 dimensions, got 0"));
  EXPECT_THAT(refusal(npy_int32({1}, "(1, 1, 1)")), HasSubstr("1 or 2 dimensions, got 3"));
  EXPECT_THAT(refusal(npy_int32({1}, "(4611686018427387904, 4)")), HasSubstr("more than 2^64"));
  EXPECT_THAT(refusal(npy_int32({1}, "(9223372036854775807, 2)")), HasSubstr("requires"));
  EXPECT_THAT(refusal(npy_bytes(dictionary("'<i4'", "(1, 1)", "True"), "abcd")),
              HasSubstr("must be in C order, got Fortran order"));
}

TEST_F(InputNpyTest, RefusesBrokenHeaders) {
  EXPECT_THAT(refusal("hello"), HasSubstr("is not a .npy file"));
  EXPECT_THAT(refusal("\x93NUMPY"), HasSubstr("version"));
  EXPECT_THAT(refusal(std::string("\x93NUMPY\x09\0\x10\0", 10)),
              HasSubstr("version must be 1 to 3"));
  EXPECT_THAT(refusal(std::string("\x93NUMPY\x01\0\xff\xff", 10)), HasSubstr("truncated"));
  EXPECT_THAT(refusal(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)),
              HasSubstr("misstates its length of 4294967295 bytes"));
  for (const char* const header :
       {"", "{", "}", "{'descr': '<i4'}", "{'descr': '<i4', 'fortran_order': False}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr: '<i4', 'fortran_order': False, 'shape': (1,)}", "[1, 2]"}) {
    EXPECT_THAT(refusal(npy_bytes(header, "abcd")), HasSubstr("header is malformed")) << header;
  }
}

TEST_F(InputNpyTest, NamesAMissingFile) {
  EXPECT_THROW(read_npy_integers(folder_ / "none.npy"), IoError);
}

}  // namespace
}  // namespace lime
