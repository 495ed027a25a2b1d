// SPDX-License-Identifier: Apache-2.0
// Rows of a capture: pooled rows, padded batches, selected tokens, unchanged ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture_fixture.h"
#include "capture/npy_file.h"
#include "store/capture_reader.h"
#include "support/sanitizers.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::CaptureTest;
using ::testing::ElementsAre;
using testing::equal_bits;
using testing::kSmallShards;

TEST_F(CaptureTest, PoolsSentencesByMeanAndLastToken) {
  testing::write_text(
      folder_ / "pairs.jsonl",
      "{\"sentence_good\": \"The cat is here.\", \"sentence_bad\": \"The cat are\", \"UID\": "
      "\"a\"}\n"
      "{\"sentence_good\": \"Dogs\", \"sentence_bad\": \"Dogs was old.\", \"UID\": \"b\"}\n");
  options_.text.clear();
  options_.seq_len = std::nullopt;
  options_.pairs = {folder_ / "pairs.jsonl"};
  const auto with_rows = [&](RowKind rows, const char* name) {
    options_.rows = rows;
    options_.output = folder_ / name;
    return capture();
  };
  const CaptureReader tokens = with_rows(RowKind::kTokens, "tokens.h5");
  const CaptureReader mean = with_rows(RowKind::kMean, "mean.h5");
  const CaptureReader last = with_rows(RowKind::kLast, "last.h5");
  ASSERT_EQ(mean.num_rows(), 4);
  ASSERT_EQ(last.num_rows(), 4);
  EXPECT_THAT(mean.info().task_names, ElementsAre("a", "b"));
  for (std::int64_t s = 0; s < 4; ++s) {
    const MatrixF sentence = tokens.read_sequence("hidden", 2, s);
    // Pooled rows come from passes of other shapes, which may round differently.
    EXPECT_LT((last.read_rows("hidden", 2, s, 1) - sentence.bottomRows(1)).cwiseAbs().maxCoeff(),
              1e-5);
    const MatrixF expected =
        sentence.bottomRows(sentence.rows() - 1).cast<double>().colwise().mean().cast<float>();
    EXPECT_LT((mean.read_rows("hidden", 2, s, 1) - expected).cwiseAbs().maxCoeff(), 1e-5)
        << "without the <s> that was put before it";
    const Sequence& about = mean.sequences()[static_cast<std::size_t>(s)];
    EXPECT_EQ(about.label, s % 2 == 0 ? 1 : 0);
    EXPECT_EQ(about.pair, s / 2);
    EXPECT_EQ(about.task, s / 2);
  }
  EXPECT_EQ(mean.statistics("hidden", 2).count, tokens.num_rows()) << "over every token";
  EXPECT_LT((mean.statistics("hidden", 2).mean - tokens.statistics("hidden", 2).mean)
                .cwiseAbs()
                .maxCoeff(),
            1e-6);
}

TEST_F(CaptureTest, PaddingChangesNothing) {
  testing::write_text(
      folder_ / "pairs.jsonl",
      "{\"sentence_good\": \"The cat is here and now.\", \"sentence_bad\": \"No\"}");
  options_.text.clear();
  options_.seq_len = std::nullopt;
  options_.pairs = {folder_ / "pairs.jsonl"};
  options_.batch_size = 2;
  options_.output = folder_ / "together.h5";
  const CaptureReader together = capture();
  options_.batch_size = 1;
  options_.output = folder_ / "alone.h5";
  const CaptureReader alone = capture();
  ASSERT_EQ(together.num_rows(), alone.num_rows());
  // Products of other shapes may round differently.
  EXPECT_LT((together.read_all("hidden", 2) - alone.read_all("hidden", 2)).cwiseAbs().maxCoeff(),
            1e-5);
}

TEST_F(CaptureTest, PatternsAreWhatEachQueryGivesToEachKey) {
  testing::write_text(folder_ / "lines.txt", "The cat is here.\nNo\nOnce upon a time\n");
  options_.text.clear();
  options_.seq_len = std::nullopt;
  options_.lines = {folder_ / "lines.txt"};
  options_.sites = {"attn.hook_pattern", "routed_values", "attn.hook_z"};
  const CaptureReader reader = capture();
  const auto heads = reader.config().at("num_attention_heads").get<Eigen::Index>();
  const auto kv_heads = reader.config().at("num_key_value_heads").get<Eigen::Index>();
  const Eigen::Index keys = reader.dim("attn.hook_pattern", 1) / heads;
  const Eigen::Index head_dim = reader.dim("attn.hook_z", 1) / heads;
  std::int64_t longest = 0;
  for (std::int64_t s = 0; s < 3; ++s) {
    const MatrixF pattern = reader.read_sequence("attn.hook_pattern", 1, s);
    const MatrixF values = reader.read_sequence("routed_values", 1, s);
    const MatrixF z = reader.read_sequence("attn.hook_z", 1, s);
    longest = std::max<std::int64_t>(longest, pattern.rows());
    for (Eigen::Index h = 0; h < heads; ++h) {
      const MatrixF own = pattern.middleCols(h * keys, keys);
      for (Eigen::Index q = 0; q < own.rows(); ++q) {
        EXPECT_NEAR(own.row(q).sum(), 1.0F, 1e-5F);
        EXPECT_TRUE((own.row(q).tail(keys - 1 - q).array() == 0.0F).all()) << "sees what comes";
      }
      const MatrixF read =
          own.leftCols(own.rows()) * values.middleCols(h / (heads / kv_heads) * head_dim, head_dim);
      EXPECT_LT((read - z.middleCols(h * head_dim, head_dim)).cwiseAbs().maxCoeff(), 1e-5F);
    }
  }
  EXPECT_EQ(keys, longest);
}

