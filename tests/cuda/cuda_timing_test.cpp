// SPDX-License-Identifier: Apache-2.0
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "bench/device_timing.h"
#include "cuda/cuda_fixture.h"

namespace lime {
namespace {

const c10::Device kGpu(c10::kCUDA, 0);

TEST(CudaTimingTest, EventsTellHowLongTheGpuComputes) {
  LIME_SKIP_WITHOUT_GPU();
  const at::Tensor matrix = at::ones({2048, 2048}, at::TensorOptions(kGpu));
  at::mm(matrix, matrix);  // the library's first use is slower
  DeviceTimer timer(kGpu);
  timer.start();
  at::mm(matrix, matrix);
  const double once = timer.stop();
  timer.start();
  for (int i = 0; i < 50; ++i) at::mm(matrix, matrix);
  const double often = timer.stop();
  EXPECT_GT(once, 0.0);
  EXPECT_GT(often, 5.0 * once);  // 50 without launch overhead
}

TEST(CudaTimingTest, PeakMemoryIsThatOfTensorsThatAreGone) {
  LIME_SKIP_WITHOUT_GPU();
  if (!kHasAllocatorStatistics) {
    EXPECT_THROW(require_peak_memory(kGpu), InvalidArgument);
    GTEST_SKIP() << "needs LibTorch 2.9 or later";
  }
  constexpr std::int64_t kBytes = std::int64_t{64} << 20;
  at::empty({kBytes}, at::TensorOptions(kGpu).dtype(at::kByte));
  EXPECT_GE(peak_memory_on(kGpu), kBytes);
}

}  // namespace
}  // namespace lime
