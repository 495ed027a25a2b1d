// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/program/progress.h"
#include "train/tasks/prosqa_problem.h"

namespace lime {

/// Generates problems like those of ProsQA, whose training file is not available.
///
/// Concepts form a random acyclic graph: each new one follows from one or more earlier ones, deeper
/// ones with higher probability, drawn among the consequences of the first name only, of the second
/// only, or all (probabilities 0.35, 0.35, 0.3), as the authors describe in their appendix. A few
/// follow from nothing and become further names. The question is about one of the first two names;
/// the answer is among its most remote consequences that the other name lacks, 3 to 6 steps away;
/// the other candidate is a consequence of the other name only. The numbers of concepts and of
/// premises are fitted to the published validation and test files; prosqa_generator_test.cpp
/// compares them.
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
