// SPDX-License-Identifier: Apache-2.0
#include "evaluation/task_rules.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/errors.h"
#include "core/utf8.h"
#include "evaluation/python.h"

namespace lime {
namespace {

using Texts = std::vector<std::string>;

/// Returns the value at a path, "choices.text", or at the first of several that exists,
/// "premise|sentence1"; null if there is none.
const Json& value_at(const TaskDocument& document, std::string_view path) {
  static const Json none;
  const std::string_view first = path.substr(0, path.find('|'));
  const Json::json_pointer pointer("/" + replaced(std::string(first), ".", "/"));
  if (document.json.contains(pointer)) return document.json[pointer];
  return first == path ? none : value_at(document, path.substr(first.size() + 1));
}

std::string as_text(const Json& value, const TaskDocument& document, std::string_view path) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw FormatError("{}: must have the string '{}'", document.where, path);
}

std::string text_of(const TaskDocument& document, std::string_view path) {
  return as_text(value_at(document, path), document, path);
}

Texts texts_of(const TaskDocument& document, std::string_view path) {
  const Json& list = value_at(document, path);
  if (!list.is_array()) throw FormatError("{}: must have the list '{}'", document.where, path);
  Texts texts;
  for (const Json& entry : list) texts.push_back(as_text(entry, document, path));
  return texts;
}

/// Returns the index of the gold answer: a number, a number as text, true or false, or one of
/// `names`.
std::size_t gold_of(const TaskDocument& document, const std::string& path,
                    const Texts& names = {}) {
  const Json& value = value_at(document, path);
  throw_if<FormatError>(value.is_null() || value == "", "{}: has no gold answer ('{}')",
                        document.where, path);
  const auto text = value.is_string() ? value.get<std::string>() : "";
  const auto named = std::ranges::find(names, text);
  if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
  std::int64_t gold = -1;
  if (value.is_boolean()) gold = value.get<bool>() ? 1 : 0;
  if (value.is_number_integer()) gold = value.get<std::int64_t>();
  if (names.empty()) std::from_chars(text.data(), text.data() + text.size(), gold);
  if (gold >= 0) return static_cast<std::size_t>(gold);
  throw FormatError("{}: '{}' must be the index of the gold answer{}{}, got {}", document.where,
                    path, names.empty() ? "" : " or one of ", fmt::join(names, ", "),
                    printable(value.dump()));
}

/// A question made of the fields of a row: "{{field}}" is replaced by its text.
struct Template {
  std::string prompt;
  Texts choices;      ///< one for each, or a single "{{field}}" for the texts of a list
  std::string gold;   ///< field
  Texts labels = {};  ///< that the field may contain instead of an index; likewise

  Question operator()(const TaskDocument& document) const {
    return {{filled(prompt, document)},
            filled(choices, document),
            gold.empty() ? 0 : gold_of(document, gold, filled(labels, document))};
  }

 private:
  static std::string filled(std::string_view text, const TaskDocument& document) {
    std::string result;
    for (std::size_t end = 0;; text.remove_prefix(end + 2)) {
      const std::size_t begin = text.find("{{");
      end = begin == text.npos ? begin : text.find("}}", begin);
      if (end == text.npos) return result.append(text);
      result.append(text.substr(0, begin));
      result += text_of(document, python_strip(text.substr(begin + 2, end - begin - 2)));
    }
  }
  static Texts filled(const Texts& templates, const TaskDocument& document) {
    const std::string first = templates.empty() ? "" : templates.front();
    if (templates.size() == 1 && first.starts_with("{{") && first.ends_with("}}")) {
      const std::string path = python_strip(first.substr(2, first.size() - 4));
      if (!value_at(document, path).is_string()) return texts_of(document, path);
    }
    Texts texts;
    for (const std::string& text : templates) texts.push_back(filled(text, document));
    return texts;
  }
};

Question lettered_question(const std::string& stem, const Texts& choices, std::size_t gold) {
  Question question{{python_strip(stem)}, {}, gold};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    question.continuations.emplace_back(1, static_cast<char>('A' + i));
    question.contexts[0] += fmt::format("\n{}. {}", question.continuations.back(), choices[i]);
  }
  question.contexts[0] += "\nAnswer:";
  return question;
}

Question common_sense_question(const TaskDocument& document) {
  return lettered_question("Question: " + python_strip(text_of(document, "question")),
                           texts_of(document, "choices.text"),
                           gold_of(document, "answerKey", texts_of(document, "choices.label")));
}

Question mmlu_question(const TaskDocument& document) {
  return lettered_question(text_of(document, "question"), texts_of(document, "choices"),
                           gold_of(document, "answer", {"A", "B", "C", "D"}));
}

/// Removes every "[...]" within a line.
std::string without_brackets(const std::string& text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '[' ? text.find_first_of("]\n", i) : std::string::npos;
    if (end != std::string::npos && text[end] == ']') {
      i = end;
    } else {
      kept += text[i];
    }
  }
  return kept;
}

