// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDateTime>
#include <QHash>
#include <QObject>
#include <QString>
#include <QStringList>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "explorer/models/axis_window.h"
#include "explorer/models/capture_locator.h"
#include "explorer/models/document.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/model_colours.h"
#include "explorer/models/open_inputs.h"
#include "explorer/models/selection.h"

class QFileSystemWatcher;
class QTimer;

namespace lime::explorer {

/// A document as a session stores it.
struct StoredDocument {
  QString path;
  QString label = {};  ///< empty: that of a document that is opened for the first time
  bool is_shown = true;
};

/// The open documents and the selection: the state that all views share.
///
/// Documents are opened in a worker thread and appear when their outline is known. Lives on the GUI
/// thread.
class Workspace : public QObject {
  Q_OBJECT

 public:
  explicit Workspace(JobRunner& jobs);
  ~Workspace() override;

  /// Opens these paths in this order; one that is open already only becomes current.
  void open(const QStringList& paths);
  /// Called when all files have been opened. @param problems  a line per file that could not be
  using Opened = std::function<void(const QStringList& problems)>;
  /// Opens the documents of an earlier session likewise, with their labels, then calls `opened` in
  /// place of openFailed().
  void reopen(const std::vector<StoredDocument>& documents, const Opened& opened);
  void close(int id);
  void closeAll();
  /// Reloads the document, e.g. after it was rewritten; keeps id and colour.
  void reload(int id);
  /// Locates the first missing capture of the results `id` at `path`, if it is a capture of that
  /// text, remembers it, and reloads the results.
  void locateCapture(int id, const QString& path);
  const CaptureLocator& locator() const { return locator_; }
  /// Sets the captures that were located in earlier sessions.
  void setMoves(const CaptureLocator::Moves& moves) { locator_.moves = moves; }
  void rename(int id, const QString& label);
  /// Shows a document in the views, or hides it there; it stays open.
  void setShown(int id, bool is_shown);
  /// Hides the documents with this uniqueLabel(): the curves of a model.
  void hide(const QString& label);

  const std::vector<Document>& documents() const { return documents_; }  ///< as opened
  const Document* find(int id) const;
  const Document* documentAt(const std::filesystem::path& path) const;  ///< null: not open
  /// Lists the documents of a kind that are shown, as opened.
  std::vector<const Document*> documentsOf(DocumentKind kind) const;
  /// Returns the number of the colour that a model has in every view; -1 if no document names it.
  int colourOf(const QString& model) const { return colours_.of(model); }
  /// Gives models the next colours in this order, before documents name them.
  void numberModels(const QStringList& names);
  /// Returns the label, numbered where an earlier document of the kind has the same one, as after
  /// renaming: "a (2)".
  QString uniqueLabel(const Document& document) const;
  bool isOpen(const std::shared_ptr<const CaptureReader>& capture) const;
  OpenInputs openInputs() const;

  /// Returns the document that views of one document show first; 0: none.
  int current() const { return current_; }
  void setCurrent(int id);

  const Selection& selection() const { return selection_; }
  /// Sets the selection, and notifies every view, the caller included.
  void setSelection(const Selection& selection);
  void selectTokens(TokenSelection tokens);  ///< the rest stays

  /// Returns the visible part of the axis of `quantity` ("layer", "position"): views whose axes
  /// have the same quantity zoom together. Nothing: all of it.
  std::optional<AxisWindow> window(const QString& quantity) const {
    return windows_.value(quantity);
  }
  void setWindow(const QString& quantity, const std::optional<AxisWindow>& window);

  const QStringList& recent() const { return recent_; }  ///< the latest first
  void setRecent(const QStringList& paths);

 Q_SIGNALS:
  void documentAdded(int id);
  void documentAboutToBeRemoved(int id);
  void documentRemoved(int id);
  /// The label, the state on disk or, after a reload, everything of a document changed.
  void documentChanged(int id);
  void currentChanged(int id);
  void selectionChanged(const lime::explorer::Selection& selection);
  void windowChanged(const QString& quantity);
  void recentChanged();
  /// The user opened a text (.txt), which is no document.
  void textOpened(const QString& path);
  /// All paths of open() or reopen() were opened, or could not be.
  void allOpened();
  /// @param message  a line per file that could not be opened
  void openFailed(const QString& message);

 private:
  /// Opens the files in turn, a job each: the window is not blocked while views take them in.
  /// @param problems  of the files before
  void openNext(std::vector<StoredDocument> files, QStringList problems, const Opened& opened);
  /// Adds what openDocument() opened, or makes it current where it is open already. @param label
  /// replaces its own if it is not empty
  void add(Document document, const QString& label);
  /// Watches the file of a document as it is now.
  void watch(const Document& document);
  /// Tells the colours what a document names: its own model, or those that results were measured
  /// on. Documents whose colour changes with it are notified.
  void colour(Document& document);
  /// Joins the names of a model. @param label  joined too, unless the others are known and it is
  /// that of another model
  void joinNames(const QString& label, QStringList identity);
  /// Returns a label that no other document of this kind has, if folders of the path make one.
  QString distinctLabel(const Document& document) const;
  void checkOnDisk();
  void remember(const QString& path);

  /// The time of the last change of a file, invalid without one, and its size.
  using Stamp = std::pair<QDateTime, qint64>;
  static Stamp stampOf(const Document& document);

  JobRunner& jobs_;
  CaptureLocator locator_;
  QFileSystemWatcher* watcher_;
  QTimer* check_;
  std::vector<Document> documents_;
  QHash<int, Stamp> stamps_;
  ModelColours colours_;  ///< by labels, paths and checksums
  int next_id_ = 1;
  int current_ = 0;
  Selection selection_;
  QHash<QString, std::optional<AxisWindow>> windows_;
  QStringList recent_;
};

}  // namespace lime::explorer
