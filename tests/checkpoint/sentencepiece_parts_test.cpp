// SPDX-License-Identifier: Apache-2.0
// Long texts are encoded in parts: the ids equal those of a single call of libsentencepiece.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/sentencepiece/sentencepiece_model.h"
#include "checkpoint/tokenizer.h"
#include "core/random.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

// The protocol buffer of SentencePiece, sentencepiece_model.proto.
enum class Algorithm { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };
enum class PieceType { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7U) bytes += static_cast<char>((value & 127U) | 128U);
  return bytes + static_cast<char>(value);
}

std::string number(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3U) + varint(value);
}

std::string message(std::uint64_t field, const std::string& content) {
  return varint(field << 3U | 2U) + varint(content.size()) + content;
}

std::string piece(const std::string& text, float score, PieceType type = PieceType::kNormal) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    bytes += static_cast<char>(std::bit_cast<std::uint32_t>(score) >> static_cast<unsigned>(8 * i));
  }
  return message(1, message(1, text) + varint(2U << 3U | 5U) + bytes +
                        number(3, static_cast<std::uint64_t>(type)));
}

struct ModelSpec {
  Algorithm algorithm = Algorithm::kBpe;
  bool adds_dummy_prefix = true;
  bool removes_extra_spaces = false;
  bool falls_back_to_bytes = false;
  bool spaces_end_words = false;
  bool joins_space_and_a = true;  ///< has the piece "\u2581a"
  std::string user_defined = "";
};

/// Returns a vocabulary of a few words; `z` and characters beyond ASCII are in none.
std::string model_of(const ModelSpec& spec) {
  std::string pieces = piece("<unk>", 0, PieceType::kUnknown) +
                       piece("<s>", 0, PieceType::kControl) + piece("</s>", 0, PieceType::kControl);
  if (spec.falls_back_to_bytes) {
    for (int byte = 0; byte < 256; ++byte) {
      pieces += piece(fmt::format("<0x{:02X}>", byte), 0, PieceType::kByte);
    }
  }
  const std::string mark = "\u2581";
  float score = 0;
  for (const std::string& text : std::vector<std::string>{
           "th", "he", "the", mark + "t", mark + "the", "ab", mark + "a", mark + "ab", "bb",
           mark + mark, "aa", mark, "a", "b", "t", "h", "e", "\n"}) {
    if (text == mark + "a" && !spec.joins_space_and_a) continue;
    pieces += piece(text, score--);
  }
  if (!spec.user_defined.empty()) pieces += piece(spec.user_defined, 0, PieceType::kUserDefined);
  const std::string trainer = number(3, static_cast<std::uint64_t>(spec.algorithm)) +
                              number(24, spec.spaces_end_words) +
                              number(35, spec.falls_back_to_bytes);
  const std::string normalizer = message(1, "identity") + number(3, spec.adds_dummy_prefix) +
                                 number(4, spec.removes_extra_spaces) + number(5, 1);
  return pieces + message(2, trainer) + message(3, normalizer);
}

/// Generates words of the vocabulary and others, separated by one space, several, or line ends.
std::string mixed_text(std::size_t num_words, std::uint64_t seed) {
  const std::vector<std::string> kWords = {"the",  "ab", "aabb", "z",      "zz",           "thethe",
                                           "b,",   "a",  "the.", "zab",    "\u65E5\u672C", "ta",
                                           "zthe", "e",  "Hz",   "\u2581a"};
  const std::vector<std::string> kGaps = {" ", " ", " ", " ", "  ", "\n", " \n ", "\t"};
  Random random(seed);
  std::string text;
  for (std::size_t i = 0; i < num_words; ++i) {
    text += kWords[random.below(kWords.size())] + kGaps[random.below(kGaps.size())];
  }
  return text;
}

/// Returns about the first 300 KB, in whole characters.
std::string beginning(const std::string& text) {
  std::size_t end = std::min<std::size_t>(text.size(), 300000);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

/// Compares the tokenizer's ids, complete and truncated, with those of one call of the library.
void expect_ids_of_one_call(const std::string& content, std::string_view text) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.model", content);
  const auto tokenizer = load_tokenizer(folder.path());
  const Ids expected = parse_sentencepiece_model(content)->encode(text);
  EXPECT_TRUE(tokenizer->encode(text) == expected);
  for (const std::size_t count : {expected.size() / 3, expected.size() - 1}) {
    const auto end = expected.begin() + static_cast<std::ptrdiff_t>(count);
    EXPECT_TRUE(tokenizer->encode(text, {.max_ids = count}) == Ids(expected.begin(), end)) << count;
  }
}

