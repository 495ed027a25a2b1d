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

/// Where a metric is computed, as `--device` names it.
struct DeviceName {
  bool is_gpu = false;
  std::optional<int> index = std::nullopt;  ///< of the GPU, where it is given

  /// "cpu", "cuda" or "cuda:N". @throws InvalidArgument
  static DeviceName parse(const std::string& text);
};

/// `../lib/lime/liblime_cuda.so` seen from the running program, in the build folder and when
/// installed; or what the environment variable LIME_GPU_MODULE names, for tests.
std::filesystem::path gpu_module_path();

/// A GPU, reached through a module that is loaded when the first is asked for: programs start where
/// CUDA is not installed.
class Gpu {
 public:
  /// @param name       a GPU; without index that of `neighbour`.
  /// @param neighbour  number of this process among those of the machine, which go round its GPUs.
  /// @throws IoError          if there is no module, it cannot be loaded, is of another version
  ///                          or finds no GPU.
  /// @throws InvalidArgument  if the machine has no GPU of that index.
  explicit Gpu(const DeviceName& name, int neighbour = 0,
               const std::filesystem::path& module = gpu_module_path());

  /// "cuda:0 (NVIDIA H200)"
  const std::string& name() const { return name_; }
  /// Bytes of its memory that nobody holds now.
  std::int64_t free_bytes() const;

 private:
  friend class GramWorkspace;
  device_abi::DeviceInfo info() const;
  /// @throws IoError  with the module's line, unless `status` is kOk.
  void check(device_abi::Status status) const;

  const device_abi::Module* module_;
  std::int32_t index_ = 0;
  std::string name_;
};

/// Memory on a GPU and pinned memory beside it, for spectra of Gram matrices; module_abi.h says how
/// its slots are used. rows() and upload() are thread-safe for different slots.
class GramWorkspace {
 public:
  /// @param plan  its device is that of `gpu`; the batch is halved until the GPU's memory is
  /// enough.
  /// @throws IoError  if it is not for a batch of one; says what was needed and what is free.
  GramWorkspace(const Gpu& gpu, device_abi::Plan plan);

  /// Sequences that one call of compute() takes; there are twice as many slots.
  std::int64_t batch() const { return plan_.batch; }

  /// The pinned memory of a slot. @param count  floats, <= max_elements
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
