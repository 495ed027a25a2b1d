// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_task.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <unordered_set>

namespace lime {
namespace {

constexpr int kLimit = 1000;
constexpr std::uint64_t kTestPeriod = 10;
constexpr int kMaxDrawsInARow = 10000;

constexpr ArithmeticOperation kOperations[] = {
    ArithmeticOperation::kAdd, ArithmeticOperation::kSubtract, ArithmeticOperation::kMultiply,
    ArithmeticOperation::kDivide};

/// Computes FNV-1a, then the finaliser of MurmurHash3 so that the low bits depend on every byte.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  }
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return hash ^ (hash >> 33);
}

bool is_prime(int value) {
  if (value < 2 || value > kLimit) return false;
  for (int divisor = 2; divisor * divisor <= value; ++divisor) {
    if (value % divisor == 0) return false;
  }
  return true;
}

bool is_trivial(ArithmeticOperation operation, int left, int right) {
  if (operation == ArithmeticOperation::kMultiply) return left == 1 || right == 1;
  return operation == ArithmeticOperation::kDivide && right == 1;
}

using Words = std::vector<std::string>;

/// Limit for one expression; the longest valid one has about 40.
constexpr std::ptrdiff_t kMaxWords = 1000;

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.emplace_back(usual_operation(word));
  return words;
}

ArithmeticExpression parse(const Words& line, const std::string& where) {
  const auto end = std::ranges::find(line, "=");
  const std::ptrdiff_t count = end - line.begin();
  throw_if<FormatError>(count > kMaxWords, "{}: an expression must have at most {} words, got {}",
                        where, kMaxWords, count);
  try {
    const auto text = fmt::format("{}", fmt::join(line.begin(), end, " "));
    // The shortest form, without redundant brackets, may group differently.
    return ArithmeticExpression::parse(ArithmeticExpression::parse(text).text());
  } catch (const FormatError& error) {
    throw FormatError("{}: {}", where, error.what());
  }
}

void require_words(const Words& line, const Words& expected, const std::string& where) {
  const auto [got, wanted] =
      std::mismatch(line.begin(), line.end(), expected.begin(), expected.end());
  if (got == line.end() && wanted == expected.end()) return;
  const auto shown = [](auto word, const Words& words) {
    return word == words.end() ? std::string("the end") : fmt::format("'{}'", *word);
  };
  throw FormatError(
      "{}: word {} must be {}, got {}; redundant brackets must be omitted, and each step must do "
      "the leftmost operation of two numbers",
      where, wanted - expected.begin() + 1, shown(wanted, expected), shown(got, line));
}

ArithmeticExpression expression_of(const Words& line, const IntegerRange& range,
                                   const std::string& where) {
  const ArithmeticExpression expression = parse(line, where);
  const int operands = expression.num_operands();
  throw_if<FormatError>(operands < ArithmeticTaskOptions::kMinOperands ||
                            operands > ArithmeticTaskOptions::kMaxOperands,
                        "{}: an expression must have {} to {} operands, got {}", where,
                        ArithmeticTaskOptions::kMinOperands, ArithmeticTaskOptions::kMaxOperands,
                        operands);
  const bool is_modular = range.modulus > 0;
  const bool fits = expression.is_exact_within(range);
  throw_if<FormatError>(!fits && is_modular,
                        "{}: every number must be in [{}, {}] and no division by 0, got '{}'; "
                        "another modulus needs --modulus",
                        where, range.min, range.max, expression.text());
  if (!fits) {
    throw FormatError(
        "{}: every number must be in [{}, {}] and every division must be exact, got '{}'; other "
        "ranges need --min-value and --max-value",
        where, range.min, range.max, expression.text());
  }
  const bool has_solution = std::ranges::find(line, "=") != line.end();
  require_words(
      line, words_of(has_solution ? expression.solution(range.modulus) : expression.text()), where);
  return expression;
}

}  // namespace

void ArithmeticTaskOptions::describe(OptionList& list) {
  list.group("Arithmetic expressions");
  list.add("operands", operands, "numbers of operands per expression, each from 2 to 10");
  list.add("min_value", min_value, "smallest operand and intermediate result");
  list.add("max_value", max_value, "largest operand and intermediate result");
  list.add("modulus", modulus,
           "a prime, 11 in the published data: arithmetic modulo it, over the integers from 0 to "
           "modulus - 1; 0: arithmetic of integers");
}

