// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics: its output and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "app/lime_metrics_fixture.h"
#include "core/options.h"
#include "store/results_file.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::example_capture;
using testing::golden_file;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LimeMetricsTest;
using ::testing::Not;
using testing::ProgramRun;
using testing::read_text;
using testing::SmallCapture;
using testing::write_capture;
using testing::write_text;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

TEST_F(LimeMetricsTest, WorksInTheFolderOfACapture) {
  write_capture(folder_ / "capture.h5", example_capture());
  const ProgramRun result = run("entropy --layer all");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_THAT(result.output, HasSubstr("values (dim 4, tokens 5.3 (min 3), ceiling"));
  EXPECT_THAT(result.output, HasSubstr("hidden (dim 6, "));
}

// The required tolerance is 1e-9; rounding alone gives about 1e-14.
TEST_F(LimeMetricsTest, EqualsNumpyForEveryPreset) {
  write_golden_captures();
  const std::map<std::string, std::string> arguments = {{"lime-code", " --alpha 0.5,1,2,inf"},
                                                        {"raw", " --alpha 0.5,0.99"},
                                                        {"seq-vcr", ""},
                                                        {"layer-by-layer", ""},
                                                        {"matrix-entropy", ""},
                                                        {"diff-erank", ""}};
  const auto key = [](const Json& row) {
    return std::tuple(row.at("preset").dump(),
                      OptionCodec<double>::parse(
                          row.at("alpha").is_string() ? "inf" : row.at("alpha").dump(), "alpha"),
                      row.at("label").dump(), row.at("site").dump(), row.at("layer").dump());
  };
  std::map<decltype(key(Json())), Json> computed;
  for (const auto& [preset, orders] : arguments) {
    const Json table =
        rows(fmt::format("entropy first.h5 second.h5 --preset {}{}", preset, orders));
    for (const Json& row : table) EXPECT_TRUE(computed.emplace(key(row), row).second) << row;
  }
  const Json expected = read_json_file(golden_file("analysis/entropy_expected.json")).at("rows");
  EXPECT_EQ(computed.size(), expected.size());
  for (const Json& row : expected) {
    const auto found = computed.find(key(row));
    ASSERT_NE(found, computed.end()) << row;
    EXPECT_NEAR(found->second.at("mean").get<double>(), row.at("mean").get<double>(), 1e-9) << row;
    EXPECT_NEAR(found->second.at("std").get<double>(), row.at("std").get<double>(), 1e-9) << row;
  }
}

TEST_F(LimeMetricsTest, GivesTheSameBitsForAnyNumberOfThreads) {
  write_golden_captures();
  const std::string command = "entropy first.h5 second.h5 --seed 7 --format csv --threads ";
  const ProgramRun one = run(command + "1");
  EXPECT_EQ(one.status, 0) << one.errors;
  EXPECT_EQ(run(command + "4").output, one.output);
  EXPECT_EQ(run(command + "3").output, one.output);
}

TEST_F(LimeMetricsTest, TheProgressOfSeveralLayersCountsSequencesInEachOfThem) {
  write_capture(folder_ / "a.h5", two_models().first);  // 7 sequences, 2 layers
  const ProgramRun all = run("geometry a.h5 --measure massive", "LIME_PROGRESS=json");
  EXPECT_EQ(all.status, 0) << all.errors;
  EXPECT_THAT(all.errors, HasSubstr(R"("unit":"sequences x layers")"));
  EXPECT_THAT(all.errors, HasSubstr(R"("total":14)"));
  const ProgramRun one = run("geometry a.h5 --measure massive --layer 1", "LIME_PROGRESS=json");
  EXPECT_THAT(one.errors, HasSubstr(R"("unit":"sequences",)"));
}

TEST_F(LimeMetricsTest, ShowsCapturesSideBySide) {
  write_golden_captures();
  const ProgramRun result =
      run("entropy first.h5 second.h5 --label LLaMA LIMe --layer 0,2 --site values,hidden");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, read_text(golden_file("analysis/entropy_table.txt")));
}

