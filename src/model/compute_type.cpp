// SPDX-License-Identifier: Apache-2.0
#include "model/compute_type.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include "core/errors.h"
#include "core/thread_pool.h"

namespace lime {

c10::ScalarType scalar_type(ComputeType type) {
  switch (type) {
    case ComputeType::kFloat32:
      return c10::kFloat;
    case ComputeType::kFloat64:
      return c10::kDouble;
    case ComputeType::kBfloat16:
      return c10::kBFloat16;
    case ComputeType::kFloat16:
      return c10::kHalf;
  }
  throw InvalidArgument("dtype: unknown value {}", static_cast<int>(type));
}

c10::Device parse_device(const std::string& name, int neighbour) {
  const auto num_gpus = static_cast<int>(torch::cuda::device_count());
  if (name == "cpu" || (name == "auto" && num_gpus == 0)) return c10::Device(c10::kCPU);
  int index = num_gpus > 0 ? neighbour % num_gpus : 0;
  if (name == "auto") return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
  if (name != "cuda") {
    if (!name.starts_with("cuda:")) {
      throw InvalidArgument("device: must be auto, cpu, cuda or cuda:N, got '{}'", name);
    }
    index = OptionCodec<int>::parse(name.substr(5), "device: the number of the GPU");
  }
  if (index < 0 || index >= num_gpus) {
    throw InvalidArgument("device: '{}' is not there, LibTorch sees {} GPUs; use cpu", name,
                          num_gpus);
  }
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

void check_computes(ComputeType type, c10::Device device) {
  const at::Tensor one = at::zeros({1, 1}, at::TensorOptions(scalar_type(type)).device(device));
  try {
    at::mm(one, one);
  } catch (const c10::Error&) {
    throw InvalidArgument(
        "dtype: LibTorch {} does not compute in {} on '{}'; choose float32 or bfloat16, or another "
        "--device",
        TORCH_VERSION, enum_name(type), device.str());
  }
}

void use_threads(int num_threads) {
  if (num_threads < 0) {
    throw InvalidArgument("threads: must be >= 0, got {}; 0 takes all processors", num_threads);
  }
  at::set_num_threads(num_threads == 0 ? available_threads() : num_threads);
}

}  // namespace lime
