// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capture/input/input_prefix.h"
#include "capture/npy_file.h"
#include "capture/toy_tokenizer.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ToyTokenizer;
using testing::write_text;

class InputTest : public ::testing::Test {
 protected:
  InputTest() { options_.checkpoint = "models/toy"; }

  std::filesystem::path file(const std::string& name, const std::string& content) {
    write_text(folder_ / name, content);
    return folder_ / name;
  }

  ModelConfig config() const {
    ModelConfig config;
    config.vocab_size = 300;
    config.max_position_embeddings = 64;
    config.bos_token_id = 0;
    if (has_learned_positions_) config.spec.learned_position_offset = 0;
    return config;
  }

  CaptureInput read(const Tokenizer* tokenizer) {
    return read_input(options_, config(), tokenizer);
  }

  std::vector<std::string> warnings(const CaptureInput& input, const Tokenizer* tokenizer) const {
    return input_warnings(input, options_, config(), tokenizer);
  }

  std::string refusal(const Tokenizer* tokenizer) {
    return testing::refusal_of([&] { read(tokenizer); });
  }

  testing::TemporaryFolder folder_;
  ToyTokenizer tokenizer_;
  CaptureOptions options_;
  bool has_learned_positions_ = false;
};

constexpr std::int32_t id_of(char letter) { return 2 + letter; }

