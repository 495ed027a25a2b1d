// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/workspace.h"

#include <QFileInfo>
#include <QFileSystemWatcher>
#include <QTimer>
#include <variant>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "explorer/models/found_tokenizer.h"
#include "store/capture_reader.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

constexpr int kMaxRecent = 12;
/// Delay after the last change of a file that is being written before it is read.
constexpr int kRestMs = 200;
constexpr int kReturnMs = 1000;  // between looks for files that are missing

/// A document, or why it cannot be opened.
using Answered = std::variant<Document, QString>;

Answered openOrRefuse(const QString& path, const CaptureLocator& locator) {
  try {
    return openDocument(toPath(path), locator);
  } catch (const std::exception& error) {
    return toQString(error);
  }
}

/// The file that changes when the document does.
std::filesystem::path watchedFile(const Document& document) {
  if (document.kind == DocumentKind::kCheckpoint) return document.checkpoint->files().config;
  return document.path;
}

/// Returns the absolute path that `path`, as the file `from` contains it, means: the first that
/// exists, or all possible ones. A capture may lie in a folder of the one it was made in.
QStringList pathsOf(const std::filesystem::path& path, const std::filesystem::path& from) {
  if (path.empty()) return {};
  const auto near = possiblePaths(path, from);
  std::vector<std::filesystem::path> paths(near.begin(), near.end());
  if (path.is_relative()) {
    for (std::filesystem::path folder = from.parent_path(); folder.has_relative_path();) {
      folder = folder.parent_path();
      paths.push_back((folder / path).lexically_normal());
    }
  }
  QStringList all;
  for (const std::filesystem::path& candidate : paths) {
    const QString text = toQString(candidate);
    if (QFileInfo::exists(text)) return {text};
    all << text;
  }
  return all.mid(0, static_cast<qsizetype>(near.size()));
}

/// Returns what identifies the model of a checkpoint or capture besides its name.
QStringList identityOf(const Document& document) {
  QStringList identity = {toQString(document.path), toQString(watchedFile(document))};
  if (document.capture) identity << toQString(document.capture->info().checkpoint_sha256);
  if (document.capture) {
    identity += pathsOf(checkpointOf(document.capture->info().command), document.path);
  }
  identity.removeAll(QString());  // captures may lack it
  return identity;
}

}  // namespace

Workspace::Workspace(JobRunner& jobs)
    : jobs_(jobs), watcher_(new QFileSystemWatcher(this)), check_(new QTimer(this)) {
  check_->setSingleShot(true);
  connect(check_, &QTimer::timeout, this, &Workspace::checkOnDisk);
  const auto later = [this] { check_->start(kRestMs); };
  connect(watcher_, &QFileSystemWatcher::fileChanged, this, later);
  connect(watcher_, &QFileSystemWatcher::directoryChanged, this, later);
}

Workspace::~Workspace() = default;

void Workspace::open(const QStringList& paths) {
  std::vector<StoredDocument> unopened;
  for (const QString& path : paths) {
    const QString whole = QFileInfo(path).absoluteFilePath();
    const Document* const known = documentAt(toPath(whole));
    if (QFileInfo(path).isFile() && path.endsWith(u".txt"_s)) {
      Q_EMIT textOpened(whole);
    } else if (known == nullptr) {
      unopened.push_back({path});
    } else {
      setCurrent(known->id);
    }
  }
  openNext(std::move(unopened), {}, [this](const QStringList& problems) {
    if (!problems.isEmpty()) Q_EMIT openFailed(problems.join(u'\n'));
  });
}

void Workspace::reopen(const std::vector<StoredDocument>& documents, const Opened& opened) {
  openNext(documents, {}, opened);
}

void Workspace::openNext(std::vector<StoredDocument> files, QStringList problems,
                         const Opened& opened) {
  if (files.empty()) {
    opened(problems);
    Q_EMIT allOpened();
    return;
  }
  const StoredDocument file = files.front();
  files.erase(files.begin());
  jobs_.start<Answered>(
      this, {.title = u"Opening %1"_s.arg(file.path)},
      [path = file.path, locator = locator_](const JobContext&) {
        return openOrRefuse(path, locator);
      },
      [this, file, files, problems, opened](Answered answer) mutable {
        if (const auto* const problem = std::get_if<QString>(&answer)) {
          problems << *problem;
        } else {
          auto& document = std::get<Document>(answer);
          document.is_shown = file.is_shown;
          add(std::move(document), file.label);
        }
        openNext(std::move(files), problems, opened);
      });
}

