// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Evaluation of a generated answer.
struct ProsQaEvaluation {
  bool is_answered = false;  ///< a text follows `###`
  bool is_correct = false;   ///< and it is the answer
  bool is_proven = false;    ///< and every step is a statement of the question that continues
                             ///< the previous one, from the name in the question to the answer
};

/// @param written  the generated text after the prompt.
ProsQaEvaluation evaluate_prosqa(const ProsQaProblem& problem, std::string_view written);

}  // namespace lime