void ArithmeticTaskOptions::validate() const {
  if (operands.empty())
    throw InvalidArgument(OptionName("operands"), "must name at least one number, got none");
  for (const int count : operands) {
    throw_if(count < kMinOperands || count > kMaxOperands, OptionName("operands"),
             "must be from {} to {}, got {}", kMinOperands, kMaxOperands, count);
    throw_if(std::ranges::count(operands, count) > 1, OptionName("operands"),
             "must be distinct, got {} twice", count);
  }
  throw_if(min_value < -kLimit || min_value > 0, OptionName("min_value"),
           "must be from {} to 0, got {}", -kLimit, min_value);
  throw_if(max_value < 10 || max_value > kLimit, OptionName("max_value"),
           "must be from 10 to {}, got {}", kLimit, max_value);
  throw_if(modulus != 0 && !is_prime(modulus), OptionName("modulus"),
           "must be 0 or a prime up to {}, got {}", kLimit, modulus);
  const ArithmeticTaskOptions usual;
  throw_if(modulus != 0 && (min_value != usual.min_value || max_value != usual.max_value),
           OptionName("modulus"),
           "replaces the range, got a smallest value of {} and a largest of {}; omit them",
           min_value, max_value);
}

TaskSplit split_of(const ArithmeticExpression& expression) {
  return hash_of(expression.text()) % kTestPeriod == 0 ? TaskSplit::kTest : TaskSplit::kTraining;
}

ArithmeticGenerator::ArithmeticGenerator(const ArithmeticTaskOptions& options, std::uint64_t seed)
    : range_(options.range()), seed_(seed) {
  options.validate();
  const auto num_values = static_cast<std::size_t>(range_.max - range_.min + 1);
  splits_.assign(std::size(kOperations), std::vector<std::vector<Split>>(num_values));
  if (range_.modulus > 0) {
    fill_modular_splits();
  } else {
    for (const ArithmeticOperation operation : kOperations) {
      auto& of_operation = splits_[static_cast<std::size_t>(operation)];
      for (std::size_t i = 0; i < num_values; ++i) {
        of_operation[i] = splits_of(operation, range_.min + static_cast<int>(i));
      }
    }
  }
  fill_operations();
}

void ArithmeticGenerator::fill_modular_splits() {
  for (const ArithmeticOperation operation : kOperations) {
    for (int left = range_.min; left <= range_.max; ++left) {
      for (int right = range_.min; right <= range_.max; ++right) {
        const auto value = apply_operation(operation, left, right, range_.modulus);
        if (!value) continue;
        splits_[static_cast<std::size_t>(operation)][static_cast<std::size_t>(*value)].push_back(
            {left, right});
      }
    }
  }
}

void ArithmeticGenerator::fill_operations() {
  operations_.resize(splits_.front().size());
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    for (const ArithmeticOperation operation : kOperations) {
      const auto& pairs = splits_[static_cast<std::size_t>(operation)][i];
      const bool has_proper = std::ranges::any_of(
          pairs, [&](const Split& pair) { return !is_trivial(operation, pair.left, pair.right); });
      if (has_proper) operations_[i].push_back(operation);
    }
  }
}

std::vector<ArithmeticGenerator::Split> ArithmeticGenerator::splits_of(
    ArithmeticOperation operation, int value) const {
  const IntegerRange& range = range_;
  std::vector<Split> pairs;
  for (int known = range.min; known <= range.max; ++known) {
    // `known` is the left operand of a sum or product, the right one of their inverses.
    switch (operation) {
      case ArithmeticOperation::kAdd:
        if (range.contains(value - known)) pairs.push_back({known, value - known});
        break;
      case ArithmeticOperation::kSubtract:
        if (range.contains(value + known)) pairs.push_back({value + known, known});
        break;
      case ArithmeticOperation::kMultiply:
        if (known == 0) {
          for (int right = range.min; value == 0 && right <= range.max; ++right) {
            pairs.push_back({0, right});
          }
        } else if (value % known == 0 && range.contains(value / known)) {
          pairs.push_back({known, value / known});
        }
        break;
      case ArithmeticOperation::kDivide:
        if (known != 0 && range.contains(std::int64_t{value} * known)) {
          pairs.push_back({value * known, known});
        }
        break;
    }
  }
  return pairs;
}

ArithmeticExpression ArithmeticGenerator::expand(int num_operands, int value,
                                                 Random& random) const {
  if (num_operands == 1) return ArithmeticExpression(value);
  const auto index = static_cast<std::size_t>(value - range_.min);
  const auto& operations = operations_[index];
  const ArithmeticOperation operation = operations[random.below(operations.size())];
  const auto& pairs = splits_[static_cast<std::size_t>(operation)][index];
  const Split pair = pairs[random.below(pairs.size())];
  // Replacing uniformly selected operands one by one makes all sizes equally likely.
  const int left_size =
      1 + static_cast<int>(random.below(static_cast<std::uint64_t>(num_operands - 1)));
  const ArithmeticExpression left = expand(left_size, pair.left, random);
  return {operation, left, expand(num_operands - left_size, pair.right, random)};
}

