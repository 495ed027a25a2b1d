// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/tokenizer_files.h"
#include "core/errors.h"
#include "core/files/sha256.h"
#include "core/random.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::golden_tokenizer_json;
using testing::load_tokenizer_json;
using Ids = std::vector<std::int32_t>;

std::string utf8_of(std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    return static_cast<char>(0x80 | ((code >> shift) & 0x3F));
  };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

/// Generates random characters, ASCII and white space more often than others.
std::string random_text(Random& random) {
  std::string text;
  const std::uint64_t length = random.below(60);
  for (std::uint64_t i = 0; i < length; ++i) {
    constexpr std::uint32_t kLimits[] = {0x80, 0x80, 0x21, 0x250, 0xD800, 0x110000};
    auto code = static_cast<std::uint32_t>(random.below(kLimits[random.below(6)]));
    if (code >= 0xD800 && code <= 0xDFFF) code = ' ';
    for (std::uint64_t repeat = random.below(8) == 0 ? random.below(40) : 1; repeat > 0; --repeat) {
      text += utf8_of(code);
    }
  }
  return text;
}

TEST(TokenizerTest, ByteLevelGivesEveryTextBack) {
  Random random(2026);
  for (const char* kind : {"gpt2", "llama3", "smollm2", "deepseek", "o200k"}) {
    const auto tokenizer = load_tokenizer_json(golden_tokenizer_json(kind));
    for (int round = 0; round < 2000; ++round) {
      const std::string text = random_text(random);
      const Ids ids = tokenizer->encode(text);
      ASSERT_EQ(tokenizer->decode(ids), text) << kind;
      StreamingDecoder decoder(*tokenizer);
      std::string streamed;
      for (const std::int32_t id : ids) streamed += decoder.push(id);
      ASSERT_EQ(streamed, text) << kind;
      ASSERT_EQ(decoder.finish(), "");
    }
  }
}

TEST(TokenizerTest, RefusesTextThatIsNotUtf8AndNamesThePlace) {
  for (const char* kind : {"gpt2", "llama2"}) {
    const auto tokenizer = load_tokenizer_json(golden_tokenizer_json(kind));
    for (const char* broken :
         {"\xFF", "\xC3", "\xED\xA0\x80", "\xC0\x80", "\xF4\x90\x80\x80", "\x80"}) {
      try {
        tokenizer->encode(std::string("sound \u00E9 ") + broken + " text");
        ADD_FAILURE() << "accepted";
      } catch (const InvalidArgument& error) {
        EXPECT_STREQ(error.what(),
                     "tokenizer: text must be UTF-8, got an invalid byte at offset 9");
      }
    }
  }
}

TEST(TokenizerTest, RefusesUnknownIdsAndNamesThePlace) {
  const auto tokenizer = load_tokenizer_json(golden_tokenizer_json("smollm2"));
  try {
    tokenizer->decode(Ids{1, 2, 640});
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "tokenizer: token ids must be in [0, 640), got 640 at position 2");
  }
  EXPECT_THROW(tokenizer->piece(-1), InvalidArgument);
  EXPECT_THROW(tokenizer->token_text(640), InvalidArgument);
  EXPECT_THROW(tokenizer->is_special(640), InvalidArgument);
}

TEST(TokenizerTest, BrokenCharactersBecomeReplacementCharacters) {
  const auto tokenizer = load_tokenizer_json(golden_tokenizer_json("smollm2"));
  const auto id = [&](const char* spelling) { return *tokenizer->token_id(spelling); };
  // The bytes F0 9F, then "a": one invalid character, whatever follows.
  const Ids ids = {id("\u00F0"), id("\u0141"), id("a"), id("\u00F0")};
  StreamingDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push(ids[0]), "");
  EXPECT_EQ(decoder.push(ids[1]), "");
  EXPECT_EQ(decoder.push(ids[2]), "\uFFFDa");
  EXPECT_EQ(decoder.push(ids[3]), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(tokenizer->decode(ids), "\uFFFDa\uFFFD");
  EXPECT_EQ(tokenizer->token_text(ids[0]), "\\xf0");
}

TEST(TokenizerTest, SpecialTokensInTheTextAreTakenOrCut) {
  const auto tokenizer = load_tokenizer_json(golden_tokenizer_json("qwen2"));
  const std::int32_t start = *tokenizer->token_id("<|im_start|>");
  EXPECT_TRUE(tokenizer->is_special(start));
  const std::string text = "a<|im_start|>b";
  const Ids taken = tokenizer->encode(text);
  EXPECT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[1], start);
  EXPECT_EQ(tokenizer->decode(taken), "ab");
  EXPECT_EQ(tokenizer->decode(taken, {.skip_special_tokens = false}), text);
  const Ids cut = tokenizer->encode(text, {.split_special_tokens = true});
  EXPECT_EQ(std::count(cut.begin(), cut.end(), start), 0);
  EXPECT_EQ(tokenizer->decode(cut), text);
}

