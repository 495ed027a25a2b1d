// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tokenizer_use.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "fuzz/fuzz_target.h"
#include "support/tiny_checkpoint.h"

namespace lime::fuzz {
namespace {

constexpr std::array<std::string_view, 5> kTexts = {
    "", "abba ab<s>", "The cat's 12 paws,\n\n  don't.",
    "\xC3\xA9t\xC3\xA9 \xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x90\xB1\xE2\x80\x8D",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"};

void encode(const Tokenizer& tokenizer, std::string_view text) {
  reads_or_refuses([&] {
    const std::vector<std::int32_t> ids = tokenizer.encode(text, {.add_special_tokens = true});
    const bool known = std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) {
      return id >= 0 && id < tokenizer.vocab_size();
    });
    require(known, "ids lie in the vocabulary");
    tokenizer.decode(ids);
  });
}

}  // namespace

void use_tokenizer(const std::filesystem::path& folder, std::string_view text) {
  reads_or_refuses([&] {
    const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(folder);
    for (const std::string_view known : kTexts) encode(*tokenizer, known);
    encode(*tokenizer, text);
    for (std::int32_t id = 0; id < std::min(tokenizer->vocab_size(), 1000); ++id) {
      reads_or_refuses([&] {
        tokenizer->token_text(id);
        tokenizer->is_special(id);
      });
    }
  });
}

const Tokenizer& tiny_tokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    lime::testing::write_tiny_checkpoint(scratch_folder());
    return load_tokenizer(scratch_folder());
  }();
  return *tokenizer;
}

}  // namespace lime::fuzz