std::string clean_wiki_how(const std::string& text) {
  const std::string titled = replaced(python_strip(text), " [title]", ". ");
  return replaced(without_brackets(titled), "  ", " ");
}

Question hellaswag_question(const TaskDocument& document) {
  Question question;
  question.contexts = {clean_wiki_how(text_of(document, "activity_label") + ": " +
                                      text_of(document, "ctx_a") + " " +
                                      python_capitalize(text_of(document, "ctx_b")))};
  for (const std::string& ending : texts_of(document, "endings")) {
    question.continuations.push_back(clean_wiki_how(ending));
  }
  question.gold = gold_of(document, "label");
  return question;
}

Question copa_question(const TaskDocument& document) {
  const std::string kind = text_of(document, "question");
  throw_if<FormatError>(kind != "cause" && kind != "effect",
                        "{}: 'question' must be cause or effect, got '{}'", document.where,
                        printable(kind));
  std::string premise = python_strip(text_of(document, "premise"));
  if (!premise.empty()) premise.pop_back();  // the period
  const auto choice = [&](const char* key) {
    std::string text = text_of(document, key);
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
    return " " + text;
  };
  return {{premise + (kind == "cause" ? " because" : " therefore")},
          {choice("choice1"), choice("choice2")},
          gold_of(document, "label")};
}

Question wic_question(const TaskDocument& document) {
  static const Template wic = {
      "Sentence 1: {{sentence1}}\nSentence 2: {{sentence2}}\nQuestion: Is the word '{{word}}' used "
      "in the same way in the two sentences above?\nAnswer:",
      {"no", "yes"},
      "label"};
  const std::string sentence = text_of(document, "sentence1");
  const std::vector<std::size_t> starts = code_point_starts(sentence);
  const std::size_t first = gold_of(document, "start1");
  const std::size_t end = gold_of(document, "end1");
  throw_if<FormatError>(
      first > end || end >= starts.size(),
      "{}: 'start1' and 'end1' must be a range of characters of the sentence, got {} {}",
      document.where, first, end);
  TaskDocument with_word = document;
  with_word.json["word"] = sentence.substr(starts[first], starts[end] - starts[first]);
  return wic(with_word);
}

Question winogrande_question(const TaskDocument& document) {
  const std::string sentence = text_of(document, "sentence");
  const std::size_t blank = sentence.find('_');
  throw_if<FormatError>(blank == std::string::npos, "{}: 'sentence' must contain the blank '_'",
                        document.where);
  const std::string before = sentence.substr(0, blank);
  const std::string after = python_strip(sentence.substr(blank + 1));
  const std::size_t answer = gold_of(document, "answer");
  if (answer == 0) throw FormatError("{}: 'answer' must be 1 or 2, got 0", document.where);
  return {{before + text_of(document, "option1"), before + text_of(document, "option2")},
          {after, after},
          answer - 1};
}

Question lambada_question(const TaskDocument& document) {
  if (document.json.contains("continuation")) {
    return {{text_of(document, "context")}, {" " + text_of(document, "continuation")}, 0};
  }
  const std::string text = text_of(document, "text");
  const std::size_t space = text.rfind(' ');
  throw_if<FormatError>(space == std::string::npos,
                        "{}: 'text' must contain a space before the last word", document.where);
  return {{text.substr(0, space)}, {text.substr(space)}, 0};
}

Json json_of(const YAML::Node& node) {
  Json json;
  if (node.IsMap()) {
    json = Json::object();
    for (const auto& entry : node) json[entry.first.as<std::string>()] = json_of(entry.second);
  } else if (node.IsSequence()) {
    json = Json::array();
    for (const YAML::Node& entry : node) json.push_back(json_of(entry));
  } else if (node.IsScalar()) {
    const bool is_quoted = node.Tag() == "!";
    json = !is_quoted && Json::accept(node.Scalar()) ? Json::parse(node.Scalar())
                                                     : Json(node.Scalar());
  }
  return json;
}

/// Returns the rule of a file with `prompt`, `choices` and `gold`.
TaskRule own_rule(const std::filesystem::path& file) {
  const Json json = read_yaml_file(file);
  const TaskDocument task{json, "'" + file.string() + "'"};
  constexpr std::array kKeys = {"prompt", "choices", "gold", "labels"};
  for (const auto& [key, value] : json.items()) {
    if (json.is_object() && std::ranges::find(kKeys, key) != kKeys.end()) continue;
    throw FormatError("{}: a task must consist of {}, got '{}'", task.where, fmt::join(kKeys, ", "),
                      printable(key));
  }
  const auto list = [&](const char* key) {
    return json[key].is_array() ? texts_of(task, key) : Texts{text_of(task, key)};
  };
  const Template question{text_of(task, "prompt"), list("choices"), text_of(task, "gold"),
                          json.contains("labels") ? list("labels") : Texts()};
  return {file.stem().string(), fmt::format("the fields of {}", task.where), Shots::kPoolButItem,
          question, true};
}

}  // namespace

