// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

std::string parse_refusal(const std::string& text) {
  return testing::refusal_of<FormatError>([&] { parse_json(text, "x.json"); });
}

TEST(ParseJsonTest, KeepsTheOrderOfKeys) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": [2, 3]})", "x").dump(), R"({"b":1,"a":[2,3]})");
}

TEST(ParseJsonTest, TakesTheLastOfEqualKeysInThePlaceOfTheFirst) {
  EXPECT_EQ(parse_json(R"({"a": 1, "b": 2, "a": [3, {}]})", "x").dump(), R"({"a":[3,{}],"b":2})");
}

TEST(ParseJsonTest, LeavesOutWhatTheFilterRefuses) {
  const auto keep = [](int depth, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::key) return value != "a";
    return depth != 1 || event != Json::parse_event_t::array_start;
  };
  EXPECT_EQ(parse_json(R"({"a": {"c": 1}, "b": [1], "d": {"e": [2, {}]}})", "x", keep).dump(),
            R"({"d":{"e":[2,{}]}})");
}

TEST(ParseJsonTest, IsLinearInMembersAndInElements) {
  constexpr int kCount = 200000;  // at which quadratic time is 20 s and more
  std::string members = "{";
  std::string elements = "[";
  for (int i = 0; i < kCount; ++i) {
    members += fmt::format("{}\"k{}\":{}", i == 0 ? "" : ",", i, i);
    elements += fmt::format("{}{{\"scale\":{}}}", i == 0 ? "" : ",", i);
  }
  const auto begin = std::clock();
  EXPECT_EQ(parse_json(members + "}", "x").size(), kCount);
  EXPECT_EQ(parse_json(elements + "]", "x").size(), kCount);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10.0);
}

TEST(ParseJsonTest, NamesLineAndColumn) {
  EXPECT_EQ(parse_refusal("{\n  \"a\": 1,\n  \"b\" 2\n}"),
            "x.json: is not valid JSON at line 3, column 7");
  EXPECT_EQ(parse_refusal("nul"),
            "x.json: is not valid JSON at line 1, column 3; the file seems to be truncated");
}

TEST(ParseJsonTest, SaysWhereTextIsCutShortOrEmpty) {
  EXPECT_EQ(parse_refusal("{\"a\": [1, 2"),
            "x.json: is not valid JSON at line 1, column 11; the file seems to be truncated");
  EXPECT_EQ(parse_refusal(""), "x.json: is empty, expected JSON");
}

TEST(ParseJsonTest, RefusesDeepNestingWithoutRunningOutOfStack) {
  EXPECT_EQ(parse_refusal(std::string(1000000, '[')),
            "x.json: JSON is nested deeper than 512 levels");
  EXPECT_NO_THROW(parse_json(std::string(500, '[') + std::string(500, ']'), "x"));
}

TEST(ReadJsonFileTest, NamesThePath) {
  const testing::TemporaryFolder folder;
  const auto path = folder / "a.json";
  testing::write_text(path, "[1]");
  EXPECT_EQ(read_json_file(path), Json::array({1}));
  testing::write_text(path, "[1");
  try {
    read_json_file(path);
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.what(),
              "'" + path.string() +
                  "': is not valid JSON at line 1, column 2; the file seems to be truncated");
  }
  EXPECT_THROW(read_json_file(folder / "none.json"), IoError);
}

}  // namespace
}  // namespace lime
