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

/// Finds the captures that results were measured on: where they lay then, seen from here or from
/// the results' folder, beside the results, or where somebody has said that they are now.
///
/// A value: jobs take a copy.
class CaptureLocator {
 public:
  /// By where a capture lay, seen from the results: where it is now.
  using Moves = QMap<QString, QString>;

  const Moves& moves() const { return moves_; }
  void setMoves(Moves moves) { moves_ = std::move(moves); }
  /// Remembers that what `input` of the results at `results` names is at `now`.
  void add(const ResultsInput& input, const std::filesystem::path& results,
           const std::filesystem::path& now);

  /// Where the capture is. Of one that has not been located, a file of its name and text in a
  /// folder in which others have been. Opens files: not for the GUI thread.
  std::optional<std::filesystem::path> find(const ResultsInput& input,
                                            const std::filesystem::path& results) const;

 private:
  Moves moves_;
};

/// Whether an input of results is a capture; others are checkpoints and further results.
bool isCaptureInput(const ResultsInput& input);

/// @throws FormatError  where `now` is no capture, or one of another text than `input` was.
/// @throws IoError
void checkIsCaptureOf(const ResultsInput& input, const std::filesystem::path& now);

}  // namespace lime::explorer
