// SPDX-License-Identifier: Apache-2.0
// tokenizer.model, the protocol buffer of SentencePiece.
#include "fuzz/fuzz_target.h"
#include "fuzz/tokenizer_use.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::scratch_file("tokenizer.model", fuzz::text_of(data, size));
  fuzz::use_tokenizer(path.parent_path());
  return 0;
}
