// SPDX-License-Identifier: Apache-2.0
// The layouts of tables, column_table() and pivot_table(), and their printers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "analysis/report/latex_printer.h"
#include "analysis/report/pivot.h"
#include "analysis/report/text_printer.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ResultRow row(const std::string& label, const std::string& site, int layer, double mean) {
  return {{col::kLabel, label},
          {col::kSite, site},
          {col::kLayer, layer},
          {col::kMean, mean},
          {col::kStd, 0.125},
          {col::kCiLow, mean - 0.0625},
          {col::kCiHigh, mean + 0.0625},
          {col::kCeiling, 4.0}};
}

/// Two captures; the second has no hidden states and fewer layers, and its rows are unordered.
Results example_tables() {
  Results results;
  results.metric = "entropy";
  results.rows = {row("llama", "values", 0, 2.0),  row("llama", "values", 1, 1.0),
                  row("llama", "values", 10, 3.5), row("llama", "hidden", 0, 4.0),
                  row("lime", "values", 10, 3.75), row("lime", "values", 0, 2.25)};
  return results;
}

std::string pivot_text(const Results& results, const TableLayout& layout = {},
                       const TextStyle& style = {}) {
  return table_to_text(pivot_table(results, layout), style);
}

std::string pivot_latex(const Results& results, const TableLayout& layout = {},
                        const std::vector<std::string>& notes = {}) {
  return table_to_latex(pivot_table(results, layout), notes);
}

TEST(PivotTest, PutsCapturesSideBySideAndLayersInOrder) {
  Results results = example_tables();
  std::swap(results.rows[0], results.rows[2]);
  const Pivot pivot = pivot_results(results, {});
  EXPECT_THAT(pivot.series, ElementsAre("llama", "lime"));
  ASSERT_EQ(pivot.blocks.size(), 2u);
  EXPECT_EQ(pivot.blocks[0].heading, "values");
  EXPECT_THAT(pivot.blocks[0].lines, ElementsAre(0, 1, 10));
  EXPECT_EQ(pivot.blocks[0].cells[1][1], nullptr);
  EXPECT_EQ(pivot.blocks[0].cells[2][1]->number(col::kMean), 3.75);
  EXPECT_THAT(pivot.blocks[1].lines, ElementsAre(0));
}

TEST(PivotTest, RefusesTwoRowsForOneCellAndMissingColumns) {
  Results results = example_tables();
  results.rows.push_back(results.rows.front());
  EXPECT_THROW(pivot_results(results, {}), InvalidArgument);
  results.rows = {ResultRow{{col::kLabel, "x"}}};
  EXPECT_THROW(pivot_results(results, {}), InvalidArgument);
}

TEST(PivotTest, NamesTheMetricAndTheCellOfARowWithoutAValue) {
  Results results = example_tables();
  results.rows.front().erase(col::kMean);
  EXPECT_EQ(testing::refusal_of([&] { pivot_text(results, {}); }),
            "table of entropy: 'values', layer 0, label 'llama' has no mean");
}

TEST(TextTableTest, RowsMayLackSpreadAndInterval) {
  Results results = example_tables();
  for (ResultRow& each : results.rows) {
    each.erase(col::kCiLow);
    each.erase(col::kStd);
  }
  EXPECT_THAT(pivot_text(results, {}), HasSubstr("2.000"));
  EXPECT_THAT(pivot_latex(results, {}), HasSubstr("$2.000$"));
}

TEST(TextTableTest, ShowsValueSpreadIntervalAndBar) {
  const std::string snapshot = testing::read_text(testing::golden_file("analysis/table.txt"));
  EXPECT_EQ(pivot_text(example_tables(), {}), snapshot);
}

TEST(TextTableTest, LeavesDetailsOutUntilItFits) {
  const Results results = example_tables();
  const auto first_line = [&](int width) {
    const std::string text = pivot_text(results, {}, {.width = width, .unicode = false});
    for (std::size_t start = 0, end = 0; start < text.size(); start = end + 1) {
      end = text.find('\n', start);
      if (text[start] == '(') continue;  // part that is omitted
      EXPECT_LE(end - start, static_cast<std::size_t>(width));
    }
    const std::size_t start = text.find("    0");
    return text.substr(start, text.find('\n', start) - start);
  };
  EXPECT_EQ(first_line(100),
            "    0   2.000 +- 0.125 [1.938, 2.062] ######......   2.250 +- 0.125 [2.188, 2.312] "
            "#######.....");
  EXPECT_EQ(first_line(80),
            "    0   2.000 +- 0.125 [1.938, 2.062]   2.250 +- 0.125 [2.188, 2.312]");
  EXPECT_EQ(first_line(45), "    0   2.000 +- 0.125   2.250 +- 0.125");
  EXPECT_EQ(first_line(25), "    0   2.000   2.250");
}

