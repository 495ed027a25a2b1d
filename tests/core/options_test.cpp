// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/program/command_help.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::ElementsAre;

enum class Rows { kTokens, kMean };

}  // namespace

template <> struct EnumNames<Rows> {
  static constexpr std::array<std::pair<Rows, std::string_view>, 2> kNames = {
      {{Rows::kTokens, "tokens"}, {Rows::kMean, "mean"}}};
};

namespace {

struct AllKinds {
  double alpha = 0.5;
  int layers = 4;
  std::uint64_t seed = 0;
  bool resume = false;
  std::string text;
  std::filesystem::path output = "capture.h5";
  Rows rows = Rows::kTokens;
  std::optional<double> limit = std::nullopt;
  std::vector<int> ids;
  std::vector<std::string> words;

  void describe(OptionList& list) {
    list.add("alpha", alpha, "order");
    list.add("layers", layers, "count");
    list.add("seed", seed, "seed");
    list.add("resume", resume, "go on");
    list.add("text", text, "text");
    list.group("Where");
    list.add("output", output, "file");
    list.add("rows", rows, "what a row is");
    list.add("limit", limit, "limit");
    list.add("ids", ids, "ids");
    list.add("words", words, "words").splits_commas = false;
  }
};

OptionField field_of(AllKinds& options, const std::string& name) {
  for (const OptionField& field : option_fields(options)) {
    if (field.name == name) return field;
  }
  throw std::runtime_error("no field " + name);
}

/// Returns texts that assign() converts back to the result of value().
std::vector<std::string> texts_of(const Json& value) {
  const auto text = [](const Json& item) {
    return item.is_string() ? item.get<std::string>() : item.dump();
  };
  if (!value.is_array()) return {text(value)};
  std::vector<std::string> texts;
  for (const Json& item : value) texts.push_back(text(item));
  return texts;
}

TEST(OptionsTest, ValuesSurviveTheWayThroughJson) {
  AllKinds from;
  from.alpha = std::numeric_limits<double>::infinity();
  from.layers = -3;
  from.seed = std::numeric_limits<std::uint64_t>::max();
  from.resume = true;
  from.text = "a \"quoted\", text";
  from.output = "some folder/x.h5";
  from.rows = Rows::kMean;
  from.limit = 0.1;
  from.ids = {3, 1, 2};
  from.words = {" is", "a,b"};
  const Json stored = parse_json(options_to_json(from).dump(), "test");

  AllKinds to;
  for (const OptionField& field : option_fields(to)) field.assign(texts_of(stored[field.name]));
  EXPECT_EQ(options_to_json(to), options_to_json(from));
  EXPECT_TRUE(std::isinf(to.alpha));
  EXPECT_EQ(to.seed, from.seed);
  EXPECT_EQ(to.rows, Rows::kMean);
  EXPECT_EQ(to.limit, 0.1);
  EXPECT_THAT(to.words, ElementsAre(" is", "a,b"));
}

TEST(OptionsTest, FieldsSayWhatTheyAre) {
  AllKinds options;
  EXPECT_EQ(field_of(options, "alpha").type, "NUMBER");
  EXPECT_EQ(field_of(options, "layers").type, "INT");
  EXPECT_EQ(field_of(options, "rows").type, "tokens|mean");
  EXPECT_THAT(field_of(options, "rows").choices, ElementsAre("tokens", "mean"));
  EXPECT_TRUE(field_of(options, "resume").is_flag);
  EXPECT_TRUE(field_of(options, "ids").is_list);
  EXPECT_FALSE(field_of(options, "words").splits_commas);
  EXPECT_EQ(field_of(options, "output").short_name, 'o');
  EXPECT_EQ(field_of(options, "text").group, "");
  EXPECT_EQ(field_of(options, "output").group, "Where");
}

TEST(OptionsTest, AnAbsentOptionalIsNull) {
  EXPECT_TRUE(options_to_json(AllKinds{})["limit"].is_null());
}

TEST(OptionsTest, RefusesTextThatIsNotOfTheType) {
  AllKinds options;
  const auto refusal = [&](const std::string& name, const std::string& text) -> std::string {
    return testing::refusal_of<InvalidArgument>([&] { field_of(options, name).assign({text}); });
  };
  EXPECT_EQ(refusal("alpha", "1.5x"), "alpha: expected a number, got '1.5x'");
  EXPECT_EQ(refusal("alpha", ""), "alpha: expected a number, got ''");
  EXPECT_EQ(refusal("layers", "1.5"), "layers: expected a whole number, got '1.5'");
  EXPECT_EQ(refusal("layers", "99999999999"), "layers: expected a whole number, got '99999999999'");
  EXPECT_EQ(refusal("seed", "-1"), "seed: expected a whole number, got '-1'");
  EXPECT_EQ(refusal("resume", "yes"), "resume: expected true or false, got 'yes'");
  EXPECT_EQ(refusal("rows", "last"), "rows: expected one of tokens, mean, got 'last'");
}

TEST(OptionTextTest, NamesAndValuesAreThoseOfTheCommandLine) {
  EXPECT_EQ(option_name("layer_base"), "--layer-base");
  EXPECT_THAT(option_texts(Json("values")), ElementsAre("values"));
  EXPECT_THAT(option_texts(Json(0.5)), ElementsAre("0.5"));
  EXPECT_THAT(option_texts({"a", 1}), ElementsAre("a", "1"));
  EXPECT_THAT(option_texts(Json()), ElementsAre());
}

}  // namespace
}  // namespace lime
