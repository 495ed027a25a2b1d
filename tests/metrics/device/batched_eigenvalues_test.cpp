// SPDX-License-Identifier: Apache-2.0

// Tests the calls of cuSOLVER with a library that computes the same with LAPACK. lime_cuda_tests
// uses the real one, in GpuEntropiesTest.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/errors.h"
#include "metrics/eigen_oracle.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/entropy/sequence_fixture.h"
#include "metrics/random_matrix.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

class BatchedEigenvaluesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("LIME_GPU_STAND_IN", LIME_GPU_STAND_IN, 1);
    ::setenv("LIME_CUSOLVER_STAND_IN", LIME_CUSOLVER_STAND_IN, 1);
    for (std::uint64_t i = 0; i < 5; ++i) {
      matrices_.emplace_back(testing::random_matrix(30, 20, i, 0.5).cast<float>());
    }
  }
  void TearDown() override {
    ::unsetenv("LIME_CUSOLVER_STAND_IN");
    ::unsetenv("LIME_CUSOLVER_FAILURE");
  }

  /// Returns the eigenvalues of the Gram matrices, [5, 20], computed as one batch.
  MatrixD eigenvalues() const {
    const Gpu gpu({.is_gpu = true});
    std::vector<GpuRows> rows;
    std::vector<const gpu_module::DeviceRows*> pointers;
    for (const MatrixF& matrix : matrices_) {
      gpu.upload(matrix, rows.emplace_back(gpu.no_rows()));
      pointers.push_back(rows.back().get());
    }
    VectorD traces(5), squared_norms(5);
    MatrixD eigenvalues(5, 20);
    gpu.gram_spectra({.count = 5,
                      .num_rows = 30,
                      .num_cols = 20,
                      .rows = pointers.data(),
                      .shifts = nullptr,
                      .column_scales = nullptr,
                      .row_scales = nullptr,
                      .clamps = 0,
                      .traces = traces.data(),
                      .squared_norms = squared_norms.data(),
                      .eigenvalues = eigenvalues.data(),
                      .seconds = nullptr});
    return eigenvalues;
  }

  /// Tolerance: rounding of both algorithms, relative to the largest eigenvalue.
  void expect_right(const MatrixD& found) const {
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      const MatrixD z = matrices_[i].cast<double>();
      const VectorD expected = testing::eigenvalues_by_eigen(z.transpose() * z);
      const VectorD of_matrix = found.row(static_cast<Eigen::Index>(i));
      EXPECT_LE((of_matrix - expected).cwiseAbs().maxCoeff(), 1e-13 * expected.maxCoeff());
    }
  }

  /// Returns how many batches the stand-in has computed.
  static int calls() {
    void* const library = ::dlopen(LIME_CUSOLVER_STAND_IN, RTLD_NOW);
    return reinterpret_cast<int (*)()>(::dlsym(library, "lime_cusolver_calls"))();
  }

  static std::string failure(const std::string& reason) {
    return "device: cpu failed: " + reason +
           "; finished results are valid, try again or use --device cpu";
  }

  std::vector<MatrixF> matrices_;
};

TEST_F(BatchedEigenvaluesTest, AHandleThatCannotBeMadeIsOneLine) {
  // A handle is made once per library: this is another name for it.
  const testing::TemporaryFolder folder;
  std::filesystem::create_symlink(LIME_CUSOLVER_STAND_IN, folder / "libother.so");
  ::setenv("LIME_CUSOLVER_STAND_IN", (folder / "libother.so").c_str(), 1);
  ::setenv("LIME_CUSOLVER_FAILURE", "handle", 1);
  EXPECT_THAT([&] { eigenvalues(); },
              ThrowsMessage<IoError>(StrEq(failure("cusolverDnCreate() returned status 7"))));
}

TEST_F(BatchedEigenvaluesTest, CallsCusolverOncePerBatch) {
  const int before = calls();
  expect_right(eigenvalues());
  EXPECT_EQ(calls(), before + 1);
}

TEST_F(BatchedEigenvaluesTest, GivesTheEntropiesOfTheCpu) {
  const Gpu gpu({.is_gpu = true});
  ThreadPool pool(2);
  const SequenceSource source = testing::source_of(matrices_);
  const Standardization standardization = testing::standardization_of(matrices_);
  const EntropyOptions options{.alpha = {0.5, 1.0}};
  const int before = calls();
  const MatrixD found = gpu_entropies(gpu, source, standardization, options, 2, pool).values;
  const MatrixD expected = sequence_entropies(source, standardization, options, pool).values;
  EXPECT_LE((found - expected).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_EQ(calls(), before + 3);
}

TEST_F(BatchedEigenvaluesTest, AMatrixThatDoesNotConvergeIsOneLine) {
  ::setenv("LIME_CUSOLVER_FAILURE", "info", 1);
  EXPECT_THAT([&] { eigenvalues(); },
              ThrowsMessage<IoError>(StrEq(failure(
                  "cusolverDnXsyevBatched() found no eigenvalues of matrix 4 of 5, info 5"))));
}

TEST_F(BatchedEigenvaluesTest, AFailureOfCusolverIsOneLine) {
  ::setenv("LIME_CUSOLVER_FAILURE", "status", 1);
  EXPECT_THAT([&] { eigenvalues(); },
              ThrowsMessage<IoError>(StrEq(failure("cusolverDnXsyevBatched() returned status 7"))));
}

TEST_F(BatchedEigenvaluesTest, UsesLibTorchForSizesThatCusolverDoesNotSupport) {
  ::setenv("LIME_CUSOLVER_FAILURE", "size", 1);
  const int before = calls();
  expect_right(eigenvalues());
  EXPECT_EQ(calls(), before);
}

TEST_F(BatchedEigenvaluesTest, UsesLibTorchIfCusolverLacksTheFunctionOrIsMissing) {
  const int before = calls();
  for (const char* const library : {LIME_OLD_GPU_MODULE, "libmissing.so"}) {
    ::setenv("LIME_CUSOLVER_STAND_IN", library, 1);
    expect_right(eigenvalues());
  }
  EXPECT_EQ(calls(), before);
}

}  // namespace
}  // namespace lime
