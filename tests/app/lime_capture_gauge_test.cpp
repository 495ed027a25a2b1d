// SPDX-License-Identifier: Apache-2.0
// lime-capture gauge: the folder that it writes, and what it refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/lime_capture_fixture.h"
#include "core/json.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeCaptureTest;
using testing::ProgramRun;

TEST_F(LimeCaptureTest, GaugeWritesACheckpointThatComputesTheSameFunction) {
  const ProgramRun rotated = run("gauge model --transform residual-rotation --seed 3 -o rotated");
  EXPECT_EQ(rotated.status, 0) << rotated.errors;
  EXPECT_THAT(rotated.output, HasSubstr("logits of 64 tokens in float64"));
  const Json record = read_json_file(folder_ / "rotated" / "gauge.json");
  EXPECT_EQ(record["transform"], "residual-rotation");
  EXPECT_EQ(record["strength"], 1.0);
  EXPECT_EQ(record["seed"], 3);
  EXPECT_LT(record["largest_difference"].get<double>(),
            1e-12 * record["largest_logit"].get<double>());

  // A second transform of the first, and a proof on a text with the copied tokenizer.
  const ProgramRun scaled = run(
      "gauge rotated --transform value-scale --strength 0.5 --text text.txt --proof-tokens 20 -o "
      "both --quiet");
  EXPECT_EQ(scaled.status, 0) << scaled.errors;
  EXPECT_EQ(scaled.output, "");
  EXPECT_EQ(read_json_file(folder_ / "both" / "gauge.json")["tokens"], 20);
  EXPECT_EQ(run("--checkpoint both --text text.txt --seq-len 20 -o capture.h5").status, 0);
}

TEST_F(LimeCaptureTest, GaugeRefusesWhatIsNotExactAndLeavesNoFolder) {
  const std::string gauge = "gauge model -o out --transform ";
  expect_refusal(gauge + "route-scale", 1,
                 "--transform: 'route-scale' is not exact for a 'llama': it has no router");
  expect_refusal(gauge + "none", 2, "--transform: expected one of value-scale, ");
  expect_refusal(gauge + "unit-permutation --strength 1", 2,
                 "--strength: 'unit-permutation' has no strength; omit it");
  expect_refusal(gauge + "unit-scale --strength 9", 2,
                 "--strength: must be > 0 and at most 5, got 9");
  expect_refusal("gauge model -o text.txt --transform unit-scale", 1,
                 "--output: 'text.txt' exists; delete it, or write to another folder");
  expect_refusal("gauge model --transform unit-scale", 2, "--output: is missing");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
}

}  // namespace
}  // namespace lime
