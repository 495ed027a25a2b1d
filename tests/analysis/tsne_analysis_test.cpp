// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/tsne_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "analysis/engine/capture_rows.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/report/results_output.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "store/hdf5/hdf5_file.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SmallCapture;
using testing::write_capture;

constexpr std::int64_t kTokens = 90;

/// Three well-separated classes of 30 tokens each, in `layers` layers of two sites.
SmallCapture three_words(int layers) {
  SmallCapture capture;
  capture.lengths = {kTokens};
  capture.class_names = {" is", " are", "100"};
  for (std::int64_t row = 0; row < kTokens; ++row) {
    capture.class_id.push_back(static_cast<std::int16_t>(row % 3));
  }
  std::uint64_t seed = 1;
  for (const std::string site : {"values", "hidden"}) {
    for (int layer = 0; layer < layers; ++layer) {
      MatrixF rows = testing::random_matrix(kTokens, 8, seed++);
      for (std::int64_t row = 0; row < kTokens; ++row) rows(row, row % 3) += 8.0F;
      capture.activations.push_back({site, layer, rows});
    }
  }
  return capture;
}

class TsneAnalysisTest : public ::testing::Test {
 protected:
  TsneAnalysisTest() {
    options_.tsne.perplexity = 8.0;
    options_.tsne.iterations = 150;
    options_.tsne.exaggeration_iterations = 50;
    run_.threads = 2;
  }

  void use(const SmallCapture& capture) {
    std::filesystem::remove(folder_ / "capture.h5");
    std::filesystem::remove_all(folder_ / "capture.shards");
    write_capture(folder_ / "capture.h5", capture);
    options_.captures.captures = {folder_ / "capture.h5"};
    options_.captures.label = {"model"};
  }
  Report analyze() { return run_analysis(prepare_tsne(options_, run_), run_); }

  std::string refusal() {
    return testing::refusal_of([&] { analyze(); });
  }

  /// Writes the companion files and opens the HDF5 one.
  Hdf5File embeddings(const Report& report) {
    OutputOptions output;
    output.output = {folder_ / "out.json", folder_ / "out.csv"};
    OutputFiles(output, {}).write(report);
    return Hdf5File(folder_ / "out.embeddings.h5");
  }

  testing::TemporaryFolder folder_;
  TsneAnalysisOptions options_;
  RunOptions run_;
};

TEST_F(TsneAnalysisTest, GivesARowPerSiteAndLayer) {
  use(three_words(2));
  const Report report = analyze();
  ASSERT_EQ(report.results.rows.size(), 4U);
  const ResultRow& row = report.results.rows[3];
  EXPECT_EQ(row.cell(col::kSite), "hidden");
  EXPECT_EQ(row.cell(col::kLayer), 1);
  EXPECT_EQ(row.cell(col::kPoints), kTokens);
  EXPECT_EQ(row.cell(col::kDistinct), kTokens);
  EXPECT_EQ(row.cell(col::kClasses), 3);
  EXPECT_EQ(row.cell(col::kIterations), 150);
  EXPECT_EQ(row.cell(col::kRecall), 1.0);
  EXPECT_GT(row.number(col::kKlDivergence), 0.0);
  EXPECT_GT(row.number(col::kTrustworthiness), 0.8);
  EXPECT_FALSE(row.has(col::kMoved));
  EXPECT_EQ(report.results.provenance.at("tsne_seconds").size(), 4U);
}

