// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/figure_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/errors.h"
#include "support/refusal.h"
#include "support/result_rows.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::sample_router;

std::string format_refusal(const FigureSource& source, const std::string& kind) {
  return testing::refusal_of<FormatError>(
      [&] { make_figure(std::vector<FigureSource>{source}, {.kind = kind}); });
}

TEST(FigureRowTest, RefusesIndicesThatNoMapHas) {
  for (const Json& value : {Json(-1000000), Json(9999), Json(1e308), Json("nan"), Json(nullptr),
                            Json(0.5), Json("x"), Json(true)}) {
    FigureSource router = sample_router(4);
    for (ResultRow& row : router.results.rows) testing::set_cell(row, col::kSourceLayer, value);
    for (const char* const kind : {"router-mean", "router-heads", "router-signed"}) {
      EXPECT_THAT(format_refusal(router, kind), HasSubstr("figure: 'router.json': 'source_layer'"))
          << kind << value;
    }
  }
  FigureSource router = sample_router(4);
  router.results.rows.back().set(col::kSourceLayer, -1000000);
  EXPECT_EQ(format_refusal(router, "router-signed"),
            "figure: 'router.json': 'source_layer' must be a whole number from 0 to 3, got "
            "-1000000");
}

TEST(FigureRowTest, NoFigureBelievesAnIndexOfAFile) {
  for (const FigureSource& whole : testing::sample_sources()) {
    for (const IntegerColumn& column :
         {col::kLayer, col::kHead, col::kSourceLayer, col::kSourceHead, col::kOtherLayer,
          col::kQuery, col::kKey, col::kPosition}) {
      for (const Json& value :
           {Json(-1), Json(2147483648.0), Json(9999), Json("nan"), Json(nullptr), Json(1.5)}) {
        FigureSource spoilt = whole;
        for (ResultRow& row : spoilt.results.rows) {
          if (row.has(column)) testing::set_cell(row, column, value);
        }
        for (const Recipe* const recipe : recipes_of(whole.results.metric)) {
          try {
            make_figure(std::vector<FigureSource>{spoilt}, {.kind = recipe->name});
          } catch (const Error& error) {
            EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("\n")));
          }
        }
      }
    }
  }
}

TEST(FigureRowTest, RefusesAMapThatItsRowsCannotFill) {
  FigureSource few = sample_router(4);
  for (ResultRow& row : few.results.rows) row.set(col::kLayer, 9999);
  EXPECT_THAT(format_refusal(few, "router-mean"),
              HasSubstr("a map of 9999 x 10000 cells is too large for 9 rows"));
}

}  // namespace
}  // namespace lime
