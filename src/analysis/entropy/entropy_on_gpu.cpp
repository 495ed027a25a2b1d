// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_on_gpu.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/engine/token_sequences.h"
#include "core/errors.h"
#include "core/memory.h"
#include "core/program/launcher.h"
#include "core/program/progress.h"

namespace lime {
namespace {

/// Reserve for data smaller than the sequences: chunks of the file, spectra, tables.
constexpr std::int64_t kOtherBytes = std::int64_t{16} << 20;
constexpr double kMebibyte = 1048576.0;

std::vector<std::int64_t> lengths_of(const CaptureReader& capture, std::int64_t count) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < count; ++i) lengths.push_back(num_tokens(capture, i));
  return lengths;
}

SequenceExtent extent_of(std::span<const ChosenCapture> captures,
                         std::optional<std::int64_t> max_sequences) {
  SequenceExtent extent;
  for (const ChosenCapture& capture : captures) {
    const std::vector<std::int64_t> lengths =
        lengths_of(capture.reader, num_sequences_used(capture.reader, max_sequences));
    for (const auto& [site, layers] : capture.parts) {
      for (const int layer : layers) extent.include(lengths, capture.reader.dim(site, layer));
    }
  }
  return extent;
}

/// Pinned memory that the batches may have: a quarter of the remaining memory. Whether the system
/// counts it as resident is up to CUDA, so half must stay in either case.
std::int64_t staging_bytes(const SequenceExtent& extent, const RunOptions& run) {
  const std::int64_t held = resident_memory();
  const std::int64_t left = run.memory_limit ? run.memory_limit->bytes - held : available_memory();
  const std::int64_t needed = 2 * GpuEntropies::least_staging_bytes(extent) + kOtherBytes;
  if (left >= needed) return left / 4;
  const auto bytes = static_cast<double>(needed);
  throw InvalidArgument(
      "memory_limit: a sequence of up to {} tokens and {} dimensions needs {} of host memory for "
      "its transfer to the GPU, and program and CUDA use {}; set --memory-limit to {:.0f}MiB or "
      "more",
      extent.max_tokens, extent.max_dim, human_bytes(bytes), human_bytes(static_cast<double>(held)),
      std::ceil((bytes * 1.05 + static_cast<double>(held)) / kMebibyte));
}

}  // namespace

EntropyGpu open_entropy_gpu(const DeviceName& device, const EntropyOptions& options,
                            std::span<const ChosenCapture> captures,
                            std::optional<std::int64_t> max_sequences, const RunOptions& run) {
  const std::optional<LaunchPlace> place = launch_place();
  const Gpu gpu(device, place ? place->local_rank : 0);
  const SequenceExtent extent = extent_of(captures, max_sequences);
  EntropyGpu opened{.name = gpu.name(), .staging_bytes = 0, .entropies = nullptr};
  opened.entropies =
      std::make_unique<GpuEntropies>(gpu, options, extent, staging_bytes(extent, run));
  opened.staging_bytes =
      opened.entropies->batch() * GpuEntropies::least_staging_bytes(extent) + kOtherBytes / 2;
  return opened;
}

SequenceEntropies measure_layer_on_gpu(const EntropyGpu& gpu, const CaptureReader& capture,
                                       const std::string& site, int layer, std::int64_t count,
                                       const std::optional<Standardization>& standardization,
                                       const UnitContext& context) {
  SizedSequences sequences{.num_tokens = lengths_of(capture, count),
                           .dim = capture.dim(site, layer),
                           .read = [&](std::int64_t index, std::span<float> rows) {
                             const auto at = static_cast<std::size_t>(index);
                             capture.read_rows(site, layer, capture.offsets()[at],
                                               sequences.num_tokens[at], rows);
                           }};
  return gpu.entropies->compute(sequences, standardization, context.pool, context.on_progress,
                                context.stop);
}

}  // namespace lime