TEST_F(TsneAnalysisTest, WritesCoordinatesBesideTheResults) {
  use(three_words(2));
  const Report report = analyze();
  const Hdf5File file = embeddings(report);
  EXPECT_EQ(file.string_attribute("format"), "lime-embeddings");
  EXPECT_EQ(file.shape("captures/0/values/001"), (std::vector<std::int64_t>{kTokens, 2}));
  EXPECT_EQ(file.read<std::int16_t>("captures/0/rows/class")[5], 2);
  EXPECT_THAT(file.strings_attribute("names", "captures/0/rows/class"),
              ElementsAre(" is", " are", "100"));
  EXPECT_EQ(file.double_attribute("kl_divergence", "captures/0/hidden/000"),
            report.results.rows[2].number(col::kKlDivergence));
  // Separated classes stay separated: neighbours in the embedding have the same class.
  const MatrixF drawing = file.read_matrix("captures/0/hidden/000");
  for (Eigen::Index i = 0; i < drawing.rows(); ++i) {
    Eigen::VectorXf distance = (drawing.rowwise() - drawing.row(i)).rowwise().squaredNorm();
    distance[i] = std::numeric_limits<float>::infinity();
    Eigen::Index nearest = 0;
    distance.minCoeff(&nearest);
    EXPECT_EQ(nearest % 3, i % 3) << "point " << i;
  }
  const std::string csv = testing::read_text(folder_ / "out.embeddings.csv");
  EXPECT_THAT(csv, ::testing::StartsWith("label,site,layer,row,sequence,position,token,class,x,y\n"
                                         "model,values,0,0,0,0,0, is,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4 * kTokens + 1);
}

TEST_F(TsneAnalysisTest, ChoosesRowsByClass) {
  use(three_words(1));
  options_.captures.site = {"hidden"};
  options_.classes = {"are", "100"};
  options_.max_per_class = 20;
  const Report report = analyze();
  EXPECT_EQ(report.results.rows.at(0).cell(col::kPoints), 40);
  EXPECT_EQ(report.results.rows.at(0).cell(col::kClasses), 2);
  const Hdf5File file = embeddings(report);
  EXPECT_EQ(file.read<std::int64_t>("captures/0/rows/row")[2], 4);
  EXPECT_EQ(file.read<std::int32_t>("captures/0/rows/token")[2], 4);
}

TEST_F(TsneAnalysisTest, SamplesWithASeedAndSaysSo) {
  use(three_words(1));
  options_.captures.site = {"hidden"};
  options_.max_points = 60;
  const Report first = analyze();
  EXPECT_EQ(first.results.rows.at(0).cell(col::kPoints), 60);
  EXPECT_THAT(first.notes.at(1), HasSubstr("60 points"));
  EXPECT_THAT(first.notes.at(1), HasSubstr("(a sample of 90)"));
  EXPECT_EQ(first.results.rows, analyze().results.rows);
  run_.seed = 5;
  EXPECT_NE(first.results.rows, analyze().results.rows);
}

TEST_F(TsneAnalysisTest, SaysBeforeALongRunHowLongItTakes) {
  testing::SmallCapture capture;
  capture.lengths.assign(100, 1000);
  capture.activations = {{"hidden", 0, MatrixF::Random(100'000, 2)}};
  use(capture);
  options_.captures.site = {"hidden"};
  EXPECT_THAT(prepare_tsne(options_, run_).warnings,
              ::testing::ElementsAre(HasSubstr("two cores need about 3 minutes")));
  options_.max_points = 1000;
  EXPECT_THAT(prepare_tsne(options_, run_).warnings, ::testing::IsEmpty());
}

TEST_F(TsneAnalysisTest, AlignsEachLayerWithTheOneBefore) {
  use(three_words(3));
  options_.captures.site = {"hidden"};
  options_.align = true;
  const Report report = analyze();
  ASSERT_EQ(report.results.rows.size(), 3U);
  EXPECT_FALSE(report.results.rows[0].has(col::kMoved));
  EXPECT_EQ(report.results.rows[2].cell(col::kLayer), 2);
  EXPECT_EQ(report.results.rows[2].cell(col::kSite), "hidden");
  const double aligned = report.results.rows[2].number(col::kMoved);
  EXPECT_LT(aligned, 0.7);  // unaligned points move by 1.4 on average
  const Hdf5File file = embeddings(report);
  EXPECT_EQ(file.datasets("captures/0/hidden").size(), 3U);
}

TEST_F(TsneAnalysisTest, NamesTheLayerThatDiverged) {
  use(three_words(2));
  options_.captures.site = {"hidden"};
  options_.tsne.learning_rate = 1e7;
  EXPECT_THAT(refusal(), HasSubstr("site 'hidden', layer 0: tsne: the optimisation diverged"));
  EXPECT_THAT(refusal(), HasSubstr("use a learning rate below"));
  options_.align = true;
  EXPECT_THAT(refusal(), HasSubstr("site 'hidden': layer 0: tsne: the optimisation diverged"));
}

TEST_F(TsneAnalysisTest, DoesNotDependOnThreads) {
  use(three_words(2));
  run_.threads = 1;
  const Report one = analyze();
  run_.threads = 3;
  const Report three = analyze();
  EXPECT_EQ(one.results.rows, three.results.rows);
}

TEST_F(TsneAnalysisTest, NamesWhatIsWrong) {
  SmallCapture capture = three_words(2);
  use(capture);
  options_.tsne.perplexity = 30.0;
  EXPECT_THAT(refusal(), HasSubstr("capture.h5': tsne: perplexity must be <= (num_points - 1) / 3 "
                                   "= 29.6 for 90 points, got 30"));
  options_.tsne.perplexity = 8.0;
  options_.classes = {"was"};
  EXPECT_THAT(refusal(), HasSubstr("capture.h5' (its classes: '"));
  EXPECT_THAT(refusal(), HasSubstr("got 'was'"));
  options_.classes = {};
  capture.activations[3].rows(17, 5) = std::numeric_limits<float>::quiet_NaN();
  use(capture);
  EXPECT_THAT(refusal(), HasSubstr("site 'hidden', layer 1: rows must be finite, got nan in "
                                   "sequence 0, position 17, dimension 5"));
  options_.align = true;
  EXPECT_THAT(refusal(), HasSubstr("site 'hidden': layer 1: rows must be finite"));
  options_.align = false;
  capture.activations[3].rows.setConstant(2.0F);
  use(capture);
  EXPECT_THAT(refusal(), HasSubstr("site 'hidden', layer 1: tsne: all 90 rows are equal"));
  capture.class_names.clear();
  capture.class_id.clear();
  use(capture);
  options_.classes = {"is"};
  EXPECT_THAT(refusal(), HasSubstr("has no classes, got 'is'; capture again with --only"));
}

TEST_F(TsneAnalysisTest, EmbedsCapturesWithoutClasses) {
  SmallCapture capture = three_words(1);
  capture.class_names.clear();
  capture.class_id.clear();
  use(capture);
  EXPECT_EQ(analyze().results.rows.at(0).cell(col::kClasses), 0);
}

}  // namespace
}  // namespace lime
