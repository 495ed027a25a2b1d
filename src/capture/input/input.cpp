// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "capture/input/input_text.h"
#include "capture/input/input_tokens.h"
#include "capture/row_selection.h"
#include "core/files/sha256.h"
#include "core/random.h"

namespace lime {
namespace {

constexpr std::int64_t kUsualLength = 2048;

template <typename T> std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

const Tokenizer& required_tokenizer(const CaptureOptions& options, const Tokenizer* tokenizer) {
  throw_if<IoError>(tokenizer == nullptr,
                    "'{}': contains no tokenizer; pass token ids with --tokens",
                    options.checkpoint.string());
  return *tokenizer;
}

/// Checks the ids. A tokenizer may have more tokens than the model.
void check_ids(const CaptureInput& input, std::int64_t vocab_size) {
  const auto bad =
      std::ranges::find_if(input.ids, [&](std::int32_t id) { return id < 0 || id >= vocab_size; });
  if (bad == input.ids.end()) return;
  const std::int64_t place = bad - input.ids.begin();
  const auto next = std::ranges::upper_bound(input.offsets, place);
  const std::int64_t sequence = next - input.offsets.begin() - 1;
  throw InvalidArgument(
      "input: token ids must be in [0, {}), got {} at token {} of sequence {}; use the tokenizer "
      "of this model",
      vocab_size, *bad, place - *(next - 1), sequence);
}

void check_lengths(const CaptureInput& input, const ModelConfig& config) {
  const std::int64_t limit = config.max_length();
  for (std::int64_t s = 0; s < input.num_sequences(); ++s) {
    throw_if(input.length(s) > limit,
             "input: a sequence must have at most the {} tokens for which the model has learned "
             "positions, sequence {} has {}; use shorter ones",
             limit, s, input.length(s));
  }
}

}  // namespace

std::vector<std::size_t> CaptureInput::scored_of(std::int64_t sequence) const {
  const auto first = static_cast<std::size_t>(offsets[static_cast<std::size_t>(sequence)]);
  std::vector<std::size_t> places;
  for (std::size_t t = 1; t < static_cast<std::size_t>(length(sequence)); ++t) {
    const bool counts = is_selected.empty() || is_selected[first + t] != 0;
    if (counts && is_prepended[first + t] == 0) places.push_back(t);
  }
  return places;
}

std::int64_t CaptureInput::longest() const {
  std::int64_t longest = 0;
  for (std::int64_t s = 0; s < num_sequences(); ++s) longest = std::max(longest, length(s));
  return longest;
}

void CaptureInput::add(std::span<const std::int32_t> prepended, std::span<const std::int32_t> own,
                       Sequence about) {
  ids.insert(ids.end(), prepended.begin(), prepended.end());
  is_prepended.resize(ids.size(), 1);
  ids.insert(ids.end(), own.begin(), own.end());
  is_prepended.resize(ids.size(), 0);
  offsets.push_back(num_tokens());
  sequences.push_back(std::move(about));
}

void CaptureInput::truncate(std::int64_t count) {
  if (count >= num_sequences()) return;
  const auto kept = static_cast<std::size_t>(count);
  offsets.resize(kept + 1);
  sequences.resize(kept);
  ids.resize(static_cast<std::size_t>(offsets.back()));
  is_prepended.resize(ids.size());
  if (!is_selected.empty()) is_selected.resize(ids.size());
  if (!in_lens.empty()) in_lens.resize(ids.size());
}

std::string CaptureInput::sha256() const {
  Sha256 digest;
  for (std::int64_t s = 0; s < num_sequences(); ++s) {
    const Sequence& about = sequences[static_cast<std::size_t>(s)];
    digest.update(bytes_of(length(s)));
    digest.update(std::as_bytes(ids_of(s)));
    digest.update(bytes_of(about.label));
    digest.update(bytes_of(about.pair));
    digest.update(bytes_of(about.task));
  }
  return digest.hex_digest();
}

CaptureInput read_input(const CaptureOptions& options, const ModelConfig& config,
                        const Tokenizer* tokenizer) {
  const std::int64_t limit = config.max_length();
  CaptureOptions packed = options;
  packed.seq_len = options.seq_len.value_or(std::min(kUsualLength, config.max_position_embeddings));
  throw_if(*packed.seq_len > limit, OptionName("seq_len"),
           "must be <= {}, the number of learned positions of the model, got {}; use a "
           "smaller value",
           limit, *packed.seq_len);
  CaptureInput input;
  if (!options.tokens.empty()) {
    input = read_token_input(packed, config, tokenizer);
  } else if (!options.text.empty()) {
    input = read_text_input(packed, required_tokenizer(options, tokenizer));
  } else if (!options.lines.empty() || !options.views.empty()) {
    input = read_line_input(options, required_tokenizer(options, tokenizer), limit);
  } else {
    input = read_pair_input(options, required_tokenizer(options, tokenizer));
  }
  check_ids(input, config.vocab_size);
  check_lengths(input, config);
  select_scored(input, options.score, tokenizer);
  return input;
}

void select_for_lens(CaptureInput& input, std::int64_t count, std::uint64_t seed) {
  input.in_lens.assign(input.ids.size(), 0);
  const Random base(seed);
  for (std::int64_t s = 0; s < input.num_sequences(); ++s) {
    const auto first = static_cast<std::size_t>(input.offsets[static_cast<std::size_t>(s)]);
    std::vector<std::size_t> places(static_cast<std::size_t>(input.length(s) - 1));
    std::iota(places.begin(), places.end(), first);
    Random random = base.fork(static_cast<std::uint64_t>(s));
    random.shuffle(std::span(places));
    places.resize(std::min(places.size(), static_cast<std::size_t>(count)));
    for (const std::size_t place : places) input.in_lens[place] = 1;
  }
}

void select_scored(CaptureInput& input, const ScoreSelection& selection,
                   const Tokenizer* tokenizer) {
  if (selection.is_all()) return;
  input.is_selected.assign(input.ids.size(), 1);
  const auto keep_if = [&](const auto& is_kept) {
    for (std::int64_t s = 0; s < input.num_sequences(); ++s) {
      const auto first = static_cast<std::size_t>(input.offsets[static_cast<std::size_t>(s)]);
      for (std::size_t t = 0; t < input.ids_of(s).size(); ++t) {
        if (!is_kept(s, t)) input.is_selected[first + t] = 0;
      }
    }
  };
  if (!selection.words.empty()) {
    std::set<std::int32_t> ids;
    for (const TokenClass& word : find_token_classes(selection.words, *tokenizer, "score_words")) {
      ids.insert(word.id);
    }
    keep_if([&](std::int64_t s, std::size_t t) { return ids.contains(input.ids_of(s)[t]); });
  }
  keep_if([&](std::int64_t, std::size_t t) {
    return selection.positions.contains(static_cast<int>(t));
  });
  if (selection.after.empty()) return;
  std::string text;  // of the sequence so far
  keep_if([&](std::int64_t s, std::size_t t) {
    if (t == 0) text.clear();
    const bool is_after = text.find(selection.after) != std::string::npos;
    if (!is_after && input.is_prepended_of(s)[t] == 0) text += tokenizer->piece(input.ids_of(s)[t]);
    return is_after;
  });
}

std::unique_ptr<Tokenizer> tokenizer_for(const CaptureOptions& options) {
  try {
    return load_tokenizer(options.checkpoint);
  } catch (const IoError&) {
    const bool has_words = !options.only.empty() || !options.score.words.empty();
    if (options.tokens.empty() || has_words || !options.score.after.empty()) throw;
    return nullptr;
  }
}

}  // namespace lime
