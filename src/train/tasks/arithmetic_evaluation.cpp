// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_evaluation.h"

#include <algorithm>
#include <map>

#include "train/tasks/greedy_answers.h"

namespace lime {

std::vector<ArithmeticAccuracy> arithmetic_accuracy(
    const Decoder& decoder, const ArithmeticVocabulary& vocabulary,
    std::span<const ArithmeticExpression> expressions, const ProgressFn& on_progress,
    std::stop_token stop) {
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<std::vector<std::int32_t>> references;  // expected completions, `</s>` included
  std::size_t longest = 0;
  for (const ArithmeticExpression& expression : expressions) {
    prompts.push_back(vocabulary.prompt(expression));
    const auto sequence = vocabulary.sequence(expression);
    references.emplace_back(sequence.begin() + static_cast<std::ptrdiff_t>(prompts.back().size()),
                            sequence.end());
    longest = std::max(longest, references.back().size());
  }
  const auto written =
      answer_greedily(decoder, prompts, ArithmeticVocabulary::kEos,
                      static_cast<std::int64_t>(2 * longest), on_progress, std::move(stop));

  std::map<int, ArithmeticAccuracy> accuracies;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    ArithmeticAccuracy& accuracy = accuracies[expressions[i].num_operands()];
    accuracy.operands = expressions[i].num_operands();
    const std::optional<int> answer = vocabulary.answer(written[i]);
    ++accuracy.count;
    if (!answer) ++accuracy.unfinished;
    if (answer && *answer == expressions[i].value()) ++accuracy.correct;
    if (written[i] == references[i]) ++accuracy.exact;
  }
  std::vector<ArithmeticAccuracy> all;
  for (const auto& [operands, accuracy] : accuracies) all.push_back(accuracy);
  return all;
}

Json accuracy_to_json(std::span<const ArithmeticAccuracy> accuracies) {
  Json rows = Json::array();
  for (const ArithmeticAccuracy& accuracy : accuracies) {
    rows.push_back({{"operands", accuracy.operands},
                    {"accuracy", accuracy.accuracy()},
                    {"count", accuracy.count},
                    {"correct", accuracy.correct},
                    {"exact", accuracy.exact},
                    {"unfinished", accuracy.unfinished}});
  }
  return rows;
}

}  // namespace lime
