// SPDX-License-Identifier: Apache-2.0
// Log-likelihoods of sequences: comparison with transformers, and invariances.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "capture/capture_fixture.h"
#include "capture/scores.h"
#include "core/json.h"
#include "model/decoders/decoder.h"
#include "support/sanitizers.h"

namespace lime {
namespace {

using testing::CaptureTest;
using ::testing::ElementsAre;
using testing::equal_bits;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LogLikelihoodTest : public CaptureTest {
 protected:
  LogLikelihoodTest() {
    options_.text.clear();
    options_.seq_len = std::nullopt;
    options_.batch_size = std::nullopt;
    options_.pairs = {folder_ / "pairs.jsonl"};
    options_.log_likelihood = true;
    write_pairs({{"The cat is here.", "The cat are here."},
                 {"Dogs", "Dogs was old."},
                 {"It is so.", "It is so."},
                 {"They were here and there and everywhere.", "No"}});
  }

  void write_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::string lines;
    for (const auto& [good, bad] : pairs) {
      lines += Json({{"sentence_good", good},
                     {"sentence_bad", bad},
                     {"field", "syntax"},
                     {"linguistics_term", "agreement"},
                     {"UID", "be"}})
                   .dump() +
               "\n";
    }
    testing::write_text(folder_ / "pairs.jsonl", lines);
  }

  std::vector<Sequence> sequences(const char* name) {
    options_.output = folder_ / name;
    return capture().sequences();
  }
};

/// Naive version: every sentence alone, softmax over the whole vocabulary.
double log_likelihood_of(const Decoder& decoder, const std::vector<std::int64_t>& ids,
                         std::size_t first_scored) {
  const at::Tensor batch = at::tensor(ids, at::kLong).unsqueeze(0);
  const at::Tensor logits = decoder.forward(batch).logits.to(at::kDouble)[0];
  const at::Tensor log_probabilities = logits.log_softmax(-1);
  double sum = 0.0;
  for (std::size_t t = first_scored; t < ids.size(); ++t) {
    sum += log_probabilities[static_cast<std::int64_t>(t) - 1][ids[t]].item<double>();
  }
  return sum;
}

TEST_F(LogLikelihoodTest, IsTheSumOverEverySentenceAlone) {
  options_.dtype = ComputeType::kFloat64;
  const auto all = sequences("scored.h5");
  const Decoder decoder =
      load_decoder(Checkpoint::open(options_.checkpoint), {.dtype = ComputeType::kFloat64});
  const auto tokenizer = load_tokenizer(options_.checkpoint);
  ASSERT_EQ(all.size(), 8U);
  for (const Sequence& sequence : all) {
    std::vector<std::int64_t> ids = {256};
    for (const std::int32_t id : tokenizer->encode(" " + sequence.text)) ids.push_back(id);
    EXPECT_NEAR(sequence.log_likelihood, log_likelihood_of(decoder, ids, 1), 1e-10);
    EXPECT_EQ(sequence.scored_tokens, static_cast<std::int32_t>(ids.size()) - 1);
  }
}

TEST_F(LogLikelihoodTest, EqualSentencesTieBitForBit) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (int i = 0; i < 60; ++i) pairs.emplace_back(testing::tiny_text(2 + i % 7, 9), "It is so.");
  pairs.emplace_back("Cats are here.", "Cats are here.");
  write_pairs(pairs);
  options_.batch_size = 7;
  const auto all = sequences("scored.h5");
  EXPECT_EQ(all[120].log_likelihood, all[121].log_likelihood);
  EXPECT_EQ(all[1].log_likelihood, all[119].log_likelihood);
}

TEST_F(LogLikelihoodTest, AloneKeepsNoActivations) {
  const CaptureReader reader = capture();
  EXPECT_THAT(reader.sites(), IsEmpty());
  EXPECT_EQ(reader.num_rows(), 0);
  EXPECT_EQ(reader.num_sequences(), 8);
  EXPECT_THAT(reader.info().options["blimp_preset"], "lm-eval");
  EXPECT_THAT(reader.info().task_names, ElementsAre("be"));
  EXPECT_THAT(reader.info().task_fields, ElementsAre("syntax"));
  EXPECT_THAT(reader.info().task_terms, ElementsAre("agreement"));
  EXPECT_TRUE(reader.has_statistics("values", 2)) << "all layers have run";
}

