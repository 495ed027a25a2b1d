// SPDX-License-Identifier: Apache-2.0
// Tokenizers of GGUF files, compared with the same vocabularies in their original files.
#include "checkpoint/gguf/gguf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "checkpoint/gguf/gguf_builder.h"
#include "checkpoint/gguf/gguf_files.h"
#include "checkpoint/sentencepiece/sentencepiece_model.h"
#include "checkpoint/tokenizer/piece_tokenizer_json.h"
#include "checkpoint/tokenizer/tokenizer_json.h"
#include "core/errors.h"
#include "core/files/sha256.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::read_text;
using testing::real_model_file;
using testing::skip_reason;
using testing::test_data;

using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> read_vocabulary(const GgufBuilder& builder) {
  const std::string file = builder.build();
  return read_gguf_tokenizer(parse_gguf(std::as_bytes(std::span(file.data(), file.size())), "m"),
                             "m");
}

std::string gguf_refusal(const GgufBuilder& builder) {
  return testing::refusal_of<FormatError>([&] { read_vocabulary(builder); });
}

const std::vector<std::string> kTexts = {"Once upon a time, there was a little girl named Lily.",
                                         " two  spaces   and\ttab\n\nlines ",
                                         "",
                                         "na\u00efve caf\u00e9 \u4f60\u597d \U0001f600",
                                         "1234 and 5",
                                         "don't <s> stop"};

TEST(GgufTokenizerTest, HasTheIdsOfTheSentencePieceModel) {
  const auto folder = test_data("checkpoints/stories260k");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  const auto model = parse_sentencepiece_model(read_text(folder / "tokenizer.model"));
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
  for (std::int32_t id = 0; id < model->num_pieces(); ++id) {
    tokens.push_back(model->piece(id));
    scores.push_back(-static_cast<float>(id));
    types.push_back(model->is_control(id)   ? 3
                    : model->is_unknown(id) ? 2
                    : model->is_byte(id)    ? 6
                                            : 1);
  }
  GgufBuilder builder;
  builder.add("tokenizer.ggml.model", "llama")
      .add("tokenizer.ggml.tokens", tokens)
      .add("tokenizer.ggml.scores", scores)
      .add("tokenizer.ggml.token_type", types)
      .add("tokenizer.ggml.bos_token_id", 1U)
      .add("tokenizer.ggml.eos_token_id", 2U);
  const auto from_gguf = read_vocabulary(builder);
  for (const std::string& text : kTexts) {
    // An added token in a text is that token; SentencePiece takes its name for ordinary text.
    if (text.find("<s>") != std::string::npos) continue;
    const Ids ids = from_gguf->encode(text);
    EXPECT_EQ(ids, model->encode(text)) << text;
    EXPECT_EQ(from_gguf->decode(ids), text);
  }
  EXPECT_EQ(from_gguf->bos_id(), 1);
  EXPECT_EQ(from_gguf->eos_id(), 2);
  EXPECT_EQ(from_gguf->encode("a", {.add_special_tokens = true}).front(), 1) << "BOS by default";
  builder.add("tokenizer.ggml.add_bos_token", false);
  EXPECT_NE(read_vocabulary(builder)->encode("a", {.add_special_tokens = true}).front(), 1);
}

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
};

/// GPT-2's, read once: an ordered JSON object would search its 50,257 keys one by one.
const Vocabulary& gpt2_files() {
  static const Vocabulary vocabulary = [] {
    Vocabulary read;
    const auto json = nlohmann::json::parse(read_text(test_data("tokenizers/gpt2/vocab.json")));
    read.tokens.resize(json.size());
    for (const auto& [token, id] : json.items()) read.tokens[id.get<std::size_t>()] = token;
    std::istringstream lines(read_text(test_data("tokenizers/gpt2/merges.txt")));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("#version")) read.merges.push_back(line);
    }
    return read;
  }();
  return vocabulary;
}