TEST_F(LimeMetricsTest, ARowSaysEverythingAboutItsNumber) {
  write_capture(folder_ / "capture.h5", example_capture());
  const Json table = rows("entropy --site hidden --layer 1");
  ASSERT_EQ(table.size(), 1u);
  const Json& row = table[0];
  std::vector<std::string> columns;
  for (const auto& [name, value] : row.items()) columns.push_back(name);
  EXPECT_THAT(columns, ElementsAre("label", "site", "layer", "alpha", "preset", "unit", "mean",
                                   "std", "ci_low", "ci_high", "n", "tokens", "tokens_min", "dim",
                                   "ceiling", "ceiling_min"));
  EXPECT_EQ(row.at("label"), folder_.path().filename().string());
  EXPECT_EQ(row.at("alpha"), 0.5);
  EXPECT_EQ(row.at("preset"), "lime-code");
  EXPECT_EQ(row.at("unit"), "nats");
  EXPECT_EQ(row.at("n"), 3);
  EXPECT_EQ(row.at("dim"), 6);
  // Sequences of 5, 8 and 3 tokens in 6 dimensions.
  EXPECT_NEAR(row.at("tokens").get<double>(), 16.0 / 3.0, 1e-12);
  EXPECT_EQ(row.at("tokens_min"), 3);
  EXPECT_NEAR(row.at("ceiling").get<double>(), std::log(5.0 * 6.0 * 3.0) / 3.0, 1e-12);
  EXPECT_NEAR(row.at("ceiling_min").get<double>(), std::log(3.0), 1e-12);
  EXPECT_LT(row.at("ci_low"), row.at("mean"));
  EXPECT_GT(row.at("ci_high"), row.at("mean"));
}

TEST_F(LimeMetricsTest, AResultsFileSaysWhereItCameFrom) {
  write_capture(folder_ / "capture.h5", example_capture());
  const ProgramRun result = run("entropy --seed 5 --threads 2 --label x -o r.json --quiet");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, IsEmpty());
  const Results results = read_results(folder_ / "r.json");
  EXPECT_EQ(results.metric, "entropy");
  ASSERT_EQ(results.inputs.size(), 1u);
  EXPECT_EQ(results.inputs[0].path, "capture.h5");
  EXPECT_EQ(results.inputs[0].label, "x");
  EXPECT_EQ(results.inputs[0].sha256.size(), 64u);
  EXPECT_EQ(results.options.at("preset"), "lime-code");
  EXPECT_EQ(results.options.at("layer"), "all");
  EXPECT_EQ(results.options.at("seed"), 5);
  EXPECT_EQ(results.provenance.at("threads"), 2);
  EXPECT_EQ(results.provenance.at("command"),
            "lime-metrics entropy --seed 5 --threads 2 --label x -o r.json --quiet");
  const std::string processors = read_text("/proc/cpuinfo");
  if (processors.find("model name") != std::string::npos) {
    const std::string machine = results.provenance.at("machine");
    EXPECT_THAT(processors, HasSubstr(": " + machine + "\n"));
  }
  for (const char* const key : {"tool", "created_utc", "compiler", "eigen"}) {
    EXPECT_FALSE(results.provenance.at(key).get<std::string>().empty()) << key;
  }
  EXPECT_TRUE(results.provenance.at("seconds").contains("total"));
  EXPECT_EQ(results.rows.size(), 4u);
}

TEST_F(LimeMetricsTest, WritesSeveralFilesAndStillShowsTheTable) {
  write_capture(folder_ / "capture.h5", example_capture());
  const ProgramRun result = run("entropy -o e.json -o e.csv -o e.tex");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("values (dim 4"));
  for (const char* name : {"e.json", "e.csv", "e.tex"}) EXPECT_TRUE(fs::exists(folder_ / name));
  EXPECT_EQ(read_results(folder_ / "e.json").rows.size(), 4u);
}

