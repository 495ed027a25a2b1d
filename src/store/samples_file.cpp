// SPDX-License-Identifier: Apache-2.0
#include "store/samples_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

#include "core/errors.h"
#include "core/files/input_file.h"
#include "core/utf8.h"

namespace lime {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string shown(const Json& value) { return printable(dump_json(value)); }

/// Returns the text `line[key]`, or `fallback` if it is absent.
std::string text_or(const Json& line, const char* key, const std::string& fallback,
                    const std::string& where) {
  const auto found = line.find(key);
  if (found == line.end()) return fallback;
  if (found->is_string()) return found->get<std::string>();
  throw FormatError("{}: '{}' must be a string, got {}", where, key, shown(*found));
}

/// Returns a list of finite numbers.
std::vector<double> numbers_of(const Json& list, const char* key, const std::string& where) {
  const auto is_number = [](const Json& value) {
    return value.is_number() && std::isfinite(value.get<double>());
  };
  throw_if<FormatError>(!list.is_array() || !std::ranges::all_of(list, is_number),
                        "{}: '{}' must be a list of finite numbers, got {}", where, key,
                        shown(list));
  return list.get<std::vector<double>>();
}

/// Reads `arguments`: pairs of context and continuation, or of prompt and generation settings.
void read_arguments(const Json& line, EvalSample& sample) {
  const Json arguments = line.value("arguments", Json());
  for (const Json& entry : arguments) {
    const bool is_named = entry.is_object() && entry.contains("arg_0") && entry.contains("arg_1");
    const bool is_pair = entry.is_array() && entry.size() >= 2;
    const Json context = is_named ? entry["arg_0"] : is_pair ? entry[0] : Json();
    const Json continuation = is_named ? entry["arg_1"] : is_pair ? entry[1] : Json();
    if (!context.is_string() || !(continuation.is_string() || continuation.is_object())) {
      sample.contexts.clear();
      break;
    }
    sample.contexts.push_back(context.get<std::string>());
    if (continuation.is_object()) {
      const Json until = continuation.value("until", Json::array());
      throw_if<FormatError>(!until.is_array() || !std::ranges::all_of(until, &Json::is_string),
                            "{}: 'until' must be a list of strings, got {}", sample.where,
                            shown(until));
      sample.stop_strings = until.get<std::vector<std::string>>();
      continue;
    }
    sample.continuations.push_back(continuation.get<std::string>());
    throw_if<FormatError>(sample.continuations.back().empty(), "{}: a continuation is empty",
                          sample.where);
  }
  if (!sample.contexts.empty()) return;
  throw FormatError(
      "{}: must have 'arguments' with context and continuation, as lm-eval --log_samples writes "
      "them",
      sample.where);
}

/// Returns the correct choice: `gold` of lime-eval, or `target` of lm-eval, an index or a text.
std::int64_t gold_of(const Json& line, const EvalSample& sample) {
  const std::int64_t count = std::ssize(sample.continuations);
  const Json target = line.value("target", Json());
  const bool is_index = !sample.target.empty() && sample.target.size() < 9 &&
                        sample.target.find_first_not_of("0123456789") == std::string::npos;
  std::int64_t gold = -1;
  if (line.contains("gold") && line["gold"].is_number_integer()) {
    gold = line["gold"].get<std::int64_t>();
  } else if (count == 1) {
    gold = 0;
  } else if (sample.varies_context() && sample.document.contains("answer")) {
    gold = sample.document["answer"] == "1" ? 0 : sample.document["answer"] == "2" ? 1 : -1;
  } else if (is_index || target.is_number_integer()) {
    gold = is_index ? std::stoll(sample.target) : target.get<std::int64_t>();
  } else {
    const auto& texts = sample.continuations;
    const auto found = std::ranges::find_if(
        texts, [&](const std::string& text) { return trimmed(text) == trimmed(sample.target); });
    if (found != texts.end()) gold = found - texts.begin();
  }
  if (gold >= 0 && gold < count) return gold;
  throw FormatError(
      "{}: has no gold answer: 'target' must be the index or text of one of {} choices, got {}",
      sample.where, count, shown(target));
}

void read_responses(const Json& line, EvalSample& sample) {
  const Json responses = line.value("filtered_resps", Json::array());
  if (responses.size() != sample.continuations.size()) return;
  for (const Json& entry : responses) {
    throw_if<FormatError>(!entry.is_array() || entry.size() != 2,
                          "{}: 'filtered_resps' must be pairs of log-likelihood and is_greedy",
                          sample.where);
    const auto text = [](const Json& cell) {
      return cell.is_string() ? cell.get<std::string>() : cell.dump();
    };
    const double value = std::strtod(text(entry[0]).c_str(), nullptr);
    if (!std::isfinite(value) || text(entry[0]).empty()) {
      throw FormatError("{}: log-likelihoods must be finite numbers, got {}", sample.where,
                        shown(entry[0]));
    }
    sample.log_likelihoods.push_back(value);
    sample.is_greedy.push_back(text(entry[1]) == "True" || text(entry[1]) == "true");
  }
  for (const Json& layer : line.value("layers", Json::array())) {
    const bool is_layer = layer.is_object() && layer.contains("layer") &&
                          layer["layer"].is_number_integer() && layer.contains("log_likelihoods");
    throw_if<FormatError>(!is_layer,
                          "{}: 'layers' must be objects with 'layer' and 'log_likelihoods', got {}",
                          sample.where, shown(layer));
    sample.layers.push_back(
        {layer["layer"].get<int>(),
         numbers_of(layer["log_likelihoods"], "log_likelihoods", sample.where),
         numbers_of(layer.value("probe", Json::array()), "probe", sample.where)});
    const auto& [index, scores, probe] = sample.layers.back();
    const std::size_t count = sample.continuations.size();
    throw_if<FormatError>(scores.size() != count || (!probe.empty() && probe.size() != count),
                          "{}: layer {} must have a score for each of {} choices", sample.where,
                          index, count);
  }
}

/// samples_arc_easy_2026-11-23T06-00-00.123.jsonl -> arc_easy;
/// arc_easy.3shot.samples.jsonl -> arc_easy.
std::string task_of_file(const std::filesystem::path& file) {
  std::string name = file.stem().string();
  if (name.starts_with("samples_")) {
    name = name.substr(8);
    const std::size_t date = name.rfind("_20");
    if (date != std::string::npos) name.resize(date);
  }
  return name.substr(0, name.find('.'));
}

EvalSample sample_of(const Json& line, const std::filesystem::path& file,
                     const std::string& where) {
  throw_if<FormatError>(
      !line.is_object() || !line.contains("doc_id") || !line["doc_id"].is_number_integer(),
      "{}: must be an object with 'doc_id', as lm-eval --log_samples writes it", where);
  EvalSample sample;
  sample.where = where;
  sample.task = text_or(line, "task", task_of_file(file), where);
  sample.doc_id = line["doc_id"].get<std::int64_t>();
  const Json document = line.value("doc", Json());
  if (document.is_object()) sample.document = document;
  const Json target = line.value("target", Json());
  if (target.is_string()) sample.target = target.get<std::string>();
  sample.filter = text_or(line, "filter", "none", where);
  sample.logs_acc_norm = line.contains("acc_norm");
  sample.tokenizer_sha256 = text_or(line, "tokenizer_sha256", "", where);
  read_arguments(line, sample);
  if (sample.is_text()) {
    if (!line.contains("exact_match")) return sample;
    sample.exact_match = numbers_of(Json::array({line["exact_match"]}), "exact_match", where)[0];
    return sample;
  }
  sample.gold = gold_of(line, sample);
  read_responses(line, sample);
  return sample;
}

}  // namespace

