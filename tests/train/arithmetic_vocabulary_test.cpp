// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/tokenizer.h"
#include "core/errors.h"
#include "support/test_data.h"
#include "train/tasks/arithmetic_task.h"

namespace lime {
namespace {

using ::testing::ElementsAreArray;
using ::testing::ThrowsMessage;

const IntegerRange kRange = {-5, 110};

TEST(ArithmeticVocabularyTest, HasOneTokenForEachInteger) {
  const ArithmeticVocabulary vocabulary(kRange);
  EXPECT_EQ(vocabulary.size(), 3 + 3 + 4 + 116);
  EXPECT_EQ(vocabulary.encode("102").size(), 1U);
  EXPECT_EQ(vocabulary.encode("-5 - 5").size(), 3U);
  EXPECT_EQ(vocabulary.encode("104").front() - vocabulary.encode("101").front(), 3);
}

TEST(ArithmeticVocabularyTest, DecodesWhatItEncodes) {
  const ArithmeticVocabulary vocabulary(kRange);
  const std::string text = "( 7 + -5 ) / 2 = 2 / 2 = 1";
  EXPECT_EQ(vocabulary.decode(vocabulary.encode(text)), text);
}

TEST(ArithmeticVocabularyTest, PromptIsTheBeginningOfTheSequence) {
  const ArithmeticVocabulary vocabulary(kRange);
  const auto expression = ArithmeticExpression::parse("3 x 4 - 2");
  const auto prompt = vocabulary.prompt(expression);
  const auto sequence = vocabulary.sequence(expression);
  EXPECT_EQ(vocabulary.decode(sequence), "<s> 3 x 4 - 2 = 12 - 2 = 10 </s>");
  EXPECT_EQ(vocabulary.decode(prompt), "<s> 3 x 4 - 2 =");
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), sequence.begin()));
}

TEST(ArithmeticVocabularyTest, ReadsTheAnswerFromTheEnd) {
  const ArithmeticVocabulary vocabulary(kRange);
  const auto answer = [&](const std::string& text) {
    return vocabulary.answer(vocabulary.encode(text));
  };
  EXPECT_EQ(answer("12 - 2 = 10 </s>"), 10);
  EXPECT_EQ(answer("-4 </s>"), -4);
  EXPECT_EQ(answer("12 - 2 = 10 </s> = 4 </s>"), 10);
  EXPECT_EQ(answer("12 - 2 = 10"), std::nullopt);
  EXPECT_EQ(answer("12 - 2 </s>"), std::nullopt);
  EXPECT_EQ(answer("12 - 2 = </s>"), std::nullopt);
  EXPECT_EQ(answer("</s>"), std::nullopt);
}

TEST(ArithmeticVocabularyTest, NamesTheWordThatItDoesNotHave) {
  const ArithmeticVocabulary vocabulary(kRange);
  EXPECT_THAT([&] { vocabulary.encode("3 * 4"); },
              ThrowsMessage<InvalidArgument>(
                  "arithmetic vocabulary: words must be integers from -5 to 110, operations or "
                  "brackets, got '*'"));
  EXPECT_THROW(vocabulary.encode("111"), InvalidArgument);
  EXPECT_THROW(vocabulary.encode("07x"), InvalidArgument);
}

TEST(ArithmeticVocabularyTest, ItsTokenizerFilesGiveTheSameIds) {
  const ArithmeticVocabulary vocabulary(kRange);
  const testing::TemporaryFolder folder;
  for (const auto& [name, content] : vocabulary.files()) {
    testing::write_text(folder / name, content);
  }
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->vocab_size(), vocabulary.size());
  EXPECT_EQ(tokenizer->bos_id(), ArithmeticVocabulary::kBos);
  EXPECT_EQ(tokenizer->eos_id(), ArithmeticVocabulary::kEos);

  ArithmeticTaskOptions options;
  options.min_value = kRange.min;
  const ArithmeticGenerator generator(options, 0);
  for (std::int64_t i = 0; i < 50; ++i) {
    const ArithmeticExpression expression = generator.draw(5, TaskSplit::kTest, i);
    const auto ids = tokenizer->encode(expression.solution(), {.add_special_tokens = true});
    auto expected = vocabulary.sequence(expression);
    expected.pop_back();  // the tokenizer prepends `<s>`, but appends no `</s>`
    EXPECT_THAT(ids, ElementsAreArray(expected)) << expression.text();
    EXPECT_EQ(tokenizer->decode(ids), expression.solution());
  }
  EXPECT_EQ(tokenizer->kind(), "word-level");
  EXPECT_THAT(
      [&] { tokenizer->encode("3 x 111"); },
      ThrowsMessage<InvalidArgument>("tokenizer: every word must be in the vocabulary, got '111'"));
}

}  // namespace
}  // namespace lime
