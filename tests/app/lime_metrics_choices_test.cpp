// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics choices: closed forms, and a one-line error for each bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "app/lime_metrics_fixture.h"
#include "metrics/comparison/significance.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A line of `lm-eval --log_samples` with two choices.
Json sample(int id, double first, double second, const Json& target, const std::string& one = "a",
            const std::string& two = "bb") {
  const auto pair = [](double value) { return Json({std::to_string(value), "False"}); };
  return {{"doc_id", id},
          {"doc", Json::object()},
          {"target", target},
          {"arguments",
           {{"gen_args_0", {{"arg_0", "c"}, {"arg_1", " " + one}}},
            {"gen_args_1", {{"arg_0", "c"}, {"arg_1", " " + two}}}}},
          {"filtered_resps", Json::array({pair(first), pair(second)})},
          {"filter", "none"},
          {"acc", 0.0}};
}

class ChoicesCommandTest : public testing::LimeMetricsTest {
 protected:
  void write(const std::string& name, const std::vector<Json>& lines) const {
    std::string text;
    for (const Json& line : lines) text += line.dump() + "\n";
    testing::write_text(folder_ / name, text);
  }
  /// Items of which those in `correct` ('1') are answered correctly.
  static std::vector<Json> items(const std::string& correct, const std::string& task = "copa") {
    std::vector<Json> lines;
    for (const char c : correct) {
      lines.push_back(sample(static_cast<int>(lines.size()), c == '1' ? -1.0 : -3.0, -2.0, "0"));
      lines.back()["task"] = task;
    }
    return lines;
  }
  Json row(const std::string& arguments, const std::string& column,
           const std::string& value) const {
    for (const Json& candidate : rows("choices " + arguments)) {
      if (candidate.value(column, "") == value) return candidate;
    }
    ADD_FAILURE() << "no row with " << column << " " << value;
    return {};
  }
  void fails(const std::string& arguments, const std::string& message) const {
    const auto result = run("choices " + arguments);
    EXPECT_EQ(result.status, 1) << arguments;
    EXPECT_THAT(result.errors, HasSubstr(message));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  }
};

TEST_F(ChoicesCommandTest, ComputesTheHarnessesStandardErrorAndPriors) {
  write("copa.jsonl", items("1101"));
  const Json acc = row("copa.jsonl", "measure", "acc");
  EXPECT_EQ(acc["mean"], 0.75);
  EXPECT_NEAR(acc["stderr"].get<double>(), std::sqrt(0.75 * 0.25 / 3.0), 1e-12);
  EXPECT_EQ(acc["majority"], 1.0);
  EXPECT_EQ(acc["prediction_shares"], Json({0.75, 0.25}));
  // -1 / 1 < -2 / 2 is a tie, and -3 < -1: acc_norm selects the first of equal scores.
  EXPECT_EQ(row("copa.jsonl", "measure", "acc_norm")["mean"], 0.75);
  EXPECT_NEAR(row("copa.jsonl", "measure", "margin")["mean"].get<double>(), 0.5, 1e-9);
  const double p = 1.0 / (1.0 + std::exp(-1.0));
  EXPECT_NEAR(row("copa.jsonl", "measure", "brier")["mean"].get<double>(),
              2.0 * (0.75 * (1 - p) * (1 - p) + 0.25 * p * p), 1e-6);
}

TEST_F(ChoicesCommandTest, CountsCodePointsAndBytes) {
  // -2 / 2 < -1.5 / 2 per code point, -2 / 4 > -1.5 / 2 per byte.
  write("a.jsonl", {sample(0, -2.0, -1.5, "0", "\u00e9\u00e9", "ab")});
  EXPECT_EQ(row("a.jsonl", "measure", "acc_norm")["mean"], 0.0);
  EXPECT_EQ(row("a.jsonl", "measure", "acc_bytes")["mean"], 1.0);
  // A choice's own space counts, the delimiter does not (COPA): -2 / 3 > -1.4 / 2.
  write("a.jsonl", {sample(0, -2.0, -1.4, "0", " ab", "ab")});
  EXPECT_EQ(row("a.jsonl", "measure", "acc_norm")["mean"], 1.0);
}

TEST_F(ChoicesCommandTest, ReportsTheDepthOfTheAnswer) {
  std::vector<Json> lines = items("1111");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // The logit lens is correct from layer 1 on, the probe once in layer 0 and always in layer 1.
    lines[i]["layers"] = {
        {{"layer", 0}, {"log_likelihoods", {-2.0, -1.0}}, {"probe", {i == 0 ? -1.0 : -3.0, -2.0}}},
        {{"layer", 1}, {"log_likelihoods", {-1.0, -2.0}}, {"probe", {-1.0, -2.0}}}};
  }
  write("a.jsonl", lines);
  for (const char* const measure : {"acc", "probe"}) {
    for (const Json& candidate : rows("choices a.jsonl")) {
      if (candidate["measure"] != measure || candidate.value("kind", "") != "depth") continue;
      EXPECT_EQ(candidate["layer"], 1);
      EXPECT_EQ(candidate["mean"], 1.0);
    }
  }
  const std::string table = run("choices a.jsonl").output;
  EXPECT_THAT(table, HasSubstr("a.jsonl: accuracy by layer"));
  EXPECT_THAT(table, HasSubstr("copa, probe"));
  EXPECT_THAT(table, HasSubstr("first layer within one standard error"));
}

