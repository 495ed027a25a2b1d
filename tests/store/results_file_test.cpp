// SPDX-License-Identifier: Apache-2.0
#include "store/results_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "core/errors.h"
#include "store/results/matrix_rows.h"
#include "store/results/row_json.h"
#include "support/result_rows.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using testing::TemporaryFolder;

Results sample() {
  Results results;
  results.metric = "entropy";
  results.inputs = {{"capture.h5", "ab12", "LLaMA"}};
  results.options = {{"alpha", std::numeric_limits<double>::infinity()}, {"preset", "lime-code"}};
  results.provenance = {{"tool", "lime 0.1.0"}};
  results.rows = {
      {{col::kLabel, "LLaMA, small"}, {col::kLayer, 0}, {col::kMean, 0.1}},
      {{col::kLabel, "say \"hi\""}, {col::kLayer, 1}, {col::kMean, std::nan("")}, {col::kN, 4}}};
  return results;
}

class ResultsFileTest : public ::testing::Test {
 protected:
  std::string read_error(const std::string& content) {
    const auto path = folder_ / "r.json";
    testing::write_text(path, content);
    try {
      read_results(path);
    } catch (const Error& error) {
      const std::string text = error.what();
      const std::size_t at = text.find("r.json");
      return at == std::string::npos ? text : text.substr(at);
    }
    return "no exception";
  }

  TemporaryFolder folder_;
};

TEST_F(ResultsFileTest, ReadsBackWhatWasWritten) {
  const auto path = folder_ / "entropy.json";
  write_results(path, sample());
  const Results read = read_results(path);
  EXPECT_EQ(read.metric, "entropy");
  ASSERT_EQ(read.inputs.size(), 1U);
  EXPECT_EQ(read.inputs[0].label, "LLaMA");
  EXPECT_EQ(read.options["alpha"], "inf");
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(read.rows[0].number(col::kMean), 0.1);
  EXPECT_TRUE(std::isnan(read.rows[1].number(col::kMean)));
  EXPECT_THAT(results_columns(read), ElementsAre("label", "layer", "mean", "n"));
  EXPECT_EQ(results_to_json(read), results_to_json(sample()));
}

TEST_F(ResultsFileTest, WritesCsvAsSpreadsheetsReadIt) {
  EXPECT_EQ(results_to_csv(sample()),
            "label,layer,mean,n\n\"LLaMA, small\",0,0.1,\n\"say \"\"hi\"\"\",1,nan,4\n");
}

TEST_F(ResultsFileTest, SaysWhatIsWrong) {
  EXPECT_EQ(read_error("{\"a\": 1}"),
            "r.json': is not a results file (no schema 'lime-results/...')");
  EXPECT_EQ(read_error("{\"schema\": \"lime-results/7\"}"),
            "r.json': has schema version 7, this build reads 1 to 3; recompute it or update");
  EXPECT_EQ(read_error("{\"schema\": \"lime-results/1\"}"), "r.json': 'metric' must be a string");
  const std::string good = results_to_json(sample());
  EXPECT_THAT(read_error(good.substr(0, good.size() / 2)), ::testing::HasSubstr("truncated"));
  std::string nested = good;
  nested.replace(nested.find("\"layer\":0"), 9, "\"layer\":[[[0]]]");
  EXPECT_EQ(read_error(nested),
            "r.json': rows[0].layer must be a number, string, true, false, null or an array of "
            "numbers");
  EXPECT_THROW(read_results(folder_ / "none.json"), IoError);
}

