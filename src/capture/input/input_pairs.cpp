// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input_pairs.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "core/files/input_file.h"

namespace lime {
namespace {

class PairCollector {
 public:
  PairCollector(const Tokenizer& tokenizer, const InputShape& shape)
      : tokenizer_(tokenizer),
        bos_(shape.bos),
        space_(shape.blimp_preset == BlimpPreset::kLmEval ? " " : ""),
        max_pairs_(shape.max_sequences ? *shape.max_sequences / 2
                                       : std::numeric_limits<std::int32_t>::max()) {
    input_.prepended_ids =
        shape.blimp_preset ? scoring_prefix(tokenizer) : prepended_tokens(tokenizer, shape.bos);
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
      if (tasks_.size() > std::size_t{std::numeric_limits<std::int16_t>::max()}) {
        throw FormatError("{}: the number of tasks must be at most 32767", where);
      }
      input_.task_names.push_back(task);
    }
    return static_cast<std::int16_t>(entry->second);
  }

  void add_sentence(const Sequence& about, const std::string& where) {
    const std::vector<std::int32_t> sentence = tokenizer_.encode(space_ + about.text);
    if (about.text.empty() || sentence.empty())
      throw FormatError("{}: a sentence must not be empty", where);
    refuse_double_bos(sentence, input_.prepended_ids, bos_, where);
    std::vector<std::int32_t> ids = input_.prepended_ids;
    ids.insert(ids.end(), sentence.begin(), sentence.end());
    input_.add(ids, input_.prepended_ids.size(), about);
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

void read_file(const std::filesystem::path& file, PairCollector& collector) {
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

CaptureInput read_pair_input(const std::vector<std::filesystem::path>& files,
                             const Tokenizer& tokenizer, const InputShape& shape) {
  PairCollector collector(tokenizer, shape);
  for (const std::filesystem::path& file : files) read_file(file, collector);
  return collector.take();
}

}  // namespace lime
