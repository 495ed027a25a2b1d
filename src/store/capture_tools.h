// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "core/progress.h"
#include "store/capture_info.h"

namespace lime {

/// Reads all of a capture, packed or in shards, and tests every checksum.
///
/// @return one line per problem (flipped bytes with site, layer and rows; missing, foreign or cut
///         short shards; tables at odds with each other); empty if the file is whole.
/// @throws IoError      if `path` itself cannot be read.
/// @throws FormatError  if `path` is not a capture, cut short or of a later schema.
/// @throws Interrupted
std::vector<std::string> verify_capture(const std::filesystem::path& path,
                                        const ProgressFn& on_progress = {},
                                        std::stop_token stop = {});

/// Copies a capture into one plain file, whole or not at all, in memory of a few chunks beside the
/// rows' and sequences' tables. Tests every checksum on the way.
/// @throws InvalidArgument  if `out` is the capture itself or one of its shards, or exists and is
///                          no packed capture, or another process is writing it; if the capture is
///                          not complete.
/// @throws IoError, FormatError, Interrupted
void pack_capture(const std::filesystem::path& path, const std::filesystem::path& out,
                  const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

/// What `lime-capture info` prints.
struct CaptureSummary {
  CaptureInfo info;
  std::vector<ActivationInfo> activations;
  std::int64_t num_rows = 0;
  std::int64_t num_sequences = 0;
  std::vector<int> router_layers;
  std::vector<std::filesystem::path> shards;  ///< empty for one plain file
  std::int64_t bytes_on_disk = 0;             ///< shards included
  std::string identity_sha256;  ///< equal for captures of the same inputs, options and datasets
};

/// @throws as CaptureReader
CaptureSummary summarize_capture(const std::filesystem::path& path);

}  // namespace lime
