// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input_shape.h"

#include "core/errors.h"

namespace lime {

std::vector<std::int32_t> prepended_tokens(const Tokenizer& tokenizer, BosPolicy bos) {
  switch (bos) {
    case BosPolicy::kNever:
      return {};
    case BosPolicy::kAlways:
      if (!tokenizer.bos_id()) {
        throw InvalidArgument(
            "bos: the tokenizer has no beginning-of-sequence token; use auto or never");
      }
      return {*tokenizer.bos_id()};
    case BosPolicy::kAuto:
      break;
  }
  return {tokenizer.prefix_ids().begin(), tokenizer.prefix_ids().end()};
}

std::vector<std::int32_t> scoring_prefix(const Tokenizer& tokenizer) {
  if (tokenizer.bos_id()) return {*tokenizer.bos_id()};
  if (tokenizer.eos_id()) return {*tokenizer.eos_id()};
  throw InvalidArgument(
      "log_likelihood: the tokenizer must have a beginning- or end-of-sequence token to put before "
      "each sentence, it has neither");
}

void refuse_double_bos(std::span<const std::int32_t> text_ids,
                       std::span<const std::int32_t> prepended, BosPolicy bos,
                       std::string_view where) {
  if (bos == BosPolicy::kAlways || prepended.empty() || text_ids.empty()) return;
  if (text_ids.front() != prepended.back()) return;
  throw InvalidArgument(
      "{}: already starts with the beginning-of-sequence token, and --bos auto would add a second "
      "one; use --bos never, or always to force two",
      where);
}

}  // namespace lime