TEST_F(LogLikelihoodTest, GoesWithRowsOfTheSamePass) {
  const auto alone = sequences("alone.h5");
  options_.rows = RowKind::kMean;
  options_.layers = LayerSelection::parse("0");
  options_.output = folder_ / "both.h5";
  const CaptureReader both = capture();
  EXPECT_EQ(both.num_rows(), 8);
  EXPECT_THAT(both.sites(), ElementsAre("values", "hidden"));
  EXPECT_THAT(both.layers("hidden"), ElementsAre(0));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(both.sequences()[i].log_likelihood, alone[i].log_likelihood, 1e-4);
  }
}

TEST_F(LogLikelihoodTest, RowsStandInTheOrderOfTheInput) {
  options_.rows = RowKind::kLast;
  options_.output = folder_ / "together.h5";
  const CaptureReader together = capture();
  options_.batch_size = 1;
  options_.output = folder_ / "alone.h5";
  const CaptureReader alone = capture();
  for (std::int64_t row = 0; row < 8; ++row) {
    EXPECT_EQ(together.rows().sequence[static_cast<std::size_t>(row)], row);
    // Products of other shapes may round differently.
    EXPECT_LT((together.read_rows("hidden", 2, row, 1) - alone.read_rows("hidden", 2, row, 1))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-5)
        << row;
  }
  EXPECT_EQ(together.rows().position, alone.rows().position);
  EXPECT_TRUE(
      equal_bits(together.read_rows("hidden", 2, 4, 1), together.read_rows("hidden", 2, 5, 1)))
      << "equal sentences have equal rows";
}

TEST_F(LogLikelihoodTest, PresetsDifferByTheSpace) {
  options_.blimp_preset = BlimpPreset::kBlimpPaper;
  const auto paper = sequences("paper.h5");
  const auto tokenizer = load_tokenizer(options_.checkpoint);
  for (const Sequence& sequence : paper) {
    EXPECT_EQ(sequence.scored_tokens,
              static_cast<std::int32_t>(tokenizer->encode(sequence.text).size()));
  }
  options_.blimp_preset = BlimpPreset::kLmEval;
  EXPECT_NE(sequences("harness.h5")[0].log_likelihood, paper[0].log_likelihood);
}

TEST_F(LogLikelihoodTest, OfTextLeavesOutTheFirstToken) {
  testing::write_text(folder_ / "lines.txt", "The cat is here.\n");
  options_.pairs.clear();
  options_.lines = {folder_ / "lines.txt"};
  const auto with_bos = sequences("bos.h5");
  EXPECT_EQ(with_bos[0].scored_tokens,
            static_cast<std::int32_t>(
                load_tokenizer(options_.checkpoint)->encode("The cat is here.").size()));
  options_.bos = BosPolicy::kNever;
  EXPECT_EQ(sequences("never.h5")[0].scored_tokens, with_bos[0].scored_tokens - 1);
}

TEST_F(LogLikelihoodTest, SumsTheSelectedTokensOnly) {
  testing::write_text(folder_ / "lines.txt", "The cat is here.\nDogs\n");
  options_.pairs.clear();
  options_.lines = {folder_ / "lines.txt"};
  options_.dtype = ComputeType::kFloat64;
  options_.score.after = "cat";
  const auto after = sequences("after.h5");
  const auto tokenizer = load_tokenizer(options_.checkpoint);
  std::vector<std::int64_t> ids = {256};
  for (const std::int32_t id : tokenizer->encode("The cat is here.")) ids.push_back(id);
  const std::size_t first = 1 + tokenizer->encode("The cat").size();
  const Decoder decoder =
      load_decoder(Checkpoint::open(options_.checkpoint), {.dtype = ComputeType::kFloat64});
  EXPECT_NEAR(after[0].log_likelihood, log_likelihood_of(decoder, ids, first), 1e-10);
  EXPECT_EQ(after[0].scored_tokens, static_cast<std::int32_t>(ids.size() - first));
  EXPECT_EQ(after[1].scored_tokens, 0);
  options_.log_likelihood = false;
  EXPECT_THAT(refusal(), HasSubstr("select tokens of --log-likelihood; pass it too"));
}

