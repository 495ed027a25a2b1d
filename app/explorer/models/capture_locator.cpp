// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/capture_locator.h"

#include <set>
#include <system_error>

#include "core/errors.h"
#include "explorer/models/text.h"
#include "store/capture_reader.h"
#include "store/results_file.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

fs::path wholePath(const fs::path& path) {
  std::error_code error;
  return fs::absolute(path, error).lexically_normal();
}

bool isThere(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

QString keyOf(const ResultsInput& input, const fs::path& results) {
  return toQString(wholePath(results.parent_path() / input.path));
}

bool isCaptureOf(const ResultsInput& input, const fs::path& path) {
  try {
    checkIsCaptureOf(input, path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void CaptureLocator::add(const ResultsInput& input, const fs::path& results, const fs::path& now) {
  moves_.insert(keyOf(input, results), toQString(wholePath(now)));
}

std::optional<fs::path> CaptureLocator::find(const ResultsInput& input,
                                             const fs::path& results) const {
  const auto moved = moves_.constFind(keyOf(input, results));
  if (moved != moves_.constEnd() && isThere(toPath(*moved))) return toPath(*moved);
  const fs::path named = input.path;
  for (const fs::path& candidate :
       {named, results.parent_path() / named, results.parent_path() / named.filename()}) {
    if (isThere(candidate)) return wholePath(candidate);
  }
  std::set<fs::path> folders;
  for (const QString& now : moves_) folders.insert(toPath(now).parent_path());
  for (const fs::path& folder : folders) {
    const fs::path candidate = folder / named.filename();
    if (isThere(candidate) && isCaptureOf(input, candidate)) return candidate;
  }
  return std::nullopt;
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
