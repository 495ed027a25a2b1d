// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "capture/capture_options.h"
#include "capture/edit_hooks.h"
#include "checkpoint/chat/chat_template.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tokenizer.h"
#include "core/json.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/program/progress.h"
#include "core/program/terminal.h"
#include "core/threads/threads.h"
#include "model/decoders/decoder.h"
#include "model/passes/generate.h"

namespace lime {
namespace {

struct GenerateCommand {
  std::filesystem::path checkpoint;
  std::string prompt;
  bool chat = false;
  std::string system;
  std::vector<std::string> edit;
  std::int64_t next_tokens = 0;
  bool each_token = false;
  bool continuation = false;
  GenerateOptions generation;
  std::string device = "auto";
  ComputeType dtype = ComputeType::kFloat32;
  int threads = 0;

  void describe(OptionList& list) {
    list.add("checkpoint", checkpoint, "checkpoint: Hugging Face folder or GGUF file");
    list.add("prompt", prompt, "text to continue; empty: start with the beginning-of-text token");
    list.add("chat", chat,
             "the prompt is a message of the user, written with the checkpoint's chat template; "
             "prints the answer only");
    list.add("system", system, "with --chat, the system's message before it");
    describe_edits(list, edit);
    list.add("next_tokens", next_tokens,
             "print the K most likely next tokens as JSON instead of text; 0 prints text");
    list.add("each_token", each_token,
             "with --next-tokens, also the predictions after every token of the prompt");
    list.add("continuation", continuation, "with --next-tokens, also the generated text");
    generation.describe(list);
    list.group("Program");
    list.add("device", device,
             "auto, cpu, cuda, cuda:N, or several that split the layers: cuda:0,cuda:1");
    list.add("dtype", dtype, "data type of the computation");
    list.add("threads", threads, "LibTorch threads, up to 1024; 0 uses all CPUs");
  }