ArithmeticExpression ArithmeticGenerator::draw(int num_operands, TaskSplit split,
                                               std::int64_t index) const {
  const auto kind = static_cast<std::uint64_t>(2 * num_operands + static_cast<int>(split));
  Random random = Random(seed_).fork(kind).fork(static_cast<std::uint64_t>(index));
  const auto num_values = static_cast<std::uint64_t>(range_.max - range_.min + 1);
  while (true) {
    const int value = range_.min + static_cast<int>(random.below(num_values));
    const ArithmeticExpression drawn = expand(num_operands, value, random);
    // Without redundant brackets it may group differently.
    const ArithmeticExpression expression = ArithmeticExpression::parse(drawn.text());
    if (expression.is_exact_within(range_) && split_of(expression) == split) return expression;
  }
}

/// An upper bound of the number of expressions, or `requested` if there are more ways to build
/// them.
///
///   ways(1, value) = 1,  ways(n, value) = sum over operations, pairs (a, b) of operands that give
///   the value, and k from 1 to n - 1 of ways(k, a) ways(n - k, b)
///
/// Several ways may give one text. The hash of split_of() gives each split its fraction of the
/// texts, within five standard deviations of the binomial distribution.
std::int64_t ArithmeticGenerator::most_expressions(int num_operands, TaskSplit split,
                                                   std::int64_t requested) const {
  constexpr double kTestFraction = 1.0 / static_cast<double>(kTestPeriod);
  const double fraction = split == TaskSplit::kTest ? kTestFraction : 1.0 - kTestFraction;
  const std::size_t num_values = operations_.size();
  std::vector<std::vector<double>> ways = {{}, std::vector<double>(num_values, 1.0)};
  double most = 0.0;
  while (std::ssize(ways) <= num_operands) {
    const std::size_t operands = ways.size();
    std::vector<double> of_value(num_values, 0.0);
    for (std::size_t value = 0; value < num_values; ++value) {
      for (const ArithmeticOperation operation : operations_[value]) {
        for (const Split& pair : splits_[static_cast<std::size_t>(operation)][value]) {
          const auto left = static_cast<std::size_t>(pair.left - range_.min);
          const auto right = static_cast<std::size_t>(pair.right - range_.min);
          for (std::size_t k = 1; k < operands; ++k) {
            of_value[value] += ways[k][left] * ways[operands - k][right];
          }
        }
      }
    }
    const double all = std::accumulate(of_value.begin(), of_value.end(), 0.0);
    most = all * fraction + 5.0 * std::sqrt(all * fraction * (1.0 - fraction));
    // Longer expressions are more: every value has a sum.
    if (most >= static_cast<double>(requested)) return requested;
    ways.push_back(std::move(of_value));
  }
  return static_cast<std::int64_t>(most);
}

std::vector<ArithmeticExpression> ArithmeticGenerator::draw_distinct(
    int num_operands, TaskSplit split, std::int64_t count,
    std::span<const ArithmeticExpression> excluded, const ProgressFn& on_progress,
    std::stop_token stop) const {
  const auto refuse = [&](const char* there_are, std::int64_t number) {
    throw InvalidArgument(
        "arithmetic task: {} different expressions of {} operands are needed for {}, there are {} "
        "{} from {} to {}; request fewer or widen the range",
        count, num_operands, split == TaskSplit::kTest ? "tests" : "training", there_are, number,
        range_.min, range_.max);
  };
  const std::int64_t most = most_expressions(num_operands, split, count);
  if (most < count) refuse("at most", most);
  std::vector<ArithmeticExpression> expressions;
  std::unordered_set<std::string> seen;
  for (const ArithmeticExpression& expression : excluded) seen.insert(expression.text());
  int draws_in_a_row = 0;
  for (std::int64_t index = 0; static_cast<std::int64_t>(expressions.size()) < count; ++index) {
    if (stop.stop_requested()) throw Interrupted("arithmetic task: stopped while drawing samples");
    report_drawn(on_progress, std::ssize(expressions), count);
    ArithmeticExpression expression = draw(num_operands, split, index);
    if (seen.insert(expression.text()).second) {
      expressions.push_back(std::move(expression));
      draws_in_a_row = 0;
    } else if (++draws_in_a_row == kMaxDrawsInARow) {
      refuse("about", std::ssize(expressions));
    }
  }
  return expressions;
}

std::vector<ArithmeticExpression> read_expressions(const std::filesystem::path& path,
                                                   const IntegerRange& range) {
  std::vector<ArithmeticExpression> expressions;
  for_each_line(path, [&](std::string_view line, std::int64_t number) {
    const std::string where = fmt::format("'{}', line {}", path.string(), number);
    expressions.push_back(expression_of(words_of(std::string(line)), range, where));
    return true;
  });
  throw_if<FormatError>(expressions.empty(),
                        "'{}': must contain arithmetic expressions, one per line, got none",
                        path.string());
  return expressions;
}

}  // namespace lime