void Workspace::add(Document document, const QString& label) {
  // A checkpoint may have been named by one of its files.
  if (const Document* const known = documentAt(document.path)) {
    setCurrent(known->id);
    return;
  }
  document.label = label.isEmpty() ? distinctLabel(document) : label;
  document.id = next_id_++;
  colour(document);
  const int id = document.id;
  const QString path = toQString(document.path);
  watch(document);
  documents_.push_back(std::move(document));
  Q_EMIT documentAdded(id);
  remember(path);
  setCurrent(id);
}

QString Workspace::distinctLabel(const Document& document) const {
  const auto isTaken = [&](const QString& label) {
    return std::ranges::any_of(documents_, [&](const Document& other) {
      return other.kind == document.kind && other.label == label;
    });
  };
  if (!isTaken(document.label)) return document.label;
  if (document.kind == DocumentKind::kCheckpoint) {
    const QString revision = shownText(checkpoint_label(document.path, true));
    if (!isTaken(revision)) return revision;
  }
  QString longer = document.label;
  for (auto folder = document.path.parent_path(); folder.has_filename();
       folder = folder.parent_path()) {
    const QString name = shownText(folder.filename().string());
    if (!longer.startsWith(name + u'/')) longer = name + u'/' + longer;
    if (!isTaken(longer)) return longer;
  }
  return document.label;
}

void Workspace::joinNames(const QString& label, QStringList identity) {
  const auto isKnown = [this](const QString& name) { return colours_.knows(name); };
  if (!colours_.knows(label) || std::ranges::none_of(identity, isKnown)) identity << label;
  colours_.join(identity);
}

void Workspace::numberModels(const QStringList& names) {
  for (const QString& name : names) colours_.join({name});
}

void Workspace::colour(Document& document) {
  if (document.results) {
    for (const ResultsInput& input : document.results->results.inputs) {
      joinNames(toQString(input.label), pathsOf(input.path, document.path));
    }
  } else {
    joinNames(uniqueLabel(document), identityOf(document));
    document.colour = colours_.of(toQString(document.path));
  }
  for (Document& other : documents_) {
    const int known = other.results ? -1 : colours_.of(toQString(other.path));
    if (known == other.colour) continue;
    other.colour = known;
    if (other.id != document.id) Q_EMIT documentChanged(other.id);
  }
}

void Workspace::close(int id) {
  const auto closed = std::ranges::find(documents_, id, &Document::id);
  if (closed == documents_.end()) return;
  Q_EMIT documentAboutToBeRemoved(id);
  watcher_->removePath(toQString(watchedFile(*closed)));
  documents_.erase(closed);
  stamps_.remove(id);
  Q_EMIT documentRemoved(id);
  if (current_ == id) setCurrent(documents_.empty() ? 0 : documents_.back().id);
}

void Workspace::closeAll() {
  while (!documents_.empty()) close(documents_.back().id);
  setSelection({});
}

void Workspace::reload(int id) {
  const Document* const document = find(id);
  if (document == nullptr) return;
  const QString path = toQString(document->path);
  jobs_.start<Answered>(
      this, {.title = u"Opening %1"_s.arg(path)},
      [path, locator = locator_](const JobContext&) { return openOrRefuse(path, locator); },
      [this, id](Answered answer) {
        if (const auto* const problem = std::get_if<QString>(&answer)) {
          Q_EMIT openFailed(*problem);
          return;
        }
        const auto old = std::ranges::find(documents_, id, &Document::id);
        if (old == documents_.end()) return;
        auto fresh = std::get<Document>(std::move(answer));
        fresh.id = id;
        fresh.colour = old->colour;
        fresh.label = old->label;
        fresh.is_shown = old->is_shown;
        *old = std::move(fresh);
        watch(*old);
        Q_EMIT documentChanged(id);
      });
}

void Workspace::locateCapture(int id, const QString& path) {
  const Document* const document = find(id);
  if (document == nullptr || document->missing_captures.empty()) return;
  const ResultsInput input =
      document->results->results.inputs.at(document->missing_captures.front());
  jobs_.start<bool>(
      this, {.title = u"Opening %1"_s.arg(path), .is_shown = false},
      [input, path](const JobContext&) {
        checkIsCaptureOf(input, toPath(path));
        return true;
      },
      [this, id, input, path, results = document->path](bool) {
        locator_.add(input, results, toPath(path));
        reload(id);
      },
      [this](const QString& problem) { Q_EMIT openFailed(problem); });
}

