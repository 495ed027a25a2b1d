// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "explorer/models/capture_locator.h"

namespace lime {
class CaptureReader;
class Checkpoint;
struct FigureSource;
}  // namespace lime

namespace lime::explorer {

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

/// Opens a checkpoint folder or a file in one (config.json, weights), a capture, results of
/// lime-metrics, or a training log, detected from content. Reads only what the outline needs, but
/// all of results. May be called from any thread.
/// @throws IoError, FormatError  with one line that names what is there instead
Document openDocument(const std::filesystem::path& path, const CaptureLocator& locator = {});

}  // namespace lime::explorer