TEST(TokenizerTest, ATextThatSpellsThePrefixGetsNoSecondOne) {
  const auto tokenizer = load_tokenizer_json(golden_tokenizer_json("llama3"));
  ASSERT_EQ(tokenizer->prefix_ids().size(), 1U);
  const std::string bos = tokenizer->piece(tokenizer->prefix_ids().front());
  const Ids plain = tokenizer->with_prefix(tokenizer->encode("the world"));
  EXPECT_EQ(plain, tokenizer->encode("the world", {.add_special_tokens = true}));
  EXPECT_EQ(tokenizer->with_prefix(tokenizer->encode(bos + "the world")), plain);
  EXPECT_EQ(tokenizer->with_prefix({}).size(), 1U);
  // As Hugging Face's argument.
  EXPECT_EQ(tokenizer->encode(bos + "the world", {.add_special_tokens = true}).size(),
            plain.size() + 1);
}

TEST(TokenizerTest, ContinuationKeepsItsLeadingSpace) {
  const auto tokenizer = load_tokenizer_json(golden_tokenizer_json("llama2"));
  const Ids ids = tokenizer->encode("the world");
  EXPECT_EQ(tokenizer->decode(ids), "the world");
  EXPECT_EQ(tokenizer->decode(ids, {.at_text_start = false}), " the world");
  StreamingDecoder decoder(*tokenizer);
  std::string streamed = decoder.push(*tokenizer->token_id("<s>"));
  for (const std::int32_t id : ids) streamed += decoder.push(id);
  EXPECT_EQ(streamed + decoder.finish(), "the world");
}

TEST(TokenizerTest, EveryThreadGetsTheSameIds) {
  const auto tokenizer = load_tokenizer_json(golden_tokenizer_json("llama3"));
  Random random(9);
  std::vector<std::string> texts;
  std::vector<Ids> expected;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(random_text(random));
    expected.push_back(tokenizer->encode(texts.back()));
  }
  std::vector<int> wrong(4, 0);
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (tokenizer->encode(texts[i]) != expected[i]) ++wrong[t];
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(TokenizerTest, PunctuationIsThatOfHuggingFacesTables) {
  const auto tokenizer = load_tokenizer_json(Json::parse(R"({
    "pre_tokenizer": {"type": "Punctuation"},
    "model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}
  })"));
  for (const char* mark : {"!", "\u060C", "\u166D", "\U000111C9", "$"}) {
    EXPECT_EQ(tokenizer->encode(fmt::format("a{}a", mark)), (Ids{0, 1, 0})) << mark;
  }
  for (const char* later : {"\u061D", "\u09FD", "\u2E43", "\u2E5D", "\U0001E95F", "\u20AC"}) {
    EXPECT_EQ(tokenizer->encode(fmt::format("a{}a", later)), Ids{1}) << later;
  }
}

TEST(TokenizerTest, LongWordsOfOneLetterAndLongSpacesAreEncoded) {
  for (const char* kind : {"gpt2", "llama3", "cl100k", "o200k", "llama2", "deepseek"}) {
    const auto tokenizer = load_tokenizer_json(golden_tokenizer_json(kind));
    for (const char* unit : {"a", " ", "\n", "!", "1", "\u4F60", "e\u0301", " \n", "'s"}) {
      std::string text;
      while (text.size() < 300'000) text += unit;
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text + "x")).size() >= text.size(), true)
          << kind << " '" << unit << "'";
    }
  }
}

class TokenizerFolderTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const Json& json) {
    testing::write_text(folder_ / name, json.dump());
  }
  std::string error() const {
    try {
      load_tokenizer(folder_.path());
    } catch (const Error& caught) {
      return caught.what();
    }
    return "no error";
  }
  testing::TemporaryFolder folder_;
};

TEST_F(TokenizerFolderTest, NamesWhatIsMissing) {
  EXPECT_EQ(error(), "tokenizer: '" + folder_.path().string() +
                         "' must contain tokenizer.json, tokenizer.model, or vocab.json with "
                         "merges.txt, found none of them; copy them from the original checkpoint");
  testing::write_text(folder_ / "vocab.json", "{}");
  EXPECT_NE(error().find("found none of them"), std::string::npos);
  EXPECT_THROW(load_tokenizer(folder_ / "absent"), IoError);
}