  void validate() const {
    if (checkpoint.empty()) throw InvalidArgument(OptionName("checkpoint"), "must be given");
    throw_if(!system.empty() && !chat, OptionName("system"), "requires --chat");
    if (next_tokens < 0)
      throw InvalidArgument(OptionName("next_tokens"), "must be >= 0, got {}", next_tokens);
    throw_if(each_token && next_tokens == 0, OptionName("each_token"),
             "requires next-token predictions; pass --next-tokens K as well");
    throw_if(continuation && next_tokens == 0, OptionName("continuation"),
             "is part of the JSON of --next-tokens K; pass it too, or omit "
             "--continuation");
    check_threads(threads);
    generation.validate();
  }
};

/// Returns the prompt as the checkpoint's chat template writes it.
std::string chat_prompt(const GenerateCommand& command) {
  const ChatTemplate chat = ChatTemplate::read(command.checkpoint);
  if (chat.uses_date()) {
    print_warnings(std::array{std::string(
        "the chat template writes today's date, so the same prompt has other tokens tomorrow")});
  }
  std::vector<ChatMessage> messages;
  if (!command.system.empty()) messages.push_back({"system", command.system});
  messages.push_back({"user", command.prompt});
  return chat.text_of(messages);
}

/// Returns the ids of a text that spells its own special tokens.
std::vector<std::int64_t> spelled_ids(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  return {ids.begin(), ids.end()};
}

std::vector<std::int64_t> prompt_ids(const Tokenizer& tokenizer, const std::string& prompt) {
  const std::vector<std::int32_t> ids = tokenizer.with_prefix(tokenizer.encode(prompt));
  std::vector<std::int64_t> wide(ids.begin(), ids.end());
  wide.insert(wide.end(), tokenizer.suffix_ids().begin(), tokenizer.suffix_ids().end());
  if (wide.empty() && tokenizer.bos_id()) wide.push_back(*tokenizer.bos_id());
  throw_if(wide.empty(), OptionName("prompt"),
           "must contain at least one token because the tokenizer has no beginning-of-text "
           "token");
  return wide;
}

void print_now(const std::string& text) {
  fmt::print("{}", for_standard_output(text));
  if (!flush_output()) throw OutputClosed("prompt: nobody reads its continuation");
}

/// Returns the largest number of new tokens, at least 1. Only learned positions limit it; the last
/// token needs no position, as it is not read.
std::int64_t most_new_tokens(std::size_t prompt, const ModelConfig& config) {
  const std::int64_t left = config.max_length() - static_cast<std::int64_t>(prompt);
  return std::clamp<std::int64_t>(left, 0, std::numeric_limits<std::int64_t>::max() - 1) + 1;
}

/// Warns about a text longer than max_position_embeddings. Beyond it the output degrades, or, with
/// learned positions, ends.
void warn_of_long_text(std::size_t prompt, std::int64_t max_new_tokens, const ModelConfig& config) {
  const std::int64_t left = config.max_position_embeddings - static_cast<std::int64_t>(prompt);
  if (max_new_tokens <= left) return;
  print_warnings(std::array{fmt::format(
      "{} tokens of the prompt and up to {} new ones exceed the model's max_position_embeddings of "
      "{}{}; use fewer --max-new-tokens",
      prompt, max_new_tokens, config.max_position_embeddings,
      config.spec.learned_position_offset ? ", where generation stops" : "")});
}

/// Returns tokens as JSON. An embedding may have more rows than the tokenizer has tokens; their
/// text is "".
class TokenJson {
 public:
  explicit TokenJson(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  std::string text_of(std::int64_t id) const {
    return id < tokenizer_.vocab_size() ? tokenizer_.token_text(static_cast<std::int32_t>(id))
                                        : std::string();
  }
  Json list(const std::vector<NextTokens::Token>& tokens) const {
    Json list = Json::array();
    for (const NextTokens::Token& token : tokens) {
      list.push_back({{"id", token.id},
                      {"token", text_of(token.id)},
                      {"probability", std::exp(token.log_probability)},
                      {"log_probability", token.log_probability}});
    }
    return list;
  }
  Json read(const ReadToken& token) const {
    return {{"id", token.id},
            {"token", text_of(token.id)},
            {"log_probability", token.log_probability ? Json(*token.log_probability) : Json()},
            {"entropy", token.next.entropy},
            {"next_tokens", list(token.next.tokens)}};
  }

 private:
  const Tokenizer& tokenizer_;
};

/// Generates a text and passes it on piece by piece, at first an empty one after the forward pass
/// over the prompt, so that errors are reported before any text.
void continue_text(GenerateOptions options, const std::string& prompt,
                   const std::vector<std::int64_t>& ids, const Decoder& decoder,
                   const Tokenizer& tokenizer,
                   const std::function<void(const std::string&)>& on_text) {
  StreamingDecoder text(tokenizer, {.at_text_start = prompt.empty()});
  bool has_started = false;
  const std::int64_t requested = options.max_new_tokens;
  const auto begin = [&] {
    if (std::exchange(has_started, true)) return;
    warn_of_long_text(ids.size(), requested, decoder.config());
    on_text("");
  };
  const auto push = [&](std::int64_t id) {
    begin();
    // An embedding may have more rows than the tokenizer has tokens; those have no text.
    if (id < tokenizer.vocab_size()) on_text(text.push(static_cast<std::int32_t>(id)));
  };
  options.max_new_tokens = std::min(requested, most_new_tokens(ids.size(), decoder.config()));
  generate(decoder, ids, options, push, interrupt_token());
  begin();
  on_text(text.finish());
}

/// Prints the most likely tokens after the prompt and the entropy of the distribution.
void print_next_tokens(const GenerateCommand& command, HookSet& hooks, const Decoder& decoder,
                       const Tokenizer& tokenizer, const std::vector<std::int64_t>& ids) {
  const TokenJson json(tokenizer);
  ProgressLine line({.label = "read", .unit = "layers"});
  std::vector<ReadToken> tokens;
  NextTokens next;
  if (command.each_token) {
    tokens = read_tokens(decoder, ids, command.next_tokens, line.callback(), &hooks);
    next = tokens.back().next;
    next.prompt_loss = loss_of(tokens);
  } else {
    next = next_tokens(decoder, ids, command.next_tokens, line.callback(), &hooks);
  }
  line.finish();
  Json result = {{"prompt", command.prompt},
                 {"ids", ids},
                 {"prompt_loss", next.prompt_loss ? Json(*next.prompt_loss) : Json()},
                 {"entropy", next.entropy},
                 {"next_tokens", json.list(next.tokens)}};
  for (const ReadToken& token : tokens) result["tokens"].push_back(json.read(token));
  if (command.continuation) {
    std::string text;
    continue_text(command.generation, command.prompt, ids, decoder, tokenizer,
                  [&](const std::string& piece) { text += piece; });
    result["continuation"] = text;
  }
  fmt::print("{}\n", for_standard_output(dump_json(result, 2)));
}

int run_generate(GenerateCommand command) {
  use_threads(command.threads);
  const Checkpoint checkpoint = Checkpoint::open(command.checkpoint);
  checkpoint.config().require_head("checkpoint");
  const ModelEdits edits = read_edits(command.edit);
  check_edits(edits, checkpoint.config(),
              /*generates=*/command.next_tokens == 0 || command.continuation);
  print_warnings(checkpoint.warnings());
  const auto tokenizer = load_tokenizer(command.checkpoint);
  DecoderOptions options;
  options.devices = parse_devices(command.device);
  options.dtype = command.dtype;
  ProgressLine loading({.label = "load", .unit = "bytes"});
  const Decoder decoder = load_decoder(checkpoint, options, loading.callback());
  loading.finish();
  apply_router_edits(edits.routes, decoder);
  EditHooks edited(edits.activations, checkpoint.config());
  HookSet hooks;
  const std::vector<ScopedHook> registered = edited.attach(hooks);
  command.generation.hooks = &hooks;
  command.generation.stop_tokens = stop_token_ids(checkpoint);
  if (command.chat) command.prompt = chat_prompt(command);
  const std::vector<std::int64_t> ids = command.chat ? spelled_ids(*tokenizer, command.prompt)
                                                     : prompt_ids(*tokenizer, command.prompt);
  check_edited_positions(edits, decoder.config(),
                         std::ssize(ids) + (command.next_tokens > 0 && !command.continuation
                                                ? 0
                                                : command.generation.max_new_tokens));
  if (command.next_tokens > 0) {
    print_next_tokens(command, hooks, decoder, *tokenizer, ids);
    return kExitDone;
  }
  std::string before = command.chat ? "" : command.prompt;
  continue_text(command.generation, command.prompt, ids, decoder, *tokenizer,
                [&](const std::string& text) { print_now(std::exchange(before, {}) + text); });
  print_now("\n");
  return interrupt_token().stop_requested() ? kExitInterrupted : kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::CommandLine line("lime-generate", "Continues a text with a checkpoint, token by token.");
  lime::GenerateCommand command;
  line.add_options(command);
  line.set_examples(
      "lime-generate --checkpoint stories260k --prompt 'Once upon a time'\n"
      "lime-generate --checkpoint DIR --prompt '2 + 3 =' --temperature 0.8 --top-p 0.95 --seed 7\n"
      "lime-generate --checkpoint DIR --chat --prompt 'What is 2 + 3?'\n"
      "lime-generate --checkpoint DIR --prompt '2 + 3 =' --edit edit.json --next-tokens 5");
  line.on_run([&] { return lime::run_generate(command); });
  return lime::run_program(line, argc, argv);
}
