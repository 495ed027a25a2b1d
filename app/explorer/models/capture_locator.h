// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMap>
#include <QString>
#include <filesystem>
#include <optional>

namespace lime {
struct ResultsInput;
}  // namespace lime

namespace lime::explorer {

/// Finds the captures of results: at their stored paths, relative to the current folder or to that
/// of the results, beside the results, or where the user located them.
class CaptureLocator {
 public:
  /// Maps the former path of a capture, relative to the results, to the present one.
  using Moves = QMap<QString, QString>;

  const Moves& moves() const { return moves_; }
  void setMoves(Moves moves) { moves_ = std::move(moves); }
  /// Remembers that what `input` of the results at `results` names is at `now`.
  void add(const ResultsInput& input, const std::filesystem::path& results,
           const std::filesystem::path& now);

  /// Returns the path of the capture. One that was not located is searched in the folders of others
  /// that were, by name and text. Opens files: not for the GUI thread.
  std::optional<std::filesystem::path> find(const ResultsInput& input,
                                            const std::filesystem::path& results) const;

 private:
  Moves moves_;
};

/// Returns whether an input of results is a capture; others are checkpoints and further results.
bool isCaptureInput(const ResultsInput& input);

/// @throws FormatError  where `now` is no capture, or one of another text than `input` was.
/// @throws IoError
void checkIsCaptureOf(const ResultsInput& input, const std::filesystem::path& now);

}  // namespace lime::explorer
