// SPDX-License-Identifier: Apache-2.0
// Log-likelihoods of choices against passes over each whole text, without shared prefixes.
#include "evaluation/choice_scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "core/errors.h"
#include "model/passes/generate.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

/// Sum over the targets of log-probabilities from one pass over the whole text.
double log_likelihood_of(const Decoder& decoder, const ChoiceTokens& choice) {
  std::vector<std::int64_t> whole = choice.input;
  whole.push_back(choice.targets.back());
  const std::vector<ReadToken> tokens = read_tokens(decoder, whole, 1);
  double sum = 0.0;
  for (std::size_t t = whole.size() - choice.targets.size(); t < whole.size(); ++t) {
    sum += *tokens[t].log_probability;
  }
  return sum;
}

class ChoiceScorerTest : public ::testing::TestWithParam<std::string> {
 protected:
  ChoiceScorerTest() {
    testing::write_tiny_checkpoint(folder_ / "model", testing::tiny_config(GetParam()));
    tokenizer_ = load_tokenizer(folder_ / "model");
  }
  ChoiceTokens encode(const std::string& context, const std::string& continuation,
                      std::int64_t max_length = 64) const {
    return encode_choice(*tokenizer_, context, continuation, max_length);
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(ChoiceScorerTest, EqualsPassesOverWholeTexts) {
  const Decoder decoder = load_decoder(Checkpoint::open(folder_ / "model"));
  ChoiceScorer scorer(decoder, {0, 2});
  const std::vector<Choices> items = {
      {encode("the cat", " is here"), encode("the cat", " are"), encode("the cat", " is")},
      {encode("the cat sat", " is"), encode("the dog", " was it")},
      {encode("the cat sat", "!"), encode("the cat sat", "?")},
      {encode("", "x y"), encode("", "z")},
      {encode("a", " b")}};
  const std::vector<std::vector<ChoiceScore>> scores = scorer.score(items);
  ASSERT_EQ(scores.size(), items.size());
  for (std::size_t item = 0; item < items.size(); ++item) {
    ASSERT_EQ(scores[item].size(), items[item].size());
    for (std::size_t i = 0; i < items[item].size(); ++i) {
      const ChoiceScore& score = scores[item][i];
      EXPECT_NEAR(score.log_likelihood, log_likelihood_of(decoder, items[item][i]), 2e-5);
      ASSERT_EQ(score.layers.size(), 2U);
      EXPECT_NE(score.layers[0], score.log_likelihood);
      // The last layer's output is what the model itself reads.
      EXPECT_NEAR(score.layers[1], score.log_likelihood, 1e-9);
    }
  }
}

TEST_P(ChoiceScorerTest, PassesHaveSeveralShortItemsOrOneLongOne) {
  const Decoder decoder = load_decoder(Checkpoint::open(folder_ / "model"));
  const ChoiceScorer scorer(decoder);
  const Choices item = {encode("the cat", " is here"), encode("the cat", " are")};
  EXPECT_EQ(scorer.fitting_one_pass(std::vector<Choices>(3, item)), 3U);
  Choices longer = item;
  longer[0].input.resize(2000, 1);
  EXPECT_EQ(scorer.fitting_one_pass(std::vector<Choices>{longer, item}), 1U);
  EXPECT_EQ(scorer.fitting_one_pass(std::vector<Choices>{item, longer, item}), 1U);
}

INSTANTIATE_TEST_SUITE_P(Decoders, ChoiceScorerTest,
                         ::testing::Values("llama", "lime", "denseformer", "resformer"));

class EncodeChoiceTest : public ChoiceScorerTest {};

TEST_P(EncodeChoiceTest, MovesSpacesToTheContinuation) {
  const ChoiceTokens moved = encode("ab ", "c");
  EXPECT_EQ(moved.targets, encode("ab", " c").targets);
  EXPECT_EQ(moved.input, encode("ab", " c").input);
}

TEST_P(EncodeChoiceTest, PutsTheTokenizersPrefixBeforeTexts) {
  const auto prefix = tokenizer_->prefix_ids();
  const std::vector<std::int32_t> text = tokenizer_->encode("abc");
  std::vector<std::int64_t> whole(prefix.begin(), prefix.end());
  whole.insert(whole.end(), text.begin(), text.end());
  ChoiceTokens choice = encode("ab", "c");
  choice.input.push_back(choice.targets.back());
  EXPECT_EQ(choice.input, whole);
  // An empty context is BOS, else EOS, alone.
  const auto first = tokenizer_->bos_id() ? tokenizer_->bos_id() : tokenizer_->eos_id();
  if (!first) return;
  choice = encode("", "abc");
  EXPECT_EQ(choice.input.front(), *first);
  EXPECT_EQ(choice.targets, std::vector<std::int64_t>(text.begin(), text.end()));
}

TEST_P(EncodeChoiceTest, AContextThatSpellsBosGetsNoSecondOne) {
  const ChoiceTokens spelled = encode("<s>ab", "c");
  EXPECT_EQ(spelled.input, encode("ab", "c").input);
  EXPECT_EQ(spelled.targets, encode("ab", "c").targets);
  EXPECT_EQ(encode("", "<s>ab").input, encode("", "ab").input);
}

TEST_P(EncodeChoiceTest, CutsTheStartOfLongContexts) {
  const ChoiceTokens whole = encode("abcdefgh", "ij");
  const ChoiceTokens cut = encode("abcdefgh", "ij", 6);
  EXPECT_FALSE(whole.is_cut);
  EXPECT_TRUE(cut.is_cut);
  EXPECT_EQ(cut.input.size(), 6U);
  EXPECT_TRUE(std::equal(cut.input.rbegin(), cut.input.rend(), whole.input.rbegin()));
  EXPECT_EQ(cut.targets, whole.targets);
}

TEST_P(EncodeChoiceTest, RefusesContinuationsWithoutTokensOrTooLong) {
  EXPECT_THROW(encode("ab", ""), InvalidArgument);
  EXPECT_THROW(encode("ab", "cdef", 3), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Decoders, EncodeChoiceTest, ::testing::Values("llama"));

}  // namespace
}  // namespace lime
