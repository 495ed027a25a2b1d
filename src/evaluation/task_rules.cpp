// SPDX-License-Identifier: Apache-2.0
#include "evaluation/task_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "checkpoint/tokenizer/python_text.h"
#include "core/errors.h"
#include "core/utf8.h"
#include "evaluation/text_template.h"
#include "evaluation/yaml_file.h"

namespace lime {
namespace {

/// A question made of the fields of a row.
struct Template {
  TextTemplate prompt;
  std::vector<TextTemplate> choices;  ///< one for each, or a single "{{field}}" of a list
  std::string gold;                   ///< field; none: the first choice
  std::vector<TextTemplate> labels;   ///< that the field may contain instead of an index; likewise
  GoldIndex index = GoldIndex::kAllowed;

  Question operator()(const TaskDocument& document) const {
    const Texts names = filled(labels, document);
    Question question{{prompt.filled(document)}, filled(choices, document), 0};
    if (index == GoldIndex::kRefused) check_labels(document, names, question.continuations.size());
    if (!gold.empty()) question.gold = gold_of(document, gold, names, index);
    return question;
  }

 private:
  static void check_labels(const TaskDocument& document, const Texts& names, std::size_t choices) {
    throw_if<FormatError>(names.size() != choices,
                          "{}: must have as many labels as choices, got {} and {}", document.where,
                          names.size(), choices);
    const std::set<std::string_view> distinct(names.begin(), names.end());
    throw_if<FormatError>(distinct.size() != names.size(), "{}: the labels must differ, got {}",
                          document.where,
                          printable(fmt::format("{}", fmt::join(names, ", ")), 200));
  }
};

std::vector<TextTemplate> templates_of(const Texts& texts, const std::string& where) {
  std::vector<TextTemplate> templates;
  for (const std::string& text : texts) templates.emplace_back(text, where);
  return templates;
}

/// Returns a question of a task of the harness.
Template harness_template(std::string_view prompt, const Texts& choices, std::string gold,
                          const Texts& labels = {}) {
  return {TextTemplate(prompt, "prompt"), templates_of(choices, "choices"), std::move(gold),
          templates_of(labels, "labels")};
}

Question lettered_question(const TaskDocument& document, const std::string& stem,
                           const Texts& choices, std::size_t gold) {
  constexpr std::size_t kLetters = 26;
  throw_if<FormatError>(choices.size() > kLetters, "{}: must have at most {} choices, got {}",
                        document.where, kLetters, choices.size());
  Question question{{python_strip(stem)}, {}, gold};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    question.continuations.emplace_back(1, static_cast<char>('A' + i));
    question.contexts[0] += fmt::format("\n{}. {}", question.continuations.back(), choices[i]);
  }
  question.contexts[0] += "\nAnswer:";
  return question;
}

Question common_sense_question(const TaskDocument& document) {
  return lettered_question(document, "Question: " + python_strip(text_of(document, "question")),
                           texts_of(document, "choices.text"),
                           gold_of(document, "answerKey", texts_of(document, "choices.label")));
}

Question mmlu_question(const TaskDocument& document) {
  return lettered_question(document, text_of(document, "question"), texts_of(document, "choices"),
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
  const std::vector<std::size_t> starts = code_point_starts(premise);
  if (starts.size() > 1) premise.resize(starts[starts.size() - 2]);  // without the period
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
  static const Template wic = harness_template(
      "Sentence 1: {{sentence1}}\nSentence 2: {{sentence2}}\nQuestion: Is the word '{{word}}' used "
      "in the same way in the two sentences above?\nAnswer:",
      {"no", "yes"}, "label");
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

/// Returns the rule of a file with `prompt`, `choices` and `gold`.
TaskRule own_rule(const std::filesystem::path& file) {
  const TaskDocument task{read_yaml_file(file), "'" + file.string() + "'"};
  constexpr std::array kKeys = {"prompt", "choices", "gold", "labels"};
  throw_if<FormatError>(!task.json.is_object(), "{}: a task must consist of {}", task.where,
                        fmt::join(kKeys, ", "));
  for (const auto& [key, value] : task.json.items()) {
    if (std::ranges::find(kKeys, key) != kKeys.end()) continue;
    throw FormatError("{}: a task must consist of {}, got '{}'", task.where, fmt::join(kKeys, ", "),
                      printable(key));
  }
  const auto list = [&](const char* key) {
    const std::string where = fmt::format("{}: '{}'", task.where, key);
    const Texts texts =
        value_at(task, key).is_array() ? texts_of(task, key) : Texts{text_of(task, key)};
    throw_if<FormatError>(texts.empty(), "{}: must not be empty", where);
    std::vector<TextTemplate> templates = templates_of(texts, where);
    for (const TextTemplate& text : templates) {
      for (const std::string_view field : text.fields()) check_field(field, where);
    }
    return templates;
  };
  const bool has_labels = task.json.contains("labels");
  throw_if<FormatError>(value_at(task, "prompt").is_array(), "{}: 'prompt' must be one string",
                        task.where);
  const Template question{list("prompt").front(), list("choices"), text_of(task, "gold"),
                          has_labels ? list("labels") : std::vector<TextTemplate>(),
                          has_labels ? GoldIndex::kRefused : GoldIndex::kAllowed};
  check_field(question.gold, task.where + ": 'gold'");
  return {file.stem().string(), fmt::format("the fields of {}", task.where), Shots::kPoolButItem,
          question, true};
}

}  // namespace

TaskRule task_rule(const std::string& task) {
  constexpr auto kLabelled = "question, choices (text, label), answerKey";
  const auto labelled = [](const char* prompt) {
    return harness_template(prompt, {"{{choices.text}}"}, "answerKey", {"{{choices.label}}"});
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
       harness_template(
           "{{paragraph}}\nQuestion: {{question}}\nAnswer:",
           {"{{answer}}\nIs the answer correct? yes", "{{answer}}\nIs the answer correct? no"},
           "label")},
      {"wic", "sentence1, sentence2, start1, end1, label", Shots::kPoolButItem, wic_question},
      {"qnli", "question, sentence, label", Shots::kPoolButItem,
       harness_template(
           "{{question}}\n{{sentence}}\nQuestion: Does this response answer the question?\nAnswer:",
           {"yes", "no"}, "label", labels_of_glue)},
      {"wnli", "sentence1, sentence2, label", Shots::kPoolButItem,
       harness_template("{{sentence1}}\nQuestion: {{sentence2}} True or False?\nAnswer:",
                        {"False", "True"}, "label")},
      {"piqa", "goal, sol1, sol2, label", Shots::kPoolButItem,
       harness_template("Question: {{goal}}\nAnswer:", {"{{sol1}}", "{{sol2}}"}, "label"), true},
      {"winogrande", "sentence, option1, option2, answer", Shots::kPoolButItem,
       winogrande_question},
      {"boolq", "passage, question, label", Shots::kPoolButItem,
       harness_template("{{passage}}\nQuestion: {{question}}?\nAnswer:", {"no", "yes"}, "label")},
      {"rte", "premise, hypothesis, label; or sentence1, sentence2, label", Shots::kPoolButItem,
       harness_template(
           "{{premise|sentence1}}\nQuestion: {{hypothesis|sentence2}} True or False?\nAnswer:",
           {"True", "False"}, "label", labels_of_glue)},
      {"commonsense_qa", kLabelled, Shots::kPoolButItem, common_sense_question},
      {"mmlu_", "question, choices, answer", Shots::kFirst, mmlu_question},
      {"bigbench_", "a task.json of BIG-bench, or inputs, multiple_choice_targets, targets",
       Shots::kItems,
       harness_template("{{inputs}}", {"{{multiple_choice_targets}}"}, "targets.0",
                        {"{{multiple_choice_targets}}"})},
      {"lambada_openai", "text; or context, continuation", Shots::kItems, lambada_question, false,
       Answer::kContinuation},
      {"gsm8k", "question, answer", Shots::kPool,
       harness_template("Question: {{question}}\nAnswer:", {"{{answer}}"}, ""), false,
       Answer::kText},
      {"choices", "prompt, choices, gold", Shots::kPoolButItem,
       harness_template("{{prompt}}", {"{{choices}}"}, "gold"), true},
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
  throw InvalidArgument(OptionName("tasks"), "expected {}, or a .yaml or .json file, got '{}'",
                        fmt::join(names, ", "), printable(task));
}

std::string task_description(std::string_view task) {
  if (!task.starts_with("mmlu_")) return "";
  return "The following are multiple choice questions (with answers) about " +
         replaced(std::string(task.substr(5)), "_", " ") + ".\n\n";
}

}  // namespace lime
