// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "core/program/progress.h"
#include "store/capture_info.h"

namespace lime {

/// Copies a capture into one packed file, written atomically, with memory for a few chunks and the
/// tables of rows and sequences. Verifies every checksum.
/// @throws InvalidArgument  if the capture is incomplete, `out` is part of it or no packed capture,
/// or another process is writing it. @throws IoError, FormatError, Interrupted
void pack_capture(const std::filesystem::path& path, const std::filesystem::path& out,
                  const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

struct CaptureSummary {
  CaptureInfo info;
  std::vector<ActivationInfo> activations;
  std::int64_t num_rows = 0;
  std::int64_t num_sequences = 0;
  std::vector<int> router_layers;
  std::vector<std::filesystem::path> shards;  ///< empty for a packed file
  std::int64_t bytes_on_disk = 0;             ///< shards included
  std::string identity_sha256;  ///< equal for captures of the same inputs, options and datasets
};

/// Returns what a user should know of a capture whose sequences do not all begin as the tokenizer
/// begins every text, in one line; empty if they do, or if that is not known.
std::string missing_prefix(const CaptureInfo& info, std::int64_t num_sequences);

/// @throws as CaptureReader
CaptureSummary summarize_capture(const std::filesystem::path& path);

/// Reads a whole capture, packed or in shards, and verifies every checksum.
/// @return one line per problem (corrupted data with site, layer and rows; missing, foreign or
/// truncated shards; inconsistent tables); empty if the file is intact.
/// @throws IoError, FormatError, Interrupted  if `path` itself cannot be read or is no capture.
std::vector<std::string> verify_capture(const std::filesystem::path& path,
                                        const ProgressFn& on_progress = {},
                                        std::stop_token stop = {});

}  // namespace lime
