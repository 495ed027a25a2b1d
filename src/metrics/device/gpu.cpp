// SPDX-License-Identifier: Apache-2.0
#include "metrics/device/gpu.h"

#include <dlfcn.h>

#include <cstdlib>
#include <system_error>

#include "core/errors.h"
#include "core/options.h"
#include "core/program/plugin.h"
#include "core/program/progress.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModuleVariable = "LIME_GPU_MODULE";

const device_abi::Module* load_module(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw IoError(
        "device: this build has no CUDA support, '{}' is missing; install the CUDA toolkit 12.8 or "
        "later (nvcc, cuBLAS, cuSOLVER) and rebuild, or use --device cpu",
        path.string());
  }
  // Never closed: CUDA's libraries clean up when the process ends.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw IoError(
        "device: '{}' must be loadable, got '{}'; install the CUDA libraries that it was built "
        "with, or use --device cpu",
        path.string(), ::dlerror());
  }
  void* const symbol = ::dlsym(library, device_abi::kModuleSymbol);
  if (symbol == nullptr) {
    throw IoError(
        "device: '{}' must be a LIMe CUDA module, but has no {}(); rebuild or reinstall it",
        path.string(), device_abi::kModuleSymbol);
  }
  const device_abi::Module* const module = reinterpret_cast<device_abi::ModuleFn>(symbol)();
  if (module->version != device_abi::kVersion) {
    throw IoError(
        "device: '{}' must have interface version {}, got {}; rebuild or reinstall it together "
        "with the program",
        path.string(), device_abi::kVersion, module->version);
  }
  return module;
}

std::int32_t index_of(const DeviceName& name, int neighbour, std::int32_t count) {
  const int index = name.index.value_or(neighbour % count);
  if (index < count) return index;
  throw InvalidArgument(
      "device: must be one of the {} GPU{} visible to CUDA, cuda:0{}, got cuda:{}", count,
      count == 1 ? "" : "s", count == 1 ? "" : fmt::format(" to cuda:{}", count - 1), index);
}

}  // namespace

DeviceName DeviceName::parse(const std::string& text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {.is_gpu = true};
  if (text.starts_with("cuda:")) {
    const int index = OptionCodec<int>::parse(text.substr(5), "device: the GPU index");
    if (index >= 0) return {.is_gpu = true, .index = index};
  }
  throw InvalidArgument("device: must be cpu, cuda or cuda:N, got '{}'", text);
}

fs::path gpu_module_path() {
  const char* const given = std::getenv(kModuleVariable);
  return given != nullptr ? fs::path(given) : plugin_path("liblime_cuda.so");
}

Gpu::Gpu(const DeviceName& name, int neighbour, const fs::path& module)
    : module_(load_module(module)) {
  std::int32_t count = 0;
  const bool counted = module_->count_devices(&count) == device_abi::kOk;
  if (!counted || count < 1) {
    throw IoError(
        "device: no GPU is visible to CUDA ({}); check the output of nvidia-smi, or use --device "
        "cpu",
        counted ? "none" : fmt::format("'{}'", module_->last_error()));
  }
  index_ = index_of(name, neighbour, count);
  name_ = fmt::format("cuda:{}", index_);
  name_ = fmt::format("cuda:{} ({})", index_, info().name);
}

std::int64_t Gpu::free_bytes() const { return info().free_bytes; }

device_abi::DeviceInfo Gpu::info() const {
  device_abi::DeviceInfo info{};
  check(module_->describe_device(index_, &info));
  return info;
}

void Gpu::check(device_abi::Status status) const {
  if (status == device_abi::kOk) return;
  throw IoError("device: {} failed: {}; finished results are valid, try again or use --device cpu",
                name_, module_->last_error());
}

GramWorkspace::GramWorkspace(const Gpu& gpu, device_abi::Plan plan)
    : gpu_(gpu), plan_(plan), workspace_(nullptr, {gpu.module_->destroy_workspace}) {
  plan_.device = gpu.index_;
  const device_abi::Module& module = *gpu_.module_;
  device_abi::Workspace* workspace = nullptr;
  std::int64_t needed = 0;
  device_abi::Status status = module.make_workspace(&plan_, &workspace, &needed);
  while (status == device_abi::kOutOfMemory && plan_.batch > 1) {
    plan_.batch /= 2;
    status = module.make_workspace(&plan_, &workspace, &needed);
  }
  if (status == device_abi::kOutOfMemory) {
    throw IoError(
        "device: {} has {} free, but a sequence of up to {} tokens and {} dimensions needs at "
        "least {} ({}); stop other processes on the GPU, or use --device cpu",
        gpu_.name(), human_bytes(static_cast<double>(gpu_.free_bytes())), plan_.max_rows,
        plan_.max_cols, human_bytes(static_cast<double>(needed)), module.last_error());
  }
  gpu_.check(status);
  workspace_.reset(workspace);
}

std::span<float> GramWorkspace::rows(std::int64_t slot, std::int64_t count) const {
  return {gpu_.module_->rows_of(workspace_.get(), slot), static_cast<std::size_t>(count)};
}

void GramWorkspace::upload(std::int64_t slot, const device_abi::Rows& rows) const {
  gpu_.check(gpu_.module_->upload(workspace_.get(), slot, &rows));
}

std::span<const device_abi::Spectrum> GramWorkspace::compute(std::int64_t first_slot,
                                                             std::int64_t count) {
  spectra_.resize(static_cast<std::size_t>(count));
  gpu_.check(gpu_.module_->compute(workspace_.get(), first_slot, count, spectra_.data()));
  return spectra_;
}

}  // namespace lime