TEST(TextTableTest, SaysWhichNumbersDoNotFit) {
  const auto last_line = [](int width) {
    const std::string text = pivot_text(example_tables(), {}, {.width = width, .unicode = false});
    return text.substr(text.rfind('\n', text.size() - 2) + 1);
  };
  EXPECT_THAT(last_line(80), HasSubstr("[3.938, 4.062]"));  // only bars are omitted
  EXPECT_EQ(last_line(45), "(intervals omitted, too wide for this terminal; see --format csv)\n");
  EXPECT_EQ(last_line(25),
            "(spreads and intervals omitted, too wide for this terminal; see --format csv)\n");
}

TEST(TextTableTest, IsAsciiWhereAskedFor) {
  const std::string text = pivot_text(example_tables(), {}, {.unicode = false});
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char letter) { return letter > 0; }));
}

TEST(TextTableTest, AlignsNumbersOfDifferentWidthAndLabelsInUtf8) {
  Results results;
  results.rows = {row("mod\u00e8le", "values", 0, 10.0), row("mod\u00e8le", "values", 1, 9.0)};
  const TableLayout layout = {.spread = "", .low = "", .high = "", .ceiling = "", .digits = 1};
  EXPECT_EQ(pivot_text(results, layout),
            "values\n"
            "layer   mod\u00e8le\n"
            "    0   10.0\n"
            "    1    9.0\n");
}

TEST(TextTableTest, ShowsWhatIsNotANumber) {
  Results results;
  results.rows = {row("a", "values", 0, std::numeric_limits<double>::quiet_NaN())};
  EXPECT_THAT(pivot_text(results, {}), HasSubstr("0   nan \u00b1 0.125  \u00b7\u00b7"));
}

TEST(TextTableTest, SmallNumbersKeepTwoDigits) {
  Results results = example_tables();
  results.rows = {row("a", "values", 0, 1.23e-5), row("a", "values", 1, 0.01),
                  row("a", "values", 2, 0.0)};
  for (ResultRow& each : results.rows) each.set(col::kStd, 0.00042);
  const std::string text = pivot_text(results, {});
  EXPECT_THAT(text, HasSubstr("1.2e-05 \u00b1 0.00042"));
  EXPECT_THAT(text, HasSubstr("0.010 \u00b1 0.00042"));
  EXPECT_THAT(text, HasSubstr("0.000 \u00b1 0.00042"));
  EXPECT_THAT(pivot_latex(results, {}), HasSubstr("$1.2 \\cdot 10^{-5} \\pm 0.00042$"));
  const Table percents = column_table({results.rows.data(), &results.rows[1]},
                                      {number_column(col::kMean, 1, "mean %", 100.0)});
  EXPECT_EQ(table_to_text(percents, {}), "mean %\n0.0012\n   1.0\n");
}

TEST(LatexTableTest, NumbersAreMathematicsWhereTheyNeedIt) {
  const Table table{.columns = {{.text = "value"}, {.text = "interval"}, {.text = "share"}},
                    .blocks = {{.lines = {{{NumberCell{-1.23e-5}, IntervalCell{-0.5, 0.25, 2},
                                            NumberCell{12.5, 1, "%"}}}}}}};
  EXPECT_THAT(table_to_latex(table),
              HasSubstr("$-1.2 \\cdot 10^{-5}$ & $[-0.50, 0.25]$ & 12.5\\% \\\\\n"));
  EXPECT_EQ(table_to_text(table, {}),
            "   value       interval  share\n"
            "-1.2e-05  [-0.50, 0.25]  12.5%\n");
}

TEST(LatexTableTest, IsABooktabsTableWithPlusMinus) {
  EXPECT_EQ(pivot_latex(example_tables(), {}, {"alpha 0.5", "two\nlines"}),
            "% needs \\usepackage{booktabs}\n"
            "% alpha 0.5\n"
            "% two lines\n"
            "% cells: mean +- std\n"
            "\\begin{tabular}{rcc}\n"
            "\\toprule\n"
            "layer & llama & lime \\\\\n"
            "\\midrule\n"
            "\\multicolumn{3}{l}{\\emph{values}} \\\\\n"
            "0 & $2.000 \\pm 0.125$ & $2.250 \\pm 0.125$ \\\\\n"
            "1 & $1.000 \\pm 0.125$ & -- \\\\\n"
            "10 & $3.500 \\pm 0.125$ & $3.750 \\pm 0.125$ \\\\\n"
            "\\midrule\n"
            "\\multicolumn{3}{l}{\\emph{hidden}} \\\\\n"
            "0 & $4.000 \\pm 0.125$ & -- \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n");
}

TEST(LatexTableTest, EscapesEveryInput) {
  EXPECT_EQ(latex_escaped("a_b & 50% #1 {x} $y$ ~ ^ \\"),
            "a\\_b \\& 50\\% \\#1 \\{x\\} \\$y\\$ \\textasciitilde{} \\textasciicircum{} "
            "\\textbackslash{}");
  Results results;
  results.rows = {row("routed_values & 50%", "routed_values", 0, 1.0)};
  const std::string text = pivot_latex(results, {});
  EXPECT_THAT(text, HasSubstr("layer & routed\\_values \\& 50\\% \\\\"));
  EXPECT_THAT(text, HasSubstr("\\emph{routed\\_values}"));
}

