// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lime {

/// One question of ProsQA (Hao et al. 2024, "Training Large Language Models to Reason in a
/// Continuous Latent Space", arXiv:2412.06769): which of two concepts follows from the statements.
struct ProsQaProblem {
  std::string question;            ///< "Every yimpus is a rempus. ... Is Tom a lempus or gorpus?"
  std::vector<std::string> steps;  ///< the proof: "Tom is a terpus.", "Every terpus is a lempus."
  std::string answer;              ///< "Tom is a lempus."
};

/// Reads a file of the data set: a JSON list of objects with `question`, `steps` and `answer`.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if it is something else; names the problem and the field.
std::vector<ProsQaProblem> read_prosqa(const std::filesystem::path& path);

/// A file that read_prosqa() reads, with what it reads of one of the data set: a problem per line.
std::string prosqa_file(std::span<const ProsQaProblem> problems);

/// What a model is asked: the question and a line's end.
std::string prosqa_prompt(const ProsQaProblem& problem);
/// What it is to write: the steps, a line each, then `### answer`, as the data set's authors train.
std::string prosqa_solution(const ProsQaProblem& problem);

/// The words of a text: `.` and `?` stand alone.
std::vector<std::string> prosqa_words(std::string_view text);
/// prosqa_words() between single spaces, as tokenizers of words want them.
std::string spaced_prosqa_words(std::string_view text);

/// What a model wrote, judged.
struct ProsQaVerdict {
  bool is_answered = false;  ///< something stands behind `###`
  bool is_correct = false;   ///< and it is the answer
  bool is_proven = false;    ///< and every step is a statement of the question that goes on from
                             ///< the one before, from the name asked for to the answer
};

/// @param written  the text behind the prompt.
ProsQaVerdict judge_prosqa(const ProsQaProblem& problem, std::string_view written);

}  // namespace lime
