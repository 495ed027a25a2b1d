// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input_text.h"

#include <algorithm>

#include "capture/input/chat_lines.h"
#include "capture/input/input_prefix.h"
#include "core/files/input_file.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Documents that the LIMe code concatenates and cuts together (`batch_size` of
/// prepare_fineweb.py).
constexpr std::size_t kBatchOfLimeCode = 32;

struct TokenStream {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> is_prepended;
  std::vector<std::int64_t> document_starts;
};

std::vector<std::int32_t> encode_file(const std::filesystem::path& file, const Tokenizer& tokenizer,
                                      std::int64_t max_ids) {
  const MappedFile mapped(file);
  const std::string_view text = mapped.text();
  require_utf8(file, text);
  std::vector<std::int32_t> ids =
      tokenizer.encode(text, {.max_ids = static_cast<std::size_t>(max_ids)});
  if (ids.empty()) throw FormatError("'{}': text must not be empty", file.string());
  return ids;
}

/// @param prepended  before the document, without the tokens that it spells out itself
void append_document(TokenStream& stream, std::span<const std::int32_t> document,
                     std::span<const std::int32_t> prepended) {
  stream.document_starts.push_back(static_cast<std::int64_t>(stream.ids.size()));
  stream.ids.insert(stream.ids.end(), prepended.begin(), prepended.end());
  stream.is_prepended.resize(stream.ids.size(), 1);
  stream.ids.insert(stream.ids.end(), document.begin(), document.end());
  stream.is_prepended.resize(stream.ids.size(), 0);
}

/// Removes the tokens of `prepended` that the document spells out.
std::vector<std::int32_t> without_spelled(std::vector<std::int32_t> document,
                                          std::span<const std::int32_t> prepended, BosPolicy bos) {
  const auto spelled = spelled_tokens(document, prepended, bos);
  document.erase(document.begin(), document.begin() + static_cast<std::ptrdiff_t>(spelled));
  return document;
}

void append_eos(TokenStream& stream, const Tokenizer& tokenizer) {
  if (!tokenizer.eos_id()) return;
  stream.ids.push_back(*tokenizer.eos_id());
  stream.is_prepended.push_back(0);
}

/// Returns the number of requested sequences, without overflow of the tokens in them.
std::int64_t max_sequences_of(const CaptureOptions& options) {
  const std::int64_t most = INT64_MAX / *options.seq_len - 1;
  return std::min(options.max_sequences.value_or(most), most);
}

/// Cuts the first `count` sequences of `length` tokens off the stream.
/// @param prefix  before every sequence
void add_sequences(CaptureInput& input, const TokenStream& stream, std::int64_t length,
                   std::int64_t count, const Tokenizer& tokenizer,
                   std::span<const std::int32_t> prefix = {}) {
  for (std::int64_t s = 0; s < count; ++s) {
    const std::int64_t start = s * length;
    const auto ids =
        std::span(stream.ids)
            .subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(length));
    const bool at_start = std::ranges::binary_search(stream.document_starts, start);
    Sequence about;
    about.text = tokenizer.decode(ids, {.at_text_start = at_start});
    input.add(prefix, ids, std::move(about));
    std::copy_n(stream.is_prepended.begin() + start, length, input.is_prepended.end() - length);
  }
}

CaptureInput pack_with_eos_between(const CaptureOptions& options, const Tokenizer& tokenizer) {
  CaptureInput input;
  input.prepended_ids = prepended_tokens(tokenizer, options.bos);
  const std::int64_t enough = max_sequences_of(options);
  TokenStream stream;
  for (const std::filesystem::path& file : options.text) {
    const auto missing = enough * *options.seq_len - std::ssize(stream.ids);
    if (missing <= 0) break;
    if (!stream.ids.empty()) append_eos(stream, tokenizer);
    append_document(
        stream,
        without_spelled(encode_file(file, tokenizer, missing), input.prepended_ids, options.bos),
        input.prepended_ids);
  }
  const std::int64_t total = std::ssize(stream.ids);
  const std::int64_t length = std::min(*options.seq_len, total);
  const std::int64_t count = std::min(total / length, enough);
  add_sequences(input, stream, length, count, tokenizer);
  input.dropped_tokens = count < enough ? total % length : 0;
  return input;
}

