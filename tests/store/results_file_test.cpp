// SPDX-License-Identifier: Apache-2.0
#include "store/results_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "core/errors.h"
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
  results.rows = {{{"label", "LLaMA, small"}, {"layer", 0}, {"mean", 0.1}},
                  {{"label", "say \"hi\""}, {"layer", 1}, {"mean", std::nan("")}, {"n", 4}}};
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
  EXPECT_TRUE(std::isinf(results_number(read.options, "alpha")));
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(results_number(read.rows[0], "mean"), 0.1);
  EXPECT_TRUE(std::isnan(results_number(read.rows[1], "mean")));
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
            "r.json': has schema version 7, this build reads 1; recompute it or update");
  EXPECT_EQ(read_error("{\"schema\": \"lime-results/1\"}"), "r.json': 'metric' must be a string");
  const std::string good = results_to_json(sample());
  EXPECT_THAT(read_error(good.substr(0, good.size() / 2)), ::testing::HasSubstr("truncated"));
  std::string nested = good;
  nested.replace(nested.find("\"layer\":0"), 9, "\"layer\":[0]");
  EXPECT_EQ(read_error(nested),
            "r.json': rows[0].layer must be a number, string, true, false or null");
  EXPECT_THROW(read_results(folder_ / "none.json"), IoError);
}

TEST_F(ResultsFileTest, RefusesRowsThatAreNotFlat) {
  Results results = sample();
  results.rows.push_back({{"values", {1, 2}}});
  EXPECT_THROW(write_results(folder_ / "x.json", results), InvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_THROW(write_results(folder_ / "no/such/folder.json", sample()), IoError);
}

TEST_F(ResultsFileTest, NumbersThatAreNotThereAreAnError) {
  EXPECT_THROW(results_number({{"a", 1}}, "b"), FormatError);
  EXPECT_THROW(results_number({{"a", "word"}}, "a"), FormatError);
}

}  // namespace
}  // namespace lime
