// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/results_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "core/errors.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;

Report example_report() {
  Report report;
  report.results.metric = "entropy";
  report.results.rows = {ResultRow{{col::kLabel, "a"},
                                   {col::kSite, "values"},
                                   {col::kLayer, 0},
                                   {col::kMean, 0.1},
                                   {col::kStd, 0.0},
                                   {col::kCiLow, 0.1},
                                   {col::kCiHigh, 0.1},
                                   {col::kCeiling, 1.0}}};
  report.notes = {"what it shows"};
  report.legend = "what the cells are";
  return report;
}

TEST(ReportTest, EveryFormatHasAnExtensionAndAPrinter) {
  std::set<ResultsFormat> formats;
  for (const std::string& extension : format_extensions()) {
    const std::optional<ResultsFormat> format = format_of_name("a" + extension);
    ASSERT_TRUE(format.has_value()) << extension;
    EXPECT_THAT(format_report(example_report(), *format), HasSubstr("layer")) << extension;
    formats.insert(*format);
  }
  EXPECT_EQ(formats.size(), names_of(ResultsFormat{}).size());
}

TEST(ReportTest, ShowsEachPartWhereItBelongs) {
  const auto table = [](const std::string& text) {
    return Table{.columns = {{.text = text}}, .blocks = {{.lines = {{{text}}}}}};
  };
  Report report = example_report();
  report.notes.clear();
  report.legend.clear();
  report.parts = [&](const Results&) {
    return std::vector<ReportPart>{{table("both")},
                                   {TextMap{"a map", MatrixD::Ones(1, 1)}},
                                   {table("terminal"), ShownIn::kTerminal},
                                   {table("paper"), ShownIn::kPaper}};
  };
  EXPECT_EQ(format_report(report, ResultsFormat::kTable, {.unicode = false}),
            "both\nboth\n\na map\n    0\n0 100#\n\nterminal\nterminal\n");
  const std::string latex = format_report(report, ResultsFormat::kLatex);
  EXPECT_THAT(latex, AllOf(HasSubstr("both \\\\"), HasSubstr("paper \\\\"), Not(HasSubstr("map")),
                           Not(HasSubstr("terminal"))));
}

TEST(OutputOptionsTest, RefusesNamesThatSayNoFormat) {
  OutputOptions options;
  options.output = {"a.json", "b.dat"};
  try {
    options.validate();
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(
        error.what(),
        "output: the name must end in .json, .csv, .tex or .txt, got 'b.dat'; or use --format");
  }
  options.format = ResultsFormat::kCsv;
  EXPECT_NO_THROW(options.validate());
  options.output = {"a.csv", "a.csv"};
  EXPECT_THROW(options.validate(), InvalidArgument);
}

TEST(OutputFilesTest, WritesEachFileInTheFormatOfItsName) {
  const TemporaryFolder folder;
  OutputOptions options;
  options.output = {folder / "a.json", folder / "a.csv", folder / "a.tex", folder / "a.txt"};
  OutputFiles(options, {}).write(example_report());
  EXPECT_THAT(read_text(folder / "a.json"), StartsWith("{"));
  EXPECT_THAT(read_text(folder / "a.csv"), StartsWith("label,site,layer,mean,std,"));
  EXPECT_THAT(read_text(folder / "a.tex"), HasSubstr("\\toprule"));
  EXPECT_THAT(read_text(folder / "a.txt"),
              StartsWith("what it shows\nwhat the cells are\n\nvalues\n"));
}

TEST(OutputFilesTest, TheGivenFormatHoldsForAllFiles) {
  const TemporaryFolder folder;
  OutputOptions options;
  options.output = {folder / "a.json"};
  options.format = ResultsFormat::kCsv;
  OutputFiles(options, {}).write(example_report());
  EXPECT_THAT(read_text(folder / "a.json"), StartsWith("label,"));
}

TEST(OutputFilesTest, LeavesNothingWhereTheWorkFails) {
  const TemporaryFolder folder;
  OutputOptions options;
  options.output = {folder / "a.json"};
  { const OutputFiles files(options, {}); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OutputFilesTest, RefusesAFolderThatIsMissingBeforeAnyWork) {
  const TemporaryFolder folder;
  OutputOptions options;
  options.output = {folder / "a.json", folder / "none/a.csv"};
  EXPECT_THROW(OutputFiles(options, {}), IoError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OutputFilesTest, NamesThatDifferBehindTheLastDotHaveCompanionsOfTheirOwn) {
  const TemporaryFolder folder;
  for (const char* const name : {"model-0.5", "model-0.7", "run.json"}) {
    OutputOptions options;
    options.output = {folder / name};
    options.format = ResultsFormat::kJson;
    Report report = example_report();
    report.companions = {
        {.suffix = ".embeddings.h5",
         .beside = {ResultsFormat::kJson},
         .write = [&](const std::filesystem::path& path) { write_text(path, name); }}};
    OutputFiles(options, {}).write(report);
  }
  EXPECT_EQ(read_text(folder / "model-0.5.embeddings.h5"), "model-0.5");
  EXPECT_EQ(read_text(folder / "model-0.7.embeddings.h5"), "model-0.7");
  EXPECT_EQ(read_text(folder / "run.embeddings.h5"), "run.json");
}

TEST(OutputFilesTest, NeverOverwritesAnInput) {
  const TemporaryFolder folder;
  write_text(folder / "a.json", "precious");
  OutputOptions options;
  options.output = {folder.path() / "." / "a.json"};
  EXPECT_THROW(OutputFiles(options, {folder / "a.json"}), InvalidArgument);
  EXPECT_EQ(read_text(folder / "a.json"), "precious");
}

}  // namespace
}  // namespace lime
