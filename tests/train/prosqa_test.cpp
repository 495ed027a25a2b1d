// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/prosqa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/errors.h"
#include "support/sanitizers.h"
#include "support/test_data.h"
#include "train/tasks/prosqa_run.h"
#include "train/tiny_run.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

ProsQaProblem small_problem() {
  return {.question =
              "Every yimpus is a rempus. Tom is a yimpus. Sam is a gorpus. Every rempus is "
              "a lempus. Is Tom a gorpus or lempus?",
          .steps = {"Tom is a yimpus.", "Every yimpus is a rempus.", "Every rempus is a lempus."},
          .answer = "Tom is a lempus."};
}

TEST(ProsQaProblemTest, PromptAndSolutionAreThoseOfTheDataSet) {
  const ProsQaProblem problem = small_problem();
  EXPECT_THAT(prosqa_prompt(problem), ::testing::EndsWith("Is Tom a gorpus or lempus?\n"));
  EXPECT_EQ(prosqa_solution(problem),
            "Tom is a yimpus.\nEvery yimpus is a rempus.\nEvery rempus is a lempus.\n### Tom is a "
            "lempus.");
  EXPECT_THAT(prosqa_words("Is Tom a lempus?\n### Yes."),
              ElementsAre("Is", "Tom", "a", "lempus", "?", "###", "Yes", "."));
}

TEST(ProsQaProblemTest, EvaluatesAnswerAndProof) {
  const ProsQaProblem problem = small_problem();
  const auto evaluate = [&](const std::string& written) {
    const ProsQaEvaluation evaluation = evaluate_prosqa(problem, written);
    return std::array{evaluation.is_answered, evaluation.is_correct, evaluation.is_proven};
  };
  using Evaluation = std::array<bool, 3>;
  EXPECT_EQ(evaluate(prosqa_solution(problem)), (Evaluation{true, true, true}));
  EXPECT_EQ(
      evaluate("Tom is a yimpus . Every yimpus is a rempus . Every rempus is a lempus . ### Tom "
               "is a lempus ."),
      (Evaluation{true, true, true}))
      << "words between spaces, as a tokenizer of words writes them";
  EXPECT_EQ(evaluate("Tom is a yimpus. Every rempus is a lempus. ### Tom is a lempus."),
            (Evaluation{true, true, false}))
      << "a step is missing";
  EXPECT_EQ(evaluate("Tom is a lempus. ### Tom is a lempus."), (Evaluation{true, true, false}))
      << "no statement of the question";
  EXPECT_EQ(evaluate("### Tom is a lempus."), (Evaluation{true, true, false}));
  EXPECT_EQ(evaluate("Tom is a yimpus. ### Tom is a gorpus."), (Evaluation{true, false, false}));
  EXPECT_EQ(evaluate("Tom is a yimpus. ###"), (Evaluation{false, false, false}));
  EXPECT_EQ(evaluate(""), (Evaluation{false, false, false}));
}

TEST(ProsQaProblemTest, AnAnswerThatIsNoSentenceHasNoProof) {
  ProsQaProblem problem = small_problem();
  problem.answer = "Tom is a lempus";
  const ProsQaEvaluation evaluation = evaluate_prosqa(problem, prosqa_solution(problem));
  EXPECT_TRUE(evaluation.is_correct);
  EXPECT_FALSE(evaluation.is_proven);
}

TEST(ProsQaProblemTest, ReadsTheFileThatItWrites) {
  const testing::TemporaryFolder folder;
  const auto drawn = ProsQaGenerator(5).draw_distinct(20);
  testing::write_text(folder / "drawn.json", prosqa_file(drawn));
  const auto read = read_prosqa(folder / "drawn.json");
  ASSERT_EQ(read.size(), drawn.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].question, drawn[i].question);
    EXPECT_EQ(read[i].steps, drawn[i].steps);
    EXPECT_EQ(read[i].answer, drawn[i].answer);
  }
}

TEST(ProsQaProblemTest, NamesTheProblemThatIsBroken) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "a.json",
                      R"([{"question": "q", "steps": ["s"], "answer": "a"}, {"question": "q"}])");
  EXPECT_THAT(
      [&] { read_prosqa(folder / "a.json"); },
      ThrowsMessage<FormatError>(HasSubstr("a.json', problem 1: must have a string \"answer\"")));
  testing::write_text(folder / "a.json", R"([{"question": "q", "steps": [1], "answer": "a"}])");
  EXPECT_THAT([&] { read_prosqa(folder / "a.json"); },
              ThrowsMessage<FormatError>(HasSubstr("must have a list of strings \"steps\"")));
  testing::write_text(folder / "a.json", "{}");
  EXPECT_THAT([&] { read_prosqa(folder / "a.json"); },
              ThrowsMessage<FormatError>(HasSubstr("must be a list of ProsQA problems")));
  EXPECT_THROW(read_prosqa(folder / "none.json"), IoError);
}

