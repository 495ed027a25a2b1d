// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "analysis/engine/analysis.h"
#include "analysis/engine/capture_set.h"
#include "analysis/engine/run_options.h"
#include "metrics/entropy/gpu_entropies.h"

namespace lime {

/// The GPU that all units of an entropy analysis share, one after another.
struct EntropyGpu {
  std::string name;                ///< "cuda:0 (NVIDIA H200)"
  std::int64_t staging_bytes = 0;  ///< of host memory that it holds
  std::unique_ptr<GpuEntropies> entropies;
};

/// Opens the GPU `device` and allocates the memory that the largest layer of `captures` needs
/// there.
/// @param max_sequences  of each capture; unset: all.
/// @throws InvalidArgument  if there is no such GPU, the options have no form for it, or
///                          `--memory-limit` is too small.
/// @throws IoError          if there is no CUDA, or the GPU's memory is too small.
EntropyGpu open_entropy_gpu(const DeviceName& device, const EntropyOptions& options,
                            std::span<const ChosenCapture> captures,
                            std::optional<std::int64_t> max_sequences, const RunOptions& run);

/// Returns the entropies of the first `count` sequences of one layer.
SequenceEntropies measure_layer_on_gpu(const EntropyGpu& gpu, const CaptureReader& capture,
                                       const std::string& site, int layer, std::int64_t count,
                                       const std::optional<Standardization>& standardization,
                                       const UnitContext& context);

}  // namespace lime
