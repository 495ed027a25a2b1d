// SPDX-License-Identifier: Apache-2.0
// Verdicts of lime-metrics collapse on trained models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/json.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::ProgramRun;
using testing::run_command;

/// Captures real text with a checkpoint and measures it. @return the rows
Json collapse_of(const std::filesystem::path& checkpoint, const std::string& capture_options) {
  const testing::TemporaryFolder folder;
  const std::string text = testing::test_data("text/fineweb-edu-sample.txt").string();
  const std::string file = (folder / "capture.h5").string();
  const ProgramRun captured =
      run_command(std::string(LIME_CAPTURE) + " --checkpoint '" + checkpoint.string() +
                  "' --text '" + text + "' --sites hidden --seq-len 128 --max-sequences 20 " +
                  capture_options + " --quiet -o '" + file + "'");
  EXPECT_EQ(captured.status, 0) << captured.errors;
  const ProgramRun measured =
      run_command(std::string(LIME_METRICS) + " collapse '" + file + "' --format json");
  EXPECT_EQ(measured.status, 0) << measured.errors;
  return parse_json(measured.output, "output").at("rows");
}

bool has_text() { return exists(testing::test_data("text/fineweb-edu-sample.txt")); }

TEST(CollapseOfModelsTest, NoLayerOfStories260kCollapses) {
  const auto model = testing::test_data("checkpoints/stories260k");
  if (!exists(model) || !has_text()) GTEST_SKIP() << testing::skip_reason(model);
  for (const Json& row : collapse_of(model, "")) EXPECT_EQ(row.at("verdict"), "none");
}

TEST(CollapseRealModelTest, TheFirstTokenOfSmolLM2CarriesTheTraceFromLayer11On) {
  const auto weights = testing::real_model_file(".safetensors");
  if (weights.empty() || !has_text()) {
    GTEST_SKIP() << "no .safetensors file in the folder LIME_REAL_MODEL";
  }
  const Json rows = collapse_of(weights.parent_path(), "--layers 10,11,12");
  ASSERT_GE(rows.size(), 5U);
  EXPECT_EQ(rows[0].at("massive_tokens"), 0);
  EXPECT_GT(rows[0].at("participation").get<double>(), 20.0);
  for (const std::size_t layer : {1U, 2U}) {
    EXPECT_THAT(rows[layer].at("verdict").get<std::string>(),
                ::testing::StartsWith("massive tokens"));
    EXPECT_EQ(rows[layer].at("massive_tokens"), 20);
    EXPECT_EQ(rows[layer].at("massive_position"), 0);
    EXPECT_EQ(rows[layer].at("massive_dimension"), 507);
    EXPECT_GT(rows[layer].at("massive_share").get<double>(), 0.95);
    EXPECT_LT(rows[layer].at("participation").get<double>(), 1.1);
    EXPECT_GT(rows[layer].at("participation_without_tokens").get<double>(), 20.0);
  }
  EXPECT_THAT(rows.back().at("sentence").get<std::string>(),
              ::testing::HasSubstr("the rest does not collapse"));
}

}  // namespace
}  // namespace lime
