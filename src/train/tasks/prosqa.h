// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/program/progress.h"

namespace lime {

/// A question of ProsQA (Hao et al. 2024, "Training Large Language Models to Reason in a Continuous
/// Latent Space", arXiv:2412.06769): which of two concepts follows from the statements?
struct ProsQaProblem {
  std::string question;            ///< "Every yimpus is a rempus. ... Is Tom a lempus or gorpus?"
  std::vector<std::string> steps;  ///< the proof: "Tom is a terpus.", "Every terpus is a lempus."
  std::string answer;              ///< "Tom is a lempus."
};

/// Reads a file of the dataset: a JSON list of objects with `question`, `steps` and `answer`.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if the content is invalid; names the problem and the field.
std::vector<ProsQaProblem> read_prosqa(const std::filesystem::path& path);

/// Returns the content of a file that read_prosqa() accepts: one problem per line.
std::string prosqa_file(std::span<const ProsQaProblem> problems);

/// Returns the prompt: the question and a line end.
std::string prosqa_prompt(const ProsQaProblem& problem);
/// Returns the reference completion: the steps, one per line, then `### answer`, as in the authors'
/// training.
std::string prosqa_solution(const ProsQaProblem& problem);

/// Splits a text into words; `.` and `?` are separate words.
std::vector<std::string> prosqa_words(std::string_view text);
/// Joins prosqa_words() by single spaces, as word-level tokenizers expect.
std::string spaced_prosqa_words(std::string_view text);

struct ProsQaEvaluation {
  bool is_answered = false;  ///< a text follows `###`
  bool is_correct = false;   ///< and it is the answer
  bool is_proven = false;    ///< and every step is a statement of the question that continues
                             ///< the previous one, from the name in the question to the answer
};

/// @param written  the generated text after the prompt.
ProsQaEvaluation evaluate_prosqa(const ProsQaProblem& problem, std::string_view written);

/// Generates problems like those of ProsQA, whose training file is not available.
///
/// Concepts form a random acyclic graph: each new one follows from one or more earlier ones, deeper
/// ones with higher probability, drawn among the consequences of the first name only, of the second
/// only, or all (probabilities 0.35, 0.35, 0.3), as the authors describe in their appendix. A few
/// follow from nothing and become further names. The question is about one of the first two names;
/// the answer is among its most remote consequences that the other name lacks, 3 to 6 steps away;
/// the other candidate is a consequence of the other name only. The numbers of concepts and of
/// premises are fitted to the published validation and test files; prosqa_test.cpp compares them.
///
/// Problem i depends only on seed and i. Thread-safe.
class ProsQaGenerator {
 public:
  explicit ProsQaGenerator(std::uint64_t seed) : seed_(seed) {}

  ProsQaProblem draw(std::int64_t index) const;

  /// Returns `count` problems with distinct questions, the first ones of draw() whose questions
  /// differ in words from those of `excluded`.
  /// @param on_progress  number of problems drawn.
  /// @throws Interrupted  if `stop` was requested.
  std::vector<ProsQaProblem> draw_distinct(std::int64_t count,
                                           std::span<const ProsQaProblem> excluded = {},
                                           const ProgressFn& on_progress = {},
                                           std::stop_token stop = {}) const;

  /// Names and concepts of the published files.
  static std::span<const std::string> names();
  static std::span<const std::string> concepts();

 private:
  std::uint64_t seed_;
};

}  // namespace lime
