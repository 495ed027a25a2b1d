// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/models/bpe_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/tokenizer/models/vocabulary.h"
#include "core/random.h"

namespace lime {
namespace {

using Ids = std::vector<std::int32_t>;

/// Random merges over a small alphabet, each of existing tokens.
struct RandomMerges {
  std::vector<std::string> tokens;
  std::vector<BpeModel::MergePair> pairs;

  RandomMerges(std::uint64_t seed, int letters, std::size_t count) {
    Random random(seed);
    for (int i = 0; i < letters; ++i) tokens.emplace_back(1, static_cast<char>('a' + i));
    std::set<std::string> known(tokens.begin(), tokens.end());
    while (pairs.size() < count) {
      const std::string left = tokens[random.below(tokens.size())];
      const std::string right = tokens[random.below(tokens.size())];
      if (!known.insert(left + right).second) continue;
      tokens.push_back(left + right);
      pairs.emplace_back(left, right);
    }
  }

  Vocabulary vocabulary() const {
    std::vector<std::pair<std::string, std::int32_t>> entries;
    for (const std::string& token : tokens) {
      entries.emplace_back(token, static_cast<std::int32_t>(entries.size()));
    }
    return Vocabulary(std::move(entries), "test");
  }
};

/// Naive version: applies one merge at a time, always the earliest in training order and the
/// leftmost pair.
std::vector<std::string> merge_naively(std::vector<std::string> word,
                                       const std::vector<BpeModel::MergePair>& merges) {
  while (true) {
    bool merged = false;
    for (const auto& [left, right] : merges) {
      for (std::size_t i = 0; i + 1 < word.size() && !merged; ++i) {
        if (word[i] != left || word[i + 1] != right) continue;
        word[i] += word[i + 1];
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        merged = true;
      }
      if (merged) break;
    }
    if (!merged) return word;
  }
}

std::string random_word(Random& random, int letters, std::size_t length) {
  std::string word(length, ' ');
  for (char& letter : word) {
    letter = static_cast<char>('a' + random.below(static_cast<std::uint64_t>(letters)));
  }
  return word;
}

TEST(BpeModelTest, EqualsTheDefinitionOnShortAndLongWords) {
  Random random(17);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const int letters = 1 + static_cast<int>(seed % 4);
    const RandomMerges merges(seed, letters, letters == 1 ? 12 : 40);
    const Vocabulary vocabulary = merges.vocabulary();
    const BpeModel model(vocabulary, merges.pairs, {}, "test");
    BpeScratch scratch;
    for (const std::size_t length : {1, 2, 3, 7, 20, 47, 48, 49, 50, 120, 300}) {
      const std::string word = random_word(random, letters, length);
      std::vector<std::string> characters;
      for (const char c : word) characters.emplace_back(1, c);
      Ids expected;
      for (const std::string& token : merge_naively(characters, merges.pairs)) {
        expected.push_back(*vocabulary.find(token));
      }
      Ids ids;
      model.encode(word, scratch, ids);
      EXPECT_EQ(ids, expected) << word;
    }
  }
}

TEST(BpeModelTest, WorkGrowsLinearlyWithTheWord) {
  Random random(5);
  for (const int letters : {1, 26}) {
    const RandomMerges merges(3, letters, letters == 1 ? 30 : 2000);
    const Vocabulary vocabulary = merges.vocabulary();
    const BpeModel model(vocabulary, merges.pairs, {}, "test");
    const auto operations = [&](std::size_t length) {
      BpeScratch scratch;
      Ids ids;
      model.encode(random_word(random, letters, length), scratch, ids);
      return scratch.operations;
    };
    // Each merge looks up at most three pairs, and a word of n symbols has less than n merges.
    EXPECT_LE(operations(100'000), 400'000U);
    EXPECT_LE(operations(1'000'000), 4'000'000U);
    EXPECT_LE(operations(48), 48U * 48U);
  }
}

TEST(BpeModelTest, CutsBeforeATokenOnlyWhereNoMergeCrosses) {
  const std::vector<std::pair<std::string, std::int32_t>> entries = {
      {"_", 0}, {"a", 1}, {"__", 2}, {"_a", 3}, {"a_", 4}, {"__a", 5}};
  const Vocabulary vocabulary(entries, "test");
  const BpeModel within(vocabulary, {{"_", "_"}, {"_", "a"}, {"__", "a"}}, {}, "test");
  EXPECT_TRUE(within.can_cut_before("_"));
  EXPECT_FALSE(within.can_cut_before("x"));
  const BpeModel across(vocabulary, {{"_", "a"}, {"a", "_"}}, {}, "test");
  EXPECT_FALSE(across.can_cut_before("_"));
  const BpeModel whole(vocabulary, {{"_", "a"}}, {.ignore_merges = true}, "test");
  EXPECT_FALSE(whole.can_cut_before("_"));
}

TEST(BpeModelTest, UnknownCharactersFuseFallBackOrVanish) {
  const std::vector<std::pair<std::string, std::int32_t>> entries = {
      {"<unk>", 0}, {"a", 1}, {"<0xC3>", 2}, {"<0xA9>", 3}};
  const Vocabulary vocabulary(entries, "test");
  const auto encode = [&](const BpeOptions& options) {
    const BpeModel model(vocabulary, {}, options, "test");
    BpeScratch scratch;
    Ids ids;
    model.encode("\u00E9xya\u00E9", scratch, ids);
    return ids;
  };
  EXPECT_EQ(encode({}), (Ids{1}));
  EXPECT_EQ(encode({.unknown_token = "<unk>"}), (Ids{0, 0, 0, 1, 0}));
  EXPECT_EQ(encode({.fuse_unknown = true, .unknown_token = "<unk>"}), (Ids{0, 1, 0}));
  EXPECT_EQ(encode({.byte_fallback = true}), (Ids{2, 3, 1, 2, 3}));
  EXPECT_EQ(encode({.byte_fallback = true, .unknown_token = "<unk>"}), (Ids{2, 3, 0, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace lime
