// SPDX-License-Identifier: Apache-2.0

// liblime_cuda.so: device_abi on CUDA. Exceptions end here.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <string>

#include "metrics/device/cuda/gram_spectra.h"
#include "metrics/device/module_abi.h"

namespace lime::device_abi {

struct Workspace {
  GramSpectra spectra;
};

namespace {

thread_local std::string error_line;

const char* last_error() { return error_line.c_str(); }

template <typename Work>
Status guarded(const Work& work) {
  try {
    work();
    return kOk;
  } catch (const CudaError& error) {
    error_line = error.what();
    return error.out_of_memory() ? kOutOfMemory : kFailed;
  } catch (const std::exception& error) {
    error_line = error.what();
    return kFailed;
  }
}

Status count_devices(std::int32_t* count) {
  return guarded([&] {
    int found = 0;
    check(cudaGetDeviceCount(&found), "cudaGetDeviceCount");
    *count = found;
  });
}

Status describe_device(std::int32_t device, DeviceInfo* info) {
  return guarded([&] {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    *info = {};
    static_assert(sizeof(info->name) == sizeof(properties.name));
    std::copy(std::begin(properties.name), std::end(properties.name), info->name);
    check(cudaSetDevice(device), "cudaSetDevice");
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    info->free_bytes = static_cast<std::int64_t>(free_bytes);
    info->total_bytes = static_cast<std::int64_t>(total_bytes);
  });
}

Status make_workspace(const Plan* plan, Workspace** workspace, std::int64_t* needed_bytes) {
  *needed_bytes = GramSpectra::bytes_for(*plan);
  return guarded([&] {
    *workspace = new Workspace{GramSpectra(*plan)};
    *needed_bytes += (*workspace)->spectra.solver_bytes();
  });
}

void destroy_workspace(Workspace* workspace) { delete workspace; }

float* rows_of(Workspace* workspace, std::int64_t slot) { return workspace->spectra.rows_of(slot); }

Status upload(Workspace* workspace, std::int64_t slot, const Rows* rows) {
  return guarded([&] { workspace->spectra.upload(slot, *rows); });
}

Status compute(Workspace* workspace, std::int64_t first_slot, std::int64_t count,
               Spectrum* spectra) {
  return guarded([&] { workspace->spectra.compute(first_slot, count, spectra); });
}

}  // namespace
}  // namespace lime::device_abi

extern "C" [[gnu::visibility("default")]] const lime::device_abi::Module* lime_device_module() {
  using namespace lime::device_abi;
  static constexpr Module kModule{.version = kVersion,
                                  .reserved = 0,
                                  .last_error = last_error,
                                  .count_devices = count_devices,
                                  .describe_device = describe_device,
                                  .make_workspace = make_workspace,
                                  .destroy_workspace = destroy_workspace,
                                  .rows_of = rows_of,
                                  .upload = upload,
                                  .compute = compute};
  return &kModule;
}
