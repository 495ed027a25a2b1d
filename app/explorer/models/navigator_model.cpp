// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/navigator_model.h"

#include <QFont>
#include <algorithm>

#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

constexpr int kNumKinds = 3;
/// An index of a kind has internal id 0, one of a document 1 + kind, and one of a line of its
/// outline the document's id above those.
constexpr quintptr kFirstOfFacts = 16;

QString kindTitle(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::kCheckpoint:
      return QStringLiteral("Checkpoints");
    case DocumentKind::kCapture:
      return QStringLiteral("Captures");
    case DocumentKind::kResults:
      return QStringLiteral("Results");
  }
  return {};
}

QString stateWords(DocumentState state) {
  switch (state) {
    case DocumentState::kPresent:
      return {};
    case DocumentState::kRewritten:
      return QStringLiteral("Changed on disk since it was opened. Press F5 to reload it.");
    case DocumentState::kMissing:
      return QStringLiteral("Deleted, moved or renamed.");
  }
  return {};
}

QString toolTipOf(const Document& document) {
  QString text = toQString(document.path);
  for (const Fact& fact : document.outline) {
    text += QStringLiteral("\n%1: %2").arg(fact.name, fact.value);
  }
  const QString state = stateWords(document.state);
  return state.isEmpty() ? text : text + QStringLiteral("\n\n") + state;
}

}  // namespace

NavigatorModel::NavigatorModel(Workspace& workspace, QObject* parent)
    : QAbstractItemModel(parent), workspace_(workspace) {
  for (const Document& document : workspace_.documents()) {
    idsOf(document.kind).push_back(document.id);
    facts_.insert(document.id, static_cast<int>(document.outline.size()));
  }
  connect(&workspace_, &Workspace::documentAdded, this, &NavigatorModel::add);
  connect(&workspace_, &Workspace::documentAboutToBeRemoved, this, &NavigatorModel::remove);
  connect(&workspace_, &Workspace::documentChanged, this, &NavigatorModel::change);
}

std::vector<int>& NavigatorModel::idsOf(DocumentKind kind) {
  return ids_[static_cast<std::size_t>(kind)];
}

const std::vector<int>& NavigatorModel::idsOf(DocumentKind kind) const {
  return ids_[static_cast<std::size_t>(kind)];
}

QModelIndex NavigatorModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  if (!parent.isValid()) return createIndex(row, column, quintptr{0});
  if (parent.internalId() == 0) {
    return createIndex(row, column, quintptr{1} + static_cast<quintptr>(parent.row()));
  }
  const Document* const document = documentAt(parent);
  return createIndex(row, column, kFirstOfFacts + static_cast<quintptr>(document->id));
}

QModelIndex NavigatorModel::parent(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == 0) return {};
  if (index.internalId() < kFirstOfFacts) {
    return createIndex(static_cast<int>(index.internalId()) - 1, 0, quintptr{0});
  }
  return indexOfDocument(static_cast<int>(index.internalId() - kFirstOfFacts));
}

int NavigatorModel::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return kNumKinds;
  if (parent.column() != 0) return 0;
  if (parent.internalId() == 0) {
    return static_cast<int>(idsOf(static_cast<DocumentKind>(parent.row())).size());
  }
  if (parent.internalId() >= kFirstOfFacts) return 0;
  const Document* const document = documentAt(parent);
  return document == nullptr ? 0 : facts_.value(document->id);
}

int NavigatorModel::columnCount(const QModelIndex&) const { return 1; }

const Document* NavigatorModel::documentAt(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == 0) return nullptr;
  if (index.internalId() >= kFirstOfFacts) {
    return workspace_.find(static_cast<int>(index.internalId() - kFirstOfFacts));
  }
  const std::vector<int>& ids = idsOf(static_cast<DocumentKind>(index.internalId() - 1));
  const auto row = static_cast<std::size_t>(index.row());
  return row < ids.size() ? workspace_.find(ids[row]) : nullptr;
}

QModelIndex NavigatorModel::indexOfDocument(int id) const {
  for (int kind = 0; kind < kNumKinds; ++kind) {
    const std::vector<int>& ids = ids_[kind];
    const auto found = std::find(ids.begin(), ids.end(), id);
    if (found == ids.end()) continue;
    return createIndex(static_cast<int>(found - ids.begin()), 0, static_cast<quintptr>(kind) + 1);
  }
  return {};
}