/// Returns the tokens at the start of every sequence of kBosEach.
std::vector<std::int32_t> sequence_prefix(const CaptureOptions& options,
                                          const Tokenizer& tokenizer) {
  std::vector<std::int32_t> prefix = prepended_tokens(tokenizer, options.bos);
  if (prefix.empty()) prefix = prepended_tokens(tokenizer, BosPolicy::kAlways);
  throw_if(*options.seq_len <= std::ssize(prefix), OptionName("seq_len"),
           "must be > {} with --packing bos-each, got {}", prefix.size(), *options.seq_len);
  return prefix;
}

CaptureInput pack_with_bos_each(const CaptureOptions& options, const Tokenizer& tokenizer) {
  CaptureInput input;
  input.prepended_ids = sequence_prefix(options, tokenizer);
  const std::int64_t room = *options.seq_len - std::ssize(input.prepended_ids);
  const std::int64_t enough = max_sequences_of(options);
  TokenStream stream;
  for (const std::filesystem::path& file : options.text) {
    const auto missing = enough * room - std::ssize(stream.ids);
    if (missing <= 0) break;
    if (!stream.ids.empty()) append_eos(stream, tokenizer);
    // One token more, for one that the document spells out.
    const auto spelled_more = missing + std::ssize(input.prepended_ids);
    append_document(stream,
                    without_spelled(encode_file(file, tokenizer, spelled_more), input.prepended_ids,
                                    options.bos),
                    {});
  }
  const std::int64_t total = std::ssize(stream.ids);
  const std::int64_t length = std::min(room, total);
  throw_if<FormatError>(length == 0, "'{}': contains no text after the beginning-of-sequence token",
                        options.text.front().string());
  const std::int64_t count = std::min(total / length, enough);
  add_sequences(input, stream, length, count, tokenizer, input.prepended_ids);
  input.dropped_tokens = count < enough ? total % length : 0;
  return input;
}

CaptureInput pack_as_lime_code(const CaptureOptions& options, const Tokenizer& tokenizer) {
  throw_if(!tokenizer.bos_id() || !tokenizer.eos_id(), OptionName("packing"),
           "lime-code needs a tokenizer with a beginning- and an end-of-sequence token, this "
           "one has no {}; use eos-between",
           tokenizer.bos_id() ? "end" : "beginning");
  CaptureInput input;
  input.prepended_ids = {*tokenizer.bos_id()};
  const std::int64_t enough = max_sequences_of(options);
  for (std::size_t first = 0; first < options.text.size(); first += kBatchOfLimeCode) {
    const std::int64_t requested = enough - input.num_sequences();
    if (requested <= 0) break;
    TokenStream stream;
    for (std::size_t i = first; i < std::min(first + kBatchOfLimeCode, options.text.size()); ++i) {
      const auto missing = requested * *options.seq_len + 1 - std::ssize(stream.ids);
      if (missing <= 0) break;
      append_document(stream,
                      without_spelled(encode_file(options.text[i], tokenizer, missing),
                                      input.prepended_ids, options.bos),
                      input.prepended_ids);
      append_eos(stream, tokenizer);
    }
    // The token after a piece is the last one's label.
    const std::int64_t complete = (std::ssize(stream.ids) - 1) / *options.seq_len;
    const std::int64_t count = std::min(complete, requested);
    add_sequences(input, stream, *options.seq_len, count, tokenizer);
    if (complete < requested)
      input.dropped_tokens += std::ssize(stream.ids) - count * *options.seq_len;
  }
  if (input.num_sequences() > 0) return input;
  throw InvalidArgument(
      OptionName("packing"),
      "lime-code drops texts of fewer than {} tokens, got {}; use more text, a smaller "
      "--seq-len, or eos-between",
      *options.seq_len + 1, input.dropped_tokens);
}

