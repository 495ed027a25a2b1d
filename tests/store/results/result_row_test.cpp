// SPDX-License-Identifier: Apache-2.0
#include "store/results/result_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/errors.h"
#include "store/results/columns.h"

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
  const ResultRow back = ResultRow::from_json(Json::parse(row.dump()), "row");
  EXPECT_EQ(back, row);
  EXPECT_EQ(back.dump(), row.dump());
  EXPECT_TRUE(std::signbit(back.number(col::kStd)));
  EXPECT_EQ(row.dump(),
            R"({"label":"LIMe","layer":null,"n":3,"mean":0.30000000000000004,"std":-0.0,)"
            R"("converged":true,"ci_low":"-inf","fold_accuracies":[1.0,0.3333333333333333,5e-324],)"
            R"("confusion":[[3,1],[0,4]]})");
}

TEST(ResultRowTest, NanComesBackAsANumber) {
  const ResultRow row = {{col::kMean, std::nan("")}};
  const ResultRow back = ResultRow::from_json(Json::parse(row.dump()), "row");
  EXPECT_TRUE(std::isnan(back.number(col::kMean)));
  EXPECT_TRUE(back.cell(col::kMean).is_number());
  const ResultRow list = {{col::kFoldAccuracies, std::vector<double>{0.5, std::nan("")}}};
  EXPECT_EQ(list.dump(), R"({"fold_accuracies":[0.5,"nan"]})");
  EXPECT_EQ(ResultRow::from_json(Json::parse(list.dump()), "row").shown(col::kFoldAccuracies),
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
