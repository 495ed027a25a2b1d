// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_run.h"

#include <algorithm>

#include "checkpoint/tokenizer.h"
#include "train/sequence_batches.h"
#include "train/tasks/arithmetic_vocabulary.h"
#include "train/text/tokenizer_files.h"

namespace lime {
namespace {

std::vector<ArithmeticExpression> draw_all(const ArithmeticData& data, std::uint64_t seed,
                                           TaskSplit split,
                                           std::span<const ArithmeticExpression> excluded,
                                           const ProgressFn& on_progress, std::stop_token stop) {
  const ArithmeticGenerator generator(data.task, seed);
  const std::int64_t count = split == TaskSplit::kTraining ? data.train_samples : data.test_samples;
  std::vector<ArithmeticExpression> all;
  for (const int operands : data.task.operands) {
    const auto drawn = generator.draw_distinct(operands, split, count, excluded, on_progress, stop);
    all.insert(all.end(), drawn.begin(), drawn.end());
  }
  return all;
}

using ExpressionSamples = TaskSamples<ArithmeticExpression>;

ExpressionSamples take_expressions(const ArithmeticData& data, std::uint64_t seed,
                                   const ProgressFn& on_progress, const std::stop_token& stop) {
  return take_samples<ArithmeticExpression>(
      data.files,
      [&](const std::filesystem::path& file) { return read_expressions(file, data.task.range()); },
      [&](TaskSplit split, std::span<const ArithmeticExpression> excluded) {
        return draw_all(data, seed, split, excluded, on_progress, stop);
      },
      [](const ArithmeticExpression& expression) { return expression.text(); });
}

/// @throws InvalidArgument  if a sequence is longer than the model allows.
std::vector<TokenSequence> sequences_of(std::span<const ArithmeticExpression> expressions,
                                        const ArithmeticVocabulary& vocabulary, LossOn loss_on,
                                        const TrainingSetup& setup, const ModelConfig& config) {
  std::vector<TokenSequence> sequences;
  sequences.reserve(expressions.size());
  for (const ArithmeticExpression& expression : expressions) {
    TokenSequence sequence;
    sequence.ids = vocabulary.sequence(expression);
    if (loss_on == LossOn::kSolution) {
      sequence.first_target = static_cast<std::int64_t>(vocabulary.prompt(expression).size());
    }
    setup.check_length(config, std::ssize(sequence.ids),
                       fmt::format("the solution of '{}'", expression.text()));
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

/// Checks that the checkpoint to train further has the same ids for the words.
void require_same_words(const std::filesystem::path& from, const ArithmeticVocabulary& vocabulary,
                        const IntegerRange& range) {
  const auto tokenizer = load_tokenizer(from);
  for (std::int32_t id = ArithmeticVocabulary::kBos; id < vocabulary.size(); ++id) {
    const std::string word = vocabulary.decode(std::span(&id, 1));
    const std::optional<std::int32_t> token = tokenizer->token_id(word);
    if (token == id) continue;
    throw InvalidArgument(
        OptionName("from"),
        "the tokenizer of '{}' must have the words of expressions from {} to {} in their "
        "order, '{}' as token {}, got {}; start from a model of --task aet with its --min-value, "
        "--max-value and --modulus",
        from.string(), range.min, range.max, word, id, token ? std::to_string(*token) : "none");
  }
}

struct Accuracy {
  std::int64_t count = 0;
  std::int64_t correct = 0;     ///< the final answer is the value
  std::int64_t unfinished = 0;  ///< no `= integer </s>` at the end within the limit
  std::int64_t exact = 0;       ///< every step matches solution()
};

/// Generates the solution of each expression greedily and parses the answer at its end. A solution
/// may have up to twice the tokens of the longest reference.
/// @return one object per number of operands, ascending, as in the log and --format json.
Json evaluate(const Decoder& decoder, const ArithmeticVocabulary& vocabulary,
              std::span<const ArithmeticExpression> expressions, int modulus,
              const ProgressFn& on_progress, std::stop_token stop) {
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

  std::map<int, Accuracy> accuracies;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    Accuracy& accuracy = accuracies[expressions[i].num_operands()];
    const std::optional<int> answer = vocabulary.answer(written[i]);
    ++accuracy.count;
    if (!answer) ++accuracy.unfinished;
    if (answer && *answer == expressions[i].value(modulus)) ++accuracy.correct;
    if (written[i] == references[i]) ++accuracy.exact;
  }
  Json rows = Json::array();
  for (const auto& [operands, of] : accuracies) {
    rows.push_back({{"operands", operands},
                    {"accuracy", static_cast<double>(of.correct) / static_cast<double>(of.count)},
                    {"count", of.count},
                    {"correct", of.correct},
                    {"exact", of.exact},
                    {"unfinished", of.unfinished}});
  }
  return rows;
}

Json describe_run(const ArithmeticData& data, const ExpressionSamples& samples,
                  const TrainingSetup& setup) {
  Json described = {{"expressions", options_to_json(data.task)},
                    {"train_samples", data.train_samples},
                    {"test_samples", data.test_samples},
                    {"loss_on", enum_name(data.loss_on)}};
  if (!data.files.train_file.empty()) {
    described["train_samples"] = samples.training.size();
    described["train_sha256"] = TaskFiles::digest_of(data.files.train_file);
  }
  if (!data.files.test_file.empty()) {
    described["test_samples"] = samples.test.size();
    described["test_sha256"] = TaskFiles::digest_of(data.files.test_file);
  }
  return setup.describe("aet", described);
}

}  // namespace

void ArithmeticData::describe(OptionList& list) {
  task.describe(list);
  list.add("train_samples", train_samples,
           "training expressions per number of operands, 1 to 1000000");
  list.add("test_samples", test_samples,
           "held-out expressions per number of operands, 1 to 1000000");
  list.add("loss_on", loss_on, "tokens that are trained on: the solution, or also the expression");
}

void ArithmeticData::validate() const {
  task.validate();
  check_drawn_samples("train_samples", train_samples);
  check_drawn_samples("test_samples", test_samples);
}

TrainingOutcome train_on_arithmetic(const ArithmeticData& data, const TrainingSetup& setup,
                                    const ProgressFn& on_progress, std::stop_token stop) {
  data.validate();
  setup.validate();
  const ArithmeticVocabulary vocabulary(data.task.range());
  if (!setup.from.empty()) require_same_words(setup.from, vocabulary, data.task.range());
  Decoder decoder = setup.first_decoder(vocabulary.size(), ArithmeticVocabulary::kBos,
                                        ArithmeticVocabulary::kEos);
  const ExpressionSamples samples = take_expressions(data, setup.seed, drawing(on_progress), stop);
  const ModelConfig& config = decoder.config();
  return train_on_sequences(
      decoder, setup,
      {.training = sequences_of(samples.training, vocabulary, data.loss_on, setup, config),
       .test = sequences_of(samples.test, vocabulary, data.loss_on, setup, config),
       .pad_id = ArithmeticVocabulary::kPad,
       .description = describe_run(data, samples, setup),
       .files = setup.from.empty() ? vocabulary.files() : tokenizer_files(setup.from),
       .evaluate =
           [&](const ProgressFn& progress, std::stop_token evaluation_stop) {
             return evaluate(decoder, vocabulary, samples.test, data.task.modulus, progress,
                             evaluation_stop);
           }},
      on_progress, stop);
}

}  // namespace lime
