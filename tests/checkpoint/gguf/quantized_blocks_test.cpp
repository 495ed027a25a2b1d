// SPDX-License-Identifier: Apache-2.0
// Blocks and values by tests/golden/gguf/make_gguf.py, from the package `gguf`.
#include "checkpoint/weights/quantized_blocks.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstring>
#include <vector>

#include "core/json.h"
#include "support/test_data.h"

namespace lime {
namespace {

std::vector<std::byte> bytes_of_hex(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    std::from_chars(&hex[2 * i], &hex[2 * i] + 2, value, 16);
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

class QuantizedBlocksTest : public ::testing::TestWithParam<Dtype> {};

TEST_P(QuantizedBlocksTest, HaveTheValuesOfThePackageGguf) {
  const Dtype dtype = GetParam();
  const Json golden = read_json_file(testing::golden_file("gguf/blocks.json"));
  const Json& entry = golden.at(std::string(dtype_name(dtype)));
  const auto blocks = bytes_of_hex(entry.at("blocks").get<std::string>());
  const auto expected = bytes_of_hex(entry.at("values").get<std::string>());
  ASSERT_EQ(blocks.size() % dtype_size(dtype), 0U);
  std::vector<float> values(blocks.size() / dtype_size(dtype) * block_elements(dtype));
  ASSERT_EQ(expected.size(), values.size() * sizeof(float));
  convert_blocks(dtype, blocks, values);
  // Every product is exact, and each value is rounded at most once: equal bits.
  EXPECT_EQ(std::memcmp(values.data(), expected.data(), expected.size()), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, QuantizedBlocksTest,
                         ::testing::Values(Dtype::kQ4_0, Dtype::kQ4_1, Dtype::kQ5_0, Dtype::kQ5_1,
                                           Dtype::kQ8_0, Dtype::kQ2_K, Dtype::kQ3_K, Dtype::kQ4_K,
                                           Dtype::kQ5_K, Dtype::kQ6_K, Dtype::kIQ4_NL,
                                           Dtype::kIQ4_XS, Dtype::kMXFP4),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

}  // namespace
}  // namespace lime
