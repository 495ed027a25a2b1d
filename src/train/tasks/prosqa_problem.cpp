// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/prosqa_problem.h"

#include <algorithm>
#include <set>
#include <span>

#include "core/errors.h"
#include "core/json.h"

namespace lime {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kAnswerMark = "###";

std::string text_field(const Json& problem, const char* key, const std::string& where) {
  const auto found = problem.is_object() ? problem.find(key) : problem.end();
  if (found == problem.end() || !found->is_string()) {
    throw FormatError("{}: must have a string \"{}\"", where, key);
  }
  return found->get<std::string>();
}

/// Splits words after every `.`; words after the last one are dropped.
std::vector<Words> sentences_of(std::span<const std::string> words) {
  std::vector<Words> sentences;
  Words sentence;
  for (const std::string& word : words) {
    if (word != ".") {
      sentence.push_back(word);
    } else if (!sentence.empty()) {
      sentences.push_back(std::move(sentence));
      sentence.clear();
    }
  }
  return sentences;
}

/// Returns true if the steps lead from the subject of `answer` to its concept through statements of
/// `known`.
bool is_proof(std::span<const Words> steps, const Words& answer, const std::set<Words>& known) {
  if (steps.empty() || answer.empty()) return false;
  std::string at = answer.front();
  for (const Words& step : steps) {
    // "Tom is a terpus" or "Every terpus is a lempus".
    const std::size_t subject = step.front() == "Every" ? 1 : 0;
    if (!known.contains(step) || step.size() <= subject || step[subject] != at) return false;
    at = step.back();
  }
  return at == answer.back();
}

}  // namespace

std::vector<ProsQaProblem> read_prosqa(const std::filesystem::path& path) {
  const Json list = read_json_file(path);
  if (!list.is_array() || list.empty()) {
    throw FormatError("'{}': must be a list of ProsQA problems, got {}", path.string(),
                      list.is_array() ? "an empty one" : list.type_name());
  }
  std::vector<ProsQaProblem> problems;
  for (const Json& item : list) {
    const std::string where = fmt::format("'{}', problem {}", path.string(), problems.size());
    ProsQaProblem problem;
    problem.question = text_field(item, "question", where);
    problem.answer = text_field(item, "answer", where);
    const auto steps = item.find("steps");
    const bool has_steps = steps != item.end() && steps->is_array() && !steps->empty() &&
                           std::all_of(steps->begin(), steps->end(),
                                       [](const Json& step) { return step.is_string(); });
    if (!has_steps) throw FormatError("{}: must have a list of strings \"steps\"", where);
    problem.steps = steps->get<std::vector<std::string>>();
    problems.push_back(std::move(problem));
  }
  return problems;
}

std::string prosqa_file(std::span<const ProsQaProblem> problems) {
  std::string text;
  for (const ProsQaProblem& problem : problems) {
    const Json item = {
        {"question", problem.question}, {"steps", problem.steps}, {"answer", problem.answer}};
    text += (text.empty() ? "[" : ",\n") + item.dump();
  }
  return text + "]\n";
}

std::string prosqa_prompt(const ProsQaProblem& problem) { return problem.question + "\n"; }

std::string prosqa_solution(const ProsQaProblem& problem) {
  return fmt::format("{}\n{} {}", fmt::join(problem.steps, "\n"), kAnswerMark, problem.answer);
}

std::vector<std::string> prosqa_words(std::string_view text) {
  Words words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (const char letter : text) {
    if (letter == ' ' || letter == '\n') {
      end_word();
    } else if (letter == '.' || letter == '?') {
      end_word();
      words.emplace_back(1, letter);
    } else {
      word += letter;
    }
  }
  end_word();
  return words;
}

std::string spaced_prosqa_words(std::string_view text) {
  return fmt::format("{}", fmt::join(prosqa_words(text), " "));
}

ProsQaEvaluation evaluate_prosqa(const ProsQaProblem& problem, std::string_view written) {
  const Words words = prosqa_words(written);
  const auto mark = std::find(words.begin(), words.end(), kAnswerMark);
  ProsQaEvaluation evaluation;
  if (mark == words.end() || mark + 1 == words.end()) return evaluation;
  evaluation.is_answered = true;
  const Words answer = prosqa_words(problem.answer);
  evaluation.is_correct = std::equal(mark + 1, words.end(), answer.begin(), answer.end());
  if (!evaluation.is_correct) return evaluation;

  const std::vector<Words> statements = sentences_of(prosqa_words(problem.question));
  const std::vector<Words> steps = sentences_of(std::span(words.begin(), mark));
  const std::vector<Words> answers = sentences_of(answer);
  evaluation.is_proven =
      answers.size() == 1 &&
      is_proof(steps, answers.front(), std::set<Words>(statements.begin(), statements.end()));
  return evaluation;
}

}  // namespace lime
