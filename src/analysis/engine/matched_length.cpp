// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/matched_length.h"

#include <algorithm>
#include <limits>

#include "analysis/engine/capture_rows.h"

namespace lime {

std::int64_t shortest_sequence(const CaptureReader& capture, std::int64_t num_sequences) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t i = 0; i < num_sequences; ++i) {
    shortest = std::min(shortest, num_tokens(capture, i));
  }
  return shortest;
}

void match_length(CaptureReader& capture, std::int64_t num_sequences, std::int64_t length) {
  throw_if(capture.info().rows != RowKind::kTokens || !capture.info().class_names.empty(),
           OptionName("match_length"),
           "needs every token of a sequence, but {} contains pooled rows or selected tokens; "
           "capture again with --rows tokens and without --only",
           quoted_path(capture));
  std::vector<bool> hides(static_cast<std::size_t>(capture.num_rows()), false);
  const std::vector<std::int64_t>& offsets = capture.offsets();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t tokens = offsets[i + 1] - offsets[i];
    throw_if(
        tokens < length && static_cast<std::int64_t>(i) < num_sequences, OptionName("match_length"),
        "sequence {} of {} has {} tokens, expected at least {}; pass a smaller number, or auto", i,
        quoted_path(capture), tokens, length);
    if (tokens > length) std::fill_n(hides.begin() + offsets[i] + length, tokens - length, true);
  }
  capture.hide_rows(hides);
}

}  // namespace lime
