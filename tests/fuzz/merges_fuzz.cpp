// SPDX-License-Identifier: Apache-2.0
// GPT-2's vocab.json, then after a NUL merges.txt, and after another tokenizer_config.json.
#include "fuzz/fuzz_target.h"
#include "fuzz/tokenizer_use.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [vocabulary, rest] = fuzz::split_at_nul(fuzz::text_of(data, size));
  const auto [merges, special] = fuzz::split_at_nul(rest);
  fuzz::scratch_file("vocab.json", vocabulary);
  const auto path = fuzz::scratch_file("merges.txt", merges);
  if (special.empty()) {
    std::filesystem::remove(path.parent_path() / "tokenizer_config.json");
  } else {
    fuzz::scratch_file("tokenizer_config.json", special);
  }
  fuzz::use_tokenizer(path.parent_path());
  return 0;
}
