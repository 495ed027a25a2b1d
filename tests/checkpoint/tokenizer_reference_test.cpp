// SPDX-License-Identifier: Apache-2.0
// Compares tokenizers with ids and texts of other programs, from the test data folder.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::read_text;
using testing::skip_reason;
using testing::test_data;

using Ids = std::vector<std::int32_t>;

/// Splits the texts of llama.cpp's file at its separator lines.
std::vector<std::string> split_texts(const std::string& all) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (std::size_t end = all.find(separator); end != std::string::npos;
       end = all.find(separator, begin)) {
    texts.push_back(all.substr(begin, end - begin));
    begin = end + separator.size();
  }
  if (begin < all.size()) texts.push_back(all.substr(begin));
  return texts;
}

std::vector<Ids> split_ids(const std::string& all) {
  std::vector<Ids> result;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    Ids ids;
    for (std::int32_t id = 0; numbers >> id;) ids.push_back(id);
    result.push_back(ids);
  }
  return result;
}

/// Links only some of GPT-2's files into a folder, to determine which one is loaded.
void link_files(const testing::TemporaryFolder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    fs::create_symlink(fs::canonical(test_data("tokenizers/gpt2/" + name)), folder / name);
  }
}

void expect_golden_ids(const Tokenizer& tokenizer) {
  const auto texts = split_texts(read_text(test_data("tokenizers/golden/gpt2.inp")));
  const auto expected = split_ids(read_text(test_data("tokenizers/golden/gpt2.out")));
  ASSERT_EQ(texts.size(), expected.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(texts[i]), expected[i]) << "text " << i << ": " << texts[i];
    EXPECT_EQ(tokenizer.decode(expected[i]), texts[i]);
  }
}

class TokenizerReferenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"tokenizers/gpt2/vocab.json", "checkpoints/stories260k"}) {
      if (!fs::exists(test_data(name))) GTEST_SKIP() << skip_reason(test_data(name));
    }
  }
};

TEST_F(TokenizerReferenceTest, Gpt2VocabularyAndMergesGiveTheGoldenIds) {
  const testing::TemporaryFolder folder;
  link_files(folder, {"vocab.json", "merges.txt"});
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->kind(), "byte-level-bpe");
  EXPECT_EQ(tokenizer->vocab_size(), 50257);
  EXPECT_EQ(tokenizer->bos_id(), 50256);
  EXPECT_EQ(tokenizer->eos_id(), 50256);
  EXPECT_EQ(tokenizer->encode("a<|endoftext|>b", {.add_special_tokens = true}),
            (Ids{64, 50256, 65}));
  expect_golden_ids(*tokenizer);
}

TEST_F(TokenizerReferenceTest, StoriesTokenizerPrintsTheGoldenStory) {
  const auto tokenizer = load_tokenizer(test_data("checkpoints/stories260k"));
  EXPECT_EQ(tokenizer->kind(), "sentencepiece");
  EXPECT_EQ(tokenizer->bos_id(), 1);
  EXPECT_EQ(tokenizer->eos_id(), 2);
  std::string story = read_text(test_data("checkpoints/stories260k/greedy_200.txt"));
  while (story.ends_with('\n')) story.pop_back();
  const Ids ids = tokenizer->encode(story, {.add_special_tokens = true});
  ASSERT_FALSE(ids.empty());
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(tokenizer->decode(ids), story);
}

TEST_F(TokenizerReferenceTest, TheFirstIdsOfSentencePieceAreThoseOfTheWholeText) {
  const auto tokenizer = load_tokenizer(test_data("checkpoints/stories260k"));
  std::string text = read_text(test_data("checkpoints/stories260k/greedy_200.txt"));
  text += "  two  spaces \u65E5\u672C\n a" + text;
  const Ids all = tokenizer->encode(text);
  for (std::size_t count = 0; count < all.size() + 20; ++count) {
    const auto size = static_cast<std::ptrdiff_t>(std::min(count, all.size()));
    ASSERT_EQ(tokenizer->encode(text, {.max_ids = count}), Ids(all.begin(), all.begin() + size));
  }
}

TEST_F(TokenizerReferenceTest, SentencePieceKeepsSpacesAndBytes) {
  const auto tokenizer = load_tokenizer(test_data("checkpoints/stories260k"));
  // Ids of sentencepiece 0.2.3 in Python.
  EXPECT_EQ(tokenizer->encode("Hello world"), (Ids{346, 306, 414, 263, 304, 341}));
  EXPECT_EQ(tokenizer->encode("  two  spaces "),
            (Ids{410, 410, 259, 424, 414, 410, 262, 427, 412, 331, 419, 410}));
  EXPECT_EQ(tokenizer->encode("<s>x"), (Ids{410, 504, 419, 505, 444}));
  EXPECT_EQ(tokenizer->encode("\u65E5\u672C\n a"),
            (Ids{410, 233, 154, 168, 233, 159, 175, 13, 261}));
  EXPECT_EQ(tokenizer->encode(""), Ids{});
  EXPECT_EQ(tokenizer->encode("", {.add_special_tokens = true}), Ids{1});
  for (const char* text : {"  two  spaces ", " lead", "\ta", "\u65E5\u672C\n a", "<s>x"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
  EXPECT_EQ(tokenizer->decode(Ids{263, 304}, {.at_text_start = false}),
            tokenizer->piece(263) + tokenizer->piece(304));
}

}  // namespace
}  // namespace lime
