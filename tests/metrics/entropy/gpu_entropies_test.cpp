// SPDX-License-Identifier: Apache-2.0

// Compares entropies of a GPU with the CPU's. lime_gpu_tests runs the GPU's source on LibTorch's
// CPU; lime_cuda_tests needs a GPU and is skipped without one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/errors.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/entropy/sequence_fixture.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

using lime::testing::source_of;
using lime::testing::standardization_of;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

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

/// Returns sequences of the given lengths, with columns of decreasing size.
std::vector<MatrixF> sequences_of(const std::vector<Eigen::Index>& lengths, Eigen::Index dim) {
  std::vector<MatrixF> sequences;
  for (const Eigen::Index length : lengths) {
    sequences.emplace_back(
        testing::random_matrix(length, dim, static_cast<std::uint64_t>(sequences.size()), 0.5)
            .cast<float>());
  }
  return sequences;
}

class GpuEntropiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef LIME_GPU_STAND_IN
    ::setenv("LIME_GPU_STAND_IN", LIME_GPU_STAND_IN, 1);
    gpu_ = std::make_unique<Gpu>(DeviceName{.is_gpu = true});
#else
    try {
      gpu_ = std::make_unique<Gpu>(DeviceName{.is_gpu = true});
    } catch (const IoError& error) {
      GTEST_SKIP() << error.what();
    }
#endif
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
    const SequenceSource source = source_of(sequences);
    const SequenceEntropies expected = sequence_entropies(source, standardization, options, pool);
    const SequenceEntropies found =
        gpu_entropies(*gpu_, source, standardization, options, batch, pool);
    EXPECT_EQ(found.alpha, expected.alpha);
    EXPECT_EQ(found.num_tokens, expected.num_tokens);
    EXPECT_EQ(found.dim, expected.dim);
    ASSERT_EQ(found.values.rows(), expected.values.rows());
    for (std::size_t order = 0; order < found.alpha.size(); ++order) {
      const auto column = static_cast<Eigen::Index>(order);
      const VectorD difference = found.values.col(column) - expected.values.col(column);
      EXPECT_LE(difference.cwiseAbs().maxCoeff(), tolerance_of(options.preset, found.alpha[order]))
          << "alpha=" << found.alpha[order];
    }
  }

  SequenceEntropies measure(const std::vector<MatrixF>& sequences, const EntropyOptions& options,
                            const ProgressFn& on_progress = {}, std::stop_token stop = {}) const {
    ThreadPool pool(2);
    return gpu_entropies(*gpu_, source_of(sequences), std::nullopt, options, 2, pool, on_progress,
                         stop);
  }

  std::unique_ptr<Gpu> gpu_;
};

constexpr EntropyPreset kRaw = EntropyPreset::kRaw;

TEST_F(GpuEntropiesTest, FewerTokensThanDimensions) {
  for (const std::int64_t batch : {1, 3, 100}) {
    expect_equal(sequences_of({24, 24, 24, 24, 24, 24, 24}, 40), batch);
  }
}

TEST_F(GpuEntropiesTest, MoreTokensThanDimensions) {
  for (const std::int64_t batch : {2, 100}) expect_equal(sequences_of({60, 75, 60, 41}, 16), batch);
}

TEST_F(GpuEntropiesTest, RaggedLengths) {
  for (const std::int64_t batch : {1, 2, 4, 100}) {
    expect_equal(sequences_of({30, 12, 70, 12, 31, 30, 64, 12, 90, 5, 33}, 32), batch);
  }
}

TEST_F(GpuEntropiesTest, SequencesOfTwoTokens) { expect_equal(sequences_of({2, 3, 2, 2}, 8), 100); }

TEST_F(GpuEntropiesTest, OneSequence) { expect_equal(sequences_of({128}, 96), 100); }

TEST_F(GpuEntropiesTest, MatricesOfSeveralBlocks) {
  expect_equal(sequences_of({140, 133, 140}, 160), 100);
}

TEST_F(GpuEntropiesTest, EqualRows) {
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

TEST_F(GpuEntropiesTest, RefusesWhatTheCpuRefusesInTheSameWords) {
  const std::vector<MatrixF> sequences = sequences_of({6, 6, 6}, 4);
  std::vector<MatrixF> zero = sequences;
  zero[2].setZero();
  std::vector<MatrixF> infinite = sequences;
  infinite[1](2, 3) = std::numeric_limits<float>::infinity();
  std::vector<MatrixF> one_token = sequences;
  one_token[1] = one_token[1].topRows(1).eval();
  ThreadPool pool(1);
  for (const EntropyPreset preset :
       {kRaw, EntropyPreset::kMatrixEntropy, EntropyPreset::kLimeCode}) {
    for (const auto& refused : {zero, infinite, one_token}) {
      std::string expected = "no error";
      try {
        sequence_entropies(source_of(refused), std::nullopt, {.preset = preset}, pool);
      } catch (const InvalidArgument& error) {
        expected = error.what();
      }
      EXPECT_THAT([&] { measure(refused, {.preset = preset}); },
                  ThrowsMessage<InvalidArgument>(StrEq(expected)));
    }
  }
}

TEST_F(GpuEntropiesTest, HasNoLeadingEigenvalues) {
  EXPECT_THAT([&] { measure(sequences_of({6}, 4), {.preset = kRaw, .top_k = 2}); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("top_k: is supported on the CPU only; omit --top-k or use --device cpu")));
}

TEST_F(GpuEntropiesTest, StopsOnRequest) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(measure(sequences_of({6, 6}, 4), {.preset = kRaw}, {}, stop.get_token()),
               Interrupted);
}

TEST_F(GpuEntropiesTest, CountsSequences) {
  std::vector<std::int64_t> seen;
  measure(sequences_of({6, 6, 6, 6, 6}, 4), {.preset = kRaw}, [&](const Progress& progress) {
    EXPECT_EQ(progress.total, 5);
    seen.push_back(progress.done);
  });
  EXPECT_THAT(seen, ::testing::ElementsAre(0, 2, 4, 5));
}

}  // namespace
}  // namespace lime
