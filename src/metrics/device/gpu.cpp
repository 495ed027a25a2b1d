// SPDX-License-Identifier: Apache-2.0
#include "metrics/device/gpu.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "core/errors.h"
#include "core/options.h"

namespace lime {
namespace {

const gpu_module::Module* load_module(const std::filesystem::path& path) {
  // Never closed: LibTorch and CUDA clean up when the process ends.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw IoError(OptionName("device"),
                  "'{}' cannot be loaded: {}; install the LibTorch that it was built with, or "
                  "use --device cpu",
                  path.string(), ::dlerror());
  }
  void* const symbol = ::dlsym(library, gpu_module::kModuleSymbol);
  throw_if<IoError>(symbol == nullptr, OptionName("device"),
                    "'{}' must be LIMe's GPU module, but has no {}(); reinstall it", path.string(),
                    gpu_module::kModuleSymbol);
  const gpu_module::Module* const module = reinterpret_cast<gpu_module::ModuleFn>(symbol)();
  throw_if<IoError>(module->version != gpu_module::kVersion, OptionName("device"),
                    "'{}' must have interface version {}, got {}; reinstall it together with the "
                    "program",
                    path.string(), gpu_module::kVersion, module->version);
  return module;
}

}  // namespace

DeviceName DeviceName::parse(const std::string& text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {.is_gpu = true};
  if (text.starts_with("cuda:")) {
    int index = -1;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data() + 5, end, index).ptr == end && index >= 0)
      return {.is_gpu = true, .index = index};
  }
  throw InvalidArgument(OptionName("device"), "must be cpu, cuda or cuda:N, got '{}'", text);
}

int gpu_index(const DeviceName& name, int local_rank, int count) {
  const int index = name.index.value_or(local_rank % count);
  if (index < count) return index;
  throw InvalidArgument(
      OptionName("device"), "must be one of the {} GPU{} visible to CUDA, cuda:0{}, got cuda:{}",
      count, count == 1 ? "" : "s", count == 1 ? "" : fmt::format(" to cuda:{}", count - 1), index);
}

Gpu::Gpu(const DeviceName& name, int local_rank, const std::filesystem::path& module)
    : module_(load_module(module)) {
  const char* const stand_in = std::getenv("LIME_GPU_STAND_IN");
  const int count = stand_in != nullptr ? 1 : module_->count_gpus();
  throw_if<IoError>(
      count < 1, OptionName("device"),
      "LibTorch finds no GPU; check the output of nvidia-smi and that LibTorch was built "
      "with CUDA, or use --device cpu");
  const int index = gpu_index(name, local_rank, count);
  name_ = stand_in != nullptr ? stand_in : fmt::format("cuda:{}", index);
}

void Gpu::upload(const MatrixF& rows, GpuRows& on_device) const {
  const auto start = std::chrono::steady_clock::now();
  gpu_module::DeviceRows* matrix = on_device.release();
  const char* const failure =
      module_->upload(name_.c_str(), rows.data(), rows.rows(), rows.cols(), &matrix);
  on_device.reset(matrix);
  check(failure);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const std::lock_guard lock(mutex_);
  seconds_.upload += taken.count();
}

void Gpu::gram_spectra(gpu_module::GramBatch batch) const {
  gpu_module::GramSeconds seconds;
  batch.seconds = &seconds;
  check(module_->gram_spectra(name_.c_str(), &batch));
  const std::lock_guard lock(mutex_);
  seconds_.gram += seconds.gram;
  seconds_.eigenvalues += seconds.eigenvalues;
}

GpuSeconds Gpu::take_seconds() const {
  const std::lock_guard lock(mutex_);
  return std::exchange(seconds_, {});
}

void Gpu::check(const char* failure) const {
  if (failure == nullptr) return;
  throw IoError(OptionName("device"),
                "{} failed: {}; finished results are valid, try again or use --device cpu", name_,
                failure);
}

}  // namespace lime
