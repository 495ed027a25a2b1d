// SPDX-License-Identifier: Apache-2.0
// Prompts of own sentences, written out by the rules of lm-evaluation-harness 0.4.13; errors.
#include "evaluation/task_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/tokenizer/python_text.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TaskItemsTest : public ::testing::Test {
 protected:
  EvalTask read(const std::string& task, const std::string& lines, const std::string& pool = "",
                ItemOptions options = {}) {
    testing::write_text(folder_ / "data.jsonl", lines);
    testing::write_text(folder_ / "pool.jsonl", pool);
    return read_task(task, folder_ / "data.jsonl", pool.empty() ? "" : folder_ / "pool.jsonl",
                     options);
  }
  void refuses(const std::string& task, const std::string& lines, const std::string& message) {
    try {
      read(task, lines);
      ADD_FAILURE() << "accepted: " << lines;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(message)) << lines;
    }
  }

  testing::TemporaryFolder folder_;
};

TEST_F(TaskItemsTest, ScoresEachAnswerAfterOneSpace) {
  const EvalTask task =
      read("arc_easy", R"({"question": "What is ice?", "choices": {"text": ["water", "sand"],)"
                       R"( "label": ["1", "2"]}, "answerKey": "1"})");
  ASSERT_EQ(task.items.size(), 1U);
  EXPECT_THAT(task.items[0].contexts,
              ElementsAre("Question: What is ice?\nAnswer:", "Question: What is ice?\nAnswer:"));
  EXPECT_THAT(task.items[0].continuations, ElementsAre(" water", " sand"));
  EXPECT_EQ(task.items[0].gold, 0);
}

TEST_F(TaskItemsTest, ReadsTheFormOfTheAuthorsToo) {
  const std::string published =
      R"({"id": "x", "question": {"stem": "What is ice?", "choices": [{"text": "sand", )"
      R"("label": "A"}, {"text": "water", "label": "B"}]}, "answerKey": "B"})";
  EXPECT_EQ(read("arc_challenge", published).items[0].contexts[0],
            "Question: What is ice?\nAnswer:");
  EXPECT_EQ(read("openbookqa", published).items[0].contexts[0], "What is ice?");
  EXPECT_EQ(read("commonsense_qa", published).items[0].contexts[0],
            "Question: What is ice?\nA. sand\nB. water\nAnswer:");
  EXPECT_THAT(read("commonsense_qa", published).items[0].continuations, ElementsAre(" A", " B"));
}

TEST_F(TaskItemsTest, CleansHellaSwag) {
  const EvalSample item =
      read("hellaswag",
           R"({"activity_label": "Cooking", "ctx_a": "Boil  [step] it [title] now.", )"
           R"("ctx_b": "the COOK", "endings": [" eats [x] ", "sleeps"], "label": "1"})")
          .items[0];
  EXPECT_EQ(item.contexts[0], "Cooking: Boil  it. now. The cook");
  EXPECT_THAT(item.continuations, ElementsAre(" eats ", " sleeps"));
  EXPECT_EQ(item.gold, 1);
}

TEST_F(TaskItemsTest, JoinsCauseAndEffect) {
  const EvalSample item =
      read("copa", R"({"premise": "It rained. ", "question": "effect", "choice1": )"
                   R"("The street dried.", "choice2": "I got wet.", "label": 1})")
          .items[0];
  EXPECT_EQ(item.contexts[0], "It rained therefore");
  EXPECT_THAT(item.continuations, ElementsAre("  the street dried.", "  i got wet."));
}

TEST_F(TaskItemsTest, FillsTheBlankOfWinoGrande) {
  const EvalSample item =
      read("winogrande", R"({"sentence": "The cup beat the jug as _ was new.", )"
                         R"("option1": "the cup", "option2": "the jug", "answer": "2"})")
          .items[0];
  EXPECT_THAT(item.contexts,
              ElementsAre("The cup beat the jug as the cup", "The cup beat the jug as the jug"));
  EXPECT_THAT(item.continuations, ElementsAre(" was new.", " was new."));
  EXPECT_EQ(item.gold, 1);
}

TEST_F(TaskItemsTest, ReadsPassagesOfMultiRcAsRowsOfAnswers) {
  const EvalTask task = read(
      "multirc",
      R"({"idx": 4, "passage": {"text": "A.", "questions": [{"question": "Q?", "idx": 7, )"
      R"("answers": [{"text": "x", "idx": 8, "label": 1}, {"text": "y", "idx": 9, "label": 0}]}]}})");
  ASSERT_EQ(task.items.size(), 2U);
  EXPECT_EQ(task.items[1].contexts[0], "A.\nQuestion: Q?\nAnswer:");
  EXPECT_THAT(task.items[1].continuations,
              ElementsAre(" y\nIs the answer correct? yes", " y\nIs the answer correct? no"));
  EXPECT_EQ(task.items[0].gold, 1);  // as the harness: label 1 points to "no"
  EXPECT_EQ(task.items[1].document["idx"]["paragraph"], 4);
}

TEST_F(TaskItemsTest, CountsCharactersOfWiC) {
  const EvalSample item = read("wic",
                               "{\"sentence1\": \"Das \u00e4rmste Wort\", \"sentence2\": \"Wort\", "
                               "\"start1\": 4, \"end1\": 10, \"label\": false}")
                              .items[0];
  EXPECT_THAT(item.contexts[0], HasSubstr("Is the word '\u00e4rmste' used"));
  EXPECT_EQ(item.gold, 0);
}

