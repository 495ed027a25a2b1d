// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"

namespace lime {

/// Returns the capture of the tokens, layers and `sites` of `capture` by the config of `checkpoint`
/// with random weights, drawn with run.seed: NAME.random-SEED.h5 beside it. Runs lime-capture, as
/// this library has no LibTorch, unless a former run made it.
/// @param sites  empty: all of the capture
/// @throws InvalidArgument  if lime-capture fails, whose message is then on standard error, or the
///         file exists with other content. @throws Interrupted
std::filesystem::path random_capture(const std::filesystem::path& capture,
                                     std::vector<std::string> sites,
                                     const std::filesystem::path& checkpoint, const RunOptions& run,
                                     const std::stop_token& stop);

}  // namespace lime
