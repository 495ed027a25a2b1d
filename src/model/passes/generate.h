// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/options.h"
#include "model/decoders/decoder.h"

namespace lime {

struct GenerateOptions {
  /// Maximum number of new tokens, >= 1.
  std::int64_t max_new_tokens = 100;
  /// Sampling temperature: logits are divided by it; 0 selects the most likely token. >= 0.
  double temperature = 0.0;
  /// Samples from the k most likely tokens only; 0 for all.
  std::int64_t top_k = 0;
  /// Samples from the smallest set of tokens whose probability reaches top_p, in (0, 1].
  double top_p = 1.0;
  std::uint64_t seed = 0;
  /// Generation ends after any of these; usually the end-of-sequence token.
  std::vector<std::int64_t> stop_tokens = {};
  const HookSet* hooks = nullptr;  ///< of every pass; nullptr for none

  /// Describes the fields for the command line.
  void describe(OptionList& list);
  /// @throws InvalidArgument  naming the first field out of range.
  void validate() const;
};

/// Called for each new token as soon as it is known.
using TokenFn = std::function<void(std::int64_t token)>;

/// Continues `prompt` token by token with a key-value cache.
///
/// Temperature, then top_k, then top_p, as Hugging Face orders them. Ties take the lower id.
/// @param prompt  token ids, at least one.
/// @param stop  ends generation early when requested, which is not an error.
/// @return the new tokens, a stop token included.
/// @throws InvalidArgument  if `options` are invalid, or `prompt` is empty.
std::vector<std::int64_t> generate(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   const GenerateOptions& options = {},
                                   const TokenFn& on_token = {}, std::stop_token stop = {});

}  // namespace lime
