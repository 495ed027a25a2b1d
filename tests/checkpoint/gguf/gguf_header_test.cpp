// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/gguf/gguf_builder.h"
#include "core/errors.h"
#include "support/refusal.h"

namespace lime {
namespace {

using testing::GgufBuilder;
using ::testing::HasSubstr;

GgufHeader header_of(const std::string& file) {
  return parse_gguf(std::as_bytes(std::span(file.data(), file.size())), "m.gguf");
}

std::string header_refusal(const std::string& file) {
  return testing::refusal_of<FormatError>([&] { header_of(file); });
}

GgufBuilder example_gguf() {
  GgufBuilder file;
  file.add("a", 7U).add("b", "text").add("c", true).add("d", 0.5F);
  file.add("words", std::vector<std::string>{"x", "", "yz"});
  file.add("numbers", std::vector<std::int32_t>{-1, 2});
  file.tensor("t", 8, {32, 2}, std::string(68, '\1')).tensor("u", 0, {3}, std::string(12, '\2'));
  return file;
}

TEST(GgufHeaderTest, HasMetadataAndTensors) {
  const std::string file = example_gguf().build();
  const GgufHeader header = header_of(file);
  EXPECT_EQ(header.metadata, (Json{{"a", 7}, {"b", "text"}, {"c", true}, {"d", 0.5}}));
  EXPECT_EQ(header.find_array("words")->strings(), (std::vector<std::string_view>{"x", "", "yz"}));
  EXPECT_EQ(header.find_array("numbers")->numbers(), (std::vector<double>{-1.0, 2.0}));
  EXPECT_EQ(header.find_array("none"), nullptr);
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0].dtype, Dtype::kQ8_0);
  EXPECT_EQ(header.tensors[0].shape, (Shape{2, 32}));
  EXPECT_EQ(header.tensors[0].bytes.size(), 68U);
  EXPECT_EQ(header.tensors[1].bytes[0], std::byte{2});
}

TEST(GgufHeaderTest, ReadsVersion2AndAnotherAlignment) {
  GgufBuilder file;
  file.version = 2;
  file.alignment = 64;
  file.add("general.alignment", 64U);
  file.tensor("u", 0, {1}, "abcd").tensor("v", 0, {1}, "efgh");
  const std::string content = file.build();
  const GgufHeader header = header_of(content);
  EXPECT_EQ(header.tensors[1].bytes[0], static_cast<std::byte>('e'));
}

TEST(GgufHeaderTest, RefusesEveryTruncatedFile) {
  const std::string file = example_gguf().build();
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(header_refusal(file.substr(0, size)), "") << size;
  }
  EXPECT_THAT(header_refusal(file.substr(0, file.size() - 1)),
              HasSubstr("tensor 'u' needs 12 bytes at offset 96 of the data, which has 107; the "
                        "file seems to be truncated, download it again"));
}

TEST(GgufHeaderTest, NamesTheRemedy) {
  GgufBuilder old;
  old.version = 1;
  EXPECT_EQ(header_refusal(old.build()),
            "'m.gguf': has GGUF version 1, expected 2 or 3; convert the model again with a current "
            "llama.cpp");
  GgufBuilder big_endian;
  big_endian.version = 3U << 24U;
  EXPECT_EQ(header_refusal(big_endian.build()),
            "'m.gguf': is a big-endian GGUF file, which is not supported; use the little-endian "
            "file of the model");
  EXPECT_THAT(header_refusal(GgufBuilder().tensor("t", 16, {256}, std::string(66, '\0')).build()),
              HasSubstr("tensor 't' has the type IQ2_XXS, which is not supported (supported: F32, "
                        "F16, Q4_0,"));
  EXPECT_THAT(header_refusal(GgufBuilder().tensor("t", 4, {32}, "").build()),
              HasSubstr("the type 4,"));
  EXPECT_EQ(header_refusal("PK"), "'m.gguf': a GGUF file must begin with 'GGUF', got 'PK'");
}

TEST(GgufHeaderTest, RefusesInvalidEntries) {
  EXPECT_EQ(header_refusal(GgufBuilder().add("a", 1U).add("a", 2U).build()),
            "'m.gguf': metadata 'a' is given twice");
  EXPECT_THAT(header_refusal(GgufBuilder().entry("a", static_cast<GgufType>(13), "").build()),
              HasSubstr("metadata 'a' has the unknown type 13"));
  const std::string lists = GgufBuilder::bytes_of(9U) + GgufBuilder::bytes_of(std::uint64_t{1});
  EXPECT_THAT(header_refusal(GgufBuilder().entry("a", GgufType::kArray, lists).build()),
              HasSubstr("is a list of lists"));
  const std::string huge = GgufBuilder::bytes_of(8U) + GgufBuilder::bytes_of(~std::uint64_t{0});
  EXPECT_THAT(header_refusal(GgufBuilder().entry("a", GgufType::kArray, huge).build()),
              HasSubstr("metadata 'a' declares 18446744073709551615 elements, but only"));
  EXPECT_THAT(header_refusal(GgufBuilder().add("general.alignment", 3U).build()),
              HasSubstr("must be a power of two"));
}

TEST(GgufHeaderTest, RefusesInvalidTensors) {
  GgufBuilder overlap;
  overlap.tensor("t", 0, {8}, std::string(32, '\0')).tensor_at("u", 0, {1}, 28);
  EXPECT_EQ(header_refusal(overlap.build()),
            "'m.gguf': the data of the tensors 't' and 'u' overlap");
  EXPECT_THAT(header_refusal(GgufBuilder().tensor_at("t", 0, {1U << 31U, 1U << 31U, 8}, 0).build()),
              HasSubstr("is too large for memory"));
  EXPECT_THAT(header_refusal(GgufBuilder().tensor_at("t", 2, {16, 2}, 0).build()),
              HasSubstr("the rows of Q4_0 [2, 16] must be multiples of 32"));
  EXPECT_THAT(header_refusal(GgufBuilder().tensor_at("t", 0, {1, 1, 1, 1, 1}, 0).build()),
              HasSubstr("must have at most 4 dimensions, got 5"));
}

}  // namespace
}  // namespace lime
