// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

std::vector<std::string> texts_of(const std::vector<ArithmeticExpression>& steps) {
  std::vector<std::string> texts;
  for (const ArithmeticExpression& step : steps) texts.push_back(step.text());
  return texts;
}

TEST(ArithmeticExpressionTest, PrintsTheStepsOfThePapersExample) {
  const auto expression = ArithmeticExpression::parse("( 7 + 5 ) / ( 6 + 4 x 3 - 2 x 7 )");
  EXPECT_THAT(texts_of(expression.steps()),
              ElementsAre("( 7 + 5 ) / ( 6 + 4 x 3 - 2 x 7 )", "12 / ( 6 + 4 x 3 - 2 x 7 )",
                          "12 / ( 6 + 12 - 2 x 7 )", "12 / ( 18 - 2 x 7 )", "12 / ( 18 - 14 )",
                          "12 / 4", "3"));
  EXPECT_EQ(expression.num_operands(), 7);
  EXPECT_EQ(expression.value(), 3);
}

TEST(ArithmeticExpressionTest, JoinsTheStepsOfASolutionWithEqualsSigns) {
  EXPECT_EQ(ArithmeticExpression::parse("2 x 3 - 7").solution(), "2 x 3 - 7 = 6 - 7 = -1");
  EXPECT_EQ(ArithmeticExpression(5).solution(), "5");
}

TEST(ArithmeticExpressionTest, KeepsOnlyTheBracketsThatAreNeeded) {
  const std::map<std::string, std::string> shortest = {
      {"( ( 1 + 2 ) )", "1 + 2"},     {"( 1 + 2 ) + 3", "1 + 2 + 3"},
      {"1 + ( 2 - 3 )", "1 + 2 - 3"}, {"1 - ( 2 + 3 )", "1 - ( 2 + 3 )"},
      {"( 1 x 2 ) / 3", "1 x 2 / 3"}, {"8 / ( 2 x 2 )", "8 / ( 2 x 2 )"},
      {"8 x ( 4 / 2 )", "8 x 4 / 2"}, {"( 1 + 2 ) x ( 3 - 1 )", "( 1 + 2 ) x ( 3 - 1 )"},
      {"1 + ( 2 x 3 )", "1 + 2 x 3"}, {"4 - -3", "4 - -3"},
  };
  for (const auto& [text, expected] : shortest) {
    EXPECT_EQ(ArithmeticExpression::parse(text).text(), expected) << text;
  }
}

TEST(ArithmeticExpressionTest, TakesOperationsOfEqualRankFromTheLeft) {
  EXPECT_EQ(ArithmeticExpression::parse("20 - 5 - 3").value(), 12);
  EXPECT_EQ(ArithmeticExpression::parse("24 / 4 / 2").value(), 3);
  EXPECT_EQ(ArithmeticExpression::parse("24 / 4 x 2").value(), 12);
}

TEST(ArithmeticExpressionTest, KnowsWhetherAllResultsAreExactAndInRange) {
  const auto is_fine = [](const char* text) {
    return ArithmeticExpression::parse(text).is_exact_within({0, 20});
  };
  EXPECT_TRUE(is_fine("18 + 2 - 20"));
  EXPECT_FALSE(is_fine("18 + 3 - 20"));  // 21 as intermediate result
  EXPECT_FALSE(is_fine("3 - 4 + 5"));    // -1 as intermediate result
  EXPECT_FALSE(is_fine("7 / 2"));
  EXPECT_FALSE(is_fine("7 / ( 2 - 2 )"));
  EXPECT_FALSE(is_fine("21"));
}

TEST(ArithmeticExpressionTest, ReadsBothSignsOfMultiplication) {
  EXPECT_EQ(ArithmeticExpression::parse("3 + 4 * 2 x 5").text(), "3 + 4 x 2 x 5");
}

TEST(ArithmeticExpressionTest, ComputesModuloAPrime) {
  const auto solution = [](std::string_view text) {
    return ArithmeticExpression::parse(text).solution(11);
  };
  EXPECT_EQ(solution("( 7 + 5 ) / ( 6 + 4 * 3 - 2 * 7 )"),
            "( 7 + 5 ) / ( 6 + 4 x 3 - 2 x 7 ) = 1 / ( 6 + 4 x 3 - 2 x 7 ) = 1 / ( 6 + 1 - 2 x 7 ) "
            "= 1 / ( 7 - 2 x 7 ) = 1 / ( 7 - 3 ) = 1 / 4 = 3");
  EXPECT_EQ(solution("3 - 5"), "3 - 5 = 9");
  for (int divisor = 1; divisor < 997; ++divisor) {
    const auto quotient = apply_operation(ArithmeticOperation::kDivide, 5, divisor, 997);
    ASSERT_TRUE(quotient);
    ASSERT_EQ(*quotient * divisor % 997, 5) << divisor;
  }
  EXPECT_EQ(apply_operation(ArithmeticOperation::kDivide, 1, 1, 2), 1);
  EXPECT_FALSE(
      ArithmeticExpression::parse("3 / ( 4 - 4 )").is_exact_within(IntegerRange::modulo(11)));
  EXPECT_FALSE(ArithmeticExpression::parse("3 + 11").is_exact_within(IntegerRange::modulo(11)));
}

TEST(ArithmeticExpressionTest, NamesTheWordThatDoesNotFit) {
  EXPECT_THAT([] { ArithmeticExpression::parse("7 + * 3"); },
              ThrowsMessage<FormatError>("arithmetic expression: word 3 must be an integer or '(', "
                                         "got '*'"));
  EXPECT_THAT([] { ArithmeticExpression::parse("( 7 + 3"); },
              ThrowsMessage<FormatError>("arithmetic expression: expected ')' or an operation, got "
                                         "the end of '( 7 + 3'"));
  EXPECT_THAT(
      [] { ArithmeticExpression::parse("7 3"); },
      ThrowsMessage<FormatError>("arithmetic expression: word 2 must be an operation or the "
                                 "end, got '3'"));
  EXPECT_THAT(
      [] { ArithmeticExpression::parse(""); },
      ThrowsMessage<FormatError>("arithmetic expression: expected an integer or '(', got the "
                                 "end of ''"));
}

TEST(ArithmeticExpressionTest, RefusesWhatHasNoIntegerValue) {
  EXPECT_THAT(
      [] { ArithmeticExpression::parse("7 / 2").value(); },
      ThrowsMessage<NumericalError>("arithmetic expression: divisions must be exact, got 7 / 2"));
  EXPECT_THAT(
      [] { ArithmeticExpression::parse("7 / ( 3 - 3 )").steps(); },
      ThrowsMessage<NumericalError>("arithmetic expression: divisions must be exact, got 7 / 0"));
  EXPECT_THAT([] { ArithmeticExpression::parse("2000000000 x 2").value(); },
              ThrowsMessage<NumericalError>(
                  "arithmetic expression: results must fit in 32 bits, got 2000000000 x 2"));
  EXPECT_THAT([] { ArithmeticExpression(3).simplified(); },
              ThrowsMessage<InvalidArgument>(
                  "arithmetic expression: only operations can be simplified, got 3"));
}

TEST(ArithmeticExpressionTest, SurvivesDeepBrackets) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "( ";
  EXPECT_THROW(ArithmeticExpression::parse(deep + "1"), FormatError);
}

}  // namespace
}  // namespace lime
