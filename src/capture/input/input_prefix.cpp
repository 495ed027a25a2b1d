// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input_prefix.h"

#include <algorithm>

#include "checkpoint/chat/chat_template.h"
#include "core/errors.h"

namespace lime {
namespace {

/// Returns the remedy for sequences without the tokenizer's prefix.
const char* remedy_for_prefix(const CaptureOptions& options, bool is_every_sequence) {
  if (options.bos == BosPolicy::kNever) return "omit --bos never";
  if (options.tokens.empty() || options.bos == BosPolicy::kAlways) {
    return "use --packing bos-each";
  }
  return is_every_sequence ? "pass --bos always" : "add it to those sequences of the file";
}

std::string prefix_warning(std::int64_t count, const CaptureInput& input,
                           const CaptureOptions& options, const Tokenizer& tokenizer) {
  std::string prefix;
  for (const std::int32_t id : tokenizer.prefix_ids()) prefix += tokenizer.token_text(id);
  return fmt::format(
      "{} of {} sequences do not begin with '{}', which the tokenizer puts before every text; the "
      "model may compute other activations and a higher loss there; {}",
      count, input.num_sequences(), prefix,
      remedy_for_prefix(options, count == input.num_sequences()));
}

std::string length_warning(const CaptureInput& input, const ModelConfig& config) {
  const std::int64_t context = config.max_position_embeddings;
  std::int64_t count = 0;
  for (std::int64_t s = 0; s < input.num_sequences(); ++s) count += input.length(s) > context;
  return fmt::format(
      "{} of {} sequences are longer than max_position_embeddings = {}, up to {} tokens; the "
      "model's positions are defined there, but it was not trained on them",
      count, input.num_sequences(), context, input.longest());
}

}  // namespace

std::vector<std::int32_t> prepended_tokens(const Tokenizer& tokenizer, BosPolicy bos) {
  switch (bos) {
    case BosPolicy::kNever: return {};
    case BosPolicy::kAlways:
      throw_if(!tokenizer.bos_id(), OptionName("bos"),
               "the tokenizer has no beginning-of-sequence token; use auto or never");
      return {*tokenizer.bos_id()};
    case BosPolicy::kAuto: break;
  }
  return {tokenizer.prefix_ids().begin(), tokenizer.prefix_ids().end()};
}

std::vector<std::int32_t> scoring_prefix(const Tokenizer& tokenizer) {
  if (tokenizer.bos_id()) return {*tokenizer.bos_id()};
  if (tokenizer.eos_id()) return {*tokenizer.eos_id()};
  throw InvalidArgument(
      OptionName("log_likelihood"),
      "the tokenizer must have a beginning- or end-of-sequence token to put before "
      "each sentence, it has neither");
}

std::size_t spelled_tokens(std::span<const std::int32_t> text_ids,
                           std::span<const std::int32_t> prepended, BosPolicy bos) {
  if (bos == BosPolicy::kAlways || !spells_prefix(text_ids, prepended)) return 0;
  return static_cast<std::size_t>(std::ranges::mismatch(text_ids, prepended).in1 -
                                  text_ids.begin());
}

void add_text(CaptureInput& input, std::span<const std::int32_t> text_ids, BosPolicy bos,
              Sequence about) {
  const std::size_t spelled = spelled_tokens(text_ids, input.prepended_ids, bos);
  input.add(spelled > 0 ? text_ids.first(spelled) : std::span(std::as_const(input.prepended_ids)),
            text_ids.subspan(spelled), std::move(about));
}

std::int64_t sequences_without_prefix(const CaptureInput& input, const Tokenizer& tokenizer) {
  const std::span<const std::int32_t> prefix = tokenizer.prefix_ids();
  std::int64_t count = 0;
  for (std::int64_t s = 0; !prefix.empty() && s < input.num_sequences(); ++s) {
    count += spells_prefix(input.ids_of(s), prefix) ? 0 : 1;
  }
  return count;
}

std::vector<std::string> input_warnings(const CaptureInput& input, const CaptureOptions& options,
                                        const ModelConfig& config, const Tokenizer* tokenizer) {
  std::vector<std::string> warnings;
  const std::int64_t count = tokenizer == nullptr ? 0 : sequences_without_prefix(input, *tokenizer);
  if (count > 0 && !options.chat)
    warnings.push_back(prefix_warning(count, input, options, *tokenizer));
  if (options.chat && ChatTemplate::read(options.checkpoint).uses_date()) {
    warnings.emplace_back(
        "the chat template writes today's date, so the same lines have other tokens tomorrow");
  }
  if (input.longest() > config.max_position_embeddings) {
    warnings.push_back(length_warning(input, config));
  }
  return warnings;
}

}  // namespace lime