TEST_F(LimeMetricsTest, CsvHoldsTheSameNumbersAsJson) {
  write_capture(folder_ / "capture.h5", example_capture());
  const Json table = rows("entropy --alpha 0.5,inf");
  const std::vector<std::string> lines =
      split(run("entropy --alpha 0.5,inf --format csv").output, '\n');
  ASSERT_EQ(lines.size(), table.size() + 1);
  const std::vector<std::string> header = split(lines[0], ',');
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::vector<std::string> cells = split(lines[i + 1], ',');
    ASSERT_EQ(cells.size(), header.size());
    for (std::size_t j = 0; j < header.size(); ++j) {
      const Json& value = table[i].at(header[j]);
      if (value.is_number()) {
        EXPECT_EQ(std::stod(cells[j]), value.get<double>()) << header[j];
      } else {
        EXPECT_EQ(cells[j], value.get<std::string>()) << header[j];
      }
    }
  }
}

TEST_F(LimeMetricsTest, LatexIsOneWholeTable) {
  write_capture(folder_ / "a.h5", example_capture(1));
  write_capture(folder_ / "b.h5", example_capture(2));
  const ProgramRun result = run("entropy a.h5 b.h5 --label 'a_1 & 50%' '#b' --format latex");
  EXPECT_EQ(result.status, 0) << result.errors;
  std::vector<std::string> body;
  for (const std::string& line : split(result.output, '\n')) {
    if (!line.starts_with('%')) body.push_back(line);
  }
  ASSERT_GT(body.size(), 4u);
  EXPECT_EQ(body.front(), "\\begin{tabular}{rcc}");
  EXPECT_EQ(body.back(), "\\end{tabular}");
  EXPECT_EQ(body[2], "layer & a\\_1 \\& 50\\% & \\#b \\\\");
  for (const std::string& line : body) {
    if (!line.ends_with("\\\\") || line.find("multicolumn") != std::string::npos) continue;
    const auto unescaped = [&](std::size_t i) { return i == 0 || line[i - 1] != '\\'; };
    int columns = 1;
    for (std::size_t i = 0; i < line.size(); ++i) columns += line[i] == '&' && unescaped(i) ? 1 : 0;
    EXPECT_EQ(columns, 3) << line;
  }
  if (testing::run_command("command -v pdflatex").status != 0) return;
  write_text(folder_ / "t.tex",
             "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + result.output +
                 "\\end{document}\n");
  EXPECT_EQ(
      testing::run_command("cd '" + folder_.path().string() + "' && pdflatex -halt-on-error t.tex")
          .status,
      0);
}

TEST_F(LimeMetricsTest, TopKPrintsBoundsThatHoldTheExactValue) {
  write_golden_captures();
  const Json exact = rows("entropy first.h5");
  const Json bounded = rows("entropy first.h5 --top-k 3");
  ASSERT_EQ(exact.size(), bounded.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double value = exact[i].at("mean");
    EXPECT_LE(bounded[i].at("lower").get<double>(), value + 1e-9);
    EXPECT_GE(bounded[i].at("upper").get<double>(), value - 1e-9);
    EXPECT_GT(bounded[i].at("left_out").get<double>(), 0.0);
  }
  EXPECT_THAT(run("entropy first.h5 --top-k 3").output,
              HasSubstr("omitted: eigenvalues with at most "));
}

TEST_F(LimeMetricsTest, OnlyTheFirstSequencesWhereAskedFor) {
  write_capture(folder_ / "capture.h5", example_capture());
  const Json row = rows("entropy --site values --layer 0 --max-sequences 2").at(0);
  EXPECT_EQ(row.at("n"), 2);
  EXPECT_EQ(row.at("tokens"), 6.5);
  EXPECT_THAT(run("entropy --max-sequences 2").output, HasSubstr("(the first of 3 sequences)"));
}