TEST(SentencePiecePartsTest, GiveTheIdsOfOneCallForModelsOfEveryKind) {
  const std::string text = mixed_text(20000, 1);  // more than one part
  for (const Algorithm algorithm :
       {Algorithm::kUnigram, Algorithm::kBpe, Algorithm::kWord, Algorithm::kChar}) {
    for (unsigned bits = 0; bits < 16; ++bits) {
      ModelSpec spec{.algorithm = algorithm};
      spec.adds_dummy_prefix = (bits & 1U) != 0;
      spec.removes_extra_spaces = (bits & 2U) != 0;
      spec.falls_back_to_bytes = (bits & 4U) != 0;
      spec.spaces_end_words = (bits & 8U) != 0;
      SCOPED_TRACE(fmt::format("algorithm {}, settings {:04b}", static_cast<int>(algorithm), bits));
      expect_ids_of_one_call(model_of(spec), text);
    }
  }
}

/// Spaces at the start of a text are dropped as the settings of the normalizer say.
TEST(SentencePieceDecodingTest, EqualsTheLibraryForEveryNormalizer) {
  for (unsigned bits = 0; bits < 8; ++bits) {
    ModelSpec spec{.algorithm = Algorithm::kBpe};
    spec.adds_dummy_prefix = (bits & 1U) != 0;
    spec.removes_extra_spaces = (bits & 2U) != 0;
    spec.joins_space_and_a = (bits & 4U) != 0;
    SCOPED_TRACE(fmt::format("settings {:03b}", bits));
    const std::string content = model_of(spec);
    const auto model = parse_sentencepiece_model(content);
    const testing::TemporaryFolder folder;
    testing::write_text(folder / "tokenizer.model", content);
    const auto tokenizer = load_tokenizer(folder.path());
    Random random(bits);
    for (int i = 0; i < 300; ++i) {
      Ids ids = {1};  // <s>
      std::vector<std::string> pieces;
      const int count = 1 + static_cast<int>(random.below(5));
      for (int k = 0; k < count; ++k) {
        const std::int32_t id = 3 + static_cast<std::int32_t>(random.below(
                                        static_cast<std::uint64_t>(model->num_pieces() - 3)));
        ids.push_back(id);
        pieces.push_back(model->piece(id));
      }
      const std::string expected = model->decode_pieces(pieces);
      ASSERT_EQ(tokenizer->decode(ids), expected) << fmt::format("{}", fmt::join(pieces, "|"));
      StreamingDecoder decoder(*tokenizer);
      std::string streamed;
      for (const std::int32_t id : ids) streamed += decoder.push(id);
      ASSERT_EQ(streamed + decoder.finish(), expected);
    }
  }
}

TEST(SentencePiecePartsTest, GiveTheIdsOfOneCallWhereTheUserDefinedPieces) {
  const std::string text = mixed_text(40000, 2);
  for (const char* const user_defined :
       {"the ab", "\u2581th", "e\u2581t", "the\u2581", " ", "ab\n", "\u2581\u2581\u2581"}) {
    SCOPED_TRACE(user_defined);
    expect_ids_of_one_call(model_of({.user_defined = user_defined}), text);
  }
}

TEST(SentencePiecePartsTest, GiveTheIdsOfOneCallForOneLongWordAndForNoText) {
  const std::string content = model_of({});
  expect_ids_of_one_call(content, std::string(200000, 'a'));
  expect_ids_of_one_call(content, "a " + std::string(200000, ' ') + "b");
  expect_ids_of_one_call(content, "a b");
}

/// Real models and texts: the one of data/, trained by lime-train, and LLaMA's.
TEST(SentencePiecePartsTest, GiveTheIdsOfOneCallOnBooks) {
  for (const fs::path& model : {testing::source_file("data/lm-lime/tokenizer.model"),
                                testing::test_data("checkpoints/stories260k/tokenizer.model")}) {
    for (const char* const name : {"physics.txt", "fineweb-edu-sample.txt"}) {
      const fs::path book = testing::test_data(std::string("text/") + name);
      if (!fs::exists(model) || !fs::exists(book)) GTEST_SKIP() << testing::skip_reason(book);
      SCOPED_TRACE(model.string() + " " + name);
      expect_ids_of_one_call(testing::read_text(model), beginning(testing::read_text(book)));
    }
  }
}

}  // namespace
}  // namespace lime
