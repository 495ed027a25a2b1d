// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "capture/input/input_text.h"
#include "capture/toy_tokenizer.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::ToyTokenizer;

class InputLinesTest : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& content) {
    testing::write_text(folder_ / name, content);
    return folder_ / name;
  }

  static CaptureInput read(const CaptureOptions& options) {
    return read_line_input(options, ToyTokenizer(), 8);
  }

  std::string refusal(const std::string& content, BosPolicy bos = BosPolicy::kAuto) {
    return testing::refusal_of([&] { read({.lines = {file("bad.txt", content)}, .bos = bos}); });
  }

  testing::TemporaryFolder folder_;
};

constexpr std::int32_t id_of_letter(char letter) { return 2 + letter; }

TEST_F(InputLinesTest, EveryLineIsASequence) {
  const CaptureInput input =
      read({.lines = {file("a.txt", "ab\n \t\n\n c\r\n"), file("b.txt", "d")}});
  ASSERT_EQ(input.num_sequences(), 3);
  EXPECT_THAT(input.ids_of(0), ElementsAre(0, id_of_letter('a'), id_of_letter('b')));
  EXPECT_THAT(input.ids_of(1), ElementsAre(0, id_of_letter(' '), id_of_letter('c')));
  EXPECT_THAT(input.ids_of(2), ElementsAre(0, id_of_letter('d')));
  EXPECT_THAT(input.is_prepended_of(1), ElementsAre(1, 0, 0));
  EXPECT_EQ(input.sequences[1].text, " c");
  EXPECT_EQ(input.dropped_tokens, 0);
}

TEST_F(InputLinesTest, ChatLinesAreWrittenWithTheTemplate) {
  file("chat_template.jinja",
       "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}"
       "{{ 'A' if add_generation_prompt }}");
  CaptureOptions options{
      .checkpoint = folder_.path(),
      .lines = {file("a.txt", "b\nc"),
                file("b.jsonl", R"({"messages": [{"role": "user", "content": "d"}, )"
                                R"({"role": "assistant", "content": "e"}]})")},
      .chat = true};
  const CaptureInput input = read(options);
  ASSERT_EQ(input.num_sequences(), 3);
  EXPECT_EQ(input.sequences[0].text, "ubA");
  EXPECT_THAT(input.ids_of(0),
              ElementsAre(id_of_letter('u'), id_of_letter('b'), id_of_letter('A')));
  EXPECT_THAT(input.is_prepended_of(0), ElementsAre(0, 0, 0)) << "the template writes its own BOS";
  EXPECT_EQ(input.sequences[2].text, "udae");

  options.lines = {file("c.jsonl", R"({"messages": [{"role": "user"}]})")};
  EXPECT_THAT(testing::refusal_of([&] { read(options); }),
              HasSubstr("c.jsonl' line 1: message 0 must have a text \"content\""));
  options.lines = {file("d.jsonl", R"([])")};
  EXPECT_THAT(testing::refusal_of([&] { read(options); }),
              EndsWith("d.jsonl' line 1: must be an object with a list \"messages\""));
  file("chat_template.jinja", "{{ raise_exception('no') }}");
  options.lines = {file("a.txt", "b")};
  EXPECT_THAT(testing::refusal_of([&] { read(options); }),
              EndsWith("a.txt' line 1: the chat template does not accept these messages: no"));
}

TEST_F(InputLinesTest, ALineThatSpellsBosGetsNoSecondOne) {
  const CaptureInput input = read({.lines = {file("a.txt", "<s>ab\nab\n<s>")}});
  ASSERT_EQ(input.num_sequences(), 3);
  EXPECT_THAT(input.ids_of(0), ElementsAre(0, id_of_letter('a'), id_of_letter('b')));
  EXPECT_THAT(input.is_prepended_of(0), ElementsAre(1, 0, 0)) << "as if it were prepended";
  EXPECT_THAT(input.ids_of(1), ElementsAre(0, id_of_letter('a'), id_of_letter('b')));
  EXPECT_THAT(input.ids_of(2), ElementsAre(0));
}