TEST_F(LogLikelihoodTest, ResumesToTheSameBits) {
  const CaptureTuning tuning{.shard = {.tokens = 1, .bytes = 1 << 20}};
  options_.batch_size = 2;
  run_capture(options_, {}, {}, tuning);
  const auto whole = CaptureReader(options_.output).sequences();
  std::filesystem::remove(options_.output);
  std::filesystem::remove(folder_ / "capture.shards" / "00001.json");
  options_.resume = true;
  run_capture(options_, {}, {}, tuning);
  const auto again = CaptureReader(options_.output).sequences();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(again[i].log_likelihood, whole[i].log_likelihood) << i;
  }
}

TEST_F(LogLikelihoodTest, RefusesWhatWouldChangeThePreset) {
  options_.bos = BosPolicy::kNever;
  EXPECT_THAT(refusal(), HasSubstr("bos: must be auto with --log-likelihood of --pairs"));
  options_.bos = BosPolicy::kAuto;
  options_.blimp_preset = BlimpPreset::kLmEval;
  options_.pairs.clear();
  options_.text = {folder_ / "text.txt"};
  EXPECT_THAT(refusal(), HasSubstr("blimp_preset: applies to --pairs only"));
}

TEST_F(LogLikelihoodTest, RefusesTasksThatContradictThemselves) {
  testing::write_text(folder_ / "pairs.jsonl",
                      R"({"sentence_good": "a", "sentence_bad": "b", "UID": "t", "field": "x"})"
                      "\n"
                      R"({"sentence_good": "a", "sentence_bad": "b", "UID": "t", "field": "y"})");
  EXPECT_THAT(refusal(), HasSubstr("line 2: 'field' must be the same in all pairs of t, got 'y' "
                                   "after 'x'"));
}

TEST_F(LogLikelihoodTest, RefusesPairsThatLackAMember) {
  testing::write_text(folder_ / "pairs.jsonl",
                      "{\"sentence_good\": \"a\", \"sentence_bad\": \"b\"}\n"
                      "{\"sentence_good\": \"a\"}\n");
  EXPECT_THAT(refusal(), HasSubstr("line 2: must have the string 'sentence_bad'"));
}

/// Writes the sentences of the golden file as a separate task file.
TEST_F(LogLikelihoodTest, EqualsTransformersOnBlimp) {
  if (testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
  const auto model = testing::test_data("checkpoints/stories260k");
  const auto blimp = testing::test_data("blimp");
  if (!exists(model)) GTEST_SKIP() << testing::skip_reason(model);
  if (!exists(blimp)) GTEST_SKIP() << testing::skip_reason(blimp);
  const Json golden =
      parse_json(testing::read_text(testing::golden_file("blimp_log_likelihoods.json")), "golden");
  std::map<std::string, std::vector<std::string>> tasks;
  std::string lines;
  for (const Json& pair : golden["pairs"]) {
    std::vector<std::string>& task = tasks[pair["task"]];
    if (task.empty()) {
      std::ifstream file(blimp / (pair["task"].get<std::string>() + ".jsonl"));
      for (std::string line; std::getline(file, line);) task.push_back(line);
    }
    lines += task.at(pair["line"]) + "\n";
  }
  testing::write_text(folder_ / "pairs.jsonl", lines);
  options_.checkpoint = model;
  for (const auto& [preset, name] :
       {std::pair(BlimpPreset::kLmEval, "lm-eval"), {BlimpPreset::kBlimpPaper, "blimp-paper"}}) {
    options_.blimp_preset = preset;
    const auto all = sequences(name);
    ASSERT_EQ(all.size(), 2 * golden["pairs"].size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Json& expected = golden["pairs"][i / 2][name];
      const auto value = expected[2 * (i % 2)].get<double>();
      EXPECT_NEAR(all[i].log_likelihood, value, 1e-5 * std::abs(value)) << all[i].text;
      EXPECT_EQ(all[i].scored_tokens, expected[2 * (i % 2) + 1].get<int>()) << all[i].text;
    }
  }
}

}  // namespace
}  // namespace lime