TEST_F(InputTest, BeginsEverySequenceAsTheTokenizerBeginsATextByDefault) {
  options_.text = {file("a.txt", "abc"), file("b.txt", "defghi")};
  options_.seq_len = 4;
  CaptureInput input = read(&tokenizer_);
  // <s> a b c | <s> </s> d e | <s> f g h, and i is too short for a sequence
  ASSERT_EQ(input.num_sequences(), 3);
  EXPECT_EQ(input.packing, Packing::kBosEach);
  EXPECT_THAT(input.ids_of(0), ElementsAre(0, id_of('a'), id_of('b'), id_of('c')));
  EXPECT_THAT(input.ids_of(1), ElementsAre(0, 1, id_of('d'), id_of('e')));
  EXPECT_THAT(input.ids_of(2), ElementsAre(0, id_of('f'), id_of('g'), id_of('h')));
  EXPECT_THAT(input.is_prepended_of(1), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(input.scored_of(1), ElementsAre(1, 2, 3));
  EXPECT_EQ(input.dropped_tokens, 1);
  EXPECT_EQ(input.sequences[1].text, "de");
  EXPECT_THAT(input.prepended_ids, ElementsAre(0));
  EXPECT_THAT(warnings(input, &tokenizer_), ElementsAre());
  options_.max_sequences = 2;
  input = read(&tokenizer_);
  EXPECT_EQ(input.num_sequences(), 2);
  EXPECT_EQ(input.dropped_tokens, 0) << "what was not asked for is not dropped";
}

TEST_F(InputTest, ATokenizerThatPrependsNothingKeepsTheSequencesOfEosBetween) {
  const ToyTokenizer without(std::vector<std::string>{}, false);
  options_.text = {file("a.txt", "abc"), file("b.txt", "de")};
  options_.seq_len = 3;
  CaptureInput input = read(&without);
  EXPECT_EQ(input.packing, Packing::kEosBetween);
  EXPECT_THAT(input.ids,
              ElementsAre(id_of('a'), id_of('b'), id_of('c'), 1, id_of('d'), id_of('e')));
  EXPECT_THAT(warnings(input, &without), ElementsAre());
  options_.packing = Packing::kBosEach;  // with the token that the tokenizer names
  input = read(&without);
  EXPECT_THAT(input.ids,
              ElementsAre(0, id_of('a'), id_of('b'), 0, id_of('c'), 1, 0, id_of('d'), id_of('e')));
  options_.packing.reset();
  options_.bos = BosPolicy::kAlways;
  EXPECT_EQ(read(&without).ids, input.ids);
  options_.seq_len = 1;
  EXPECT_EQ(refusal(&without), "seq_len: must be > 1 with --packing bos-each, got 1");
}

TEST_F(InputTest, WarnsOfSequencesWithoutTheTokensOfTheTokenizer) {
  const std::string lacking =
      " sequences do not begin with '<s>', which the tokenizer puts before every text; the model "
      "may compute other activations and a higher loss there; ";
  const auto warned = [&] { return warnings(read(&tokenizer_), &tokenizer_); };
  options_.text = {file("a.txt", "abcdefghijk")};
  options_.seq_len = 4;
  options_.packing = Packing::kEosBetween;
  EXPECT_THAT(warned(), ElementsAre("2 of 3" + lacking + "use --packing bos-each"));
  options_.packing.reset();
  options_.bos = BosPolicy::kNever;
  EXPECT_THAT(warned(), ElementsAre("2 of 2" + lacking + "omit --bos never"));
  const std::filesystem::path text = options_.text.front();
  options_ = {};
  options_.lines = {text};
  EXPECT_THAT(warned(), ElementsAre());
  options_.bos = BosPolicy::kNever;
  EXPECT_THAT(warned(), ElementsAre("1 of 1" + lacking + "omit --bos never"));
  options_ = {};
  options_.tokens = file("ids.npy", testing::npy_int32({0, 6, 7, 8}, "(2, 2)"));
  EXPECT_THAT(warned(), ElementsAre("1 of 2" + lacking + "add it to those sequences of the file"));
  options_.tokens = file("none.npy", testing::npy_int32({5, 6, 7, 8}, "(2, 2)"));
  EXPECT_THAT(warned(), ElementsAre("2 of 2" + lacking + "pass --bos always"));
  EXPECT_THAT(warnings(read(nullptr), nullptr), ElementsAre()) << "not known without a tokenizer";
  options_.bos = BosPolicy::kAlways;
  EXPECT_THAT(warned(), ElementsAre());
}

TEST_F(InputTest, PacksDocumentsIntoSequencesOfEqualLength) {
  options_.text = {file("a.txt", "abc"), file("b.txt", "defgh")};
  options_.seq_len = 4;
  options_.packing = Packing::kEosBetween;
  const CaptureInput input = read(&tokenizer_);
  // <s> a b c | </s> <s> d e | f g h
  ASSERT_EQ(input.num_sequences(), 2);
  EXPECT_THAT(input.ids_of(0), ElementsAre(0, id_of('a'), id_of('b'), id_of('c')));
  EXPECT_THAT(input.ids_of(1), ElementsAre(1, 0, id_of('d'), id_of('e')));
  EXPECT_THAT(input.is_prepended_of(0), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(input.is_prepended_of(1), ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(input.dropped_tokens, 3);
  EXPECT_EQ(input.sequences[0].text, "abc");
  EXPECT_THAT(input.prepended_ids, ElementsAre(0));
}

TEST_F(InputTest, PacksAsTheLimeCodeDoes) {
  // preprocessing_fineweb.py puts both tokens around every document, cuts 32 documents at a time,
  // and drops what is left of them, a last whole piece without a token behind it too.
  options_.packing = Packing::kLimeCode;
  options_.seq_len = 4;
  options_.text = {file("a.txt", "abc"), file("b.txt", "d"), file("c.txt", "ef")};
  const CaptureInput input = read(&tokenizer_);
  // <s> a b c | </s> <s> d </s> | <s> e f </s>, the last without a token to predict
  ASSERT_EQ(input.num_sequences(), 2);
  EXPECT_THAT(input.ids_of(0), ElementsAre(0, id_of('a'), id_of('b'), id_of('c')));
  EXPECT_THAT(input.ids_of(1), ElementsAre(1, 0, id_of('d'), 1));
  EXPECT_THAT(input.is_prepended_of(1), ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(input.dropped_tokens, 4);
  EXPECT_THAT(input.prepended_ids, ElementsAre(0));
  EXPECT_EQ(input.sequences[0].text, "abc");

  options_.text.assign(33, file("a.txt", "abc"));  // 32 of 5 tokens, then one of its own
  const CaptureInput batches = read(&tokenizer_);
  ASSERT_EQ(batches.num_sequences(), 39 + 1);
  EXPECT_EQ(batches.dropped_tokens, 4 + 1);
  EXPECT_THAT(batches.ids_of(39), ElementsAre(0, id_of('a'), id_of('b'), id_of('c')));
  options_.max_sequences = 3;
  EXPECT_EQ(read(&tokenizer_).num_sequences(), 3);
  EXPECT_EQ(read(&tokenizer_).dropped_tokens, 0);
}

TEST_F(InputTest, RefusesThePackingOfTheLimeCodeWhereItLeavesNothing) {
  options_.packing = Packing::kLimeCode;
  options_.text = {file("a.txt", "ab")};
  options_.seq_len = 4;
  EXPECT_EQ(refusal(&tokenizer_),
            "packing: lime-code drops texts of fewer than 5 tokens, got 4; use more text, a "
            "smaller --seq-len, or eos-between");
}

TEST_F(InputTest, KeepsAShortTextWhole) {
  options_.text = {file("a.txt", "abc")};
  const CaptureInput input = read(&tokenizer_);
  ASSERT_EQ(input.num_sequences(), 1);
  EXPECT_EQ(input.length(0), 4);
  EXPECT_EQ(input.dropped_tokens, 0);
}

TEST_F(InputTest, LimitsTheNumberOfSequences) {
  options_.text = {file("a.txt", "abcdefghij")};
  options_.seq_len = 3;
  options_.max_sequences = 2;
  EXPECT_EQ(read(&tokenizer_).num_sequences(), 2);
}

TEST_F(InputTest, ReadsNoFurtherThanTheLastSequence) {
  options_.text = {file("a.txt", "abcdefg"), folder_ / "absent.txt"};
  options_.packing = Packing::kEosBetween;
  options_.seq_len = 4;
  options_.max_sequences = 2;
  const CaptureInput input = read(&tokenizer_);
  EXPECT_THAT(input.ids_of(1), ElementsAre(id_of('d'), id_of('e'), id_of('f'), id_of('g')));
  EXPECT_EQ(input.dropped_tokens, 0) << "what was not asked for is not dropped";
  options_.max_sequences = INT64_MAX;
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("absent.txt'"));
}

TEST_F(InputTest, PutsTheBosTokenWhereItIsAskedFor) {
  options_.text = {file("a.txt", "ab")};
  const ToyTokenizer without(std::vector<std::string>{}, false);
  EXPECT_THAT(read(&tokenizer_).ids, ElementsAre(0, id_of('a'), id_of('b')));
  EXPECT_THAT(read(&without).ids, ElementsAre(id_of('a'), id_of('b')));
  options_.bos = BosPolicy::kAlways;
  EXPECT_THAT(read(&without).ids, ElementsAre(0, id_of('a'), id_of('b')));
  options_.bos = BosPolicy::kNever;
  EXPECT_THAT(read(&tokenizer_).ids, ElementsAre(id_of('a'), id_of('b')));
}

TEST_F(InputTest, ATextThatSpellsBosGetsNoSecondOneUnlessForced) {
  options_.text = {file("a.txt", "<s>ab"), file("b.txt", "<s>c")};
  const std::vector<Packing> packings = {Packing::kBosEach, Packing::kEosBetween,
                                         Packing::kLimeCode};
  for (const Packing packing : packings) {
    options_.packing = packing;
    options_.seq_len = 5;
    const CaptureInput spelled = read(&tokenizer_);
    options_.text = {file("c.txt", "ab"), file("d.txt", "c")};
    const CaptureInput plain = read(&tokenizer_);
    EXPECT_EQ(spelled.ids, plain.ids) << enum_name(packing);
    EXPECT_EQ(spelled.is_prepended, plain.is_prepended);
    options_.text = {folder_ / "a.txt", folder_ / "b.txt"};
  }
  options_ = {};
  options_.text = {folder_ / "a.txt"};
  options_.bos = BosPolicy::kAlways;
  EXPECT_THAT(read(&tokenizer_).ids, ElementsAre(0, 0, id_of('a'), id_of('b')));
  options_.bos = BosPolicy::kNever;
  EXPECT_THAT(read(&tokenizer_).ids, ElementsAre(0, id_of('a'), id_of('b')));
  options_.bos = BosPolicy::kAuto;
  options_.text = {file("only.txt", "<s>")};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("only.txt': contains no text after the"));
}

TEST_F(InputTest, NamesTheFaultOfAText) {
  options_.text = {file("good.txt", "abc"), file("bad.txt", "ab\xff")};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("bad.txt': text must be UTF-8, byte 2 is not"));
  options_.text = {file("empty.txt", "")};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("empty.txt': text must not be empty"));
  options_.text = {folder_ / "none.txt"};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("none.txt'"));
  EXPECT_EQ(refusal(nullptr), "'models/toy': contains no tokenizer; pass token ids with --tokens");
}