/// GPT-2's vocabulary with one more token that texts contain.
GgufBuilder gpt2_vocabulary(const std::string& pre) {
  auto [tokens, merges] = gpt2_files();
  std::vector<std::int32_t> types(tokens.size(), 1);
  types.back() = 3;  // <|endoftext|>
  tokens.push_back("<think>");
  types.push_back(4);
  GgufBuilder builder;
  builder.add("tokenizer.ggml.model", "gpt2")
      .add("tokenizer.ggml.pre", pre)
      .add("tokenizer.ggml.tokens", tokens)
      .add("tokenizer.ggml.token_type", types)
      .add("tokenizer.ggml.merges", merges)
      .add("tokenizer.ggml.bos_token_id", 50256U)
      .add("tokenizer.ggml.eos_token_id", 50256U);
  return builder;
}

TEST(GgufTokenizerTest, HasTheIdsOfGpt2) {
  const auto folder = test_data("tokenizers/gpt2");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  const auto original = read_gpt2_files(folder / "vocab.json", folder / "merges.txt", {});
  const auto from_gguf = read_vocabulary(gpt2_vocabulary("gpt-2"));
  for (const std::string& text : kTexts) {
    EXPECT_EQ(from_gguf->encode(text), original->encode(text)) << text;
    EXPECT_EQ(from_gguf->decode(from_gguf->encode(text)), text);
  }
  EXPECT_EQ(from_gguf->encode("<|endoftext|><think>"), (Ids{50256, 50257}));
  EXPECT_TRUE(from_gguf->is_special(50256));
  EXPECT_FALSE(from_gguf->is_special(50257)) << "user-defined";
  EXPECT_EQ(from_gguf->eos_id(), 50256);
  EXPECT_TRUE(from_gguf->prefix_ids().empty()) << "BOS only where the file asks for it";
}

TEST(GgufTokenizerTest, CutsWordsByTheNamedPattern) {
  const auto folder = test_data("tokenizers/gpt2");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  const auto pieces = [](const char* pre, const std::string& text) {
    const auto tokenizer = read_vocabulary(gpt2_vocabulary(pre));
    std::vector<std::string> found;
    for (const std::int32_t id : tokenizer->encode(text)) found.push_back(tokenizer->piece(id));
    return found;
  };
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces("gpt-2", " 2024"), (Pieces{" 2024"}));
  EXPECT_EQ(pieces("smollm", " 2024"), (Pieces{" ", "2", "0", "2", "4"}));
  EXPECT_EQ(pieces("qwen2", " 2024"), (Pieces{" ", "2", "0", "2", "4"}));
  EXPECT_EQ(pieces("llama-bpe", "20245"), (Pieces{"202", "45"}));
  EXPECT_EQ(pieces("dbrx", "20245"), (Pieces{"202", "45"}));
  EXPECT_EQ(pieces("tekken", "20"), (Pieces{"2", "0"}));
  EXPECT_EQ(pieces("gpt-4o", "2024"), (Pieces{"202", "4"}));
}

