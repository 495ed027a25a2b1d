// SPDX-License-Identifier: Apache-2.0
// Minimal pairs in BLiMP's format, one JSON object per line.
#include "capture/input/input_text.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/tokenizer_use.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Tokenizer& tokenizer = fuzz::tiny_tokenizer();
  const auto path = fuzz::scratch_file("pairs.jsonl", fuzz::text_of(data, size));
  CaptureOptions options;
  options.pairs = {path};
  fuzz::reads_or_refuses([&] {
    const CaptureInput input = read_pair_input(options, tokenizer);
    fuzz::require(input.num_sequences() % 2 == 0, "pairs are two sentences each");
    fuzz::require(input.offsets.back() == input.num_tokens(), "sequences cover all tokens");
    for (const Sequence& sequence : input.sequences) {
      const auto task = static_cast<std::size_t>(sequence.task);
      fuzz::require(task < input.task_names.size(), "every sentence has a task");
    }
  });
  return 0;
}