TEST_F(ResultsFileTest, LeavesNothingBehindIfTheFileCannotBeWritten) {
  EXPECT_THROW(write_results(folder_ / "no/such/folder.json", sample()), IoError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(ResultsFileTest, ReadsTheListsOfTheFirstSchema) {
  const Results results = read_results(testing::golden_file("results/schema-1.json"));
  ASSERT_EQ(results.rows.size(), 7U);
  EXPECT_EQ(results.rows[1].cell(col::kConfusion),
            (NumberArray{{4, 4}, {13, 22, 6, 19, 14, 17, 19, 10, 13, 21, 16, 10, 17, 21, 16, 6}}));
  EXPECT_EQ(results.rows[0].cell(col::kFoldAccuracies), (NumberArray{{5}, {1, 1, 1, 1, 1}}));
  EXPECT_THAT(results_to_json(results), ::testing::HasSubstr(R"("schema": "lime-results/3")"));
  EXPECT_THAT(results_to_json(results),
              ::testing::HasSubstr(R"("fold_accuracies":[0.375,0.3125,)"));
  EXPECT_THAT(results_to_csv(results), ::testing::HasSubstr(",0.375; 0.3125; "))
      << "an array is one cell";
  EXPECT_THAT(results_to_csv(results),
              ::testing::HasSubstr(",13 22 6 19; 14 17 19 10; 13 21 16 10; 17 21 16 6,"));
}

TEST_F(ResultsFileTest, JoinsTheElementsOfTheSecondSchemaToMatrices) {
  const auto path = testing::golden_file("results/schema-2-router.json");
  const Results results = read_results(path);
  std::vector<ResultRow> elements;
  const Json document = read_json_file(path);
  for (const Json& row : document.at("rows")) elements.push_back(row_from_json(row, "row"));
  EXPECT_EQ(testing::table_rows(results.rows), elements);
  EXPECT_LT(results.rows.size(), elements.size() / 5);
  const auto weights = rows_with(results.rows, {{col::kKind, "weight"}});
  ASSERT_EQ(weights.size(), 4U) << "one row per layer";
  const NumberArray& last = array_in(*weights.back(), col::kWeight);
  EXPECT_THAT(last.axes, ElementsAre("head", "source_layer", "source_head"));
  EXPECT_THAT(last.shape, ElementsAre(4, 4, 4));
  write_results(folder_ / "again.json", results);
  EXPECT_EQ(read_results(folder_ / "again.json").rows, results.rows);
  const std::string csv = results_to_csv(results);
  EXPECT_EQ(std::ranges::count(csv, '\n'), std::ssize(elements) + 1);
  EXPECT_THAT(csv, ::testing::HasSubstr("\nLIMe,3,weight,"));
}

TEST_F(ResultsFileTest, KeepsElementsThatFormNoMatrix) {
  const auto elements = [](int first, int second) {
    std::vector<ResultRow> rows;
    for (const int source : {first, second}) {
      rows.push_back({{col::kKind, "mean_map"},
                      {col::kLabel, "LIMe"},
                      {col::kSourceLayer, source},
                      {col::kWeight, 0.5}});
    }
    return rows;
  };
  for (const auto& [first, second] :
       {std::pair(0, -1), std::pair(0, 0), std::pair(0, 16'777'215)}) {
    EXPECT_EQ(with_matrices(elements(first, second), "router"), elements(first, second));
  }
  EXPECT_EQ(with_matrices(elements(0, 1), "entropy"), elements(0, 1)) << "another metric";
  const std::vector<ResultRow> joined = with_matrices(elements(2, 0), "router");
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(
      json_text(joined[0]),
      R"({"kind":"mean_map","label":"LIMe","axes":["source_layer"],"weight":[0.5,null,0.5]})");
  EXPECT_EQ(testing::table_rows(joined).size(), 2U) << "no line for what is not there";
}

TEST_F(ResultsFileTest, RefusesAxesWithoutTheirArray) {
  const std::string good = results_to_json(sample());
  for (const std::string cells :
       {R"("axes":["query"])", R"("axes":["query"],"n":4)", R"("axes":["query"],"n":[[4]])",
        R"("axes":["query","key"],"n":[4])", R"("axes":["query","key"],"n":[[4],[1,2]])",
        R"("axes":[],"n":[4])", R"("axes":"query","n":[4])", R"("axes":["a",1],"n":[4])",
        R"("axes":["query"],"n":["high"])"}) {
    std::string text = good;
    text.replace(text.find("\"n\":4"), 5, cells);
    EXPECT_THAT(read_error(text), ::testing::HasSubstr("rows[1].")) << cells;
  }
}

TEST_F(ResultsFileTest, NamesTextThatIsNoList) {
  const std::string good = results_to_json(sample());
  for (const std::string cell : {"fold_accuracies\":\"0.5; high\"", "fold_accuracies\":\"0.5 0.5\"",
                                 "confusion\":\"1 2; 3 1e300\"", "confusion\":\"nan\""}) {
    std::string text = good;
    text.replace(text.find("n\":4"), 4, cell);
    EXPECT_THAT(read_error(text), ::testing::HasSubstr("must be numbers separated by semicolons"))
        << cell;
  }
}

}  // namespace
}  // namespace lime
