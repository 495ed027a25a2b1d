// SPDX-License-Identifier: Apache-2.0
#include "evaluation/yaml_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

class YamlFileTest : public ::testing::Test {
 protected:
  Json read(const std::string& text) const {
    testing::write_text(folder_ / "a.yaml", text);
    return read_yaml_file(folder_ / "a.yaml");
  }
  void refuses(const std::string& text, const std::string& message) const {
    EXPECT_THAT(testing::refusal_of<FormatError>([&] { read(text); }),
                ::testing::EndsWith("a.yaml' " + message))
        << text;
  }
  static std::string nested(int levels, const std::string& inner = "") {
    const auto count = static_cast<std::size_t>(levels);
    return std::string(count, '[') + inner + std::string(count, ']');
  }

  testing::TemporaryFolder folder_;
};

TEST_F(YamlFileTest, ReadsScalarsAsJsonDoes) {
  EXPECT_EQ(read("a: 1\nb: -2.5e3\nc: true\nd: ~\ne: yes\nf: '1'\ng: !!str 2\nh: 1e999\n3: x\n"),
            parse_json(R"({"a": 1, "b": -2.5e3, "c": true, "d": null, "e": "yes", "f": "1", )"
                       R"("g": "2", "h": "1e999", "3": "x"})",
                       "expected"));
  EXPECT_EQ(
      read("a: &x [1, &y {b: t}]\nc: *x\nd: *y\n"),
      parse_json(R"({"a": [1, {"b": "t"}], "c": [1, {"b": "t"}], "d": {"b": "t"}})", "expected"));
  EXPECT_TRUE(read("").is_null());
}

TEST_F(YamlFileTest, RefusesWhatIsNotOneDocumentOfTexts) {
  refuses("a: 1\na: 2\n", "line 2: the key 'a' is given twice");
  refuses("a: 1\n---\na: 2\n", "line 2: a second document begins, expected one; split the file");
  refuses("[a]: 1\n", "line 1: a key must be a string");
  refuses("? {a: b}\n: 1\n", "line 1: a key must be a string");
  refuses("x: &d {a: 1}\ny:\n  <<: *d\n",
          "line 3: merge keys (<<) are not supported; write the fields out");
  refuses("a: !function utils.f\n",
          "line 1: the tag '!function' is not supported; write plain values");
  refuses("a: *b\n", "line 1: the referenced anchor is not defined");
  EXPECT_THAT(testing::refusal_of<FormatError>([&] { read("a: \xff\n"); }), HasSubstr("UTF-8"));
}

TEST_F(YamlFileTest, BoundsDepthAndExpansion) {
  refuses("prompt: &a [*a]\n", "line 1: an alias refers to the value that contains it");
  EXPECT_TRUE(read(nested(400)).is_array());
  refuses(nested(600), "line 1: YAML must be nested at most 500 levels deep");
  refuses("- &a " + nested(300) + "\n- " + nested(300, "*a") + "\n",
          "line 2: YAML must be nested at most 500 levels deep");
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name <= 'j'; ++name) {
    bomb += fmt::format("{0}: &{0} [", name);
    for (int i = 0; i < 10; ++i) bomb += fmt::format("{}*{}", i > 0 ? ", " : "", char(name - 1));
    bomb += "]\n";
  }
  EXPECT_THAT(testing::refusal_of<FormatError>([&] { read(bomb); }),
              HasSubstr("anchors and aliases must expand to at most 16 MiB; write large values as "
                        "JSON Lines"));
}

TEST_F(YamlFileTest, RefusesAFifoAtOnce) {
  const auto path = folder_ / "fifo.yaml";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(testing::refusal_of<IoError>([&] { read_yaml_file(path); }),
              HasSubstr("fifo.yaml': is not a regular file"));
}

}  // namespace
}  // namespace lime
