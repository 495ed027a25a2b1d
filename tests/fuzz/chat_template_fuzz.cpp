// SPDX-License-Identifier: Apache-2.0
// A chat template, which renders a conversation.
#include "checkpoint/chat/chat_template.h"
#include "fuzz/fuzz_target.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<ChatMessage> messages = {
      {"system", "Be brief."}, {"user", " Is it? "}, {"assistant", "<think>\n</think>Yes"}};
  fuzz::reads_or_refuses([&] {
    const ChatTemplate chat(fuzz::text_of(data, size), "'chat_template.jinja'",
                            {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    for (const bool adds_prompt : {true, false}) {
      const std::string text = chat.text_of(messages, adds_prompt);
      fuzz::require(chat.uses_date() || text == chat.text_of(messages, adds_prompt),
                    "a template writes the same text again");
    }
  });
  return 0;
}