TEST_F(CaptureTest, LinesOfUnequalLengthAreEachASequence) {
  testing::write_text(folder_ / "lines.txt", "The cat is here.\nNo\n\nOnce upon a time\n");
  options_.text.clear();
  options_.seq_len = std::nullopt;
  options_.lines = {folder_ / "lines.txt"};
  options_.output = folder_ / "together.h5";
  const CaptureReader together = capture();
  ASSERT_EQ(together.num_sequences(), 3);
  EXPECT_EQ(together.sequences()[2].text, "Once upon a time");
  EXPECT_TRUE(together.info().options["seq_len"].is_null());
  const std::vector<std::string> lines = {"The cat is here.", "No", "Once upon a time"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    testing::write_text(folder_ / "one.txt", lines[i]);
    options_.lines = {folder_ / "one.txt"};
    options_.output = folder_ / ("alone" + std::to_string(i) + ".h5");
    const CaptureReader alone = capture();
    const MatrixF rows = together.read_sequence("hidden", 2, static_cast<std::int64_t>(i));
    ASSERT_EQ(rows.rows(), alone.num_rows()) << "no row is padding";
    // Products of other shapes may round differently.
    EXPECT_LT((rows - alone.read_all("hidden", 2)).cwiseAbs().maxCoeff(), 1e-5) << lines[i];
  }
  EXPECT_EQ(together.statistics("hidden", 2).count, together.num_rows());
}

TEST_F(CaptureTest, KeepsOnlyTheTokensAskedFor) {
  const CaptureReader all = [&] {
    options_.output = folder_ / "all.h5";
    return capture();
  }();
  options_.only = {" is", " were"};
  options_.max_per_class = 5;
  options_.output = folder_ / "only.h5";
  const CaptureReader only = capture();
  EXPECT_THAT(only.info().class_names, ElementsAre(" is", " were"));
  const RowTable& rows = only.rows();
  ASSERT_EQ(rows.size(), 10);
  std::map<int, int> counts;
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(++counts[rows.class_id[i]] <= 5, true);
    EXPECT_EQ(rows.token[i], rows.class_id[i] == 0 ? 259 : 269);
    const std::int64_t row = 20 * rows.sequence[i] + rows.position[i];
    EXPECT_EQ(all.rows().token[static_cast<std::size_t>(row)], rows.token[i]);
    EXPECT_TRUE(equal_bits(only.read_rows("values", 2, static_cast<std::int64_t>(i), 1),
                           all.read_rows("values", 2, row, 1)));
  }
  EXPECT_LT(only.num_sequences(), all.num_sequences()) << "ends when every class is full";
  EXPECT_EQ(only.num_sequences(), rows.sequence.back() + 1);
  EXPECT_EQ(only.statistics("values", 2).count, 20 * only.num_sequences())
      << "also of rows that are not kept";
}

TEST_F(CaptureTest, TakesTokenIdsWithoutATokenizer) {
  std::filesystem::remove(options_.checkpoint / "tokenizer.json");
  std::filesystem::remove(options_.checkpoint / "tokenizer_config.json");
  testing::write_text(folder_ / "ids.npy", testing::npy_int32({256, 5, 6, 256, 7, 8}, "(2, 3)"));
  options_.text.clear();
  options_.tokens = folder_ / "ids.npy";
  const CaptureReader reader = capture();
  EXPECT_THAT(reader.rows().token, ElementsAre(256, 5, 6, 256, 7, 8));
  EXPECT_EQ(reader.num_sequences(), 2);
  EXPECT_EQ(reader.info().tokenizer_sha256, "");
  EXPECT_EQ(reader.info().prepended, "");
}

TEST_F(CaptureTest, CapturesMinimalPairsOfBlimp) {
  if (testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
  const auto model = testing::test_data("checkpoints/stories260k");
  const auto task = testing::test_data("blimp/passive_1.jsonl");
  if (!exists(model)) GTEST_SKIP() << testing::skip_reason(model);
  if (!exists(task)) GTEST_SKIP() << testing::skip_reason(task);
  options_.checkpoint = model;
  options_.text.clear();
  options_.seq_len = std::nullopt;
  options_.pairs = {task};
  options_.max_sequences = 20;
  options_.rows = RowKind::kMean;
  const CaptureReader reader = capture();
  EXPECT_EQ(reader.num_rows(), 20);
  EXPECT_EQ(reader.sequences()[0].text, "Lucille's sisters are confused by Amy.");
  EXPECT_EQ(reader.sequences()[1].text, "Lucille's sisters are communicated by Amy.");
  EXPECT_THAT(reader.info().task_names, ElementsAre("passive_1"));
}

}  // namespace
}  // namespace lime
