// SPDX-License-Identifier: Apache-2.0
#include "evaluation/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"

namespace lime {
namespace {

const std::vector<PromptTurn> kExamples = {{"Q: 1+1?\nA:", "2"}, {"Q: 2+1?\nA:", "3"}};

PromptOptions with_template(const char* source) {
  return {.chat = std::make_shared<const ChatTemplate>(source, "template"),
          .fewshot_as_multiturn = std::nullopt,
          .system_instruction = {}};
}

constexpr const char* kTurns =
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

TEST(PromptsTest, PlainTextIsTheHarness) {
  EXPECT_EQ(prompt_text({}, "About sums.\n\n", kExamples, "Q: 4?\nA:"),
            "About sums.\n\nQ: 1+1?\nA: 2\n\nQ: 2+1?\nA: 3\n\nQ: 4?\nA:");
  // Two line breaks join instruction and description, unless white space does.
  const PromptOptions system = {.system_instruction = "Be brief."};
  EXPECT_EQ(prompt_text(system, "", {}, "Q"), "Be brief.Q");
  EXPECT_EQ(prompt_text(system, "Sums.", {}, "Q"), "Be brief.\n\nSums.Q");
  EXPECT_EQ(prompt_text(system, "\nSums.", {}, "Q"), "Be brief.\nSums.Q");
}

TEST(PromptsTest, ExamplesAreTurnsOrOneMessage) {
  PromptOptions options = with_template(kTurns);
  EXPECT_EQ(prompt_text(options, "Sums.\n\n", kExamples, "Q: 4?\nA:"),
            "<system>Sums.\n\n</><user>Q: 1+1?\nA:</><assistant>2</><user>Q: 2+1?\nA:</>"
            "<assistant>3</><user>Q: 4?\nA:</><assistant>");
  options.fewshot_as_multiturn = false;
  EXPECT_EQ(prompt_text(options, "", kExamples, "Q: 4?\nA:"),
            "<user>Q: 1+1?\nA: 2\n\nQ: 2+1?\nA: 3\n\nQ: 4?\nA:</><assistant>");
  EXPECT_STREQ(options.target_delimiter(), "");
  EXPECT_STREQ(PromptOptions().target_delimiter(), " ");
}

TEST(PromptsTest, ATemplateWithoutSystemGetsNone) {
  PromptOptions options = with_template(
      "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
      "{% for m in messages %}[{{ m['content'] }}]{% endfor %}");
  options.system_instruction = "Be brief.";
  EXPECT_EQ(prompt_text(options, "", {}, "Q"), "[Q]");
  options = with_template("{{ raise_exception('never') }}");
  EXPECT_THROW(prompt_text(options, "", {}, "Q"), Error);
}

}  // namespace
}  // namespace lime
