// SPDX-License-Identifier: Apache-2.0

// Compares entropies of a GPU with the CPU's: once with the fake module, and once, labelled cuda,
// with the real one; skipped without a GPU.

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/errors.h"
#include "metrics/device/gpu_sequences.h"

namespace lime {
namespace {

using testing::extent_of;
using testing::sequences_of;
using testing::sized;
using testing::staging_for;
using testing::standardization_of;

const std::vector<double> kOrders = {
    0.5, 0.99, 1.0, 2.0, 3.0, 3.5, std::numeric_limits<double>::infinity()};

/// Centred rows have one eigenvalue that is 0 up to rounding, 1e-16 of the trace; order 0.5 takes
/// its square root.
double tolerance_of(EntropyPreset preset, double alpha) {
  const bool centres = preset == EntropyPreset::kLayerByLayer ||
                       preset == EntropyPreset::kMatrixEntropy ||
                       preset == EntropyPreset::kDiffErank;
  return centres && alpha == 0.5 ? 1e-7 : 1e-9;
}

/// The parameter is the module.
class GpuEqualityTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      gpu_ = std::make_unique<Gpu>(DeviceName{.is_gpu = true}, 0, GetParam());
    } catch (const IoError& error) {
      GTEST_SKIP() << "needs a GPU and a build with CUDA: " << error.what();
    }
  }

  /// Tests all presets, for several orders at once and for order 2, which needs no eigenvalues.
  void expect_equal(const std::vector<MatrixF>& sequences, std::int64_t batch) const {
    const Standardization standardization = standardization_of(sequences);
    for (const auto& [preset, name] : EnumNames<EntropyPreset>::kNames) {
      for (const std::vector<double>& orders : {kOrders, {2.0}, {3.0, 4.0}}) {
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(orders.size()) + " orders");
        expect_equal(sequences, standardization, {.preset = preset, .alpha = orders}, batch);
      }
    }
  }

  void expect_equal(const std::vector<MatrixF>& sequences, const Standardization& standardization,
                    const EntropyOptions& options, std::int64_t batch) const {
    ThreadPool pool(2);
    const std::vector<ConstMatrixRef> views(sequences.begin(), sequences.end());
    const SequenceEntropies expected = sequence_entropies(views, standardization, options, pool);
    GpuEntropies on_gpu(*gpu_, options, extent_of(sequences), staging_for(sequences, batch));
    for (int pass = 0; pass < 2; ++pass) {
      const SequenceEntropies found = on_gpu.compute(sized(sequences), standardization, pool);
      EXPECT_EQ(found.alpha, expected.alpha);
      EXPECT_EQ(found.num_tokens, expected.num_tokens);
      EXPECT_EQ(found.dim, expected.dim);
      ASSERT_EQ(found.values.rows(), expected.values.rows());
      for (std::size_t order = 0; order < found.alpha.size(); ++order) {
        const auto column = static_cast<Eigen::Index>(order);
        const VectorD difference = found.values.col(column) - expected.values.col(column);
        EXPECT_LE(difference.cwiseAbs().maxCoeff(),
                  tolerance_of(options.preset, found.alpha[order]))
            << "alpha=" << found.alpha[order];
      }
    }
  }

  std::unique_ptr<Gpu> gpu_;
};

TEST_P(GpuEqualityTest, FewerTokensThanDimensions) {
  for (const std::int64_t batch : {1, 3, 100}) {
    expect_equal(sequences_of({24, 24, 24, 24, 24, 24, 24}, 40), batch);
  }
}

TEST_P(GpuEqualityTest, MoreTokensThanDimensions) {
  for (const std::int64_t batch : {2, 100}) expect_equal(sequences_of({60, 75, 60, 41}, 16), batch);
}

TEST_P(GpuEqualityTest, RaggedLengths) {
  for (const std::int64_t batch : {1, 2, 4, 100}) {
    expect_equal(sequences_of({30, 12, 70, 12, 31, 30, 64, 12, 90, 5, 33}, 32), batch);
  }
}

TEST_P(GpuEqualityTest, SequencesOfTwoTokens) { expect_equal(sequences_of({2, 3, 2, 2}, 8), 100); }

TEST_P(GpuEqualityTest, OneSequence) { expect_equal(sequences_of({128}, 96), 100); }

TEST_P(GpuEqualityTest, MatricesOfSeveralBlocks) {
  expect_equal(sequences_of({140, 133, 140}, 160), 100);
}

TEST_P(GpuEqualityTest, EqualRows) {
  std::vector<MatrixF> sequences = sequences_of({12, 12, 9}, 20);
  for (MatrixF& sequence : sequences) sequence.rowwise() = MatrixF(sequence.row(0)).row(0);
  const Standardization standardization = standardization_of(sequences);
  // Orders below 1 amplify the rounding errors of zero eigenvalues: sqrt(1e-16) each.
  for (const EntropyPreset preset :
       {EntropyPreset::kRaw, EntropyPreset::kSeqVcr, EntropyPreset::kLimeCode}) {
    const EntropyOptions options{.preset = preset, .alpha = {1.0, 2.0, 3.5}};
    expect_equal(sequences, standardization, options, 2);
  }
}

#ifdef LIME_FAKE_GPU
INSTANTIATE_TEST_SUITE_P(Fake, GpuEqualityTest, ::testing::Values(LIME_FAKE_GPU));
#ifdef LIME_CUDA_ON_CPU
INSTANTIATE_TEST_SUITE_P(CudaOnCpu, GpuEqualityTest, ::testing::Values(LIME_CUDA_ON_CPU));
#endif
#else
INSTANTIATE_TEST_SUITE_P(Cuda, GpuEqualityTest, ::testing::Values(gpu_module_path().string()));
#endif

}  // namespace
}  // namespace lime
