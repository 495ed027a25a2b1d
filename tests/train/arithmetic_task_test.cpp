// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

using ::testing::ThrowsMessage;

constexpr std::int64_t kSamples = 300;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Values of an expression whose k-th integer stands for an arbitrary real number, parsed by a
/// simple recursive descent: two texts with equal values are the same formula.
class RealValue {
 public:
  explicit RealValue(std::vector<std::string> words) : words_(std::move(words)) {}

  double sum() {
    double value = product();
    while (peek() == "+" || peek() == "-") value += next() == "+" ? product() : -product();
    return value;
  }

 private:
  double product() {
    double value = operand();
    while (peek() == "x" || peek() == "/") {
      if (next() == "x") {
        value *= operand();
      } else {
        value /= operand();
      }
    }
    return value;
  }

  double operand() {
    // Numbers without simple relations, so that different formulas have different values.
    if (next() != "(") return std::exp(std::sin(1.2345 * static_cast<double>(++integers_)));
    const double value = sum();
    next();
    return value;
  }

  std::string peek() const { return place_ < words_.size() ? words_[place_] : ""; }
  std::string next() { return words_.at(place_++); }

  std::vector<std::string> words_;
  std::size_t place_ = 0;
  int integers_ = 0;
};

/// Returns `words` without the pair of brackets that opens at `open`.
std::vector<std::string> without_pair(std::vector<std::string> words, std::size_t open) {
  int depth = 0;
  std::size_t close = open;
  for (; close < words.size(); ++close) {
    depth += words[close] == "(" ? 1 : (words[close] == ")" ? -1 : 0);
    if (depth == 0) break;
  }
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(close));
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(open));
  return words;
}

class ArithmeticTaskTest : public ::testing::TestWithParam<int> {
 protected:
  static std::vector<ArithmeticExpression> draw(const ArithmeticTaskOptions& options) {
    return ArithmeticGenerator(options, 7)
        .draw_distinct(GetParam(), TaskSplit::kTraining, kSamples);
  }
};

TEST_P(ArithmeticTaskTest, DrawsTheNumberOfOperandsAskedFor) {
  for (const auto& expression : draw({})) EXPECT_EQ(expression.num_operands(), GetParam());
}

TEST_P(ArithmeticTaskTest, EveryStepHasTheValueOfTheExpression) {
  for (const auto& expression : draw({})) {
    const auto steps = expression.steps();
    EXPECT_EQ(steps.size(), static_cast<std::size_t>(GetParam()));
    for (const auto& step : steps) EXPECT_EQ(step.value(), expression.value()) << step.text();
  }
}

TEST_P(ArithmeticTaskTest, StaysInTheRangeWithExactDivisions) {
  for (const IntegerRange range : {IntegerRange{0, 110}, IntegerRange{-40, 60}}) {
    ArithmeticTaskOptions options;
    options.min_value = range.min;
    options.max_value = range.max;
    for (const auto& expression : draw(options)) {
      EXPECT_TRUE(expression.is_exact_within(range)) << expression.text();
      for (const std::string& word : words_of(expression.solution())) {
        if (word.find_first_of("0123456789") == std::string::npos) continue;
        EXPECT_TRUE(range.contains(std::stoi(word))) << expression.solution();
      }
    }
  }
}

TEST_P(ArithmeticTaskTest, RoundTripsThroughItsText) {
  for (const auto& expression : draw({})) {
    for (const auto& step : expression.steps()) {
      const auto again = ArithmeticExpression::parse(step.text());
      EXPECT_EQ(again.text(), step.text());
      EXPECT_EQ(again.solution(), step.solution());
    }
  }
}

TEST_P(ArithmeticTaskTest, HasNoBracketsThatCouldBeLeftOut) {
  for (const auto& expression : draw({})) {
    const std::vector<std::string> words = words_of(expression.text());
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != "(") continue;
      const double change = RealValue(without_pair(words, i)).sum() - RealValue(words).sum();
      EXPECT_GT(std::abs(change), 1e-9) << expression.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operands, ArithmeticTaskTest, ::testing::Values(2, 3, 4, 6, 10));

TEST(ArithmeticGeneratorTest, RepeatsItsExpressionsForEqualSeeds) {
  const ArithmeticGenerator a({}, 1);
  const ArithmeticGenerator b({}, 1);
  const ArithmeticGenerator other({}, 2);
  int equal = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    const std::string text = a.draw(5, TaskSplit::kTraining, i).text();
    EXPECT_EQ(b.draw(5, TaskSplit::kTraining, i).text(), text);
    equal += other.draw(5, TaskSplit::kTraining, i).text() == text ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

TEST(ArithmeticGeneratorTest, NeverDrawsATestExpressionForTraining) {
  std::set<std::string> training;
  const std::int64_t count = 2000;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const auto& expression :
         ArithmeticGenerator({}, seed).draw_distinct(3, TaskSplit::kTraining, count)) {
      training.insert(expression.text());
    }
  }
  for (const std::uint64_t seed : {1U, 9U}) {
    for (const auto& expression :
         ArithmeticGenerator({}, seed).draw_distinct(3, TaskSplit::kTest, count)) {
      EXPECT_FALSE(training.contains(expression.text())) << expression.text();
      EXPECT_EQ(split_of(expression), TaskSplit::kTest);
    }
  }
}

