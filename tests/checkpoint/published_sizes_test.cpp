// SPDX-License-Identifier: Apache-2.0
// The numbers of parameters of released models; see tests/golden/make_published_sizes.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/model_config.h"
#include "checkpoint/parameters.h"
#include "checkpoint/parse_model_config.h"
#include "core/json.h"
#include "support/test_data.h"

namespace lime {
namespace {

TEST(PublishedSizesTest, CountsTheParametersOfReleasedModelsToTheLastDigit) {
  const Json file = parse_json(testing::read_text(testing::golden_file("published_sizes.json")),
                               "published_sizes.json");
  EXPECT_GE(file.at("models").size(), 15u);
  for (const Json& model : file.at("models")) {
    const auto name = model.at("repository").get<std::string>();
    const ModelConfig config = parse_model_config(model.at("config"), name);
    EXPECT_EQ(parameter_count(config), model.at("parameters").get<std::int64_t>()) << name;
    EXPECT_THAT(config.warnings, ::testing::IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace lime
