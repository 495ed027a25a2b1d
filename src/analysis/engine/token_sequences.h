// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/sequence_source.h"
#include "store/capture_reader.h"

namespace lime {

/// Returns the path of `capture` in quotes for messages.
std::string quoted_path(const CaptureReader& capture);

/// Returns the number of tokens of one sequence.
std::int64_t num_tokens(const CaptureReader& capture, std::int64_t sequence);

/// Returns the number of sequences of `capture` to use: all, or the first `max_sequences`.
std::int64_t num_sequences_used(const CaptureReader& capture,
                                std::optional<std::int64_t> max_sequences);

/// Throws if the rows of a capture are not whole sequences of tokens, or if it has none.
/// @param metric  names the command in the message, e.g. "geometry".
/// @throws InvalidArgument
void check_whole_sequences(const CaptureReader& capture, std::string_view metric);

/// Refuses a sequence of fewer than two tokens.
/// @param metric  as above. @throws InvalidArgument
void check_two_tokens(const CaptureReader& capture, std::int64_t sequence, std::string_view metric);

/// Refuses captures whose rows are not whole sequences of at least two tokens each.
/// @param count   the sequences that are used, the first ones.
/// @param metric  as above. @throws InvalidArgument
void check_token_sequences(const CaptureReader& capture, std::int64_t count,
                           std::string_view metric);

/// Returns the first `count` sequences of one layer, read on demand. Refers to `capture`.
SequenceSource token_sequences(const CaptureReader& capture, const std::string& site, int layer,
                               std::int64_t count);

/// Returns the number of tokens of the longest of the first `count` sequences.
std::int64_t longest_sequence(const CaptureReader& capture, std::int64_t count);

}  // namespace lime
