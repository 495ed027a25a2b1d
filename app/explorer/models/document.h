// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QVariantMap>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "explorer/models/text.h"

namespace lime {
class CaptureReader;
class Checkpoint;
struct FigureSource;
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

/// Returns the possible paths of an input of results, absolute: as given, relative to the results,
/// or beside them.
std::array<std::filesystem::path, 3> possiblePaths(const std::filesystem::path& input,
                                                   const std::filesystem::path& results);

/// Returns whether an input of results is a capture; others are checkpoints and further results.
bool isCaptureInput(const ResultsInput& input);

/// Checks that `now` is a capture of the same text as `input`. @throws FormatError  if it is not.
/// @throws IoError
void checkIsCaptureOf(const ResultsInput& input, const std::filesystem::path& now);

enum class DocumentKind { kCheckpoint, kCapture, kResults };

QString kindName(DocumentKind kind);

/// The state of the file of a document on disk.
enum class DocumentState {
  kPresent,
  kRewritten,  ///< changed since it was opened: what is shown is what it was, or no longer whole
  kMissing,    ///< deleted or moved
};

/// One line of a document's outline: "layers", "16".
struct Fact {
  QString name;
  QString value;
};

/// An open checkpoint folder, capture or results file. Exactly one of the three pointers is set,
/// after its kind; each may be used from any thread.
struct Document {
  int id = 0;  ///< of the workspace, never used again; 0 before it is added
  DocumentKind kind = DocumentKind::kCheckpoint;
  std::filesystem::path path;  ///< absolute: of a checkpoint the folder
  QString label;               ///< in legends and lists
  int colour = -1;             ///< of the model, see Workspace::colourOf(); of results -1
  DocumentState state = DocumentState::kPresent;
  bool is_shown = true;  ///< in the views
  std::vector<Fact> outline = {};
  /// Numbers of the inputs of results that are captures and no longer exist.
  std::vector<std::size_t> missing_captures = {};
  std::shared_ptr<const Checkpoint> checkpoint = {};
  std::shared_ptr<const CaptureReader> capture = {};
  std::shared_ptr<const FigureSource> results = {};
};

/// Returns the sites of a capture whose rows are representations, see is_representation().
std::vector<std::string> representationsOf(const CaptureReader& capture);

/// Returns whether a capture contains every token of its sequences.
bool hasWholeSequences(const CaptureReader& capture);

/// Opens a checkpoint folder or a file in one (config.json, weights), a capture, results of
/// lime-metrics, or a training log, detected from content. Reads only what the outline needs, but
/// all of results. May be called from any thread.
/// @throws IoError, FormatError  with one line that names what is there instead
Document openDocument(const std::filesystem::path& path, const CaptureLocator& locator = {});

}  // namespace lime::explorer