TEST(ArithmeticGeneratorTest, KeepsOneExpressionInTenForTests) {
  ArithmeticTaskOptions options;
  const ArithmeticGenerator generator(options, 3);
  int tests = 0;
  const int count = 11 * 11 * 11;
  for (int a = 0; a <= 110; a += 10) {
    for (int b = 0; b <= 110; b += 10) {
      for (int c = 0; c <= 110; c += 10) {
        const ArithmeticExpression sum(
            ArithmeticOperation::kAdd,
            ArithmeticExpression(ArithmeticOperation::kAdd, ArithmeticExpression(a),
                                 ArithmeticExpression(b)),
            ArithmeticExpression(c));
        tests += split_of(sum) == TaskSplit::kTest ? 1 : 0;
      }
    }
  }
  EXPECT_NEAR(static_cast<double>(tests) / count, 0.1, 0.05);
}

TEST(ArithmeticGeneratorTest, DrawsAllOperationsAndAnswersOften) {
  const ArithmeticGenerator generator({}, 5);
  std::map<std::string, int> words;
  std::set<std::int64_t> answers;
  for (std::int64_t i = 0; i < 3000; ++i) {
    const ArithmeticExpression expression = generator.draw(4, TaskSplit::kTraining, i);
    answers.insert(expression.value());
    for (const std::string& word : words_of(expression.text())) ++words[word];
  }
  for (const char* const operation : {"+", "-", "x", "/"}) EXPECT_GT(words[operation], 900);
  EXPECT_GT(words["("], 500);
  EXPECT_GE(answers.size(), 110U);
}

TEST(ArithmeticGeneratorTest, SaysWhenTheRangeHasTooFewExpressions) {
  ArithmeticTaskOptions options;
  options.max_value = 10;
  const ArithmeticGenerator generator(options, 0);
  const auto refuses = [&](int operands, TaskSplit split, std::int64_t count, const char* message) {
    EXPECT_THAT([&] { generator.draw_distinct(operands, split, count); },
                ThrowsMessage<InvalidArgument>(::testing::MatchesRegex(message)));
  };
  // No expression needs to be drawn for this.
  refuses(
      2, TaskSplit::kTraining, 5000,
      "arithmetic task: 5000 different expressions of 2 operands are needed for training, there "
      "are at most 204 from 0 to 10; request fewer or widen the range");
  refuses(4, TaskSplit::kTest, std::int64_t{1} << 40,
          "arithmetic task: [0-9]+ different expressions of 4 operands are needed for tests, there "
          "are at most [0-9]+ from 0 to 10; request fewer or widen the range");
  refuses(2, TaskSplit::kTraining, 200,
          "arithmetic task: 200 different expressions of 2 operands are needed for training, there "
          "are about 18[0-9] from 0 to 10; request fewer or widen the range");
}

TEST(ArithmeticGeneratorTest, NeverHasMoreExpressionsThanItSaysAtMost) {
  // So many draws find nearly all of them.
  ArithmeticTaskOptions options;
  options.max_value = 10;
  const ArithmeticGenerator generator(options, 0);
  std::set<std::string> drawn;
  for (std::int64_t index = 0; index < 20000; ++index) {
    drawn.insert(generator.draw(2, TaskSplit::kTraining, index).text());
  }
  EXPECT_LE(drawn.size(), 204U);
  EXPECT_GE(drawn.size(), 180U);
}

TEST(ArithmeticTaskOptionsTest, NamesTheFirstFieldOutOfRange) {
  const auto refuses = [](ArithmeticTaskOptions options, const char* message) {
    EXPECT_THAT([&] { options.validate(); }, ThrowsMessage<InvalidArgument>(message));
  };
  refuses({.operands = {}}, "operands: must name at least one number, got none");
  refuses({.operands = {1}}, "operands: must be from 2 to 10, got 1");
  refuses({.operands = {3, 3}}, "operands: must be distinct, got 3 twice");
  refuses({.min_value = 1}, "min_value: must be from -1000 to 0, got 1");
  refuses({.modulus = 12}, "modulus: must be 0 or a prime up to 1000, got 12");
  refuses({.max_value = 50, .modulus = 11},
          "modulus: replaces the range, got a smallest value of 0 and a largest of 50; omit them");
  refuses({.max_value = 5}, "max_value: must be from 10 to 1000, got 5");
}

}  // namespace
}  // namespace lime
