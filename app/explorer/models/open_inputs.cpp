// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/open_inputs.h"

#include <optional>

#include "explorer/models/whole_path.h"
#include "store/capture_reader.h"

namespace lime::explorer {

std::shared_ptr<const CaptureReader> OpenInputs::captureAt(
    const std::filesystem::path& path) const {
  const auto open = captures.find(wholePath(path));
  return open != captures.end() ? open->second : std::make_shared<const CaptureReader>(path);
}

std::shared_ptr<const CaptureReader> OpenInputs::captureOf(
    const ResultsInput& input, const std::filesystem::path& results) const {
  const std::optional<std::filesystem::path> path = locator.find(input, results);
  return path ? captureAt(*path) : nullptr;
}

}  // namespace lime::explorer