TEST(ProsQaGeneratorTest, EveryProofHoldsAndTheOtherCandidateDoesNotFollow) {
  const ProsQaGenerator generator(7);
  for (std::int64_t i = 0; i < 200; ++i) {
    const ProsQaProblem problem = generator.draw(i);
    const ProsQaEvaluation evaluation = evaluate_prosqa(problem, prosqa_solution(problem));
    EXPECT_TRUE(evaluation.is_proven) << problem.question;
    EXPECT_GE(problem.steps.size(), 3U);
    EXPECT_LE(problem.steps.size(), 6U);

    // All consequences of the name, by brute force.
    const auto words = prosqa_words(problem.question);
    const std::string name = problem.answer.substr(0, problem.answer.find(' '));
    std::set<std::string> known = {name};
    for (std::size_t round = 0; round < 30; ++round) {
      for (std::size_t w = 0; w + 3 < words.size(); ++w) {
        if (words[w + 1] == "is" && words[w + 2] == "a" && known.contains(words[w])) {
          known.insert(words[w + 3]);
        }
      }
    }
    const std::string first = words[words.size() - 4];
    const std::string second = words[words.size() - 2];
    EXPECT_NE(known.contains(first), known.contains(second)) << problem.question;
  }
}

TEST(ProsQaGeneratorTest, AProblemDependsOnSeedAndIndexOnly) {
  EXPECT_EQ(ProsQaGenerator(3).draw(5).question, ProsQaGenerator(3).draw(5).question);
  EXPECT_NE(ProsQaGenerator(3).draw(5).question, ProsQaGenerator(3).draw(6).question);
  EXPECT_NE(ProsQaGenerator(3).draw(5).question, ProsQaGenerator(4).draw(5).question);
}

TEST(ProsQaGeneratorTest, LeavesOutQuestionsOfOtherSpacing) {
  const ProsQaGenerator generator(3);
  ProsQaProblem spaced = generator.draw(1);
  spaced.question = spaced_prosqa_words(spaced.question);
  const auto drawn = generator.draw_distinct(2, std::vector{spaced});
  EXPECT_EQ(drawn[0].question, generator.draw(0).question);
  EXPECT_EQ(drawn[1].question, generator.draw(2).question);

  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(generator.draw_distinct(2, {}, {}, stop.get_token()), Interrupted);
}

/// Means over problems that measure their difficulty.
struct Shape {
  double statements = 0.0;
  double steps = 0.0;
};

template <typename Problems> Shape shape_of(const Problems& problems) {
  Shape shape;
  for (const ProsQaProblem& problem : problems) {
    const auto stops = std::count(problem.question.begin(), problem.question.end(), '.');
    shape.statements += static_cast<double>(stops) / static_cast<double>(problems.size());
    shape.steps += static_cast<double>(problem.steps.size()) / static_cast<double>(problems.size());
  }
  return shape;
}

TEST(ProsQaGeneratorTest, ProblemsAreAsLargeAsThePublishedOnes) {
  const auto file = testing::test_data("prosqa/prosqa_test.json");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << testing::skip_reason(file);
  const auto published = read_prosqa(file);
  ASSERT_EQ(published.size(), 500U);
  for (const ProsQaProblem& problem : published) {
    EXPECT_TRUE(evaluate_prosqa(problem, prosqa_solution(problem)).is_proven) << problem.question;
  }
  std::vector<ProsQaProblem> drawn;
  const ProsQaGenerator generator(1);
  for (std::int64_t i = 0; i < 500; ++i) drawn.push_back(generator.draw(i));
  const Shape ours = shape_of(drawn);
  const Shape theirs = shape_of(published);
  EXPECT_NEAR(ours.statements, theirs.statements, 0.05 * theirs.statements);
  EXPECT_NEAR(ours.steps, theirs.steps, 0.05 * theirs.steps);
}

class ProsQaRunTest : public ::testing::Test {
 protected:
  static TrainingSetup setup(const std::filesystem::path& folder) {
    TrainingSetup setup = testing::tiny_setup(folder);
    setup.model.max_position_embeddings = 512;
    setup.training.steps = 2;
    return setup;
  }

  std::filesystem::path write(const std::string& name,
                              const std::vector<ProsQaProblem>& problems) const {
    testing::write_text(folder_ / name, prosqa_file(problems));
    return folder_ / name;
  }

  testing::TemporaryFolder folder_;
  ProsQaData data_ = {.train_problems = 32, .test_problems = 4};
};

TEST_F(ProsQaRunTest, TrainsAndAnswers) {
  const TrainingOutcome outcome = train_on_prosqa(data_, setup(folder_ / "model"));
  ASSERT_EQ(outcome.evaluation.size(), 1U);
  EXPECT_EQ(outcome.evaluation[0]["count"], 4);
  const auto tokenizer = load_tokenizer(folder_ / "model");
  EXPECT_EQ(tokenizer->vocab_size(), 3 + 8 + 17 + 38);
}