TEST(LatexTableTest, HasNoControlCharacters) {
  const std::string name("a\x01\0\x1B", 4);
  EXPECT_EQ(latex_escaped(name), "a\\textbackslash{}x01\\textbackslash{}x00\\textbackslash{}x1b");
  EXPECT_THAT(table_to_latex({}, {name}), HasSubstr("% a\\x01\\x00\\x1b\n"));
}

TEST(LatexTableTest, WritesInfinitiesAsMathematics) {
  Results results;
  results.rows = {row("a", "values", 0, std::numeric_limits<double>::infinity())};
  EXPECT_THAT(pivot_latex(results, {}), HasSubstr("$\\infty \\pm 0.125$"));
}

TEST(TableLayoutTest, AHeadingMaySayMoreThanTheName) {
  TableLayout layout;
  layout.heading = [](const RowPointers& rows) {
    return fmt::format("{}, {} rows", block_name(*rows.front(), {col::kSite}), rows.size());
  };
  EXPECT_THAT(pivot_text(example_tables(), layout), HasSubstr("values, 5 rows\n"));
  EXPECT_THAT(pivot_latex(example_tables(), layout), HasSubstr("\\emph{hidden, 1 rows}"));
}

/// Columns of two decoders; their names distinguish the rows.
const std::vector<TableColumn>& decoder_columns() {
  static const std::vector<TableColumn> columns = {table_column(col::kName),
                                                   table_column(col::kN, "count"),
                                                   number_column(col::kShare, 1, "share %", 100.0)};
  return columns;
}

TEST(ColumnTableTest, AlignsColumns) {
  const ResultRow a = {{col::kName, "llama"}, {col::kN, 12}, {col::kShare, 0.5}};
  const ResultRow b = {{col::kName, "lime"}, {col::kN, 7}};
  EXPECT_EQ(table_to_text(column_table({&a, &b}, decoder_columns())),
            "name   count  share %\n"
            "llama     12     50.0\n"
            "lime       7\n");
}

TEST(ColumnTableTest, ColumnsThatDoNotFitFollowBelow) {
  const ResultRow a = {{col::kName, "llama"}, {col::kN, 12}, {col::kShare, 0.5}};
  const ResultRow b = {{col::kName, "lime"}, {col::kN, 7}};
  EXPECT_EQ(table_to_text(column_table({&a, &b}, decoder_columns()), {.width = 15}),
            "name   count\n"
            "llama     12\n"
            "lime       7\n"
            "\n"
            "name   share %\n"
            "llama     50.0\n"
            "lime\n");
}

TEST(ColumnTableTest, RepeatsTheColumnsThatTellLinesApart) {
  const ResultRow a = {{col::kLayer, 0}, {col::kHead, 0}, {col::kWeight, 0.25}, {col::kShare, 0.5}};
  const ResultRow b = {
      {col::kLayer, 0}, {col::kHead, 1}, {col::kWeight, 0.75}, {col::kShare, 0.125}};
  const std::vector<TableColumn> columns = {table_column(col::kLayer), table_column(col::kHead),
                                            number_column(col::kWeight, 2, "a long heading"),
                                            number_column(col::kShare, 3, "another long heading")};
  EXPECT_EQ(table_to_text(column_table({&a, &b}, columns), {.width = 34}),
            "layer  head  a long heading\n"
            "    0     0            0.25\n"
            "    0     1            0.75\n"
            "\n"
            "layer  head  another long heading\n"
            "    0     0                 0.500\n"
            "    0     1                 0.125\n");
}

TEST(ColumnTableTest, ShowsSignsAndShadesInAscii) {
  const Table table{.columns = {{.text = "mean"}, {.text = "sources"}},
                    .blocks = {{.lines = {{{MeasuredCell{.value = 1.5, .spread = 0.5, .digits = 1},
                                            ShadedCell{VectorD::Ones(2)}}}}}}};
  EXPECT_EQ(table_to_text(table, {.unicode = false}), "      mean  sources\n1.5 +- 0.5     |##|\n");
  EXPECT_THAT(table_to_latex(table), HasSubstr("$1.5 \\pm 0.5$ &  \\\\\n"));
}

TEST(ColumnTableTest, WritesBooktabs) {
  const ResultRow a = {{col::kName, "a_b"}};
  const ResultRow b = {{col::kName, "c"}};
  TableColumn name = table_column(col::kName, "Name");
  name.latex_header = "\\textbf{Name}";
  const Table table =
      column_table({&a, &b}, {name}, [](const ResultRow&, const ResultRow&) { return true; });
  EXPECT_EQ(table_to_latex(table, {"a note"}),
            "% needs \\usepackage{booktabs}\n% a note\n\\begin{tabular}{l}\n\\toprule\n"
            "\\textbf{Name} \\\\\n\\midrule\na\\_b \\\\\n\\midrule\nc \\\\\n\\bottomrule\n"
            "\\end{tabular}\n");
}

}  // namespace
}  // namespace lime
