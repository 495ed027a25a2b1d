// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Returns the names of the matrices of a decoder that weight decay applies to, or does not.
std::vector<std::string> matrices(const std::string& decoder, bool is_decayed) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : parameter_specs(testing::tiny_config(decoder))) {
    if (spec.shape.size() > 1 && spec.is_decayed == is_decayed) names.push_back(spec.name);
  }
  return names;
}

TEST(ParametersTest, WeightsOfLayersAndStreamsDoNotDecay) {
  EXPECT_THAT(matrices("llama", false), IsEmpty());
  const std::vector<std::pair<std::string, std::string>> parts = {
      {"lime", ".lime_router."},
      {"denseformer", ".dwa_modules."},
      {"hyper_connections", "static_a"},
      {"attn_res", "_res_proj."},
      {"mudd", ".dense_bs."},
  };
  for (const auto& [decoder, part] : parts) {
    EXPECT_THAT(matrices(decoder, false), Not(IsEmpty())) << decoder;
    EXPECT_THAT(matrices(decoder, false), Each(HasSubstr(part))) << decoder;
    EXPECT_THAT(matrices(decoder, true), Each(Not(HasSubstr(part)))) << decoder;
  }
}

TEST(ParametersTest, GainsAndBiasesDoNotDecay) {
  for (const ParameterSpec& spec : parameter_specs(testing::tiny_config())) {
    EXPECT_EQ(spec.is_decayed, spec.shape.size() > 1) << spec.name;
  }
}

}  // namespace
}  // namespace lime
