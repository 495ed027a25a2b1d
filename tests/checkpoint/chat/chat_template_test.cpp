// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"
#include "core/json.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<ChatMessage> messages_of(const Json& list) {
  std::vector<ChatMessage> messages;
  for (const Json& message : list) {
    messages.push_back({message["role"].get<std::string>(), message["content"].get<std::string>()});
  }
  return messages;
}

TEST(ChatTemplateTest, WritesMessagesAsTransformers) {
  const Json golden = read_json_file(testing::golden_file("chat_templates.json"));
  jinja::Variables tokens;
  for (const auto& [name, text] : golden["special_tokens"].items()) {
    tokens.emplace_back(name, text.get<std::string>());
  }
  for (const Json& item : golden["cases"]) {
    const std::string name = item["template"].get<std::string>();
    SCOPED_TRACE(name + ", " + item["chat"].get<std::string>());
    const ChatTemplate chat(golden["templates"][name].get<std::string>(), name, tokens);
    const auto text = [&] {
      return chat.text_of(messages_of(golden["chats"][item["chat"].get<std::string>()]),
                          item["adds_generation_prompt"].get<bool>());
    };
    if (item.contains("text")) {
      EXPECT_EQ(text(), item["text"].get<std::string>());
    } else {
      EXPECT_THROW(text(), Error);
    }
  }
}

std::string text_of(const std::string& source) {
  return ChatTemplate(source, "'m'").text_of(std::vector<ChatMessage>{{"user", "Hi"}});
}

TEST(ChatTemplateTest, NamesWhatIsWrongAndWhere) {
  const auto fails = [](const std::string& source, const std::string& message) {
    EXPECT_THAT([&] { text_of(source); }, ThrowsMessage<FormatError>(HasSubstr(message))) << source;
  };
  fails("\n{{ absent.x }}", "'m' line 2: 'absent' is undefined");
  fails("{% include 'x' %}", "'m' line 1: the statement 'include' is not supported");
  fails("{{ 'a' | wordcount }}", "'m' line 1: the filter 'wordcount' is not supported");
  fails("{{ 'a' is escaped }}", "the test 'escaped' is not supported");
  fails("{% if true %}", "'endif' is missing");
  fails("{% endif %}", "the statement 'endif' is not supported");
  fails("{{ 'a }}", "the string is not closed");
  fails("{{ (1 }}", "the tag is not closed");
  fails("{{ (1 2) }}", "',' is expected");
  fails("{{ '\xff' }}", "'m': must be UTF-8");
  fails("{# x", "the comment is not closed");
  fails("{{ a ? b }}", "'?' is not expected in a tag");
  fails("{{ messages.append(1) }}", "'append' is undefined or not supported");
  fails("{% for x in messages recursive %}{% endfor %}", "recursive loops are not supported");
  EXPECT_THAT(
      [] { text_of("{{ raise_exception('no\nsystem') }}"); },
      ThrowsMessage<InvalidArgument>(HasSubstr("does not accept these messages: no\\nsystem")));
}

TEST(ChatTemplateTest, BoundsWhatAHostileTemplateTakes) {
  const auto refused = [](const std::string& source) {
    EXPECT_THROW(text_of(source), FormatError) << source.substr(0, 80);
  };
  refused("{{ 'a' * 1000000000000 }}");
  refused("{{ [0] * 1000000000 }}");
  refused("{{ 10 ** 10 ** 10 }}");
  refused("{{ messages | tojson(1000000000000) }}");
  refused("{{ range(1000000000) | list }}");
  refused("{{ -9223372036854775807 - 2 }}");
  refused("{% for a in range(2000) %}{% for b in range(2000) %}{% endfor %}{% endfor %}");
  refused("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
  refused(
      "{% for i in range(30) %}{% set x = messages %}{% endfor %}"
      "{% set n = namespace(t='aaaaaaaa') %}"
      "{% for i in range(40) %}{% set n.t = n.t ~ n.t %}{% endfor %}");
  // A namespace that holds itself would never be freed.
  refused("{% set n = namespace() %}{% set n.self = n %}");
  refused("{% set n = namespace() %}{% set n.self = [{'a': n}] %}");
  refused("{% set n = namespace() %}{% set n.f = {'a': n}.items %}");
  const auto repeatedly = [](const std::string& statement) {
    return "{% set n = namespace(x=[1]) %}{% for a in range(150) %}{% for b in range(200) %}" +
           statement + "{% endfor %}{% endfor %}";
  };
  refused(repeatedly("{% set n.x = [n.x] %}"));
  refused(repeatedly("{% set n.x = {'x': n.x}.get %}{% set n.x = [n.x].count %}"));
  refused(repeatedly("{% set n.x = [n.x, n.x] %}") + "{{ n.x == n.x }}");
  refused("{% set x = ['a' * 100000] * 100000 %}");
  refused("{{ " + std::string(100'000, '(') + "1" + std::string(100'000, ')') + " }}");
  std::string chain = "{{ 1";
  for (int i = 0; i < 100'000; ++i) chain += " + 1";
  refused(chain + " }}");
  std::string blocks;
  for (int i = 0; i < 10'000; ++i) blocks += "{% if true %}";
  refused(blocks);
}

class ChatTemplateFileTest : public ::testing::Test {
 protected:
  std::string read() const {
    return ChatTemplate::read(folder_.path()).text_of(std::vector<ChatMessage>{{"user", "Hi"}});
  }
  void write(const std::string& name, const std::string& content) const {
    testing::write_text(folder_ / name, content);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ChatTemplateFileTest, TheFileOfItsOwnGoesFirst) {
  write("tokenizer_config.json",
        R"({"chat_template": "config {{ bos_token }}", "bos_token": {"content": "<b>"}})");
  EXPECT_EQ(read(), "config <b>");
  write("chat_template.jinja", "file {{ bos_token }}{{ eos_token }}");
  write("special_tokens_map.json", R"({"bos_token": "<other>", "eos_token": "<e>"})");
  EXPECT_EQ(read(), "file <b><e>");
}

TEST_F(ChatTemplateFileTest, TheDefaultOneOfSeveralIsRead) {
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "tool_use", "template": "t"},
                              {"name": "default", "template": "d"}]})");
  EXPECT_EQ(read(), "d");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "t"}]})");
  EXPECT_THAT([&] { read(); },
              ThrowsMessage<FormatError>(HasSubstr("a template called \"default\"")));
}

TEST_F(ChatTemplateFileTest, ABaseModelHasNone) {
  EXPECT_THAT([&] { read(); }, ThrowsMessage<FormatError>(AllOf(HasSubstr("has no chat template"),
                                                                HasSubstr("a base model?"))));
}

}  // namespace
}  // namespace lime
