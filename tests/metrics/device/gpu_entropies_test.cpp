// SPDX-License-Identifier: Apache-2.0

// Error handling and memory partitioning of the GPU code, with a fake module.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "core/errors.h"
#include "metrics/device/gpu_sequences.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::AllOf;
using testing::extent_of;
using ::testing::HasSubstr;
using testing::read_text;
using testing::sequences_of;
using testing::sized;
using testing::staging_for;
using ::testing::StartsWith;
using ::testing::StrEq;
using testing::TemporaryFolder;
using ::testing::ThrowsMessage;
using testing::write_text;

/// Sets an environment variable for the duration of a test.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Setting() { ::unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

Gpu open(const std::string& name = "cuda", int neighbour = 0) {
  return Gpu(DeviceName::parse(name), neighbour, LIME_FAKE_GPU);
}

constexpr EntropyOptions kRaw{.preset = EntropyPreset::kRaw};

SequenceEntropies measure(const std::vector<MatrixF>& sequences,
                          const EntropyOptions& options = kRaw, std::int64_t batch = 2,
                          std::stop_token stop = {}) {
  GpuEntropies on_gpu(open(), options, extent_of(sequences), staging_for(sequences, batch));
  ThreadPool pool(2);
  return on_gpu.compute(sized(sequences), std::nullopt, pool, {}, stop);
}

TEST(DeviceNameTest, IsTheCpuOrAGpuWithOrWithoutNumber) {
  EXPECT_FALSE(DeviceName::parse("cpu").is_gpu);
  EXPECT_TRUE(DeviceName::parse("cuda").is_gpu);
  EXPECT_EQ(DeviceName::parse("cuda").index, std::nullopt);
  EXPECT_EQ(DeviceName::parse("cuda:3").index, 3);
  for (const std::string wrong : {"gpu", "cuda:-1", "", "CUDA"}) {
    EXPECT_THAT([&] { DeviceName::parse(wrong); },
                ThrowsMessage<InvalidArgument>(
                    StrEq("device: must be cpu, cuda or cuda:N, got '" + wrong + "'")));
  }
  EXPECT_THAT([] { DeviceName::parse("cuda:one"); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("device: the GPU index: expected a whole number, got 'one'")));
}

TEST(GpuTest, HasANameAndMemory) {
  const Setting free("LIME_FAKE_GPU_FREE", "12345678");
  EXPECT_EQ(open().name(), "cuda:0 (fake GPU)");
  EXPECT_EQ(open().free_bytes(), 12345678);
}

TEST(GpuTest, NeighboursGoRoundTheGpusOfTheMachine) {
  const Setting count("LIME_FAKE_GPU_COUNT", "2");
  EXPECT_EQ(open("cuda", 1).name(), "cuda:1 (fake GPU)");
  EXPECT_EQ(open("cuda", 2).name(), "cuda:0 (fake GPU)");
  EXPECT_EQ(open("cuda:1", 2).name(), "cuda:1 (fake GPU)");
}

TEST(GpuTest, ABuildWithoutCudaSaysHowToGetOne) {
  EXPECT_THAT([] { Gpu({.is_gpu = true}, 0, "/nowhere/liblime_cuda.so"); },
              ThrowsMessage<IoError>(
                  StrEq("device: this build has no CUDA support, '/nowhere/liblime_cuda.so' is "
                        "missing; install the CUDA toolkit 12.8 or later (nvcc, cuBLAS, cuSOLVER) "
                        "and rebuild, or use --device cpu")));
}

TEST(GpuTest, SaysWhatCannotBeLoaded) {
  const TemporaryFolder folder;
  write_text(folder / "liblime_cuda.so", "no library");
  EXPECT_THAT(
      [&] { Gpu({.is_gpu = true}, 0, folder / "liblime_cuda.so"); },
      ThrowsMessage<IoError>(AllOf(StartsWith("device: '"), HasSubstr("must be loadable, got '"),
                                   HasSubstr("use --device cpu"))));
}

TEST(GpuTest, RefusesALibraryThatIsNoModule) {
  Dl_info library{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::setenv), &library), 0);
  EXPECT_THAT([&] { Gpu({.is_gpu = true}, 0, library.dli_fname); },
              ThrowsMessage<IoError>(
                  HasSubstr("must be a LIMe CUDA module, but has no lime_device_module()")));
}

TEST(GpuTest, RefusesAModuleOfAnotherVersion) {
  const Setting version("LIME_FAKE_GPU_VERSION", "7");
  EXPECT_THAT([] { open(); },
              ThrowsMessage<IoError>(HasSubstr("must have interface version 1, got 7; rebuild or "
                                               "reinstall it together with the program")));
}

TEST(GpuTest, SaysWhereThereIsNoGpu) {
  {
    const Setting count("LIME_FAKE_GPU_COUNT", "0");
    EXPECT_THAT([] { open(); },
                ThrowsMessage<IoError>(StrEq("device: no GPU is visible to CUDA (none); check the "
                                             "output of nvidia-smi, or use --device cpu")));
  }
  const Setting fault("LIME_FAKE_GPU_FAULT", "count");
  EXPECT_THAT([] { open(); },
              ThrowsMessage<IoError>(
                  StrEq("device: no GPU is visible to CUDA ('cudaGetDeviceCount: the driver is "
                        "asleep'); check the output of nvidia-smi, or use --device cpu")));
}

TEST(GpuTest, RefusesAGpuThatIsNotThere) {
  EXPECT_THAT([] { open("cuda:1"); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("device: must be one of the 1 GPU visible to CUDA, cuda:0, got cuda:1")));
  const Setting count("LIME_FAKE_GPU_COUNT", "4");
  EXPECT_THAT(
      [] { open("cuda:4"); },
      ThrowsMessage<InvalidArgument>(StrEq(
          "device: must be one of the 4 GPUs visible to CUDA, cuda:0 to cuda:3, got cuda:4")));
}