TEST_F(InputLinesTest, ScoresTheSelectedTokens) {
  const CaptureInput whole = read({.lines = {file("a.txt", "1=23=4\n567")}});
  const ToyTokenizer tokenizer;
  const auto scored = [&](const ScoreSelection& selection, std::int64_t sequence = 0) {
    CaptureInput input = whole;
    select_scored(input, selection, &tokenizer);
    return input.scored_of(sequence);
  };
  EXPECT_THAT(scored({}), ElementsAre(1, 2, 3, 4, 5, 6)) << "not the prepended token";
  EXPECT_THAT(scored({.after = "="}), ElementsAre(3, 4, 5, 6)) << "after the first one";
  EXPECT_THAT(scored({.after = "="}, 1), ElementsAre());
  EXPECT_THAT(scored({.words = {"=", "4"}}), ElementsAre(2, 5, 6));
  EXPECT_THAT(scored({.positions = LayerSelection::parse("0,4-9")}), ElementsAre(4, 5, 6));
  EXPECT_THAT(scored({.after = "=", .words = {"=", "1"}}), ElementsAre(5)) << "all conditions";
  EXPECT_THAT(testing::refusal_of([&] { scored({.words = {"12"}}); }),
              HasSubstr("score_words: each text must be one token, '12' is several ('1', '2')"));
}

TEST_F(InputLinesTest, ReadsNoMoreLinesThanAskedFor) {
  const std::filesystem::path long_line = file("a.txt", "a\nb\ntoo long for the model");
  const CaptureInput input = read(
      {.lines = {long_line, folder_ / "absent.txt"}, .bos = BosPolicy::kNever, .max_sequences = 2});
  ASSERT_EQ(input.num_sequences(), 2);
  EXPECT_THAT(input.ids, ElementsAre(id_of_letter('a'), id_of_letter('b')));
}

TEST_F(InputLinesTest, TabsSeparateTheViewsOfAText) {
  const std::filesystem::path texts = file("a.tsv", "ab\tc\n\nd\te f\r\n");
  const CaptureInput input = read({.views = {texts, file("b.tsv", "g\th")}});
  ASSERT_EQ(input.num_sequences(), 6);
  EXPECT_THAT(input.ids_of(0), ElementsAre(0, id_of_letter('a'), id_of_letter('b')));
  EXPECT_THAT(input.ids_of(1), ElementsAre(0, id_of_letter('c')));
  EXPECT_EQ(input.sequences[3].text, "e f");
  std::vector<std::int32_t> of_text;
  for (const Sequence& sequence : input.sequences) of_text.push_back(sequence.pair);
  EXPECT_THAT(of_text, ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_EQ(input.sequences[0].label, -1);
  EXPECT_EQ(read({.views = {texts}, .max_sequences = 3}).num_sequences(), 2) << "whole texts";
  EXPECT_EQ(read({.lines = {texts}}).num_sequences(), 2) << "tabs of lines are text";
}

TEST_F(InputLinesTest, ViewsThatDoNotFitAreNamed) {
  const auto refused = [&](const std::string& content, std::int64_t max_sequences = 9) {
    const std::filesystem::path texts = file("bad.tsv", content);
    return testing::refusal_of([&] { read({.views = {texts}, .max_sequences = max_sequences}); });
  };
  EXPECT_THAT(refused("a\n"),
              EndsWith("bad.tsv' line 1: must have at least 2 views, separated by tabs, got 1"));
  EXPECT_THAT(refused("a\tb\n\nc\td\te\n"),
              EndsWith("bad.tsv' line 3: must have 2 views, separated by tabs, got 3"));
  EXPECT_THAT(refused("a\t\n"), EndsWith("bad.tsv' line 1: a view must not be empty"));
  EXPECT_THAT(refused("a\tb\tc\n", 2), EndsWith("max_sequences: a text has 3 views, got 2"));
}

TEST_F(InputLinesTest, NamesTheLineAtFault) {
  EXPECT_THAT(refusal("a\n\n12345678\n"),
              EndsWith("bad.txt' line 3: must have at most the 8 tokens for which the model has "
                       "learned positions, has 9; use shorter lines"));
  EXPECT_EQ(refusal("<s>b\n", BosPolicy::kAlways), "");
  EXPECT_THAT(refusal("\n \n"), EndsWith("bad.txt': must have a line of text, has none"));
  EXPECT_THAT(refusal(""), EndsWith("bad.txt': must have a line of text, has none"));
  EXPECT_THAT(refusal("a\xff"), HasSubstr("bad.txt': text must be UTF-8, byte 1 is not"));
}

}  // namespace
}  // namespace lime
