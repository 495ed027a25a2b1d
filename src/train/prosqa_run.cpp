// SPDX-License-Identifier: Apache-2.0
#include "train/prosqa_run.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/errors.h"
#include "core/sha256.h"
#include "train/greedy_answers.h"
#include "train/prosqa_generator.h"
#include "train/tokenizer_files.h"
#include "train/word_vocabulary.h"

namespace lime {
namespace {

/// Problems drawn for tests come from a stream of their own.
constexpr std::uint64_t kTestSeed = 0x9e3779b97f4a7c15ULL;

/// How texts become tokens and back.
struct Codec {
  std::function<std::vector<std::int32_t>(const std::string&)> encode;
  std::function<std::string(std::span<const std::int32_t>)> decode;
  std::int32_t vocab_size = 0;
  std::int32_t bos = 0;
  std::int32_t eos = 0;
  std::map<std::string, std::string> files;  ///< of the tokenizer
};

/// The words of a text between single spaces, as tokenizers of words want them.
std::string spaced_words(const std::string& text) {
  return fmt::format("{}", fmt::join(prosqa_words(text), " "));
}

/// One token per word.
Codec word_codec() {
  std::vector<std::string> words = {"Every", "Is", "is", "a", "or", ".", "?", "###"};
  for (const auto list : {ProsQaGenerator::names(), ProsQaGenerator::concepts()}) {
    words.insert(words.end(), list.begin(), list.end());
  }
  const auto vocabulary = std::make_shared<WordVocabulary>(
      "ProsQA vocabulary", "names and concepts of ProsQA, or those of its sentences", words);
  Codec codec;
  codec.encode = [vocabulary](const std::string& text) {
    return vocabulary->encode(spaced_words(text));
  };
  codec.decode = [vocabulary](std::span<const std::int32_t> ids) {
    return vocabulary->decode(ids);
  };
  codec.vocab_size = vocabulary->size();
  codec.bos = WordVocabulary::kBos;
  codec.eos = WordVocabulary::kEos;
  codec.files = {{"tokenizer.json", vocabulary->tokenizer_json().dump(2) + "\n"},
                 {"tokenizer_config.json", vocabulary->tokenizer_config_json().dump(2) + "\n"}};
  return codec;
}

/// The tokenizer of a checkpoint.
Codec checkpoint_codec(const std::filesystem::path& folder) {
  const std::shared_ptr<Tokenizer> tokenizer = load_tokenizer(folder);
  if (!tokenizer->eos_id()) {
    throw InvalidArgument("from: the tokenizer of '{}' must have an end-of-text token",
                          folder.string());
  }
  Codec codec;
  codec.encode = [tokenizer](const std::string& text) {
    return tokenizer->encode(tokenizer->kind() == "word-level" ? spaced_words(text) : text);
  };
  codec.decode = [tokenizer](std::span<const std::int32_t> ids) { return tokenizer->decode(ids); };
  codec.vocab_size = tokenizer->vocab_size();
  codec.eos = *tokenizer->eos_id();
  codec.bos = tokenizer->bos_id().value_or(codec.eos);
  codec.files = tokenizer_files(folder);
  return codec;
}

std::vector<std::int32_t> prompt_ids(const ProsQaProblem& problem, const Codec& codec) {
  std::vector<std::int32_t> ids = codec.encode(prosqa_prompt(problem));
  ids.insert(ids.begin(), codec.bos);
  return ids;
}

std::vector<TokenSequence> sequences_of(std::span<const ProsQaProblem> problems, const Codec& codec,
                                        std::int64_t longest) {
  std::vector<TokenSequence> sequences;
  for (const ProsQaProblem& problem : problems) {
    TokenSequence sequence;
    sequence.ids = prompt_ids(problem, codec);
    sequence.first_target = static_cast<std::int64_t>(sequence.ids.size());
    const std::vector<std::int32_t> solution = codec.encode(prosqa_solution(problem));
    sequence.ids.insert(sequence.ids.end(), solution.begin(), solution.end());
    sequence.ids.push_back(codec.eos);
    if (static_cast<std::int64_t>(sequence.ids.size()) > longest) {
      throw InvalidArgument(
          "max_position_embeddings: must be at least the {} tokens of the problem '{:.60}...', got "
          "{}",
          sequence.ids.size(), problem.question, longest);
    }
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

std::vector<ProsQaProblem> draw_problems(std::uint64_t seed, std::int64_t count,
                                         std::span<const ProsQaProblem> excluded) {
  std::unordered_set<std::string> seen;
  for (const ProsQaProblem& problem : excluded) seen.insert(problem.question);
  const ProsQaGenerator generator(seed);
  std::vector<ProsQaProblem> problems;
  for (std::int64_t i = 0; static_cast<std::int64_t>(problems.size()) < count; ++i) {
    ProsQaProblem problem = generator.draw(i);
    if (seen.insert(problem.question).second) problems.push_back(std::move(problem));
  }
  return problems;
}

Json answer_questions(const Decoder& decoder, std::span<const ProsQaProblem> problems,
                      const Codec& codec, const ProgressFn& on_progress, std::stop_token stop) {
  std::vector<std::vector<std::int32_t>> prompts;
  std::size_t longest = 0;
  for (const ProsQaProblem& problem : problems) {
    prompts.push_back(prompt_ids(problem, codec));
    longest = std::max(longest, codec.encode(prosqa_solution(problem)).size());
  }
  const auto written =
      answer_greedily(decoder, prompts, codec.eos, static_cast<std::int64_t>(2 * longest),
                      on_progress, std::move(stop));
  std::int64_t correct = 0;
  std::int64_t proven = 0;
  std::int64_t unanswered = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    std::span<const std::int32_t> ids = written[i];
    const bool is_finished = !ids.empty() && ids.back() == codec.eos;
    if (is_finished) ids = ids.first(ids.size() - 1);
    const ProsQaVerdict verdict =
        is_finished ? judge_prosqa(problems[i], codec.decode(ids)) : ProsQaVerdict();
    correct += verdict.is_correct ? 1 : 0;
    proven += verdict.is_proven ? 1 : 0;
    unanswered += verdict.is_answered ? 0 : 1;
  }
  const auto count = static_cast<std::int64_t>(problems.size());
  const auto share = [&](std::int64_t part) {
    return static_cast<double>(part) / static_cast<double>(count);
  };
  return Json::array({{{"count", count},
                       {"accuracy", share(correct)},
                       {"proven", share(proven)},
                       {"unanswered", unanswered}}});
}

}  // namespace

void ProsQaData::describe(OptionList& list) {
  list.group("ProsQA (--task prosqa)");
  list.add("train_problems", train_problems, "problems drawn for training, >= 1");
  list.add("test_problems", test_problems, "problems drawn for the test without --test-file, >= 1");
  list.add("test_file", test_file, "file of the data set to test on, e.g. prosqa_test.json");
}

void ProsQaData::validate() const {
  if (train_problems < 1) {
    throw InvalidArgument("train_problems: must be >= 1, got {}", train_problems);
  }
  if (test_problems < 1) {
    throw InvalidArgument("test_problems: must be >= 1, got {}", test_problems);
  }
}

TrainingOutcome train_on_prosqa(const ProsQaData& data, const TrainingSetup& setup,
                                const ProgressFn& on_progress, std::stop_token stop) {
  data.validate();
  setup.validate();
  const Codec codec = setup.from.empty() ? word_codec() : checkpoint_codec(setup.from);
  const std::vector<ProsQaProblem> test =
      data.test_file.empty() ? draw_problems(setup.seed ^ kTestSeed, data.test_problems, {})
                             : read_prosqa(data.test_file);
  const std::vector<ProsQaProblem> training = draw_problems(setup.seed, data.train_problems, test);

  Decoder decoder = setup.first_decoder(codec.vocab_size, codec.bos, codec.eos);
  const SequenceBatches::Options order = {
      .batch_size = setup.training.batch_size, .seed = setup.seed, .pad_id = codec.eos};
  const std::int64_t longest = decoder.config().max_position_embeddings;
  SequenceBatches batches(sequences_of(training, codec, longest), order);
  SequenceBatches validation(sequences_of(test, codec, longest), order);
  const TrainingJob job = {
      .decoder = decoder,
      .data = batches,
      .validation = &validation,
      .options = setup.training,
      .compute = setup.compute,
      .group = setup.group,
      .description = {{"task", "prosqa"},
                      {"data",
                       {{"train_problems", data.train_problems},
                        {"test_problems", test.size()},
                        {"test_sha256",
                         data.test_file.empty() ? Json() : Json(sha256_of_file(data.test_file))}}},
                      {"from", setup.from_digest()},
                      {"seed", setup.seed}},
      .files = codec.files,
      .evaluate = [&](const ProgressFn& progress, std::stop_token evaluation_stop) {
        return answer_questions(decoder, test, codec, progress, std::move(evaluation_stop));
      }};
  return run_training(job, setup.run, on_progress, std::move(stop));
}

}  // namespace lime
