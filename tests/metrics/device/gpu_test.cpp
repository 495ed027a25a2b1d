// SPDX-License-Identifier: Apache-2.0
#include "metrics/device/gpu.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/errors.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::StrEq;
using testing::TemporaryFolder;
using ::testing::ThrowsMessage;
using testing::write_text;

TEST(DeviceNameTest, IsTheCpuOrAGpuWithOrWithoutNumber) {
  EXPECT_FALSE(DeviceName::parse("cpu").is_gpu);
  EXPECT_TRUE(DeviceName::parse("cuda").is_gpu);
  EXPECT_EQ(DeviceName::parse("cuda").index, std::nullopt);
  EXPECT_EQ(DeviceName::parse("cuda:3").index, 3);
  for (const std::string wrong : {"gpu", "cuda:-1", "", "CUDA", "cuda:one"}) {
    EXPECT_THAT([&] { DeviceName::parse(wrong); },
                ThrowsMessage<InvalidArgument>(
                    StrEq("device: must be cpu, cuda or cuda:N, got '" + wrong + "'")));
  }
}

TEST(GpuTest, ProcessesOfAMachineUseItsGpusInTurn) {
  const DeviceName any = DeviceName::parse("cuda");
  EXPECT_EQ(gpu_index(any, 1, 2), 1);
  EXPECT_EQ(gpu_index(any, 2, 2), 0);
  EXPECT_EQ(gpu_index(DeviceName::parse("cuda:1"), 2, 2), 1);
}

TEST(GpuTest, RefusesAnIndexThatNoGpuHas) {
  EXPECT_THAT([] { gpu_index(DeviceName::parse("cuda:1"), 0, 1); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("device: must be one of the 1 GPU visible to CUDA, cuda:0, got cuda:1")));
  EXPECT_THAT(
      [] { gpu_index(DeviceName::parse("cuda:4"), 0, 4); },
      ThrowsMessage<InvalidArgument>(StrEq(
          "device: must be one of the 4 GPUs visible to CUDA, cuda:0 to cuda:3, got cuda:4")));
}

TEST(GpuTest, RefusesAModuleThatCannotBeLoaded) {
  const TemporaryFolder folder;
  write_text(folder / "liblime_gpu.so", "no library");
  for (const std::string name : {"liblime_gpu.so", "missing.so"}) {
    EXPECT_THAT(
        [&] { Gpu({.is_gpu = true}, 0, folder / name); },
        ThrowsMessage<IoError>(AllOf(StartsWith("device: '"), HasSubstr("cannot be loaded: "),
                                     HasSubstr("use --device cpu"))));
  }
}

TEST(GpuTest, RefusesALibraryThatIsNoModule) {
  Dl_info library{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::setenv), &library), 0);
  EXPECT_THAT(
      [&] { Gpu({.is_gpu = true}, 0, library.dli_fname); },
      ThrowsMessage<IoError>(HasSubstr("must be LIMe's GPU module, but has no lime_gpu_module()")));
}

TEST(GpuTest, RefusesAModuleOfAnotherVersion) {
  EXPECT_THAT([] { Gpu({.is_gpu = true}, 0, LIME_OLD_GPU_MODULE); },
              ThrowsMessage<IoError>(HasSubstr(
                  "must have interface version 3, got 2; reinstall it together with the program")));
}

TEST(GpuTest, SaysThatThereIsNoGpu) {
  ::unsetenv("LIME_GPU_STAND_IN");
  try {
    const Gpu gpu({.is_gpu = true});
    GTEST_SKIP() << "there is a GPU";
  } catch (const IoError& error) {
    EXPECT_EQ(std::string(error.what()),
              "device: LibTorch finds no GPU; check the output of nvidia-smi and that LibTorch was "
              "built with CUDA, or use --device cpu");
  }
}

TEST(GpuTest, SaysWhatTheDeviceFailedAt) {
  ::setenv("LIME_GPU_STAND_IN", "cuda:99", 1);
  const Gpu gpu({.is_gpu = true});
  ::unsetenv("LIME_GPU_STAND_IN");
  GpuRows rows = gpu.no_rows();
  EXPECT_THAT([&] { gpu.upload(MatrixF::Ones(1, 2), rows); },
              ThrowsMessage<IoError>(
                  AllOf(StartsWith("device: cuda:99 failed: "),
                        HasSubstr("; finished results are valid, try again or use --device cpu"))));
}

TEST(GpuTest, MeasuresItsSeconds) {
  ::setenv("LIME_GPU_STAND_IN", "cpu", 1);
  const Gpu gpu({.is_gpu = true});
  GpuRows rows = gpu.no_rows();
  gpu.upload(MatrixF::Ones(1, 2), rows);
  const gpu_module::DeviceRows* const all[1] = {rows.get()};
  double trace = 0.0, squared_norm = 0.0, eigenvalue = 0.0;
  gpu.gram_spectra({.count = 1,
                    .num_rows = 1,
                    .num_cols = 2,
                    .rows = all,
                    .shifts = nullptr,
                    .column_scales = nullptr,
                    .row_scales = nullptr,
                    .clamps = 0,
                    .traces = &trace,
                    .squared_norms = &squared_norm,
                    .eigenvalues = &eigenvalue,
                    .seconds = nullptr});
  EXPECT_EQ(trace, 2.0);
  EXPECT_EQ(squared_norm, 4.0);
  EXPECT_DOUBLE_EQ(eigenvalue, 2.0);
  const GpuSeconds seconds = gpu.take_seconds();
  for (const double taken : {seconds.upload, seconds.gram, seconds.eigenvalues}) {
    EXPECT_GT(taken, 0.0);
  }
  EXPECT_EQ(gpu.take_seconds().upload, 0.0);
}

}  // namespace
}  // namespace lime
