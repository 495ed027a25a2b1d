// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/figure_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/errors.h"
#include "store/results/matrix_rows.h"
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

/// Returns `source` with a row per element of a matrix, as schema 2 had them.
FigureSource elements_of(FigureSource source) {
  source.results.rows = testing::table_rows(source.results.rows);
  return source;
}

TEST(FigureRowTest, RefusesIndicesThatNoMapHas) {
  for (const Json& value : {Json(-1000000), Json(9999), Json(1e308), Json("nan"), Json(nullptr),
                            Json(0.5), Json("x"), Json(true)}) {
    FigureSource router = elements_of(sample_router(4));
    for (ResultRow& row : router.results.rows) testing::set_cell(row, col::kSourceLayer, value);
    router.results.rows = with_matrices(std::move(router.results.rows), "router");
    for (const char* const kind : {"router-mean", "router-heads", "router-signed"}) {
      EXPECT_THAT(format_refusal(router, kind),
                  HasSubstr("figure: 'router.json': 'weight' must be"))
          << kind << value;
    }
  }
  FigureSource router = sample_router(4);
  for (ResultRow& row : router.results.rows) row.set(col::kLayer, 1);
  EXPECT_EQ(format_refusal(router, "router-heads"),
            "figure: 'router.json': 'weight' must be an array of at most 2 x 2 numbers, got 2 x 4");
}

TEST(FigureRowTest, NoFigureBelievesAnIndexOfAFile) {
  for (const FigureSource& sample : testing::sample_sources()) {
    const FigureSource whole = elements_of(sample);
    for (const IntegerColumn& column :
         {col::kLayer, col::kHead, col::kSourceLayer, col::kSourceHead, col::kOtherLayer,
          col::kQuery, col::kKey, col::kPosition}) {
      for (const Json& value :
           {Json(-1), Json(2147483648.0), Json(9999), Json("nan"), Json(nullptr), Json(1.5)}) {
        FigureSource spoilt = whole;
        for (ResultRow& row : spoilt.results.rows) {
          if (row.has(column)) testing::set_cell(row, column, value);
        }
        spoilt.results.rows = with_matrices(spoilt.results.rows, spoilt.results.metric);
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
              HasSubstr("a map of 9999 x 10000 cells is too large for 9 values"));
}

}  // namespace
}  // namespace lime
