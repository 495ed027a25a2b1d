// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/compute_type.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <torch/cuda.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "core/threads/thread_pool.h"
#include "core/threads/threads.h"

namespace lime {

c10::ScalarType scalar_type(ComputeType type) {
  switch (type) {
    case ComputeType::kFloat32: return c10::kFloat;
    case ComputeType::kFloat64: return c10::kDouble;
    case ComputeType::kBfloat16: return c10::kBFloat16;
    case ComputeType::kFloat16: break;
  }
  return c10::kHalf;
}

c10::Device parse_device(const std::string& name, int neighbour) {
  const auto num_gpus = static_cast<int>(torch::cuda::device_count());
  if (name == "cpu" || (name == "auto" && num_gpus == 0)) return c10::Device(c10::kCPU);
  int index = num_gpus > 0 ? neighbour % num_gpus : 0;
  if (name == "auto") return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
  if (name != "cuda") {
    const char* const end = name.data() + name.size();
    const bool has_number = name.starts_with("cuda:") &&
                            std::from_chars(name.data() + 5, end, index).ptr == end &&
                            end[-1] != ':';
    throw_if(!has_number, OptionName("device"), "must be auto, cpu, cuda or cuda:N, got '{}'",
             name);
  }
  throw_if(index < 0 || index >= num_gpus, OptionName("device"),
           "'{}' does not exist, LibTorch detects {} GPUs; use cpu", name, num_gpus);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

std::vector<c10::Device> parse_devices(const std::string& names, int neighbour) {
  if (names.find(',') == std::string::npos) return {parse_device(names, neighbour)};
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= names.size(); begin += parts.back().size() + 1) {
    parts.push_back(names.substr(begin, names.find(',', begin) - begin));
  }
  std::set<std::string> gpus;
  for (const std::string& name : parts) {
    throw_if(name != "cpu" && !name.starts_with("cuda:"), OptionName("device"),
             "several devices must all be cuda:N, or all cpu, got '{}' in '{}'", name, names);
    throw_if((name == "cpu") != (parts.front() == "cpu"), OptionName("device"),
             "several devices must all be GPUs, or all the CPU, got '{}'", names);
    throw_if(name != "cpu" && !gpus.insert(name).second, OptionName("device"),
             "each GPU must be listed once, got '{}' twice in '{}'", name, names);
  }
  std::vector<c10::Device> devices;
  for (const std::string& name : parts) devices.push_back(parse_device(name));
  return devices;
}

std::string devices_text(const std::vector<c10::Device>& devices) {
  std::string text;
  for (const c10::Device device : devices) text += (text.empty() ? "" : ",") + device.str();
  return text;
}

void check_devices(const std::vector<c10::Device>& devices) {
  if (devices.empty())
    throw InvalidArgument(OptionName("device"), "at least one is required, got none");
  for (const c10::Device device : devices) {
    if (device.type() == devices.front().type()) continue;
    throw InvalidArgument(OptionName("device"),
                          "several devices must all be GPUs, or all the CPU, got '{}'",
                          devices_text(devices));
  }
}

void check_computes(ComputeType type, c10::Device device) {
  const at::Tensor item = at::zeros({1, 1}, at::TensorOptions(scalar_type(type)).device(device));
  try {
    at::mm(item, item);
  } catch (const c10::Error&) {
    throw InvalidArgument(
        OptionName("dtype"),
        "LibTorch {} does not support {} on '{}'; use float32 or bfloat16, or another "
        "--device",
        TORCH_VERSION, enum_name(type), device.str());
  }
}

void use_threads(int num_threads) {
  check_threads(num_threads);
  const int requested = num_threads == 0 ? available_threads() : num_threads;
  // On trial: OpenMP ends the process if it cannot start a thread, and LibTorch waits forever.
  // LibTorch makes a pool with a thread per CPU, then one of the wanted threads for each thread
  // that computes; PassThreads and ChunkQueue have as many.
  const auto num_cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  const int most = std::max(1, num_cpus) + 4 * (requested - 1);
  ThreadPool{std::min(kMaxThreads, 1 + most)};
  at::set_num_threads(requested);
}

}  // namespace lime
