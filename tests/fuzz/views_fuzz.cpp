// SPDX-License-Identifier: Apache-2.0
// Texts line by line: as views, separated by tabs, and as sequences of their own.
#include "capture/input/input_text.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/tokenizer_use.h"

using namespace lime;

namespace {

constexpr std::int64_t kMaxTokens = 512;

void use_lines(const CaptureOptions& options) {
  const Tokenizer& tokenizer = fuzz::tiny_tokenizer();
  fuzz::reads_or_refuses([&] {
    const CaptureInput input = read_line_input(options, tokenizer, kMaxTokens);
    fuzz::require(input.num_sequences() > 0, "an accepted file has sequences");
    fuzz::require(input.offsets.back() == input.num_tokens(), "sequences cover all tokens");
    std::int32_t last = 0;
    std::int64_t views = 0;
    std::int64_t first_views = 0;
    for (const Sequence& sequence : input.sequences) {
      if (options.views.empty()) continue;
      fuzz::require(sequence.pair == last || sequence.pair == last + 1, "texts are in order");
      views = sequence.pair == last ? views + 1 : 1;
      if (sequence.pair == 0) first_views = views;
      fuzz::require(views <= first_views, "every text has as many views as the first");
      last = sequence.pair;
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::scratch_file("views.tsv", fuzz::text_of(data, size));
  CaptureOptions options;
  options.views = {path};
  use_lines(options);
  options.max_sequences = 3;
  use_lines(options);
  options = {};
  options.lines = {path};
  use_lines(options);
  return 0;
}
