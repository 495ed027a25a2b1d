// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/token_sequences.h"

#include <algorithm>
#include <vector>

#include "core/errors.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {

std::string quoted_path(const CaptureReader& capture) {
  return "'" + capture.path().string() + "'";
}

std::int64_t num_tokens(const CaptureReader& capture, std::int64_t sequence) {
  const std::vector<std::int64_t>& offsets = capture.offsets();
  const auto i = static_cast<std::size_t>(sequence);
  return offsets[i + 1] - offsets[i];
}

std::int64_t num_sequences_used(const CaptureReader& capture,
                                std::optional<std::int64_t> max_sequences) {
  const std::int64_t all = capture.num_sequences();
  return max_sequences ? std::min(all, *max_sequences) : all;
}

void check_whole_sequences(const CaptureReader& capture, std::string_view metric) {
  const CaptureInfo& info = capture.info();
  if (info.rows != RowKind::kTokens) {
    throw InvalidArgument(
        "{}: contains one row per sequence (--rows {}), but {} needs every token of a sequence; "
        "capture again with --rows tokens",
        quoted_path(capture), enum_name(info.rows), metric);
  }
  if (!info.class_names.empty()) {
    throw InvalidArgument(
        "{}: contains only some tokens ({}), but {} needs every token of a sequence; capture again "
        "without --only",
        quoted_path(capture), printable(join_words(info.class_names)), metric);
  }
  if (capture.num_sequences() == 0) {
    throw InvalidArgument("{}: contains no sequences", quoted_path(capture));
  }
}

void check_two_tokens(const CaptureReader& capture, std::int64_t sequence,
                      std::string_view metric) {
  const std::int64_t tokens = num_tokens(capture, sequence);
  if (tokens >= 2) return;
  throw InvalidArgument(
      "{}: sequence {} has {} token{}, but {} needs at least 2; capture again without it",
      quoted_path(capture), sequence, tokens, tokens == 1 ? "" : "s", metric);
}

void check_token_sequences(const CaptureReader& capture, std::int64_t count,
                           std::string_view metric) {
  check_whole_sequences(capture, metric);
  for (std::int64_t i = 0; i < count; ++i) check_two_tokens(capture, i, metric);
}

SequenceSource token_sequences(const CaptureReader& capture, const std::string& site, int layer,
                               std::int64_t count) {
  return {count, [&capture, site, layer](std::int64_t index, MatrixF& rows) {
            const std::int64_t first = capture.offsets()[static_cast<std::size_t>(index)];
            rows.resize(num_tokens(capture, index), capture.dim(site, layer));
            capture.read_rows(site, layer, first, rows.rows(),
                              {rows.data(), static_cast<std::size_t>(rows.size())});
          }};
}

std::int64_t longest_sequence(const CaptureReader& capture, std::int64_t count) {
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < count; ++i) longest = std::max(longest, num_tokens(capture, i));
  return longest;
}

}  // namespace lime