TEST_F(TokenizerFolderTest, RefusesTiktokenFilesByName) {
  testing::write_text(folder_ / "tokenizer.model", "IQ== 0\nIg== 1\nIw== 2\n");
  EXPECT_EQ(error(), "'" + (folder_ / "tokenizer.model").string() +
                         "': must be a SentencePiece model; if it is a tiktoken file (LLaMA 3), "
                         "put the tokenizer.json of that checkpoint next to it");
}

TEST_F(TokenizerFolderTest, TakesTheEndsFromTheFirstFileThatNamesThem) {
  write("tokenizer.json", golden_tokenizer_json("llama3"));
  EXPECT_EQ(load_tokenizer(folder_.path())->bos_id(), std::nullopt);
  write("config.json", {{"bos_token_id", 5}, {"eos_token_id", {1, 2}}});
  auto tokenizer = load_tokenizer(folder_.path());
  EXPECT_EQ(tokenizer->bos_id(), 5);
  EXPECT_EQ(tokenizer->eos_id(), 1);
  write("special_tokens_map.json",
        {{"bos_token", {{"content", "<|begin_of_text|>"}}}, {"eos_token", "<|eot_id|>"}});
  tokenizer = load_tokenizer(folder_.path());
  EXPECT_EQ(tokenizer->bos_id(), 0);
  EXPECT_EQ(tokenizer->eos_id(), 2);
  write("tokenizer_config.json", {{"bos_token", nullptr}, {"eos_token", "<|end_of_text|>"}});
  tokenizer = load_tokenizer(folder_.path());
  EXPECT_EQ(tokenizer->bos_id(), 0);
  EXPECT_EQ(tokenizer->eos_id(), 1);
}

TEST_F(TokenizerFolderTest, OnlyThePostProcessorDecidesWhatIsAdded) {
  write("tokenizer.json", golden_tokenizer_json("smollm2"));
  write("tokenizer_config.json",
        {{"bos_token", "<|endoftext|>"}, {"add_bos_token", true}, {"eos_token", "<|im_end|>"}});
  const auto without = load_tokenizer(folder_.path());
  EXPECT_TRUE(without->prefix_ids().empty());
  EXPECT_EQ(without->encode("", {.add_special_tokens = true}), Ids{});
  write("tokenizer.json", golden_tokenizer_json("prefix_space"));
  const auto with = load_tokenizer(folder_.path());
  EXPECT_EQ(with->encode("", {.add_special_tokens = true}), (Ids{0, 0}));
}

TEST_F(TokenizerFolderTest, TokensNamedSpecialElsewhereAreTakenWhole) {
  Json json = golden_tokenizer_json("smollm2");
  json["added_tokens"] = Json::array();
  write("tokenizer.json", json);
  const auto plain = load_tokenizer(folder_.path());
  EXPECT_GT(plain->encode("<|endoftext|>").size(), 1U);
  write("tokenizer_config.json",
        {{"eos_token", "<|endoftext|>"},
         {"added_tokens_decoder", {{"640", {{"content", "<new>"}, {"special", true}}}}}});
  const auto tokenizer = load_tokenizer(folder_.path());
  EXPECT_EQ(tokenizer->encode("<|endoftext|><new>"), (Ids{0, 640}));
  EXPECT_TRUE(tokenizer->is_special(0));
  EXPECT_EQ(tokenizer->vocab_size(), 641);
}

TEST_F(TokenizerFolderTest, Gpt2FilesObeyTheConfig) {
  write("vocab.json", {{"a", 0}, {"b", 1}, {"ab", 2}, {"\u0120", 3}, {"<|endoftext|>", 4}});
  testing::write_text(folder_ / "merges.txt", "#version: 0.2\na b\n");
  const auto plain = load_tokenizer(folder_.path());
  EXPECT_EQ(plain->encode("ab", {.add_special_tokens = true}), Ids{2});
  EXPECT_EQ(plain->eos_id(), 4);
  write("tokenizer_config.json", {{"add_bos_token", true}, {"add_prefix_space", true}});
  EXPECT_EQ(load_tokenizer(folder_.path())->encode("ab", {.add_special_tokens = true}),
            (Ids{4, 3, 2}));
}

TEST_F(TokenizerFolderTest, DigestIsThatOfTheFiles) {
  const std::string content = golden_tokenizer_json("gpt2").dump();
  testing::write_text(folder_ / "tokenizer.json", content);
  EXPECT_EQ(load_tokenizer(folder_.path())->sha256(), sha256_of(content));
}

}  // namespace
}  // namespace lime