TEST_F(InputTest, RefusesSequencesLongerThanTheLearnedPositions) {
  has_learned_positions_ = true;
  options_.text = {file("a.txt", "abc")};
  options_.seq_len = 65;
  EXPECT_EQ(refusal(&tokenizer_),
            "seq_len: must be <= 64, the number of learned positions of the model, got 65; use a "
            "smaller value");
  options_ = {};
  options_.tokens = file("ids.npy", testing::npy_int32(std::vector<std::int32_t>(130), "(2, 65)"));
  EXPECT_EQ(refusal(nullptr),
            "input: a sequence must have at most the 64 tokens for which the model has learned "
            "positions, sequence 0 has 65; use shorter ones");
}

TEST_F(InputTest, WarnsOfSequencesBeyondTheTrainedContext) {
  options_.tokens = file("ids.npy", testing::npy_int32(std::vector<std::int32_t>(130), "(2, 65)"));
  const CaptureInput input = read(nullptr);
  EXPECT_THAT(warnings(input, nullptr),
              ElementsAre("2 of 2 sequences are longer than max_position_embeddings = 64, up to 65 "
                          "tokens; the model's positions are defined there, but it was not trained "
                          "on them"));
  options_.tokens = file("flat.npy", testing::npy_int32(std::vector<std::int32_t>(130), "(130,)"));
  EXPECT_EQ(read(nullptr).longest(), 64) << "by default, sequences stay in the context";
  options_.seq_len = 100;
  EXPECT_EQ(read(nullptr).longest(), 100);
}