void Workspace::rename(int id, const QString& label) {
  const auto renamed = std::ranges::find(documents_, id, &Document::id);
  if (renamed == documents_.end() || label.isEmpty() || renamed->label == label) return;
  renamed->label = label;
  if (!renamed->results) colour(*renamed);
  Q_EMIT documentChanged(id);
}

void Workspace::setShown(int id, bool is_shown) {
  const auto found = std::ranges::find(documents_, id, &Document::id);
  if (found == documents_.end() || found->is_shown == is_shown) return;
  found->is_shown = is_shown;
  Q_EMIT documentChanged(id);
}

void Workspace::hide(const QString& label) {
  for (const Document& document : documents_) {
    if (uniqueLabel(document) == label) setShown(document.id, false);
  }
}

const Document* Workspace::find(int id) const {
  const auto found = std::ranges::find(documents_, id, &Document::id);
  return found == documents_.end() ? nullptr : &*found;
}

const Document* Workspace::documentAt(const std::filesystem::path& path) const {
  const auto found = std::ranges::find(documents_, path, &Document::path);
  return found == documents_.end() ? nullptr : &*found;
}

std::vector<const Document*> Workspace::documentsOf(DocumentKind kind) const {
  std::vector<const Document*> found;
  for (const Document& document : documents_) {
    if (document.kind == kind && document.is_shown) found.push_back(&document);
  }
  return found;
}

bool Workspace::isOpen(const std::shared_ptr<const CaptureReader>& capture) const {
  return std::ranges::find(documents_, capture, &Document::capture) != documents_.end();
}

OpenInputs Workspace::openInputs() const {
  OpenInputs inputs{.captures = {}, .checkpoints = {}, .locator = locator_};
  for (const Document& document : documents_) {
    if (document.capture) inputs.captures[document.path] = document.capture;
    if (document.checkpoint) inputs.checkpoints.push_back(document.path);
  }
  return inputs;
}

QString Workspace::uniqueLabel(const Document& document) const {
  const auto earlier = std::ranges::count_if(documents_, [&](const Document& other) {
    return other.kind == document.kind && other.id < document.id && other.label == document.label;
  });
  return earlier == 0 ? document.label : u"%1 (%2)"_s.arg(document.label).arg(earlier + 1);
}

void Workspace::setCurrent(int id) {
  if (current_ == id || (id != 0 && find(id) == nullptr)) return;
  current_ = id;
  Q_EMIT currentChanged(id);
}

void Workspace::setSelection(const Selection& selection) {
  if (selection_ == selection) return;
  selection_ = selection;
  Q_EMIT selectionChanged(selection_);
}

void Workspace::selectTokens(TokenSelection tokens) {
  Selection selection = selection_;
  selection.tokens = std::move(tokens);
  setSelection(selection);
}

void Workspace::setWindow(const QString& quantity, const std::optional<AxisWindow>& window) {
  if (this->window(quantity) == window) return;
  windows_[quantity] = window;
  Q_EMIT windowChanged(quantity);
}

void Workspace::setRecent(const QStringList& paths) {
  recent_ = paths.mid(0, kMaxRecent);
  Q_EMIT recentChanged();
}

void Workspace::remember(const QString& path) {
  QStringList paths = recent_;
  paths.removeAll(path);
  paths.prepend(path);
  setRecent(paths);
}

void Workspace::watch(const Document& document) {
  const QString file = toQString(watchedFile(document));
  if (QFileInfo::exists(file)) watcher_->addPath(file);
  stamps_[document.id] = stampOf(document);
}

Workspace::Stamp Workspace::stampOf(const Document& document) {
  const QFileInfo file(toQString(watchedFile(document)));
  return {file.lastModified(), file.isDir() ? 0 : file.size()};
}

void Workspace::checkOnDisk() {
  std::vector<int> changed;
  for (Document& document : documents_) {
    const Stamp stamp = stampOf(document);
    const DocumentState state = !stamp.first.isValid()                ? DocumentState::kMissing
                                : stamp == stamps_.value(document.id) ? DocumentState::kPresent
                                                                      : DocumentState::kRewritten;
    // A file that was replaced is no longer watched.
    if (stamp.first.isValid()) watcher_->addPath(toQString(watchedFile(document)));
    if (state == document.state) continue;
    document.state = state;
    changed.push_back(document.id);
  }
  for (const int id : changed) Q_EMIT documentChanged(id);
  const auto missing = std::ranges::find(documents_, DocumentState::kMissing, &Document::state);
  if (missing != documents_.end()) check_->start(kReturnMs);
}

}  // namespace lime::explorer
