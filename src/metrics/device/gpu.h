// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/device/module_abi.h"

namespace lime {

/// Device of a metric, as given to `--device`.
struct DeviceName {
  bool is_gpu = false;
  std::optional<int> index = std::nullopt;  ///< of the GPU, if given

  /// Parses "cpu", "cuda" or "cuda:N". @throws InvalidArgument
  static DeviceName parse(const std::string& text);
};

/// Returns the path of `../lib/lime/liblime_cuda.so` relative to the running program, in the build
/// folder and when installed; or the value of the environment variable LIME_GPU_MODULE, for tests.
std::filesystem::path gpu_module_path();

/// A GPU, accessed through a module that is loaded on first use: programs start without CUDA.
class Gpu {
 public:
  /// @param name       a GPU; without index selected by `neighbour`.
  /// @param neighbour  local rank: index of this process on the machine, assigned to its GPUs in
  ///                   turn.
  /// @throws IoError          if the module is missing, cannot be loaded, has another version or
  ///         finds no GPU.
  /// @throws InvalidArgument  if the machine has no GPU of that index.
  explicit Gpu(const DeviceName& name, int neighbour = 0,
               const std::filesystem::path& module = gpu_module_path());

  /// Returns the index and the model, "cuda:0 (NVIDIA H200)".
  const std::string& name() const { return name_; }
  /// Returns the bytes of its memory that are free now.
  std::int64_t free_bytes() const;

 private:
  friend class GramWorkspace;
  device_abi::DeviceInfo info() const;
  /// @throws IoError  with the module's error message, unless `status` is kOk.
  void check(device_abi::Status status) const;

  const device_abi::Module* module_;
  std::int32_t index_ = 0;
  std::string name_;
};

/// GPU memory with pinned host memory for spectra of Gram matrices; module_abi.h documents its
/// slots. rows() and upload() are thread-safe for different slots.
class GramWorkspace {
 public:
  /// @param plan  for the device of `gpu`; the batch is halved until it fits into GPU memory.
  /// @throws IoError  if a batch of one does not fit; reports the required and the free memory.
  GramWorkspace(const Gpu& gpu, device_abi::Plan plan);

  /// Returns the number of sequences per call of compute(); there are twice as many slots.
  std::int64_t batch() const { return plan_.batch; }

  /// Returns the pinned memory of a slot. @param count  floats, <= max_elements
  std::span<float> rows(std::int64_t slot, std::int64_t count) const;
  /// @throws IoError
  void upload(std::int64_t slot, const device_abi::Rows& rows) const;
  /// @return [count]; valid until the next call. @throws IoError
  std::span<const device_abi::Spectrum> compute(std::int64_t first_slot, std::int64_t count);

 private:
  struct Destroy {
    void (*destroy)(device_abi::Workspace*);
    void operator()(device_abi::Workspace* workspace) const { destroy(workspace); }
  };

  Gpu gpu_;
  device_abi::Plan plan_;
  std::unique_ptr<device_abi::Workspace, Destroy> workspace_;
  std::vector<device_abi::Spectrum> spectra_;
};

}  // namespace lime
