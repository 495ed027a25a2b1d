// SPDX-License-Identifier: Apache-2.0
// Sequences beyond max_position_embeddings, alone and among others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capture/capture_fixture.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

class LongSequencesTest : public testing::CaptureTest {
 protected:
  /// Writes a model of 8 positions, and lines with up to 25 tokens.
  void write(const RopeSpec& rope) {
    ModelConfig config = testing::tiny_config();
    config.max_position_embeddings = 8;
    config.spec.ropes = {rope};
    testing::write_tiny_checkpoint(folder_ / "model", config);
    testing::write_text(folder_ / "lines.txt",
                        "abc\nabcdefghijklmnopqrst\nab\ntsrqponmlkjihgfedcba\n" +
                            std::string("Once upon a time there was: it\nxyz\n"));
    options_.text.clear();
    options_.lines = {folder_ / "lines.txt"};
    options_.seq_len.reset();
    options_.log_likelihood = true;
    options_.sites = {"hidden"};
    options_.dtype = ComputeType::kFloat64;
  }

  CaptureReader capture_as(const std::string& name, std::int64_t batch_size) {
    options_.batch_size = batch_size;
    options_.output = folder_ / name;
    return capture();
  }
};

RopeSpec dynamic_rope() {
  return {.kind = RopeKind::kDynamic, .factor = 3.0, .original_max_position_embeddings = 8};
}

RopeSpec long_rope() {
  return {.kind = RopeKind::kLongRope,
          .attention_factor = 1.2,
          .short_factor = {1.0, 1.5, 1.0},
          .long_factor = {1.0, 4.0, 6.0},
          .original_max_position_embeddings = 8};
}

TEST_F(LongSequencesTest, DoNotDependOnTheSequencesOfTheirPass) {
  for (const RopeSpec& rope : {RopeSpec{}, dynamic_rope(), long_rope()}) {
    for (const RowKind rows : {RowKind::kTokens, RowKind::kLast}) {
      const std::string name = std::string(enum_name(rope.kind)) + std::string(enum_name(rows));
      SCOPED_TRACE(name);
      write(rope);
      options_.rows = rows;
      const CaptureReader alone = capture_as(name + "-1.h5", 1);
      const CaptureReader together = capture_as(name + "-4.h5", 4);
      ASSERT_EQ(alone.num_sequences(), 6);
      for (int layer = 0; layer < 3; ++layer) {
        const MatrixF expected = alone.read_all("hidden", layer);
        EXPECT_LT((together.read_all("hidden", layer) - expected).norm(), 1e-6 * expected.norm())
            << "stored as float32";
      }
      for (std::size_t s = 0; s < 6; ++s) {
        EXPECT_NEAR(together.sequences()[s].log_likelihood, alone.sequences()[s].log_likelihood,
                    1e-9);
      }
    }
  }
}

TEST_F(LongSequencesTest, AreScaledAsTheConfigSays) {
  write({});
  const CaptureReader plain = capture_as("plain.h5", 4);
  write(dynamic_rope());
  const CaptureReader scaled = capture_as("dynamic.h5", 4);
  // Sequence 0 fits the context of 8 tokens: <s> and 3 letters. Sequence 1 of 21 does not.
  constexpr Eigen::Index first = 4;
  const MatrixF a = plain.read_all("hidden", 2);
  const MatrixF b = scaled.read_all("hidden", 2);
  EXPECT_EQ(a.topRows(first), b.topRows(first));
  EXPECT_GT((a.middleRows(first, 21) - b.middleRows(first, 21)).norm(), 0.01 * a.norm());
}

TEST_F(LongSequencesTest, AreWarnedOfOnce) {
  write(dynamic_rope());
  std::vector<std::string> warnings;
  run_capture(options_,
              {.on_start = [&](const CapturePreview& preview) { warnings = preview.warnings; }});
  EXPECT_THAT(
      warnings,
      ::testing::ElementsAre(HasSubstr(
          "3 of 6 sequences are longer than max_position_embeddings = 8, up to 25 tokens")));
}

}  // namespace
}  // namespace lime