TEST(GgufTokenizerTest, AddsBosAsThePatternImplies) {
  const auto folder = test_data("tokenizers/gpt2");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  EXPECT_EQ(read_vocabulary(gpt2_vocabulary("llama-bpe"))->prefix_ids().size(), 1U);
  GgufBuilder without = gpt2_vocabulary("llama-bpe");
  without.add("tokenizer.ggml.add_bos_token", false);
  EXPECT_TRUE(read_vocabulary(without)->prefix_ids().empty());
  GgufBuilder end = gpt2_vocabulary("gpt-2");
  end.add("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(read_vocabulary(end)->suffix_ids().size(), 1U);
}

TEST(GgufTokenizerTest, WritesTheFilesOfAFolder) {
  const auto folder = test_data("tokenizers/gpt2");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  const std::string file = gpt2_vocabulary("smollm").build();
  const GgufHeader header = parse_gguf(std::as_bytes(std::span(file.data(), file.size())), "m");
  const testing::TemporaryFolder written;
  for (const auto& [name, content] : gguf_tokenizer_files(header, "m")) {
    testing::write_text(written / name, content);
  }
  const auto from_folder = load_tokenizer(written.path());
  const auto from_gguf = read_gguf_tokenizer(header, "m");
  EXPECT_EQ(from_folder->sha256(), from_gguf->sha256());
  EXPECT_EQ(from_folder->eos_id(), from_gguf->eos_id());
  for (const std::string& text : kTexts) {
    EXPECT_EQ(from_folder->encode(text), from_gguf->encode(text)) << text;
  }
}

/// Three letters, of which two pairs can be joined.
GgufBuilder letters(const char* model) {
  GgufBuilder builder;
  builder.add("general.architecture", "llama")
      .add("tokenizer.ggml.model", model)
      .add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c", "ab", "bc"});
  return builder;
}

TEST(GgufTokenizerTest, JoinsByScore) {
  GgufBuilder builder = letters("llama");
  builder.add("tokenizer.ggml.add_space_prefix", false);
  GgufBuilder last_first = builder;
  builder.add("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1, -2});
  EXPECT_EQ(read_vocabulary(builder)->encode("abc"), (Ids{3, 2}));
  last_first.add("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -2, -1});
  EXPECT_EQ(read_vocabulary(last_first)->encode("abc"), (Ids{0, 4}));
}

TEST(GgufTokenizerTest, SaysWhatTheVocabularyLacks) {
  EXPECT_EQ(gguf_refusal(letters("llama")),
            "'m': the vocabulary needs the list 'tokenizer.ggml.scores' or "
            "'tokenizer.ggml.merges'; use the model's Hugging Face folder");
  GgufBuilder short_scores = letters("llama");
  short_scores.add("tokenizer.ggml.scores", std::vector<float>{0, 0});
  EXPECT_EQ(gguf_refusal(short_scores),
            "'m': 'tokenizer.ggml.scores' must have a number for each of 5 tokens, got 2");
  EXPECT_THAT(gguf_refusal(letters("gpt2")),
              HasSubstr("'tokenizer.ggml.pre' must name the pre-tokenizer, "
                        "got none; convert the model again"));
  GgufBuilder unknown = letters("gpt2");
  unknown.add("tokenizer.ggml.pre", "llama-5");
  EXPECT_THAT(gguf_refusal(unknown),
              HasSubstr("unknown pre-tokenizer 'llama-5' in tokenizer.ggml.pre "
                        "(supported: gpt-2, olmo,"));
  GgufBuilder no_merges = letters("gpt2");
  no_merges.add("tokenizer.ggml.pre", "gpt-2");
  EXPECT_THAT(gguf_refusal(no_merges),
              HasSubstr("needs the list 'tokenizer.ggml.merges' of strings"));
  EXPECT_THAT(gguf_refusal(letters("bert")),
              HasSubstr("the tokenizer 'bert' in tokenizer.ggml.model is "
                        "not supported (supported: gpt2, llama)"));
  EXPECT_THAT(gguf_refusal(GgufBuilder()), HasSubstr("needs the list 'tokenizer.ggml.tokens'"));
  GgufBuilder broken;
  broken.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "\xff"});
  EXPECT_THAT(gguf_refusal(broken), HasSubstr("token 1 in 'tokenizer.ggml.tokens' must be UTF-8"));
}

// The released tokenizer of SmolLM2 cuts digits apart; ids of the first 300,000 bytes by
// `tokenizers` 0.22 with its vocabulary and that rule.
TEST(GgufRealModelTest, HasTheIdsOfTheReleasedTokenizer) {
  const auto model = real_model_file(".gguf");
  if (model.empty()) GTEST_SKIP() << "no .gguf file of SmolLM2 in the folder LIME_REAL_MODEL";
  const auto corpus = test_data("text/fineweb-edu-sample.txt");
  if (!exists(corpus)) GTEST_SKIP() << skip_reason(corpus);
  const auto tokenizer = load_tokenizer(model);
  const Ids ids = tokenizer->encode(read_text(corpus).substr(0, 300'000));
  EXPECT_EQ(ids.size(), 65'490U);
  EXPECT_EQ(sha256_of({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(ids[0])}),
            "7bc13a9b66c2473449c718d6ab41fe191f485eec577a3045665aad6cf8333d94");
}

}  // namespace
}  // namespace lime