TEST_F(ChoicesCommandTest, TestsModelsOnTheSameItemsExactly) {
  write("a.jsonl", items("0000011111"));
  write("b.jsonl", items("1111111110"));
  const Json test = row("a.jsonl b.jsonl --label A,B", "kind", "mcnemar");
  EXPECT_EQ(test["baseline_only"], 1);
  EXPECT_EQ(test["label_only"], 5);
  EXPECT_NEAR(test["p"].get<double>(), 2.0 * 7.0 / 64.0, 1e-12);
  EXPECT_NEAR(test["difference"].get<double>(), 0.4, 1e-12);
  // Of 0 and 1, the sign-flip test of --compare is the same test.
  const Json compared = row("a.jsonl b.jsonl --label A,B --compare first", "kind", "comparison");
  EXPECT_NEAR(compared["p"].get<double>(), 2.0 * 7.0 / 64.0, 1e-12);
  EXPECT_EQ(mcnemar_exact(0, 0), 1.0);
  EXPECT_EQ(mcnemar_exact(3, 3), 1.0);
}

TEST_F(ChoicesCommandTest, AveragesRunsItemByItem) {
  write("a.jsonl", items("1100"));
  write("b.jsonl", items("1010"));
  const std::string runs = "a.jsonl b.jsonl --label X,X --task copa ";
  const Json acc = row(runs, "measure", "acc");
  EXPECT_EQ(acc["n"], 4);
  EXPECT_EQ(acc["runs"], 2);
  EXPECT_EQ(acc["mean"], 0.5);
  // Items 1, 0.5, 0.5, 0.
  EXPECT_NEAR(acc["stderr"].get<double>(), std::sqrt(0.5 / 3.0 / 4.0), 1e-12);
  EXPECT_NEAR(row(runs + "--preset lime-paper", "measure", "acc")["stderr"].get<double>(),
              std::sqrt(0.25 / 7.0), 1e-12);
  write("b.jsonl", {});
  fails("a.jsonl b.jsonl --label X,X", "contains no samples");
}

TEST_F(ChoicesCommandTest, CorrectsMultiRc) {
  std::vector<Json> lines;
  for (int i = 0; i < 4; ++i) {
    // The model always says yes; answers 0 and 1 are correct. Two questions of one paragraph each.
    Json line = sample(i, -1.0, -2.0, i < 2 ? "1" : "0", "x\nIs the answer correct? yes",
                       "x\nIs the answer correct? no");
    line["doc"] = {{"idx", {{"paragraph", i / 2}, {"question", i / 2}, {"answer", i}}},
                   {"label", i < 2 ? 1 : 0}};
    lines.push_back(line);
  }
  lines[3]["target"] = "1";
  lines[3]["doc"]["label"] = 1;
  write("multirc.jsonl", lines);
  EXPECT_EQ(row("multirc.jsonl", "measure", "acc")["mean"], 0.25);
  EXPECT_THAT(run("choices multirc.jsonl").output, HasSubstr("with the label inverted"));
  write("copa.jsonl", items("11"));
  EXPECT_THAT(run("choices copa.jsonl").output, Not(HasSubstr("MultiRC")));
  const Json corrected = row("multirc.jsonl --preset corrected", "measure", "acc");
  EXPECT_EQ(corrected["mean"], 0.75);
  EXPECT_EQ(corrected["clusters"], 2);
  // Sums of deviations of the paragraphs: 0.5 and -0.5.
  EXPECT_NEAR(corrected["stderr"].get<double>(), std::sqrt(2.0 * 0.5) / 4.0, 1e-12);
  EXPECT_EQ(row("multirc.jsonl --preset corrected", "measure", "question_match")["mean"], 0.5);
}

TEST_F(ChoicesCommandTest, AveragesTasksAndPrintsTheLayoutOfThePaper) {
  write("copa.jsonl", items("11"));
  write("piqa.jsonl", items("10", "piqa"));
  const std::string files = "copa.jsonl piqa.jsonl --label LLaMA,LLaMA";
  const Json mean = row(files, "level", "all");
  EXPECT_EQ(mean["mean"], 0.75);
  EXPECT_EQ(mean["tasks"], 2);
  const auto latex = run("choices " + files + " --format latex");
  EXPECT_THAT(latex.output, HasSubstr("Model & copa & piqa & Avg"));
  EXPECT_THAT(latex.output, HasSubstr("LLaMA & 100.0 (0.0) & 50.0 (50.0) & 75.0 (25.0)"));
  EXPECT_THAT(run("choices " + files).output, HasSubstr("mean over tasks"));
}

TEST_F(ChoicesCommandTest, RefusesBrokenSamples) {
  write("a.jsonl", {sample(0, -1, -2, "2")});
  fails("a.jsonl", "'a.jsonl' line 1: has no gold answer");
  write("a.jsonl", {sample(0, -1, -2, "0"), sample(0, -1, -2, "0")});
  fails("a.jsonl", "line 2: item 0 of a occurs twice");
  Json line = sample(0, -1, -2, "0");
  line.erase("arguments");
  write("a.jsonl", {line});
  fails("a.jsonl", "must have 'arguments'");
  line = sample(0, -1, -2, "0");
  line["arguments"]["gen_args_1"]["arg_1"] = "";
  write("a.jsonl", {line});
  fails("a.jsonl", "'a.jsonl' line 1: a continuation is empty");
  testing::write_text(folder_ / "a.jsonl", "{\"doc_id\": 0,\n");
  fails("a.jsonl", "'a.jsonl' line 1");
  Json one = sample(0, -1, -2, "0");
  Json two = sample(0, -1, -2, "0");
  one["tokenizer_sha256"] = "aaaaaaaaaaaaaaaaaaaa";
  two["tokenizer_sha256"] = "bbbbbbbbbbbbbbbbbbbb";
  write("a.jsonl", {one});
  write("b.jsonl", {two});
  fails("a.jsonl b.jsonl --label X,X", "tokenizers of different hashes (aaaaaaaaaaaa and");
  fails("a.jsonl --task copa", "--task: no file contains 'copa'");
}

}  // namespace
}  // namespace lime
