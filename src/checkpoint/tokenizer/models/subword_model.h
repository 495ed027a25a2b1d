// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lime {

struct BpeScratch;

/// The `model` of tokenizer.json: cuts pieces into tokens. Immutable and thread-safe.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  /// Appends the ids of `word` to `ids`; `scratch` is the calling thread's.
  /// @throws InvalidArgument  if the word has no tokens and the model no unknown token.
  virtual void encode(std::string_view word, BpeScratch& scratch,
                      std::vector<std::int32_t>& ids) const = 0;
  /// Returns true if words may be cut before each run of `token` without changing the ids.
  virtual bool can_cut_before(std::string_view /*token*/) const { return false; }
};

}  // namespace lime
