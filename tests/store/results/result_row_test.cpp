// SPDX-License-Identifier: Apache-2.0
#include "store/results/result_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/errors.h"
#include "store/results/columns.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

ResultRow full_row() {
  ResultRow row = {{col::kLabel, "LIMe"}, {col::kLayer, nullptr}, {col::kN, 3U}};
  row.set(col::kMean, 0.1 + 0.2).set(col::kStd, -0.0).set(col::kConverged, true);
  row.set(col::kCiLow, -std::numeric_limits<double>::infinity());
  row.set(col::kFoldAccuracies, std::vector<double>{1.0, 1.0 / 3.0, 5e-324});
  return row.set(col::kConfusion, Eigen::MatrixXi{{3, 1}, {0, 4}});
}

TEST(ResultRowTest, ComesBackFromItsTextAsItWas) {
  const ResultRow row = full_row();
  const ResultRow back = row_from_json(Json::parse(json_text(row)), "row");
  EXPECT_EQ(back, row);
  EXPECT_EQ(json_text(back), json_text(row));
  EXPECT_TRUE(std::signbit(back.number(col::kStd)));
  EXPECT_EQ(json_text(row),
            R"({"label":"LIMe","layer":null,"n":3,"mean":0.30000000000000004,"std":-0.0,)"
            R"("converged":true,"ci_low":"-inf","fold_accuracies":[1.0,0.3333333333333333,5e-324],)"
            R"("confusion":[[3,1],[0,4]]})");
}

TEST(ResultRowTest, NanComesBackAsANumber) {
  const ResultRow row = {{col::kMean, std::nan("")}};
  const ResultRow back = row_from_json(Json::parse(json_text(row)), "row");
  EXPECT_TRUE(std::isnan(back.number(col::kMean)));
  EXPECT_TRUE(back.cell(col::kMean).is_number());
  const ResultRow list = {{col::kFoldAccuracies, std::vector<double>{0.5, std::nan("")}}};
  EXPECT_EQ(json_text(list), R"({"fold_accuracies":[0.5,"nan"]})");
  EXPECT_EQ(row_from_json(Json::parse(json_text(list)), "row").shown(col::kFoldAccuracies),
            "0.5; nan");
}

TEST(ResultRowTest, TextThatIsNotUtf8IsReplacedAtOnce) {
  const ResultRow row = {{col::kText, "a\xFF"}};
  EXPECT_EQ(row.text(col::kText), "a\xEF\xBF\xBD");
}

TEST(ResultRowTest, ShowsCellsAsSpreadsheetsDo) {
  const ResultRow row = full_row();
  EXPECT_EQ(row.shown(col::kLabel), "LIMe");
  EXPECT_EQ(row.shown(col::kLayer), "");
  EXPECT_EQ(row.shown(col::kCiLow), "-inf");
  EXPECT_EQ(row.shown(col::kFoldAccuracies), "1; 0.3333333333333333; 5e-324");
  EXPECT_EQ(row.shown(col::kConfusion), "3 1; 0 4");
  EXPECT_EQ(row.shown(col::kSite), "");
}

TEST(ResultRowTest, NumbersThatAreNotThereAreAnError) {
  const ResultRow row = {{col::kLabel, "LIMe"}, {col::kMean, 0.5}};
  EXPECT_THROW(row.number(col::kStd), FormatError);
  EXPECT_THROW(row.number(col::kLabel), FormatError);
  EXPECT_THROW(row.integer(col::kMean), FormatError);
}

TEST(ResultRowTest, IsAKey) {
  const ResultRow row = {{col::kLabel, "a"}, {col::kAlpha, 1.0}, {col::kMean, std::nan("")}};
  const ResultRow whole = {{col::kLabel, "a"}, {col::kAlpha, 1}, {col::kMean, std::nan("")}};
  EXPECT_EQ(row, whole) << "a number is what it counts, and NaN is NaN";
  EXPECT_EQ(row.hash(), whole.hash());
  const ResultRow back = row_from_json(Json::parse(json_text(row)), "row");
  EXPECT_EQ(back, row);
  EXPECT_EQ(back.hash(), row.hash());
  for (const ResultRow& other :
       {ResultRow{{col::kAlpha, 1.0}, {col::kLabel, "a"}, {col::kMean, std::nan("")}},
        ResultRow{{col::kLabel, "a"}, {col::kAlpha, 1.0}},
        ResultRow{{col::kLabel, "a"}, {col::kAlpha, 1.0}, {col::kMean, nullptr}},
        ResultRow{{col::kLabel, "a"}, {col::kAlpha, 2.0}, {col::kMean, std::nan("")}}}) {
    EXPECT_FALSE(other == row) << json_text(other);
  }
  const ResultRow seeds = {{col::kSeed, ~std::uint64_t{0}}};
  EXPECT_EQ(json_text(seeds), R"({"seed":18446744073709551615})");
  EXPECT_EQ(row_from_json(Json::parse(json_text(seeds)), "row"), seeds);
}

TEST(ResultRowTest, RefusesArraysThatAreNoMatrix) {
  for (const char* const cell : {"[1,[2]]", "[[1],2]", "[[1],[2,3]]", "[[[1]]]", "[\"high\"]"}) {
    const Json object = Json::parse(std::string("{\"confusion\":") + cell + "}");
    EXPECT_THROW(row_from_json(object, "row"), FormatError) << cell;
  }
}

TEST(ResultRowTest, SelectsRowsByTheirTexts) {
  const std::vector<ResultRow> rows = {{{col::kLabel, "a"}, {col::kSite, "values"}},
                                       {{col::kLabel, "b"}, {col::kSite, "values"}},
                                       {{col::kLabel, "b"}}};
  EXPECT_EQ(rows_with(rows, {{col::kLabel, "b"}, {col::kSite, "values"}}).size(), 1U);
  EXPECT_EQ(rows_with(rows, {{col::kLabel, "b"}, {col::kSite, ""}}).size(), 1U);
  EXPECT_EQ(distinct(rows, col::kLabel), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(distinct(rows_with(rows), col::kSite), std::vector<std::string>{"values"});
}

}  // namespace
}  // namespace lime