TEST_F(ProsQaRunTest, GoesOnFromACheckpointWithItsTokenizer) {
  const double first = *train_on_prosqa(data_, setup(folder_ / "first")).validation_loss;
  TrainingSetup next = setup(folder_ / "next");
  next.from = folder_ / "first";
  next.training.optimizer.learning_rate = 1e-9;
  EXPECT_NEAR(*train_on_prosqa(data_, next).validation_loss, first, 1e-5);

  next.from = testing::test_data("checkpoints/stories260k");
  if (!std::filesystem::exists(next.from)) GTEST_SKIP() << testing::skip_reason(next.from);
  if (testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
  next.run.output = folder_ / "longer";
  next.training.steps = 1;
  std::vector<std::string> warnings;
  next.warn = [&](const std::string& text) { warnings.push_back(text); };
  EXPECT_TRUE(train_on_prosqa(data_, next).validation_loss.has_value());
  EXPECT_THAT(warnings, ::testing::ElementsAre(HasSubstr(
                            "training sequences are longer than max_position_embeddings = ")))
      << "a vocabulary of 512 pieces makes long questions";
}

TEST_F(ProsQaRunTest, TrainsOnAFileAsOnTheSameProblemsDrawn) {
  const auto test = ProsQaGenerator(99).draw_distinct(4);
  data_.files.test_file = write("test.json", test);
  const double drawn = *train_on_prosqa(data_, setup(folder_ / "drawn")).validation_loss;
  data_.files.train_file =
      write("train.json", ProsQaGenerator(3).draw_distinct(data_.train_problems, test));
  data_.train_problems = 1;
  TrainingSetup with_files = setup(folder_ / "read");
  EXPECT_EQ(*train_on_prosqa(data_, with_files).validation_loss, drawn);

  // The run does not match another file.
  write("train.json", ProsQaGenerator(4).draw_distinct(32));
  with_files.run.resume = true;
  EXPECT_THAT([&] { train_on_prosqa(data_, with_files); },
              ThrowsMessage<InvalidArgument>(HasSubstr("has data.train_sha256 = ")));
}

TEST_F(ProsQaRunTest, TrainsOnThePublishedFile) {
  data_.files.train_file = testing::test_data("prosqa/prosqa_valid.json");
  if (!std::filesystem::exists(data_.files.train_file)) {
    GTEST_SKIP() << testing::skip_reason(data_.files.train_file);
  }
  EXPECT_EQ(train_on_prosqa(data_, setup(folder_ / "model")).evaluation[0]["count"], 4);
}

TEST_F(ProsQaRunTest, NamesTheProblemOfAFileThatIsWrong) {
  const auto refuses = [&](const ProsQaProblem& problem, const std::string& message) {
    data_.files.train_file = write("train.json", {small_problem(), problem});
    EXPECT_THAT([&] { train_on_prosqa(data_, setup(folder_ / "model")); },
                ThrowsMessage<Error>(HasSubstr("train.json', problem 1: " + message)));
  };
  ProsQaProblem problem = small_problem();
  problem.question = "Every horse is a mare. " + problem.question;
  refuses(problem,
          "ProsQA vocabulary: words must be names and concepts of ProsQA, or those of its "
          "sentences, got 'horse'");
  problem = small_problem();
  problem.steps.pop_back();
  refuses(problem,
          "the steps must lead from the name in question to the answer through statements of the "
          "question, got 'Tom is a yimpus. Every yimpus is a rempus.'");
  problem = small_problem();
  problem.answer = "Tom is a lempus";
  refuses(problem, "the steps must lead from the name in question to the answer");

  problem = small_problem();
  problem.question = "Every  " + problem.question.substr(6);
  data_.files.train_file = write("train.json", {small_problem()});
  data_.files.test_file = write("test.json", {problem});
  EXPECT_THAT([&] { train_on_prosqa(data_, setup(folder_ / "model")); },
              ThrowsMessage<InvalidArgument>(::testing::AllOf(
                  HasSubstr("train.json' must not contain test samples, got 'Every yimpus"),
                  HasSubstr("test.json'; remove it from one of them"))));
}

TEST_F(ProsQaRunTest, RefusesWhatCannotBe) {
  TrainingSetup short_setup = setup(folder_ / "model");
  short_setup.model.max_position_embeddings = 64;
  EXPECT_THAT(
      [&] { train_on_prosqa(data_, short_setup); },
      ThrowsMessage<InvalidArgument>(HasSubstr("max_position_embeddings: must be at least")));
  data_.train_problems = 0;
  EXPECT_THAT([&] { train_on_prosqa(data_, setup(folder_ / "model")); },
              ThrowsMessage<InvalidArgument>("train_problems: must be from 1 to 1000000, got 0"));
  data_.train_problems = 4;
  data_.files.test_file = folder_ / "none.json";
  EXPECT_THROW(train_on_prosqa(data_, setup(folder_ / "model")), IoError);
}

}  // namespace
}  // namespace lime
