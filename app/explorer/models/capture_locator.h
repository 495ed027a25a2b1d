// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QVariantMap>
#include <array>
#include <filesystem>
#include <optional>

namespace lime {
struct ResultsInput;
}  // namespace lime

namespace lime::explorer {

/// Finds the captures of results: at possiblePaths(), or where the user located them.
struct CaptureLocator {
  /// Maps the former path of a capture, relative to the results, to the present one.
  using Moves = QVariantMap;
  Moves moves = {};

  /// Remembers that what `input` of the results at `results` names is at `now`.
  void add(const ResultsInput& input, const std::filesystem::path& results,
           const std::filesystem::path& now);

  /// Returns the path of the capture. One that was not located is searched in the folders of others
  /// that were, by name and text. Opens files: not for the GUI thread.
  std::optional<std::filesystem::path> find(const ResultsInput& input,
                                            const std::filesystem::path& results) const;
};

/// Returns the possible paths of an input of results, absolute: as given, relative to the results,
/// or beside them.
std::array<std::filesystem::path, 3> possiblePaths(const std::filesystem::path& input,
                                                   const std::filesystem::path& results);

/// Returns whether an input of results is a capture; others are checkpoints and further results.
bool isCaptureInput(const ResultsInput& input);

/// Checks that `now` is a capture of the same text as `input`. @throws FormatError  if it is not.
/// @throws IoError
void checkIsCaptureOf(const ResultsInput& input, const std::filesystem::path& now);

}  // namespace lime::explorer