TEST_F(InputTest, TakesRowsOfATokenFileAsSequences) {
  options_.tokens = file("ids.npy", testing::npy_int32({5, 6, 7, 8}, "(2, 2)"));
  const CaptureInput input = read(nullptr);
  ASSERT_EQ(input.num_sequences(), 2);
  EXPECT_THAT(input.ids_of(1), ElementsAre(7, 8));
  EXPECT_EQ(input.sequences[0].text, "");
  options_.bos = BosPolicy::kAlways;
  const CaptureInput with_bos = read(&tokenizer_);
  EXPECT_THAT(with_bos.ids_of(1), ElementsAre(0, 7, 8));
  EXPECT_THAT(with_bos.is_prepended_of(1), ElementsAre(1, 0, 0));
}

TEST_F(InputTest, CutsAFlatTokenFile) {
  options_.tokens = file("ids.npy", testing::npy_int32({5, 6, 7, 8, 9}, "(5,)"));
  options_.seq_len = 2;
  const CaptureInput input = read(nullptr);
  ASSERT_EQ(input.num_sequences(), 2);
  EXPECT_THAT(input.ids_of(1), ElementsAre(7, 8));
  EXPECT_EQ(input.dropped_tokens, 1);
  EXPECT_EQ(input.packing, Packing::kEosBetween);
}

TEST_F(InputTest, PutsBosBeforeTheSequencesOfAFlatTokenFile) {
  options_.tokens = file("ids.npy", testing::npy_int32({5, 6, 7, 8, 9}, "(5,)"));
  options_.seq_len = 3;
  options_.bos = BosPolicy::kAlways;
  CaptureInput input = read(nullptr);
  EXPECT_THAT(input.ids, ElementsAre(0, 5, 6, 0, 7, 8));
  EXPECT_THAT(input.is_prepended, ElementsAre(1, 0, 0, 1, 0, 0));
  EXPECT_EQ(input.packing, Packing::kBosEach);
  EXPECT_EQ(input.dropped_tokens, 1);
  options_.packing = Packing::kEosBetween;
  EXPECT_THAT(read(nullptr).ids, ElementsAre(0, 5, 6, 7, 8, 9));
  options_.bos = BosPolicy::kAuto;
  options_.packing = Packing::kBosEach;
  EXPECT_EQ(read(nullptr).ids, input.ids);
  options_.tokens = file("begun.npy", testing::npy_int32({0, 5, 6, 7, 8}, "(5,)"));
  EXPECT_EQ(read(nullptr).ids, input.ids) << "the first one is there already";
  options_.tokens = file("rows.npy", testing::npy_int32({5, 6, 7, 8}, "(2, 2)"));
  EXPECT_THAT(refusal(nullptr), HasSubstr("packing: bos-each needs a 1-D file, '"));
}