TEST(GpuEntropiesTest, BatchesFollowEachOtherInOrderOfSizeInTurnsOfTwoHalves) {
  const TemporaryFolder folder;
  const Setting log("LIME_FAKE_GPU_LOG", (folder / "log").string());
  measure(sequences_of({9, 4, 7, 9, 5}, 20), kRaw, 2);
  EXPECT_EQ(read_text(folder / "log"), "0 2\n2 2\n0 1\n");
}

TEST(GpuEntropiesTest, TheBatchFitsIntoStagingAndTheMemoryOfTheGpu) {
  const std::vector<MatrixF> sequences = sequences_of(std::vector<Eigen::Index>(50, 8), 16);
  const SequenceExtent extent = extent_of(sequences);
  EXPECT_EQ(GpuEntropies(open(), kRaw, extent, staging_for(sequences, 7)).batch(), 7);
  EXPECT_EQ(GpuEntropies(open(), kRaw, extent, 1).batch(), 1);
  EXPECT_EQ(GpuEntropies(open(), kRaw, extent, std::int64_t{1} << 40).batch(), 50);
  // Of the fake GPU: 2 * 8 * 16 * 4 + 8 * 8 * 8 bytes per sequence.
  const Setting free("LIME_FAKE_GPU_FREE", "20000");
  EXPECT_EQ(GpuEntropies(open(), kRaw, extent, std::int64_t{1} << 40).batch(), 12);
}

TEST(GpuEntropiesTest, SaysWhatDoesNotFitIntoTheMemoryOfTheGpu) {
  const Setting free("LIME_FAKE_GPU_FREE", "1000");
  EXPECT_THAT([] { measure(sequences_of({8}, 16)); },
              ThrowsMessage<IoError>(
                  StrEq("device: cuda:0 (fake GPU) has 1000 B free, but a sequence of up to 8 "
                        "tokens and 16 dimensions needs at least 1.5 KiB (cudaMalloc: out of "
                        "memory); stop other processes on the GPU, or use --device cpu")));
}

TEST(GpuEntropiesTest, NamesTheFirstValueThatIsNotFinite) {
  std::vector<MatrixF> sequences = sequences_of({6, 6, 6}, 4);
  sequences[1](2, 3) = std::numeric_limits<float>::infinity();
  EXPECT_THAT([&] { measure(sequences); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("entropy: sequence 1: representations must be finite, got inf at token 2, "
                        "dimension 3; check the model for overflow, or capture in a wider type")));
}

TEST(GpuEntropiesTest, RefusesWhatTheCpuRefusesInTheSameWords) {
  std::vector<MatrixF> sequences = sequences_of({6, 6, 6}, 4);
  sequences[2].setZero();
  const std::vector<ConstMatrixRef> views(sequences.begin(), sequences.end());
  ThreadPool pool(1);
  for (const EntropyOptions& options :
       {kRaw, EntropyOptions{.preset = EntropyPreset::kMatrixEntropy}, EntropyOptions{}}) {
    std::string expected = "no error";
    try {
      sequence_entropies(views, std::nullopt, options, pool);
    } catch (const InvalidArgument& error) {
      expected = error.what();
    }
    EXPECT_THAT([&] { measure(sequences, options); },
                ThrowsMessage<InvalidArgument>(StrEq(expected)));
  }
}

TEST(GpuEntropiesTest, RefusesEigenvaluesThatAreNotThoseOfTheirMatrix) {
  const Setting fault("LIME_FAKE_GPU_FAULT", "eigenvalues");
  EXPECT_THAT(
      [] {
        measure(sequences_of({6, 6, 6}, 4));
      },
      ThrowsMessage<NumericalError>(
          AllOf(StartsWith("entropy: sequence 0: the GPU's eigenvalues must sum to"),
                HasSubstr("; use --device cpu"))));
}

TEST(GpuEntropiesTest, SaysWhatTheGpuFailedAt) {
  const Setting fault("LIME_FAKE_GPU_FAULT", "compute");
  EXPECT_THAT(
      [] {
        measure(sequences_of({6, 6, 6}, 4));
      },
      ThrowsMessage<IoError>(
          StrEq("device: cuda:0 (fake GPU) failed: cublasDsyrk: an illegal memory access was "
                "encountered; finished results are valid, try again or use --device cpu")));
}

TEST(GpuEntropiesTest, HasNoLeadingEigenvalues) {
  EXPECT_THAT([] { measure(sequences_of({6}, 4), {.preset = EntropyPreset::kRaw, .top_k = 2}); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("top_k: is supported on the CPU only; omit --top-k or use --device cpu")));
}

TEST(GpuEntropiesTest, StopsOnRequest) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(measure(sequences_of({6, 6}, 4), kRaw, 1, stop.get_token()), Interrupted);
}

TEST(GpuEntropiesTest, CountsSequences) {
  const std::vector<MatrixF> sequences = sequences_of({6, 6, 6, 6, 6}, 4);
  GpuEntropies on_gpu(open(), kRaw, extent_of(sequences), staging_for(sequences, 2));
  ThreadPool pool(1);
  std::vector<std::int64_t> seen;
  on_gpu.compute(sized(sequences), std::nullopt, pool, [&](const Progress& progress) {
    EXPECT_EQ(progress.total, 5);
    seen.push_back(progress.done);
  });
  EXPECT_THAT(seen, ::testing::ElementsAre(0, 2, 4, 5));
}

}  // namespace
}  // namespace lime
