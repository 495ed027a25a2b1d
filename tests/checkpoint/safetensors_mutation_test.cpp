// SPDX-License-Identifier: Apache-2.0
// Thousands of damaged headers: each must load or fail with our own error.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "checkpoint/test_model.h"
#include "checkpoint/weights/safetensors.h"
#include "core/errors.h"
#include "core/random.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::random_model;
using testing::read_text;
using testing::small_config;
using testing::TemporaryFolder;

constexpr int kCases = 6000;

std::string whole_file() {
  const TemporaryFolder folder;
  random_model(small_config("lime")).write(folder.path());
  return read_text(folder / "model.safetensors");
}

/// Parses the content; an accepted header must reference only bytes of the file.
/// @return whether it was accepted.
bool survives(const std::string& content) {
  const auto file = std::as_bytes(std::span(content));
  try {
    for (const TensorView& tensor : parse_safetensors_header(file, "mutant").tensors) {
      EXPECT_LE(file.data(), tensor.bytes.data());
      EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(), file.data() + file.size());
      EXPECT_EQ(tensor.bytes.size(),
                dtype_size(tensor.dtype) * static_cast<std::size_t>(element_count(tensor.shape)));
    }
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view(error.what()).substr(0, 8), "'mutant'");
    return false;
  }
}

std::size_t header_end(const std::string& content) { return content.find("}}") + 2; }

TEST(SafetensorsMutationTest, LoadsOrRefusesFlippedBytes) {
  const std::string original = whole_file();
  Random random(2024);
  int accepted = 0;
  for (int i = 0; i < kCases; ++i) {
    std::string mutant = original;
    const std::size_t flips = 1 + random.below(3);
    for (std::size_t flip = 0; flip < flips; ++flip) {
      const std::size_t place = random.below(header_end(original));
      mutant[place] = static_cast<char>(mutant[place] ^ (1 << random.below(8)));
    }
    accepted += survives(mutant) ? 1 : 0;
  }
  EXPECT_GT(accepted, 0) << "a flipped letter of a name is still a file";
  EXPECT_LT(accepted, kCases / 2);
}

TEST(SafetensorsMutationTest, LoadsOrRefusesChangedDigitsAndPunctuation) {
  const std::string original = whole_file();
  constexpr std::string_view kMarks = "0123456789-.e[]{},:\"";
  std::vector<std::size_t> places;
  for (std::size_t i = 8; i < header_end(original); ++i) {
    if (kMarks.find(original[i]) != std::string_view::npos) places.push_back(i);
  }
  Random random(7);
  for (int i = 0; i < kCases; ++i) {
    std::string mutant = original;
    mutant[places[random.below(places.size())]] = kMarks[random.below(kMarks.size())];
    survives(mutant);
  }
}

TEST(SafetensorsMutationTest, RefusesEveryFileThatIsCutShort) {
  const std::string original = whole_file();
  Random random(5);
  for (int i = 0; i < kCases / 4; ++i) {
    EXPECT_FALSE(survives(original.substr(0, random.below(original.size()))));
  }
}

}  // namespace
}  // namespace lime