TEST_F(InputTest, NamesTheFirstIdOutsideTheVocabulary) {
  options_.tokens = file("ids.npy", testing::npy_int32({5, 6, 7, 300, -1, 8}, "(2, 3)"));
  EXPECT_THAT(refusal(nullptr), HasSubstr("ids.npy': token ids must be in [0, 300), got 300 at "
                                          "[1, 0]"));
  options_.tokens = file("flat.npy", testing::npy_int32({5, -6}, "(2,)"));
  EXPECT_THAT(refusal(nullptr), HasSubstr("got -6 at [1]"));
  options_ = {};
  options_.text = {file("a.txt", "ab" + std::string("piece"))};
  std::vector<std::string> many(100, "unused");
  many.push_back("piece");
  const ToyTokenizer larger(many);
  EXPECT_EQ(refusal(&larger),
            "input: token ids must be in [0, 300), got 358 at token 3 of sequence 0; use the "
            "tokenizer of this model");
}

TEST_F(InputTest, ReadsMinimalPairs) {
  options_.pairs = {
      file("one.jsonl",
           "{\"sentence_good\": \"ab\", \"sentence_bad\": \"a\", \"UID\": \"task_a\"}\n\n"
           "{\"sentence_good\": \"c\", \"sentence_bad\": \"d\", \"UID\": \"task_b\"}\n"),
      file("two.jsonl", "{\"sentence_good\": \"e\", \"sentence_bad\": \"f\"}")};
  const CaptureInput input = read(&tokenizer_);
  ASSERT_EQ(input.num_sequences(), 6);
  EXPECT_THAT(input.task_names, ElementsAre("task_a", "task_b", "two"));
  EXPECT_THAT(input.ids_of(0), ElementsAre(0, id_of('a'), id_of('b')));
  EXPECT_THAT(input.ids_of(1), ElementsAre(0, id_of('a')));
  EXPECT_THAT(input.is_prepended_of(0), ElementsAre(1, 0, 0));
  EXPECT_EQ(input.sequences[0].text, "ab");
  EXPECT_EQ(input.sequences[0].label, 1);
  EXPECT_EQ(input.sequences[1].label, 0);
  EXPECT_EQ(input.sequences[3].pair, 1);
  EXPECT_EQ(input.sequences[3].task, 1);
  EXPECT_EQ(input.sequences[5].task, 2);
  options_.max_sequences = 3;
  EXPECT_EQ(read(&tokenizer_).num_sequences(), 2) << "only whole pairs";
}

TEST_F(InputTest, NamesTheLineOfABrokenPair) {
  const std::string good = "{\"sentence_good\": \"ab\", \"sentence_bad\": \"a\"}\n";
  options_.pairs = {file("a.jsonl", good + "{\"sentence_good\": \"x\"}\n")};
  EXPECT_THAT(refusal(&tokenizer_),
              HasSubstr("a.jsonl' line 2: must have the string 'sentence_bad'"));
  options_.pairs = {file("b.jsonl", good + "{oops\n")};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("b.jsonl' line 2"));
  options_.pairs = {file("c.jsonl", good + "[1]\n")};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("line 2: must be a JSON object"));
  options_.pairs = {file("d.jsonl", good + "{\"sentence_good\": \"\", \"sentence_bad\": \"a\"}\n")};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("line 2: a sentence must not be empty"));
  options_.pairs = {file("e.jsonl", "\n")};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("contains no minimal pairs"));
  options_.pairs = {file("f.jsonl", "\xff")};
  EXPECT_THAT(refusal(&tokenizer_), HasSubstr("must be UTF-8, byte 0 is not"));
}

TEST_F(InputTest, HashesWhatTheModelSees) {
  options_.tokens = file("ids.npy", testing::npy_int32({5, 6, 7, 8}, "(2, 2)"));
  const std::string digest = read(nullptr).sha256();
  EXPECT_EQ(read(&tokenizer_).sha256(), digest) << "text is not what the model sees";
  options_.tokens = file("wide.npy", testing::npy_int32({5, 6, 7, 8}, "(1, 4)"));
  EXPECT_NE(read(nullptr).sha256(), digest);
  options_.tokens = file("other.npy", testing::npy_int32({5, 6, 7, 9}, "(2, 2)"));
  EXPECT_NE(read(nullptr).sha256(), digest);
}

}  // namespace
}  // namespace lime