TEST_F(LimeMetricsTest, DiffErankIsTheDifferenceOfTwoCaptures) {
  write_golden_captures();
  const Json table = rows("entropy first.h5 second.h5 --preset diff-erank --site hidden --layer 1");
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[2].at("label"), "first - second");
  EXPECT_NEAR(table[2].at("mean").get<double>(),
              table[0].at("mean").get<double>() - table[1].at("mean").get<double>(), 1e-12);
  EXPECT_EQ(table[2].at("unit"), "rank");
  EXPECT_EQ(refusal("entropy first.h5 --preset diff-erank", 2),
            "lime-metrics: diff-erank: expected two captures of the same text, the untrained model "
            "first, then the trained one, got 1; see lime-metrics entropy --help\n");
  SmallCapture other = example_capture();
  write_capture(folder_ / "other.h5", other);
  EXPECT_EQ(
      refusal("entropy first.h5 other.h5 --preset diff-erank", 1),
      "lime-metrics: 'first.h5' and 'other.h5': contain different tokens, but diff-erank compares "
      "the same tokens in two models; capture both with the same text and tokenizer\n");
}

TEST_F(LimeMetricsTest, SitePaperComparesTheValuesThatTheLimeCodeMeasures) {
  write_capture(folder_ / "llama.h5", example_capture(1));
  SmallCapture routed = example_capture(2);
  routed.config = {{"model_type", "lime"}};
  const std::int64_t num_rows = routed.activations[0].rows.rows();
  for (const int layer : {0, 1}) {
    routed.activations.push_back({"routed_values", layer, testing::random_matrix(num_rows, 4, 3)});
  }
  write_capture(folder_ / "lime.h5", routed);
  const Json paper = rows("entropy llama.h5 lime.h5 --site paper --compare first");
  ASSERT_EQ(paper.size(), 4u + 2u);
  EXPECT_EQ(paper[0].at("mean"), rows("entropy llama.h5 --site values")[0].at("mean"));
  EXPECT_EQ(paper[2].at("mean"), rows("entropy lime.h5 --site routed_values")[0].at("mean"));
  EXPECT_EQ(paper[4].at("baseline"), "llama");
  for (const std::string command : {"geometry --measure rank", "similarity", "tokens"}) {
    const Json table = rows(command + " llama.h5 lime.h5 --site paper");
    EXPECT_FALSE(table.empty());
    for (const Json& row : table) EXPECT_EQ(row.at("site"), "paper") << command;
  }
  const std::string remark =
      "\nvalues of 'lime' are the output of W_V, not the values its attention reads; the LIMe code "
      "measures the latter, available with --site paper\n";
  const std::string both = "entropy llama.h5 lime.h5 --site ";
  EXPECT_THAT(run(both + "values").output, HasSubstr(remark));
  EXPECT_THAT(run(both + "values --preset raw").output, Not(HasSubstr(remark)));
  EXPECT_THAT(run("entropy lime.h5").output, Not(HasSubstr(remark)));
  const std::string table = run(both + "paper").output;
  EXPECT_THAT(table, HasSubstr("lime.h5; paper is routed_values\n"));
  EXPECT_THAT(table, Not(HasSubstr(remark)));
}

TEST_F(LimeMetricsTest, IsAsciiWhereTheLocaleIs) {
  write_capture(folder_ / "capture.h5", example_capture());
  const ProgramRun result = run("entropy", "LC_ALL=C");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, HasSubstr("+-"));
  EXPECT_TRUE(
      std::all_of(result.output.begin(), result.output.end(), [](char c) { return c > 0; }));
}

TEST_F(LimeMetricsTest, LoadsNeitherLibTorchNorCuda) {
  const ProgramRun result = testing::run_command("ldd " LIME_METRICS);
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, Not(HasSubstr("libtorch")));
  EXPECT_THAT(result.output, Not(HasSubstr("libc10")));
  EXPECT_THAT(result.output, Not(::testing::ContainsRegex("libcu(da|blas|solver)")));
}

TEST_F(LimeMetricsTest, HelpHasExamples) {
  const ProgramRun result = run("entropy --help");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, HasSubstr("Examples:\n  lime-metrics entropy --layer all\n"));
  EXPECT_THAT(result.output, HasSubstr("[capture.h5]"));
  for (const std::string& line : split(result.output, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace lime
