// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/matrix.h"
#include "core/program/program.h"
#include "metrics/device/gpu_module.h"

namespace lime {

struct DeviceName {
  bool is_gpu = false;
  std::optional<int> index = std::nullopt;  ///< of the GPU, if given

  /// Parses "cpu", "cuda" or "cuda:N". @throws InvalidArgument
  static DeviceName parse(const std::string& text);
};

/// Returns the index of the GPU to use.
/// @param local_rank  index of this process on the machine; decides if `name` has no index.
/// @param count       number of GPUs. @throws InvalidArgument  if there is no GPU of that index.
int gpu_index(const DeviceName& name, int local_rank, int count);

/// A matrix in the memory of a GPU; empty until Gpu::upload().
using GpuRows = std::unique_ptr<gpu_module::DeviceRows, void (*)(gpu_module::DeviceRows*)>;

/// Seconds that a GPU was used.
struct GpuSeconds {
  double upload = 0.0;  ///< of all threads together
  double gram = 0.0;    ///< preprocessing and Gram matrices
  double eigenvalues = 0.0;
};

/// A GPU, used through LibTorch in a module that is loaded on construction: programs start without
/// LibTorch. For tests, LIME_GPU_STAND_IN names the device to use instead, "cpu".
class Gpu {
 public:
  /// @param name, local_rank  as gpu_index().
  /// @throws IoError          if the module cannot be loaded, has another version or finds no GPU.
  /// @throws InvalidArgument  as gpu_index().
  explicit Gpu(const DeviceName& name, int local_rank = 0,
               const std::filesystem::path& module = plugin_path("liblime_gpu.so"));

  /// Returns LibTorch's name of the device, "cuda:0".
  const std::string& name() const { return name_; }

  /// Returns no matrix, for upload().
  GpuRows no_rows() const { return {nullptr, module_->release}; }

  /// Copies a matrix to the GPU and waits for that copy only. Thread-safe for different
  /// `on_device`.
  /// @throws IoError  with the reason if the GPU fails, for example for lack of memory.
  void upload(const MatrixF& rows, GpuRows& on_device) const;

  /// Computes the properties of some Gram matrices in double; the header of the module documents
  /// the fields. `seconds` is not used. Threads may upload() at the same time. @throws IoError
  void gram_spectra(gpu_module::GramBatch batch) const;

  /// Returns the seconds of all calls since the last take_seconds().
  GpuSeconds take_seconds() const;

 private:
  void check(const char* failure) const;

  const gpu_module::Module* module_;
  std::string name_;
  mutable std::mutex mutex_;
  mutable GpuSeconds seconds_;
};

}  // namespace lime
