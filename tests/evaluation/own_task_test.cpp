// SPDX-License-Identifier: Apache-2.0
// Tasks of the user's own: a YAML file with prompt, choices, gold and labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"
#include "evaluation/task_items.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OwnTaskTest : public ::testing::Test {
 protected:
  EvalTask read(const std::string& task, const std::string& rows) const {
    testing::write_text(folder_ / "t.yaml", task);
    testing::write_text(folder_ / "rows.jsonl", rows);
    return read_task((folder_ / "t.yaml").string(), folder_ / "rows.jsonl", "", {});
  }
  void refuses(const std::string& task, const std::string& message,
               const std::string& rows = kRow) const {
    EXPECT_THAT(testing::refusal_of<FormatError>([&] { read(task, rows); }), HasSubstr(message))
        << task;
  }
  /// A task with a line in place of its own.
  static std::string with(const std::string& line) {
    std::string task;
    for (const std::string known : {"prompt: '{{q}}'", "choices: '{{c}}'", "gold: a"}) {
      const std::string key = known.substr(0, known.find(':') + 1);
      task += (line.starts_with(key) ? line : known) + "\n";
    }
    return line.starts_with("labels") ? task + line + "\n" : task;
  }

  static constexpr const char* kRow = R"({"q": "Tom is", "c": ["1", "2", "3"], "a": 1})";
  testing::TemporaryFolder folder_;
};

TEST_F(OwnTaskTest, RefusesTemplatesThatAreNotFields) {
  const std::string jinja =
      " of Jinja is not supported (supported: fields such as {{question}}); "
      "put such a text into a field of the rows";
  refuses(with("prompt: '{{q'"),
          "t.yaml': 'prompt': '{{q' is not closed, expected }} after the field");
  refuses(with("prompt: 'x {% for a in b %}'"), "t.yaml': 'prompt': '{%'" + jinja);
  refuses(with("prompt: 'x {# note #}'"), "t.yaml': 'prompt': '{#'" + jinja);
  refuses(with("choices: ['{{q|upper}}', y]"),
          "t.yaml': 'choices': expected the name of a field, such as question or country.name, got "
          "'q|upper'; expressions of Jinja are not supported");
  refuses(with("prompt: '{{a~b}}'"), "got 'a~b'");
  refuses(with("gold: '{{a}}'"), "t.yaml': 'gold': expected the name of a field");
  refuses(with("prompt: '{{ }}'"), "t.yaml': 'prompt': '{{ }}' has no field");
  refuses(with("prompt: [a, b]"), "t.yaml': 'prompt' must be one string");
  refuses("- a\n", "t.yaml': a task must consist of prompt, choices, gold, labels");
}

TEST_F(OwnTaskTest, NamesTheRowWithoutAField) {
  refuses(with("prompt: '{{c.99999999999999999999}}'"),
          "rows.jsonl' line 1: must have the string 'c.99999999999999999999'; t expects the fields "
          "of '");
  EXPECT_EQ(read(with("prompt: '{{c.2}}'"), kRow).items[0].contexts[0], "3");
  refuses(with("prompt: '{{c.02x}}'"), "must have the string 'c.02x'");
}

TEST_F(OwnTaskTest, MatchesLabelsOnly) {
  EXPECT_EQ(read(with("labels: [1, 2, 3]"), kRow).items[0].gold, 0);
  EXPECT_EQ(read(with("gold: a"), kRow).items[0].gold, 1);
  refuses(with("labels: [x, y, z]"), "rows.jsonl' line 1: 'a' must be one of x, y, z, got 1");
  refuses(with("labels: [x, y]"),
          "rows.jsonl' line 1: must have as many labels as choices, got 2 "
          "and 3");
  refuses(with("labels: [1, 1, 2]"), "rows.jsonl' line 1: the labels must differ, got 1, 1, 2");
  refuses(with("gold: a"), "'a' must be the index of the gold answer, got \"1 of 3\"",
          R"({"q": "x", "c": ["1", "2"], "a": "1 of 3"})");
}

TEST_F(OwnTaskTest, WarnsOfEqualChoices) {
  const std::string row = R"({"q": "x", "c": ["1", "2", "1"], "a": 1})";
  EXPECT_THAT(
      read(with("gold: a"), std::string(kRow) + "\n" + row).warnings,
      ElementsAre("t: 1 of 2 items have equal choices, of which the first is selected, as the "
                  "harness does (doc_id 1)"));
  EXPECT_THAT(read(with("gold: a"), kRow).warnings, IsEmpty());
}

}  // namespace
}  // namespace lime
