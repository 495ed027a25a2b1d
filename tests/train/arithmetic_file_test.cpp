// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/errors.h"
#include "support/test_data.h"
#include "train/tasks/arithmetic_task.h"
#include "train/tiny_run.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr IntegerRange kFileRange = {0, 110};

class ArithmeticFileTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    testing::write_text(folder_ / name, content);
    return folder_ / name;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ArithmeticFileTest, ReadsWhatIsGenerated) {
  const auto drawn = ArithmeticGenerator({}, 4).draw_distinct(5, TaskSplit::kTraining, 50);
  std::string solutions;
  std::string texts;
  for (const auto& expression : drawn) {
    solutions += expression.solution() + "\n";
    texts += expression.text() + "\r\n\r\n";
  }
  for (const std::string& content : {solutions, texts}) {
    const auto read = read_expressions(write("expressions.txt", content), kFileRange);
    ASSERT_EQ(read.size(), drawn.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].solution(), drawn[i].solution());
    }
  }
}

TEST_F(ArithmeticFileTest, NamesTheLineThatIsWrong) {
  const auto refuses = [&](const std::string& line, const std::string& message) {
    const auto file = write("a.txt", "3 + 4 = 7\n\n" + line + "\n");
    EXPECT_THAT([&] { read_expressions(file, kFileRange); },
                ThrowsMessage<FormatError>(HasSubstr("a.txt', line 3: " + message)))
        << line;
  };
  refuses("3 + four = 7", "arithmetic expression: word 3 must be an integer or '(', got 'four'");
  refuses("= 7", "arithmetic expression: expected an integer or '(', got the end of ''");
  refuses("7 = 7", "an expression must have 2 to 10 operands, got 1");
  refuses("1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1",
          "an expression must have 2 to 10 operands, got 11");
  refuses("100 + 11 = 111",
          "every number must be in [0, 110] and every division must be exact, got '100 + 11'; "
          "other ranges need --min-value and --max-value");
  refuses("7 / 2 = 3", "every number must be in [0, 110] and every division must be exact");
  refuses("7 / 0", "every number must be in [0, 110] and every division must be exact");
  refuses("3 + 4 = 8", "word 5 must be '7', got '8'");
  refuses("3 + 4 x 2 = 11", "word 7 must be '3', got '11'");
  refuses("3 + 4 x 2 = 3 + 8", "word 10 must be '=', got the end");
  refuses("3 + 4 = 7 = 7", "word 6 must be the end, got '='");
  refuses("( 3 + 4 ) + 2", "word 1 must be '3', got '('; redundant brackets must be omitted");

  std::string endless = "1";
  for (int i = 0; i < 100000; ++i) endless += " + 1";
  refuses(endless, "an expression must have at most 1000 words, got 200001");
}

TEST_F(ArithmeticFileTest, ReadsThePublishedFormModuloEleven) {
  const IntegerRange field = IntegerRange::modulo(11);
  const auto read = [&](const std::string& line) {
    return read_expressions(write("mod.txt", line + "\n"), field);
  };
  EXPECT_EQ(read("3 * 4 = 1").front().text(), "3 x 4");
  EXPECT_EQ(read("7 / 2 + 10 * 10 = 9 + 10 * 10 = 9 + 1 = 10").size(), 1u);
  EXPECT_THAT([&] { read("3 * 4 = 12"); },
              ThrowsMessage<FormatError>(HasSubstr("line 1: word 5 must be '1', got '12'")));
  EXPECT_THAT([&] { read("3 / 0"); },
              ThrowsMessage<FormatError>(HasSubstr(
                  "every number must be in [0, 10] and no division by 0, got '3 / 0'; another "
                  "modulus needs --modulus")));
  const auto drawn = ArithmeticGenerator({.modulus = 11}, 4).draw_distinct(4, TaskSplit::kTest, 50);
  for (const ArithmeticExpression& expression : drawn) {
    EXPECT_EQ(read(expression.solution(11)).front().text(), expression.text());
  }
}

TEST_F(ArithmeticFileTest, RefusesAFileWithoutExpressions) {
  EXPECT_THAT([&] { read_expressions(write("empty.txt", "\n \n"), kFileRange); },
              ThrowsMessage<FormatError>(HasSubstr(
                  "empty.txt': must contain arithmetic expressions, one per line, got none")));
  EXPECT_THROW(read_expressions(folder_ / "none.txt", kFileRange), IoError);
}

TEST_F(ArithmeticFileTest, ARunTrainsAndTestsOnFiles) {
  testing::TinyRun run = testing::tiny_run(folder_ / "files");
  run.data.files.train_file = write("train.txt", "3 + 4 = 7\n8 / 2 + 1 = 4 + 1 = 5\n");
  run.data.files.test_file = write("test.txt", "2 x 3 - 1 = 6 - 1 = 5\n5 + 5\n6 + 6\n");
  const TrainingOutcome outcome = testing::train(run);
  ASSERT_EQ(outcome.evaluation.size(), 2U);
  EXPECT_EQ(outcome.evaluation[0]["operands"], 2);
  EXPECT_EQ(outcome.evaluation[0]["count"], 2);
  EXPECT_EQ(outcome.evaluation[1]["count"], 1);
  const Json data = testing::log_lines(folder_ / "files", "start").at(0)["run"]["data"];
  EXPECT_EQ(data["train_samples"], 2);
  EXPECT_EQ(data["test_samples"], 3);

  write("train.txt", "3 + 4 = 7\n");
  run.setup.run.resume = true;
  EXPECT_THAT([&] { testing::train(run); },
              ThrowsMessage<InvalidArgument>(HasSubstr("has data.train_samples = 2, got 1")));
  run.setup.run.resume = false;
  write("train.txt", "3 + 4 = 7\n5 + 5 = 10\n");
  EXPECT_THAT([&] { testing::train(run); },
              ThrowsMessage<InvalidArgument>(::testing::AllOf(
                  HasSubstr("train_file: '"),
                  HasSubstr("must not contain test samples, got '5 + 5', which is also in '"))));
}

TEST_F(ArithmeticFileTest, WhatIsDrawnLeavesOutTheFile) {
  const auto of_file = ArithmeticGenerator({}, 1).draw_distinct(2, TaskSplit::kTraining, 20);
  const auto drawn =
      ArithmeticGenerator({}, 1).draw_distinct(2, TaskSplit::kTraining, 100, of_file);
  ASSERT_EQ(drawn.size(), 100U);
  for (const auto& read : of_file) {
    for (const auto& expression : drawn) EXPECT_NE(expression.text(), read.text());
  }
}

}  // namespace
}  // namespace lime
