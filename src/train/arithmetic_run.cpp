// SPDX-License-Identifier: Apache-2.0
#include "train/arithmetic_run.h"

#include <algorithm>

#include "core/errors.h"
#include "train/arithmetic_evaluation.h"
#include "train/arithmetic_vocabulary.h"

namespace lime {
namespace {

std::vector<ArithmeticExpression> draw_all(const ArithmeticRunOptions& options, TaskSplit split,
                                           std::int64_t count, std::stop_token stop) {
  const ArithmeticGenerator generator(options.task, options.seed);
  std::vector<ArithmeticExpression> all;
  for (const int operands : options.task.operands) {
    const auto drawn = generator.draw_distinct(operands, split, count, stop);
    all.insert(all.end(), drawn.begin(), drawn.end());
  }
  return all;
}

/// @throws InvalidArgument  if a sequence is longer than the model allows.
std::vector<TokenSequence> sequences_of(std::span<const ArithmeticExpression> expressions,
                                        const ArithmeticVocabulary& vocabulary,
                                        const ArithmeticRunOptions& options) {
  std::vector<TokenSequence> sequences;
  sequences.reserve(expressions.size());
  for (const ArithmeticExpression& expression : expressions) {
    TokenSequence sequence;
    sequence.ids = vocabulary.sequence(expression);
    if (options.loss_on == LossOn::kSolution) {
      sequence.first_target = static_cast<std::int64_t>(vocabulary.prompt(expression).size());
    }
    const auto length = static_cast<std::int64_t>(sequence.ids.size());
    if (length > options.model.max_position_embeddings) {
      throw InvalidArgument(
          "max_position_embeddings: must be at least the {} tokens of the solution of '{}', got {}",
          length, expression.text(), options.model.max_position_embeddings);
    }
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

/// What must be the same for a run to be resumed.
Json describe_run(const ArithmeticRunOptions& options) {
  return {{"task", "aet"},
          {"data",
           {{"expressions", options_to_json(options.task)},
            {"train_samples", options.train_samples},
            {"test_samples", options.test_samples},
            {"loss_on", enum_name(options.loss_on)}}},
          {"seed", options.seed}};
}

}  // namespace

void ArithmeticRunOptions::describe(OptionList& list) {
  run.describe(list);
  task.describe(list);
  list.add("train_samples", train_samples, "training expressions per number of operands, >= 1");
  list.add("test_samples", test_samples, "held-out expressions per number of operands, >= 1");
  list.add("loss_on", loss_on, "tokens that are learnt: the solution, or the expression too");
  list.add("seed", seed, "of the first weights, the expressions and their order");
  model.describe(list);
  training.describe(list);
}

void ArithmeticRunOptions::validate() const {
  run.validate();
  task.validate();
  if (train_samples < 1) {
    throw InvalidArgument("train_samples: must be >= 1, got {}", train_samples);
  }
  if (test_samples < 1) throw InvalidArgument("test_samples: must be >= 1, got {}", test_samples);
  training.validate();
}

TrainingOutcome train_on_arithmetic(const ArithmeticRunOptions& options,
                                    const ProgressFn& on_progress, std::stop_token stop) {
  options.validate();
  const ArithmeticVocabulary vocabulary(options.task.range());
  const ModelConfig config = options.model.config(vocabulary.size(), ArithmeticVocabulary::kBos,
                                                  ArithmeticVocabulary::kEos);
  const auto training = draw_all(options, TaskSplit::kTraining, options.train_samples, stop);
  const auto test = draw_all(options, TaskSplit::kTest, options.test_samples, stop);
  const SequenceBatches::Options order = {.batch_size = options.training.batch_size,
                                          .seed = options.seed,
                                          .pad_id = ArithmeticVocabulary::kPad};
  SequenceBatches data(sequences_of(training, vocabulary, options), order);
  SequenceBatches validation(sequences_of(test, vocabulary, options), order);
  Decoder decoder(config, options.seed);

  const TrainingJob job = {
      .decoder = decoder,
      .data = data,
      .validation = &validation,
      .options = options.training,
      .description = describe_run(options),
      .files = {{"tokenizer.json", vocabulary.tokenizer_json().dump(2) + "\n"},
                {"tokenizer_config.json", vocabulary.tokenizer_config_json().dump(2) + "\n"}},
      .evaluate = [&](const ProgressFn& progress, std::stop_token evaluation_stop) {
        return accuracy_to_json(
            arithmetic_accuracy(decoder, vocabulary, test, progress, evaluation_stop));
      }};
  return run_training(job, options.run, on_progress, stop);
}

}  // namespace lime
