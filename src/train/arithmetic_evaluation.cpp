// SPDX-License-Identifier: Apache-2.0
#include "train/arithmetic_evaluation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>

#include "core/errors.h"

namespace lime {
namespace {

constexpr std::size_t kBatchSize = 256;

struct Question {
  const ArithmeticExpression* expression;
  std::vector<std::int32_t> prompt;
  std::vector<std::int32_t> reference;  // what should be written, `</s>` included
};

void mark(ArithmeticAccuracy& accuracy, const Question& question,
          const std::vector<std::int32_t>& written, const ArithmeticVocabulary& vocabulary) {
  const std::optional<int> answer = vocabulary.answer(written);
  ++accuracy.count;
  if (!answer) ++accuracy.unfinished;
  if (answer && *answer == question.expression->value()) ++accuracy.correct;
  if (written == question.reference) ++accuracy.exact;
}

}  // namespace

std::vector<ArithmeticAccuracy> arithmetic_accuracy(
    const Decoder& decoder, const ArithmeticVocabulary& vocabulary,
    std::span<const ArithmeticExpression> expressions, const ProgressFn& on_progress,
    std::stop_token stop) {
  std::map<std::size_t, std::vector<Question>> by_length;
  std::size_t longest = 0;
  for (const ArithmeticExpression& expression : expressions) {
    Question question{&expression, vocabulary.prompt(expression), vocabulary.sequence(expression)};
    const auto prompt_length = static_cast<std::ptrdiff_t>(question.prompt.size());
    question.reference.erase(question.reference.begin(),
                             question.reference.begin() + prompt_length);
    longest = std::max(longest, question.reference.size());
    by_length[question.prompt.size()].push_back(std::move(question));
  }
  std::map<int, ArithmeticAccuracy> accuracies;
  Progress progress;
  progress.total = static_cast<std::int64_t>(expressions.size());
  for (const auto& [length, questions] : by_length) {
    for (std::size_t begin = 0; begin < questions.size(); begin += kBatchSize) {
      if (stop.stop_requested()) throw Interrupted("evaluation: stopped before its end");
      const std::size_t count = std::min(kBatchSize, questions.size() - begin);
      std::vector<std::vector<std::int32_t>> prompts;
      for (std::size_t i = 0; i < count; ++i) prompts.push_back(questions[begin + i].prompt);
      const auto written = generate_greedily(decoder, prompts, ArithmeticVocabulary::kEos,
                                             static_cast<std::int64_t>(2 * longest));
      for (std::size_t i = 0; i < count; ++i) {
        const Question& question = questions[begin + i];
        const int operands = question.expression->num_operands();
        accuracies[operands].operands = operands;
        mark(accuracies[operands], question, written[i], vocabulary);
      }
      progress.done += static_cast<std::int64_t>(count);
      if (on_progress) on_progress(progress);
    }
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

std::vector<std::vector<std::int32_t>> generate_greedily(
    const Decoder& decoder, std::span<const std::vector<std::int32_t>> prompts,
    std::int32_t end_token, std::int64_t max_new_tokens) {
  const at::NoGradGuard no_grad;
  const auto rows = static_cast<std::int64_t>(prompts.size());
  const auto length = static_cast<std::int64_t>(prompts.front().size());
  at::Tensor ids = at::empty({rows, length}, at::kLong);
  auto* to = ids.data_ptr<std::int64_t>();
  for (const auto& prompt : prompts) to = std::copy(prompt.begin(), prompt.end(), to);

  std::vector<std::vector<std::int32_t>> written(prompts.size());
  std::size_t unfinished = prompts.size();
  KeyValueCache cache;
  Workspace workspace;
  for (std::int64_t i = 0; i < max_new_tokens && unfinished > 0; ++i) {
    const at::Tensor logits =
        decoder
            .forward(ids.to(decoder.options().device),
                     {.logits = LogitsFor::kLastToken, .cache = &cache, .workspace = &workspace})
            .logits;
    ids = logits.argmax(-1).to(at::kCPU);
    const auto* const next = ids.data_ptr<std::int64_t>();
    for (std::size_t row = 0; row < written.size(); ++row) {
      auto& text = written[row];
      if (!text.empty() && text.back() == end_token) continue;
      text.push_back(static_cast<std::int32_t>(next[row]));
      if (text.back() == end_token) --unfinished;
    }
  }
  return written;
}

}  // namespace lime
