// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/make_entropy_goldens.py, which implements each preset's source in
// numpy.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metrics/entropy/sequence_entropies.h"
#include "store/hdf5/hdf5_file.h"
#include "support/golden_matrix.h"
#include "support/test_data.h"

namespace lime {
namespace {

/// The required tolerance; both sides are accurate to about 1e-12.
constexpr double kTolerance = 1e-9;

class EntropyGoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  EntropyGoldenTest() : file_(testing::golden_file("entropy.h5")) {
    const MatrixF rows = file_.read_matrix(GetParam() + "/rows");
    const std::vector<std::int64_t> shape = file_.shape(GetParam() + "/rows");
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      sequences_.emplace_back(rows.middleRows(i * shape[1], shape[1]));
    }
    const auto vector = [&](const std::string& name) -> VectorD {
      return testing::golden_matrix(file_, GetParam() + "/" + name).row(0);
    };
    standardization_ = make_standardization(
        {file_.int_attribute("count", GetParam()), vector("mean"), vector("m2")});
  }

  void expect_golden(const std::string& dataset, EntropyOptions options, double tolerance) {
    const std::string name = GetParam() + "/" + dataset;
    const std::vector<double> orders = file_.read<double>(name + "-alpha");
    const MatrixD expected = testing::golden_matrix(file_, name);
    options.alpha = orders;
    ThreadPool pool(2);
    const SequenceSource source{static_cast<std::int64_t>(sequences_.size()),
                                [&](std::int64_t index, MatrixF& rows) {
                                  rows = sequences_[static_cast<std::size_t>(index)];
                                }};
    const MatrixD all = sequence_entropies(source, standardization_, options, pool).values;
    EXPECT_LT((all - expected).cwiseAbs().maxCoeff(), tolerance) << dataset;
    // A single order may use another code path than all together.
    for (std::size_t i = 0; i < orders.size(); ++i) {
      options.alpha = {orders[i]};
      const MatrixD one = sequence_entropies(source, standardization_, options, pool).values;
      const auto column = static_cast<Eigen::Index>(i);
      EXPECT_LT((one.col(0) - expected.col(column)).cwiseAbs().maxCoeff(), tolerance)
          << dataset << ", alpha=" << orders[i];
    }
  }

  Hdf5File file_;
  std::vector<MatrixF> sequences_;
  Standardization standardization_;
};

TEST_P(EntropyGoldenTest, LimeCodeEqualsItsSource) {
  expect_golden("lime-code", {.preset = EntropyPreset::kLimeCode}, kTolerance);
}

TEST_P(EntropyGoldenTest, LimeCodeEqualsTheTokenByTokenMatrixUpToItsRoundingNoise) {
  // If tokens > dim the source's zero eigenvalues are rounding errors, which shift alpha = 0.5.
  const bool noisy = sequences_[0].rows() > sequences_[0].cols();
  expect_golden("lime-code-t-by-t", {.preset = EntropyPreset::kLimeCode},
                noisy ? 1e-6 : kTolerance);
}

TEST_P(EntropyGoldenTest, RawEqualsItsDefinition) {
  expect_golden("raw", {.preset = EntropyPreset::kRaw}, kTolerance);
}

TEST_P(EntropyGoldenTest, SeqVcrEqualsItsSource) {
  expect_golden("seq-vcr", {.preset = EntropyPreset::kSeqVcr}, kTolerance);
}

TEST_P(EntropyGoldenTest, LayerByLayerEqualsItsSource) {
  for (const auto& [normalization, name] : EnumNames<EntropyNormalization>::kNames) {
    expect_golden("layer-by-layer/" + std::string(name),
                  {.preset = EntropyPreset::kLayerByLayer, .normalization = normalization},
                  kTolerance);
  }
}

TEST_P(EntropyGoldenTest, MatrixEntropyEqualsItsSource) {
  expect_golden("matrix-entropy", {.preset = EntropyPreset::kMatrixEntropy}, kTolerance);
}

TEST_P(EntropyGoldenTest, EffectiveRankEqualsDiffEranksSource) {
  expect_golden("diff-erank", {.preset = EntropyPreset::kDiffErank}, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Shapes, EntropyGoldenTest,
                         ::testing::Values("wide", "tall", "square", "long"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace lime
