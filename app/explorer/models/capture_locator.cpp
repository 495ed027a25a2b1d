// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/capture_locator.h"

#include <QVariant>
#include <set>
#include <system_error>

#include "core/errors.h"
#include "explorer/models/text.h"
#include "explorer/models/whole_path.h"
#include "store/capture_reader.h"
#include "store/results_file.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

bool isThere(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

QString keyOf(const ResultsInput& input, const fs::path& results) {
  return toQString(wholePath(results.parent_path() / input.path));
}

}  // namespace

void CaptureLocator::add(const ResultsInput& input, const fs::path& results, const fs::path& now) {
  moves.insert(keyOf(input, results), toQString(wholePath(now)));
}

std::optional<fs::path> CaptureLocator::find(const ResultsInput& input,
                                             const fs::path& results) const {
  const fs::path moved = toPath(moves.value(keyOf(input, results)).toString());
  if (!moved.empty() && isThere(moved)) return moved;
  for (const fs::path& candidate : possiblePaths(input.path, results)) {
    if (isThere(candidate)) return candidate;
  }
  std::set<fs::path> folders;
  for (const QVariant& now : moves) folders.insert(toPath(now.toString()).parent_path());
  for (const fs::path& folder : folders) {
    const fs::path candidate = folder / fs::path(input.path).filename();
    if (!isThere(candidate)) continue;
    try {
      checkIsCaptureOf(input, candidate);
      return candidate;
    } catch (const Error&) {
      continue;  // of another text
    }
  }
  return std::nullopt;
}

std::array<fs::path, 3> possiblePaths(const fs::path& input, const fs::path& results) {
  const fs::path folder = results.parent_path();
  return {wholePath(input), wholePath(folder / input), wholePath(folder / input.filename())};
}

bool isCaptureInput(const ResultsInput& input) {
  return !input.text_sha256.empty() || fs::path(input.path).extension() == ".h5";
}

void checkIsCaptureOf(const ResultsInput& input, const fs::path& now) {
  const CaptureReader capture(now);
  if (input.text_sha256.empty() || capture.info().input_sha256 == input.text_sha256) return;
  throw FormatError(
      "'{}': must be a capture of the same text as '{}'; select the capture that the results were "
      "measured on",
      now.string(), input.path);
}

}  // namespace lime::explorer