QVariant NavigatorModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  if (index.internalId() == 0) return kindData(static_cast<DocumentKind>(index.row()), role);
  const Document* const document = documentAt(index);
  if (document == nullptr) return {};
  if (index.internalId() < kFirstOfFacts) return documentData(*document, role);
  const auto line = static_cast<std::size_t>(index.row());
  if (role == IdRole) return document->id;
  return line < document->outline.size() ? factData(document->outline[line], role) : QVariant();
}

QVariant NavigatorModel::kindData(DocumentKind kind, int role) const {
  switch (role) {
    case Qt::DisplayRole:
      return kindTitle(kind);
    case Qt::AccessibleTextRole:
      return QStringLiteral("%1, %2 open").arg(kindTitle(kind)).arg(idsOf(kind).size());
    case IdRole:
      return 0;
    case KindRole:
      return static_cast<int>(kind);
    default:
      return {};
  }
}

QVariant NavigatorModel::documentData(const Document& document, int role) const {
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      return document.label;
    case Qt::ToolTipRole:
      return toolTipOf(document);
    case Qt::AccessibleTextRole:
      return QStringLiteral("%1 %2 %3")
          .arg(kindName(document.kind), document.label, stateWords(document.state));
    case Qt::FontRole: {
      QFont font;
      font.setStrikeOut(document.state == DocumentState::kMissing);
      font.setItalic(document.state == DocumentState::kRewritten);
      return font;
    }
    case IdRole:
      return document.id;
    case KindRole:
      return static_cast<int>(document.kind);
    case PathRole:
      return toQString(document.path);
    case StateRole:
      return static_cast<int>(document.state);
    case ColourRole:
      return document.colour;
    default:
      return {};
  }
}

QVariant NavigatorModel::factData(const Fact& fact, int role) {
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return QStringLiteral("%1: %2").arg(fact.name, fact.value);
    default:
      return {};
  }
}

bool NavigatorModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const Document* const document = documentAt(index);
  if (role != Qt::EditRole || document == nullptr || index.internalId() >= kFirstOfFacts) {
    return false;
  }
  const QString label = value.toString().trimmed();
  if (label.isEmpty()) return false;
  const QString before = document->label;
  const int id = document->id;
  workspace_.rename(id, label);
  if (label != before) Q_EMIT renamed(id, before, label);
  return true;
}

Qt::ItemFlags NavigatorModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  if (index.internalId() == 0) return Qt::ItemIsEnabled;
  if (index.internalId() >= kFirstOfFacts) {
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
  }
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable;
}

void NavigatorModel::add(int id) {
  const Document* const document = workspace_.find(id);
  std::vector<int>& ids = idsOf(document->kind);
  const int row = static_cast<int>(ids.size());
  const QModelIndex kind = createIndex(static_cast<int>(document->kind), 0, quintptr{0});
  beginInsertRows(kind, row, row);
  ids.push_back(id);
  facts_.insert(id, static_cast<int>(document->outline.size()));
  endInsertRows();
}

void NavigatorModel::remove(int id) {
  const QModelIndex index = indexOfDocument(id);
  if (!index.isValid()) return;
  beginRemoveRows(index.parent(), index.row(), index.row());
  std::vector<int>& ids = ids_[index.internalId() - 1];
  ids.erase(ids.begin() + index.row());
  facts_.remove(id);
  endRemoveRows();
}

void NavigatorModel::change(int id) {
  const QModelIndex index = indexOfDocument(id);
  const Document* const document = workspace_.find(id);
  if (!index.isValid() || document == nullptr) return;
  const int before = facts_.value(id);
  const int after = static_cast<int>(document->outline.size());
  if (after > before) {
    beginInsertRows(index, before, after - 1);
    facts_[id] = after;
    endInsertRows();
  } else if (after < before) {
    beginRemoveRows(index, after, before - 1);
    facts_[id] = after;
    endRemoveRows();
  }
  Q_EMIT dataChanged(index, index);
  if (after > 0) Q_EMIT dataChanged(this->index(0, 0, index), this->index(after - 1, 0, index));
}

}  // namespace lime::explorer