TEST_F(TaskItemsTest, PutsDescriptionAndFirstExamplesBeforeMmlu) {
  const std::string row = R"({"question": " 1+1? ", "choices": ["1","2","3","4"], "answer": 1})";
  ItemOptions options;
  options.shots = 1;
  const EvalTask task = read("mmlu_high_school_geography", row, row, options);
  const std::string question = "1+1?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:";
  EXPECT_EQ(task.items[0].contexts[0],
            "The following are multiple choice questions (with answers) about high school "
            "geography.\n\n" +
                question + " B\n\n" + question);
}

TEST_F(TaskItemsTest, DropsTheItemFromItsFewShotExamples) {
  std::string pool;
  for (int i = 0; i < 4; ++i) {
    pool += R"({"prompt": "p)" + std::to_string(i) +
            R"(", "choices": ["a", "b"], "gold": 1})"
            "\n";
  }
  ItemOptions options;
  options.shots = 3;
  const EvalTask task = read("choices", pool, pool, options);
  for (const EvalSample& item : task.items) {
    const std::string& context = item.contexts[0];
    const std::string own = item.document["prompt"].get<std::string>();
    EXPECT_EQ(context.find(own), context.size() - 2) << context;
    EXPECT_EQ(std::count(context.begin(), context.end(), 'b'), 3) << context;
  }
}

TEST_F(TaskItemsTest, ReadsTaskFilesOfBigBench) {
  testing::write_text(folder_ / "task.json",
                      R"({"append_choices_to_input": false, "examples": [{"input": "2+2?", )"
                      R"("target_scores": {"5": 0, "4": 1}}, {"input": "free", "target": "x"}]})");
  const EvalTask task = read_task("bigbench_sums", folder_ / "task.json", "", {});
  ASSERT_EQ(task.items.size(), 1U);
  EXPECT_EQ(task.items[0].contexts[0], "Q: 2+2?\nA:");
  EXPECT_EQ(task.items[0].gold, 1);
}

TEST_F(TaskItemsTest, RefusesWhatIsNotOfTheTask) {
  const std::string own = R"({"prompt": "p", "choices": ["a", "b"], "gold": 0})";
  refuses("piqa", own, "line 1: must have the string 'goal'; piqa expects goal, sol1, sol2, label");
  refuses("choices", own + "\n{broken", "line 2");
  refuses("choices", R"({"prompt": "p", "choices": ["a", "b"]})", "has no gold answer ('gold')");
  refuses("choices", R"({"prompt": "p", "choices": ["a"], "gold": 0})",
          "must have at least two choices, got 1");
  refuses("choices", R"({"prompt": "p", "choices": ["a", "b"], "gold": 2})",
          "the gold answer must be one of 2 choices, got index 2");
  refuses("choices", R"({"prompt": "p", "choices": ["a", " "], "gold": 0})", "an answer is empty");
  refuses("choices", R"({"prompt": "p", "choices": ["a", "b"], "gold": -1})", "must be the index");
  refuses("hellaswagg", own, "tasks: expected arc_easy");
  refuses("copa", "", "contains no items");
}

/// Values of another type were exceptions of the JSON library without the file's name.
TEST_F(TaskItemsTest, NamesTheRowOfAnotherType) {
  testing::write_text(folder_ / "task.json",
                      R"({"task_prefix": 5, "examples": [{"target_scores": {"5": 0, "4": 1}}]})");
  EXPECT_THAT(testing::refusal_of<FormatError>(
                  [&] { read_task("bigbench_sums", folder_ / "task.json", "", {}); }),
              HasSubstr("task.json' item 0: 'task_prefix' must be a string, got 5"));
  const std::string published =
      R"({"id": 7, "question": {"stem": "What is ice?", "choices": [{"text": "sand", )"
      R"("label": "A"}, {"text": "water", "label": "B"}]}, "answerKey": "B"})";
  EXPECT_EQ(read("arc_easy", published).items[0].gold, 1);
  refuses("multirc", R"({"passage": {"text": "A.", "questions": [{"question": "Q?"}]}})",
          "line 1: must be a passage of MultiRC, with the list 'answers'");
  testing::write_text(folder_ / "empty.json", R"([{"passage": {"text": "", "questions": []}}])");
  EXPECT_THAT(testing::refusal_of<FormatError>(
                  [&] { read_task("multirc", folder_ / "empty.json", "", {}); }),
              HasSubstr("empty.json': contains no items"));
}

TEST_F(TaskItemsTest, RemovesAPeriodOfSeveralBytes) {
  const std::string row =
      "{\"premise\": \"Es regnet\u3002\", \"question\": \"effect\", "
      R"("choice1": "A.", "choice2": "B.", "label": 1})";
  EXPECT_EQ(read("copa", row).items[0].contexts[0], "Es regnet therefore");
}

TEST_F(TaskItemsTest, WarnsOfDuplicates) {
  const std::string own = R"({"prompt": "p", "choices": ["a", "b"], "gold": 0})"
                          "\n";
  EXPECT_THAT(read("choices", own + own).warnings, ElementsAre(HasSubstr("1 duplicate item")));
}

TEST_F(TaskItemsTest, NeedsEnoughFewShotExamples) {
  const std::string own = R"({"prompt": "p", "choices": ["a", "b"], "gold": 0})";
  ItemOptions options;
  options.shots = 1;
  EXPECT_THROW(read("choices", own, own, options), InvalidArgument);
  EXPECT_THROW(read("choices", own, "", options), InvalidArgument);
}

TEST(PythonTextTest, StripsWideSpaces) {
  EXPECT_EQ(python_strip("\u3000 a\u00a0b\x1f\n"), "a\u00a0b");
  EXPECT_EQ(python_strip(" \t"), "");
  EXPECT_EQ(python_capitalize("\u00c9A b"), "\u00c9a b");
}

}  // namespace
}  // namespace lime