std::string EvalSample::choice(std::size_t index) const {
  const std::string& text = continuations[index];
  return is_delimited && text.starts_with(' ') ? text.substr(1) : text;
}

std::optional<MultircQuestion> EvalSample::multirc_question() const {
  const Json idx = document.value("idx", Json());
  if (idx.is_object() && idx.contains("paragraph") && idx.contains("question")) {
    return MultircQuestion{idx["paragraph"], idx["question"]};
  }
  const Json paragraph = document.value("paragraph", Json());
  if (!paragraph.is_string()) return std::nullopt;
  return MultircQuestion{paragraph, document.value("question", Json())};
}

bool EvalSample::varies_context() const {
  return std::ranges::any_of(
      contexts, [&](const std::string& context) { return context != contexts.front(); });
}

void read_samples_file(const std::filesystem::path& file,
                       const std::function<void(EvalSample sample)>& take) {
  std::set<std::tuple<std::string, std::int64_t, std::string>> seen;
  for_each_line(file, [&](std::string_view text, std::int64_t number) {
    const std::string where = fmt::format("'{}' line {}", file.string(), number);
    const Json line = parse_json(text, where);
    EvalSample sample = sample_of(line, file, where);
    throw_if<FormatError>(!seen.insert({sample.task, sample.doc_id, sample.filter}).second,
                          "{}: item {} of {} occurs twice", where, sample.doc_id, sample.task);
    take(std::move(sample));
    return true;
  });
  if (seen.empty()) throw FormatError("'{}': contains no samples", file.string());
}

}  // namespace lime
