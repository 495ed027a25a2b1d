// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/options.h"
#include "model/decoder.h"

namespace lime {

struct GenerateOptions {
  /// At most this many tokens are added, >= 1.
  std::int64_t max_new_tokens = 100;
  /// 0 takes the most likely token; else logits are divided by it before sampling, > 0.
  double temperature = 0.0;
  /// Samples from the k most likely tokens only; 0 for all.
  std::int64_t top_k = 0;
  /// Samples from the smallest set of tokens whose probability reaches top_p, in (0, 1].
  double top_p = 1.0;
  std::uint64_t seed = 0;
  /// Ends after any of these; usually the end-of-sequence token.
  std::vector<std::int64_t> stop_tokens = {};

  /// The fields that the command line offers.
  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

/// Called for each new token as soon as it is known.
using TokenFn = std::function<void(std::int64_t token)>;

/// Continues `prompt` token by token with a key-value cache.
///
/// Temperature, then top_k, then top_p, as Hugging Face orders them. Ties take the lower id.
/// @param prompt  token ids, at least one.
/// @param stop  ends the text early where it is requested, which is no error.
/// @return the new tokens, a stop token included.
/// @throws InvalidArgument  if `options` do not hold, or `prompt` is empty.
std::vector<std::int64_t> generate(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   const GenerateOptions& options = {},
                                   const TokenFn& on_token = {}, std::stop_token stop = {});

}  // namespace lime
