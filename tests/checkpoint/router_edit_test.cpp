// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "checkpoint/router_layout.h"
#include "core/errors.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::ThrowsMessage;
using testing::tiny_config;

std::vector<RouterEdit> edits(const char* list) {
  return parse_router_edits(
      Json::parse(fmt::format(R"({{"format": "lime-router-edit/1", "edits": {}}})", list)), "edit");
}

TEST(RouterEditFileTest, ReadsWhatItWrites) {
  const std::vector<RouterEdit> some = edits(
      R"([{"layer": 2, "scale": 0}, {"head": 1, "source": 0, "source_head": 1, "scale": -0.5}])");
  const Json json = router_edits_to_json(some);
  EXPECT_EQ(json.dump(), R"({"format":"lime-router-edit/1","edits":[{"layer":2,"scale":0.0},)"
                         R"({"head":1,"source":0,"source_head":1,"scale":-0.5}]})");
  EXPECT_EQ(parse_router_edits(json, "edit"), some);
}

TEST(RouterEditFileTest, KnowsEditsOfTheSameRoutes) {
  const auto some = edits(R"([{"layer": 2, "scale": 0}, {"layer": 2, "scale": 3},
                              {"layer": 2, "head": 0, "scale": 0}])");
  EXPECT_TRUE(some[0].names_same_as(some[1]));
  EXPECT_FALSE(some[0].names_same_as(some[2]));
  EXPECT_EQ(RouteScales(some).at(2, 1, 0, 0), 0.0);
  EXPECT_EQ(RouteScales(some).at(1, 1, 0, 0), 1.0);
}

TEST(RouteScalesTest, LookUpsDoNotWalkThroughTheEdits) {
  std::vector<RouterEdit> many;
  for (int i = 0; i < 200000; ++i) {
    many.push_back({.layer = 1 + i % 3, .head = {}, .source = 0, .source_head = {}, .scale = 1.0});
  }
  many.push_back({.layer = 2, .head = 1, .source = {}, .source_head = {}, .scale = 3.0});
  const auto begin = std::clock();
  const RouteScales scales(many);
  double sum = 0.0;
  for (int i = 0; i < 100000; ++i) sum += scales.at(2, i % 2, i % 3, 0);
  EXPECT_EQ(sum, 200000.0);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10.0);
}

TEST(RouterEditFileTest, NamesTheFirstFault) {
  const auto refuses = [](const char* list, const char* message) {
    EXPECT_THAT([&] { edits(list); }, ThrowsMessage<FormatError>(message)) << list;
  };
  refuses("[]", "edit: edits must be a non-empty list");
  refuses("[3]", "edit: edit 0: must be an object, got 3");
  refuses(R"([{"layer": 1}])", "edit: edit 0: scale is missing; 0 disables the route");
  refuses(R"([{"scale": 1}, {"layer": -1, "scale": 0}])",
          "edit: edit 1: layer must be a whole number >= 0, got -1");
  refuses(R"([{"scale": "off"}])", "edit: edit 0: scale must be a finite number, got \"off\"");
  refuses(
      R"([{"layers": 1, "scale": 0}])",
      "edit: edit 0: unknown key 'layers' (supported: layer, head, source, source_head, scale)");
  EXPECT_THAT([] { parse_router_edits(Json::parse("[]"), "edit"); },
              ThrowsMessage<FormatError>(
                  "edit: must be an object with \"format\": \"lime-router-edit/1\", got []"));

  const ModelConfig lime = tiny_config("lime");
  const auto misses = [](const char* list, const ModelConfig& config, const char* message) {
    EXPECT_THAT([&] { check_router_edits(edits(list), config); },
                ThrowsMessage<InvalidArgument>(message))
        << list;
  };
  misses(R"([{"layer": 0, "scale": 0}])", lime,
         "router edit 0: layer must be from 1 to 2 because layer 0 has no router, got 0");
  misses(R"([{"source_head": 2, "scale": 0}])", lime,
         "router edit 0: source_head must be from 0 to 1, got 2");
  misses(R"([{"source": 3, "scale": 0}])", lime,
         "router edit 0: source must be a layer that the router reads, got 3");
  misses(R"([{"scale": 0}])", tiny_config(),
         "router edit: the model must be a LIMe with static router weights, got llama");
  ModelConfig average = lime;
  average.lime.router = RouterKind::kAverage;
  misses(R"([{"scale": 0}])", average,
         "router edit: the model must be a LIMe with static router weights, got lime with average "
         "routers");
}

}  // namespace
}  // namespace lime
