// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/prosqa_run.h"

#include <algorithm>

#include "checkpoint/tokenizer.h"
#include "train/sequence_batches.h"
#include "train/tasks/prosqa.h"
#include "train/tasks/word_vocabulary.h"
#include "train/text/tokenizer_files.h"

namespace lime {
namespace {

/// Test problems use a separate random stream.
constexpr std::uint64_t kTestSeed = 0x9e3779b97f4a7c15ULL;

struct Codec {
  std::function<std::vector<std::int32_t>(const std::string&)> encode;
  std::function<std::string(std::span<const std::int32_t>)> decode;
  std::int32_t vocab_size = 0;
  std::int32_t bos = 0;
  std::int32_t eos = 0;
  std::map<std::string, std::string> files;  ///< of the tokenizer
};

Codec word_codec() {
  std::vector<std::string> words = {"Every", "Is", "is", "a", "or", ".", "?", "###"};
  for (const auto list : {ProsQaGenerator::names(), ProsQaGenerator::concepts()}) {
    words.insert(words.end(), list.begin(), list.end());
  }
  const auto vocabulary = std::make_shared<WordVocabulary>(
      "ProsQA vocabulary", "names and concepts of ProsQA, or those of its sentences", words);
  Codec codec;
  codec.encode = [vocabulary](const std::string& text) {
    return vocabulary->encode(spaced_prosqa_words(text));
  };
  codec.decode = [vocabulary](std::span<const std::int32_t> ids) {
    return vocabulary->decode(ids);
  };
  codec.vocab_size = vocabulary->size();
  codec.bos = WordVocabulary::kBos;
  codec.eos = WordVocabulary::kEos;
  codec.files = vocabulary->files();
  return codec;
}

Codec checkpoint_codec(const std::filesystem::path& folder) {
  const std::shared_ptr<Tokenizer> tokenizer = load_tokenizer(folder);
  throw_if(!tokenizer->eos_id(), OptionName("from"),
           "the tokenizer of '{}' must have an end-of-text token", folder.string());
  Codec codec;
  codec.encode = [tokenizer](const std::string& text) {
    return tokenizer->encode(tokenizer->kind() == "word-level" ? spaced_prosqa_words(text) : text);
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
                                        const TrainingSetup& setup, const ModelConfig& config) {
  std::vector<TokenSequence> sequences;
  for (const ProsQaProblem& problem : problems) {
    TokenSequence sequence;
    sequence.ids = prompt_ids(problem, codec);
    sequence.first_target = static_cast<std::int64_t>(sequence.ids.size());
    const std::vector<std::int32_t> solution = codec.encode(prosqa_solution(problem));
    sequence.ids.insert(sequence.ids.end(), solution.begin(), solution.end());
    sequence.ids.push_back(codec.eos);
    setup.check_length(config, std::ssize(sequence.ids),
                       fmt::format("the problem '{:.60}...'", problem.question));
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

/// Reads the problems of a file, checks that the tokenizer contains their words and that their
/// steps prove the answer.
std::vector<ProsQaProblem> read_problems(const std::filesystem::path& path, const Codec& codec) {
  std::vector<ProsQaProblem> problems = read_prosqa(path);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const std::string where = fmt::format("'{}', problem {}", path.string(), i);
    const std::string solution = prosqa_solution(problems[i]);
    try {
      codec.encode(prosqa_prompt(problems[i]) + solution);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("{}: {}", where, error.what());
    }
    if (!evaluate_prosqa(problems[i], solution).is_proven) {
      throw FormatError(
          "{}: the steps must lead from the name in question to the answer through statements of "
          "the question, got '{:.200}'",
          where, fmt::format("{}", fmt::join(problems[i].steps, " ")));
    }
  }
  return problems;
}

using ProblemSamples = TaskSamples<ProsQaProblem>;

ProblemSamples take_problems(const ProsQaData& data, std::uint64_t seed, const Codec& codec,
                             const ProgressFn& on_progress, const std::stop_token& stop) {
  return take_samples<ProsQaProblem>(
      data.files, [&](const std::filesystem::path& file) { return read_problems(file, codec); },
      [&](TaskSplit split, std::span<const ProsQaProblem> excluded) {
        const bool is_test = split == TaskSplit::kTest;
        const ProsQaGenerator generator(is_test ? seed ^ kTestSeed : seed);
        return generator.draw_distinct(is_test ? data.test_problems : data.train_problems, excluded,
                                       on_progress, stop);
      },
      [](const ProsQaProblem& problem) { return spaced_prosqa_words(problem.question); });
}

Json describe_run(const ProsQaData& data, const ProblemSamples& samples,
                  const TrainingSetup& setup) {
  Json described = {{"train_problems", samples.training.size()},
                    {"test_problems", samples.test.size()},
                    {"test_sha256", TaskFiles::digest_of(data.files.test_file)}};
  if (!data.files.train_file.empty()) {
    described["train_sha256"] = TaskFiles::digest_of(data.files.train_file);
  }
  return setup.describe("prosqa", described);
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
    const ProsQaEvaluation evaluation =
        is_finished ? evaluate_prosqa(problems[i], codec.decode(ids)) : ProsQaEvaluation();
    correct += evaluation.is_correct ? 1 : 0;
    proven += evaluation.is_proven ? 1 : 0;
    unanswered += evaluation.is_answered ? 0 : 1;
  }
  const auto count = static_cast<std::int64_t>(problems.size());
  const auto fraction = [&](std::int64_t part) {
    return static_cast<double>(part) / static_cast<double>(count);
  };
  return Json::array({{{"count", count},
                       {"accuracy", fraction(correct)},
                       {"proven", fraction(proven)},
                       {"unanswered", unanswered}}});
}

}  // namespace

void ProsQaData::describe(OptionList& list) {
  list.group("ProsQA (--task prosqa)");
  list.add("train_problems", train_problems,
           "problems generated for training without --train-file, 1 to 1000000");
  list.add("test_problems", test_problems,
           "problems generated for testing without --test-file, 1 to 1000000");
}

void ProsQaData::validate() const {
  check_drawn_samples("train_problems", train_problems);
  check_drawn_samples("test_problems", test_problems);
}

TrainingOutcome train_on_prosqa(const ProsQaData& data, const TrainingSetup& setup,
                                const ProgressFn& on_progress, std::stop_token stop) {
  data.validate();
  setup.validate();
  const Codec codec = setup.from.empty() ? word_codec() : checkpoint_codec(setup.from);
  const ProblemSamples samples = take_problems(data, setup.seed, codec, drawing(on_progress), stop);

  Decoder decoder = setup.first_decoder(codec.vocab_size, codec.bos, codec.eos);
  const ModelConfig& config = decoder.config();
  return train_on_sequences(decoder, setup,
                            {.training = sequences_of(samples.training, codec, setup, config),
                             .test = sequences_of(samples.test, codec, setup, config),
                             .pad_id = codec.eos,
                             .description = describe_run(data, samples, setup),
                             .files = codec.files,
                             .evaluate =
                                 [&](const ProgressFn& progress, std::stop_token evaluation_stop) {
                                   return answer_questions(decoder, samples.test, codec, progress,
                                                           std::move(evaluation_stop));
                                 }},
                            on_progress, std::move(stop));
}

}  // namespace lime
