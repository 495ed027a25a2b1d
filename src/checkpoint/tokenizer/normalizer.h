// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tokenizer/work_budget.h"
#include "core/json.h"

namespace lime {

/// Normalizes a text before it is split: the `normalizer` of tokenizer.json.
///
/// Supports NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Nmt, BertNormalizer, ByteLevel,
/// Precompiled, Prepend, Replace, Strip and Sequence of these. Immutable and thread-safe.
class Normalizer {
 public:
  /// Leaves every text unchanged.
  Normalizer() = default;
  /// @throws FormatError  if a component is invalid or not supported; names it.
  Normalizer(const Json& definition, const std::string& where);

  bool is_identity() const { return steps_.empty(); }
  /// @param text  valid UTF-8. @throws InvalidArgument  if the steps exceed the text's budget.
  std::string apply(std::string_view text, WorkBudget& budget) const;

 private:
  struct Step {
    std::string name;  // the place in the file
    std::function<std::string(std::string_view text, const StageWork& work)> run;
  };
  void add(const Json& definition, const std::string& where);

  std::vector<Step> steps_;
};

}  // namespace lime