Json read_yaml_file(const std::filesystem::path& file) {
  try {
    return json_of(YAML::LoadFile(file.string()));
  } catch (const YAML::BadFile&) {
    throw IoError("'{}': cannot be read", file.string());
  } catch (const YAML::Exception& error) {
    throw FormatError("'{}' line {}: {}", file.string(), error.mark.line + 1, error.msg);
  }
}

bool is_yaml(const std::filesystem::path& file) {
  return file.extension() == ".yaml" || file.extension() == ".yml";
}

TaskRule task_rule(const std::string& task) {
  constexpr auto kLabelled = "question, choices (text, label), answerKey";
  const auto labelled = [](const char* prompt) {
    return Template{prompt, {"{{choices.text}}"}, "answerKey", {"{{choices.label}}"}};
  };
  const auto labels_of_glue = Texts{"entailment", "not_entailment"};
  static const std::vector<TaskRule> rules = {
      {"arc_easy", kLabelled, Shots::kPool, labelled("Question: {{question}}\nAnswer:"), true},
      {"arc_challenge", kLabelled, Shots::kPool, labelled("Question: {{question}}\nAnswer:"), true},
      {"hellaswag", "activity_label, ctx_a, ctx_b, endings, label", Shots::kPoolButItem,
       hellaswag_question, true},
      {"openbookqa", "question_stem, choices (text, label), answerKey", Shots::kPool,
       labelled("{{question_stem|question}}"), true},
      {"copa", "premise, question, choice1, choice2, label", Shots::kPoolButItem, copa_question},
      // The harness's choices, where label 1 (correct) is the index of "no": see
      // `lime-metrics choices --preset corrected`.
      {"multirc", "paragraph, question, answer, label; or passage", Shots::kPoolButItem,
       Template{"{{paragraph}}\nQuestion: {{question}}\nAnswer:",
                {"{{answer}}\nIs the answer correct? yes", "{{answer}}\nIs the answer correct? no"},
                "label"}},
      {"wic", "sentence1, sentence2, start1, end1, label", Shots::kPoolButItem, wic_question},
      {"qnli", "question, sentence, label", Shots::kPoolButItem,
       Template{
           "{{question}}\n{{sentence}}\nQuestion: Does this response answer the question?\nAnswer:",
           {"yes", "no"},
           "label",
           labels_of_glue}},
      {"wnli", "sentence1, sentence2, label", Shots::kPoolButItem,
       Template{"{{sentence1}}\nQuestion: {{sentence2}} True or False?\nAnswer:",
                {"False", "True"},
                "label"}},
      {"piqa", "goal, sol1, sol2, label", Shots::kPoolButItem,
       Template{"Question: {{goal}}\nAnswer:", {"{{sol1}}", "{{sol2}}"}, "label"}, true},
      {"winogrande", "sentence, option1, option2, answer", Shots::kPoolButItem,
       winogrande_question},
      {"boolq", "passage, question, label", Shots::kPoolButItem,
       Template{"{{passage}}\nQuestion: {{question}}?\nAnswer:", {"no", "yes"}, "label"}},
      {"rte", "premise, hypothesis, label; or sentence1, sentence2, label", Shots::kPoolButItem,
       Template{"{{premise|sentence1}}\nQuestion: {{hypothesis|sentence2}} True or False?\nAnswer:",
                {"True", "False"},
                "label",
                labels_of_glue}},
      {"commonsense_qa", kLabelled, Shots::kPoolButItem, common_sense_question},
      {"mmlu_", "question, choices, answer", Shots::kFirst, mmlu_question},
      {"bigbench_", "a task.json of BIG-bench, or inputs, multiple_choice_targets, targets",
       Shots::kItems,
       Template{"{{inputs}}",
                {"{{multiple_choice_targets}}"},
                "targets.0",
                {"{{multiple_choice_targets}}"}}},
      {"lambada_openai", "text; or context, continuation", Shots::kItems, lambada_question, false,
       Answer::kContinuation},
      {"gsm8k", "question, answer", Shots::kPool,
       Template{"Question: {{question}}\nAnswer:", {"{{answer}}"}, ""}, false, Answer::kText},
      {"choices", "prompt, choices, gold", Shots::kPoolButItem,
       Template{"{{prompt}}", {"{{choices}}"}, "gold"}, true},
  };
  std::vector<std::string> names;
  for (TaskRule rule : rules) {
    const bool is_prefix = rule.name.ends_with('_');
    names.push_back(rule.name + (is_prefix ? "*" : ""));
    if (is_prefix ? !task.starts_with(rule.name) : task != rule.name) continue;
    rule.name = task;
    return rule;
  }
  if (is_yaml(task) || task.ends_with(".json")) return own_rule(task);
  throw InvalidArgument("tasks: expected {}, or a .yaml or .json file, got '{}'",
                        fmt::join(names, ", "), printable(task));
}

std::string task_description(std::string_view task) {
  if (!task.starts_with("mmlu_")) return "";
  return "The following are multiple choice questions (with answers) about " +
         replaced(std::string(task.substr(5)), "_", " ") + ".\n\n";
}

}  // namespace lime
