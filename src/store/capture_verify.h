// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "core/program/progress.h"

namespace lime {

/// Reads a whole capture, packed or in shards, and verifies every checksum.
///
/// @return one line per problem (corrupted data with site, layer and rows; missing, foreign or
///         truncated shards; inconsistent tables); empty if the file is intact.
/// @throws IoError      if `path` itself cannot be read.
/// @throws FormatError  if `path` is not a capture, is truncated or has a later schema.
/// @throws Interrupted
std::vector<std::string> verify_capture(const std::filesystem::path& path,
                                        const ProgressFn& on_progress = {},
                                        std::stop_token stop = {});

}  // namespace lime