class PairCollector {
 public:
  PairCollector(const CaptureOptions& options, const Tokenizer& tokenizer)
      : tokenizer_(tokenizer),
        bos_(options.bos),
        space_(options.pair_preset() == BlimpPreset::kLmEval ? " " : ""),
        max_pairs_(options.max_sequences ? *options.max_sequences / 2
                                         : std::numeric_limits<std::int32_t>::max()) {
    input_.prepended_ids =
        options.pair_preset() ? scoring_prefix(tokenizer) : prepended_tokens(tokenizer, bos_);
  }

  bool is_full() const { return num_pairs_ >= max_pairs_; }

  void add(std::string_view line, const std::string& default_task, const std::string& where) {
    const Json object = parse_json(line, where);
    if (!object.is_object()) throw FormatError("{}: must be a JSON object", where);
    const std::string task =
        object.contains("UID") ? text_field(object, "UID", where) : default_task;
    Sequence about;
    about.pair = static_cast<std::int32_t>(num_pairs_);
    about.task = task_index(task, where);
    set_group(input_.task_fields, "field", object, about.task, where);
    set_group(input_.task_terms, "linguistics_term", object, about.task, where);
    for (const auto& [field, label] :
         {std::pair("sentence_good", 1), std::pair("sentence_bad", 0)}) {
      about.text = text_field(object, field, where);
      about.label = static_cast<std::int8_t>(label);
      add_sentence(about, where);
    }
    ++num_pairs_;
  }

  CaptureInput take() {
    for (std::vector<std::string>* const groups : {&input_.task_fields, &input_.task_terms}) {
      const bool has_any =
          std::ranges::any_of(*groups, [](const std::string& group) { return !group.empty(); });
      if (!has_any) groups->clear();
    }
    return std::move(input_);
  }

 private:
  static std::string text_field(const Json& object, const char* field, const std::string& where) {
    throw_if<FormatError>(!object.contains(field) || !object[field].is_string(),
                          "{}: must have the string '{}'; expected minimal pairs in BLiMP format",
                          where, field);
    return object[field].get<std::string>();
  }

  std::int16_t task_index(const std::string& task, const std::string& where) {
    const auto [entry, is_new] = tasks_.try_emplace(task, tasks_.size());
    if (is_new) {
      throw_if<FormatError>(tasks_.size() > std::size_t{std::numeric_limits<std::int16_t>::max()},
                            "{}: the number of tasks must be at most 32767", where);
      input_.task_names.push_back(task);
    }
    return static_cast<std::int16_t>(entry->second);
  }

  void add_sentence(const Sequence& about, const std::string& where) {
    const std::vector<std::int32_t> sentence = tokenizer_.encode(space_ + about.text);
    if (about.text.empty() || sentence.empty())
      throw FormatError("{}: a sentence must not be empty", where);
    add_text(input_, sentence, bos_, about);
  }

  /// Stores `key` of the first pair of a task; the others must have the same value.
  void set_group(std::vector<std::string>& groups, const char* key, const Json& object,
                 std::int16_t task, const std::string& where) {
    const std::string group = object.contains(key) ? text_field(object, key, where) : "";
    const auto index = static_cast<std::size_t>(task);
    if (index == groups.size()) {
      groups.push_back(group);
    } else if (groups[index] != group) {
      throw FormatError("{}: '{}' must be the same in all pairs of {}, got '{}' after '{}'", where,
                        key, input_.task_names[index], group, groups[index]);
    }
  }

  const Tokenizer& tokenizer_;
  BosPolicy bos_;
  std::string space_;  // before each sentence
  std::int64_t max_pairs_;
  std::int64_t num_pairs_ = 0;
  std::map<std::string, std::size_t> tasks_;
  CaptureInput input_;
};

