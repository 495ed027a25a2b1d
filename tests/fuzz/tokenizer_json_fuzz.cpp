// SPDX-License-Identifier: Apache-2.0
// tokenizer.json, then after a NUL a text to encode.
#include "fuzz/fuzz_target.h"
#include "fuzz/tokenizer_use.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [json, text] = fuzz::split_at_nul(fuzz::text_of(data, size));
  fuzz::use_tokenizer(fuzz::scratch_file("tokenizer.json", json).parent_path(), text);
  return 0;
}
