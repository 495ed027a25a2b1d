// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/json.h"

namespace lime {

/// The question that a row of MultiRC answers, as its document has it: numbers of `idx`, or texts.
struct MultircQuestion {
  Json paragraph;
  Json question;

  friend bool operator<(const MultircQuestion& a, const MultircQuestion& b) {
    return std::tie(a.paragraph, a.question) < std::tie(b.paragraph, b.question);
  }
};

/// One line of `lm-eval --log_samples` or lime-eval: an item of a benchmark and a model's answer.
struct EvalSample {
  std::string where;  ///< "'samples.jsonl' line 3"
  std::string task;
  std::int64_t doc_id = 0;
  Json document = Json::object();
  std::string target;
  std::vector<std::string> contexts;       ///< one per continuation; one for generated text
  std::vector<std::string> continuations;  ///< empty for generated text
  bool is_delimited = true;  ///< a space before a continuation is none of it, but a delimiter
  std::vector<std::string> stop_strings;  ///< of generated text
  std::int64_t gold = 0;                  ///< index of the correct continuation
  /// Log-likelihood of each continuation, nats, and whether greedy decoding yields it; or empty.
  std::vector<double> log_likelihoods;
  std::vector<bool> is_greedy;
  /// Log-likelihoods from the outputs of single layers, which lime-eval --layers writes.
  struct Layer {
    int layer = 0;
    std::vector<double> log_likelihoods;
    std::vector<double> probe;  ///< log-probability that a choice is correct; empty without probes
  };
  std::vector<Layer> layers;
  std::string filter;                 ///< that extracted the answer from a generated text
  std::optional<double> exact_match;  ///< of generated text
  bool logs_acc_norm = false;         ///< the line has `acc_norm`
  std::string tokenizer_sha256;       ///< of lime-eval

  bool is_text() const { return continuations.empty(); }
  /// Returns a continuation without the delimiter, whose length acc_norm divides by.
  std::string choice(std::size_t index) const;
  /// Returns the question of a row of MultiRC; nothing for rows of others.
  std::optional<MultircQuestion> multirc_question() const;
  /// Returns true if the choices differ in their contexts (WinoGrande).
  bool varies_context() const;
};

/// Passes the lines of a samples file to `take`, in order.
/// @param file  its name gives the task if lines do not: samples_TASK_DATE.jsonl
/// @throws IoError, FormatError  if a line is broken, an item twice or without gold answer.
void read_samples_file(const std::filesystem::path& file,
                       const std::function<void(EvalSample sample)>& take);

}  // namespace lime
