// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "explorer/models/capture_locator.h"

namespace lime {
class CaptureReader;
struct ResultsInput;
}  // namespace lime

namespace lime::explorer {

/// The open captures and checkpoints, for jobs that need the capture or the tokenizer of results.
struct OpenInputs {
  std::map<std::filesystem::path, std::shared_ptr<const CaptureReader>> captures;
  std::vector<std::filesystem::path> checkpoints;
  CaptureLocator locator = {};

  /// Returns the open capture at `path`, else opens it. @throws IoError, FormatError
  std::shared_ptr<const CaptureReader> captureAt(const std::filesystem::path& path) const;
  /// Returns the capture that results name; null where it no longer exists. Not for the GUI thread.
  /// @throws IoError, FormatError
  std::shared_ptr<const CaptureReader> captureOf(const ResultsInput& input,
                                                 const std::filesystem::path& results) const;
};

}  // namespace lime::explorer
