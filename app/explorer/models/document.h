// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMetaType>
#include <QString>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "explorer/models/capture_locator.h"

namespace lime {
class Checkpoint;
class CaptureReader;
struct FigureSource;
}  // namespace lime

namespace lime::explorer {

enum class DocumentKind { kCheckpoint, kCapture, kResults };

/// "checkpoint", "capture", "results".
QString kindName(DocumentKind kind);

/// Whether what was opened is still what lies on disk.
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

/// Something opened: a checkpoint folder, a capture or a results file. Holds its outline and what
/// reads the rest; exactly one of the three pointers is set, after its kind. All of them may be
/// used from any thread.
struct Document {
  int id = 0;  ///< of the workspace, never used again; 0 before it is added
  DocumentKind kind = DocumentKind::kCheckpoint;
  std::filesystem::path path;  ///< absolute: of a checkpoint the folder
  QString label;               ///< in legends and lists
  int colour = 0;              ///< number of the class palette; equal labels share one
  DocumentState state = DocumentState::kPresent;
  std::vector<Fact> outline;
  /// Of results: numbers of the inputs that are captures and not where they were.
  std::vector<std::size_t> missing_captures;
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const CaptureReader> capture;
  std::shared_ptr<const FigureSource> results;
};

/// Opens what lies at `path`, told by its content, not by its name: a checkpoint folder or a file
/// in one (config.json, weights), a capture, results of lime-metrics, or a training log. Reads only
/// what the outline needs; of results, which are small, all. May be called from any thread.
/// @throws IoError, FormatError  with one line that says what is there instead.
Document openDocument(const std::filesystem::path& path, const CaptureLocator& locator = {});

}  // namespace lime::explorer