void read_pairs(const std::filesystem::path& file, PairCollector& collector) {
  if (collector.is_full()) return;
  bool has_pairs = false;
  for_each_line(file, [&](std::string_view line, std::int64_t number) {
    collector.add(line, file.stem().string(), fmt::format("'{}' line {}", file.string(), number));
    has_pairs = true;
    return !collector.is_full();
  });
  throw_if<FormatError>(!has_pairs, "'{}': contains no minimal pairs", file.string());
}

}  // namespace

CaptureInput read_text_input(const CaptureOptions& options, const Tokenizer& tokenizer) {
  const bool prepends = !prepended_tokens(tokenizer, options.bos).empty();
  const Packing packing =
      options.packing.value_or(prepends ? Packing::kBosEach : Packing::kEosBetween);
  CaptureInput input = packing == Packing::kBosEach    ? pack_with_bos_each(options, tokenizer)
                       : packing == Packing::kLimeCode ? pack_as_lime_code(options, tokenizer)
                                                       : pack_with_eos_between(options, tokenizer);
  input.packing = packing;
  return input;
}

CaptureInput read_line_input(const CaptureOptions& options, const Tokenizer& tokenizer,
                             std::int64_t max_tokens) {
  const bool has_views = !options.views.empty();
  const std::int64_t enough =
      options.max_sequences.value_or(std::numeric_limits<std::int64_t>::max());
  const BosPolicy bos = options.bos_of_texts();
  std::optional<ChatLines> chat;
  if (options.chat) chat.emplace(options.checkpoint);
  CaptureInput input;
  input.prepended_ids = prepended_tokens(tokenizer, bos);
  const auto add = [&](std::string_view text, std::int32_t pair, const std::string& where) {
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    throw_if<FormatError>(has_views && ids.empty(), "{}: a view must not be empty", where);
    add_text(input, ids, bos, {.text = std::string(text), .pair = pair});
    const std::int64_t length = input.length(input.num_sequences() - 1);
    throw_if(length > max_tokens,
             "{}: must have at most the {} tokens for which the model has learned positions, has "
             "{}; use shorter lines",
             where, max_tokens, length);
  };
  std::int32_t num_lines = 0;
  std::int64_t per_line = 1;  // sequences
  for (const std::filesystem::path& file : has_views ? options.views : options.lines) {
    const std::int64_t before = input.num_sequences();
    if (enough - before < per_line) break;
    for_each_line(file, [&](std::string_view line, std::int64_t number) {
      const std::string where = fmt::format("'{}' line {}", file.string(), number);
      const std::int64_t views = has_views ? 1 + std::ranges::count(line, '\t') : 1;
      if (num_lines == 0) per_line = views;
      throw_if<FormatError>(has_views && (views < 2 || views != per_line),
                            "{}: must have {} views, separated by tabs, got {}", where,
                            per_line < 2 ? "at least 2" : std::to_string(per_line), views);
      throw_if(enough < views, OptionName("max_sequences"), "a text has {} views, got {}", views,
               enough);
      for (std::int64_t view = 0; view < views; ++view) {
        const std::size_t end = has_views ? std::min(line.find('\t'), line.size()) : line.size();
        const std::string_view text = line.substr(0, end);
        add(chat ? chat->text_of(text, file, where) : text, has_views ? num_lines : -1, where);
        line.remove_prefix(std::min(end + 1, line.size()));
      }
      ++num_lines;
      return enough - input.num_sequences() >= per_line;
    });
    throw_if<FormatError>(input.num_sequences() == before,
                          "'{}': must have a line of text, has none", file.string());
  }
  return input;
}

CaptureInput read_pair_input(const CaptureOptions& options, const Tokenizer& tokenizer) {
  PairCollector collector(options, tokenizer);
  for (const std::filesystem::path& file : options.pairs) read_pairs(file, collector);
  return collector.take();
}

}  // namespace lime
