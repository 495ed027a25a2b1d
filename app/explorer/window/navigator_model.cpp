// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/navigator_model.h"

#include <QFont>
#include <array>

namespace lime::explorer {
namespace {

/// The rows of the tree.
constexpr std::array kKinds = {DocumentKind::kCheckpoint, DocumentKind::kCapture,
                               DocumentKind::kResults};

QString titleOf(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::kCheckpoint: return u"Checkpoints"_s;
    case DocumentKind::kCapture: return u"Captures"_s;
    case DocumentKind::kResults: return u"Results"_s;
  }
  return {};
}

/// Returns what differs on disk; empty if nothing does.
QString stateText(DocumentState state) {
  switch (state) {
    case DocumentState::kPresent: return {};
    case DocumentState::kRewritten:
      return u"Changed on disk since it was opened. Press F5 to reload it."_s;
    case DocumentState::kMissing: return u"Deleted, moved or renamed."_s;
  }
  return {};
}

/// Writes what is known of a document into its item and the lines below it.
void describe(const Document& document, QStandardItem& item) {
  const QString state = stateText(document.state);
  QString tool_tip = toQString(document.path);
  item.setText(document.label);
  item.setCheckable(true);
  item.setCheckState(document.is_shown ? Qt::Checked : Qt::Unchecked);
  item.setRowCount(static_cast<int>(document.outline.size()));
  for (int row = 0; row < item.rowCount(); ++row) {
    const Fact& fact = document.outline[static_cast<std::size_t>(row)];
    auto* const line = new QStandardItem(u"%1: %2"_s.arg(fact.name, fact.value));
    line->setToolTip(line->text());
    line->setData(document.id, NavigatorModel::IdRole);
    line->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren);
    item.setChild(row, line);
    tool_tip += u'\n' + line->text();
  }
  item.setToolTip(state.isEmpty() ? tool_tip : tool_tip + u"\n\n"_s + state);
  item.setAccessibleText(u"%1 %2 %3"_s.arg(kindName(document.kind), document.label, state));
  QFont font;
  font.setStrikeOut(document.state == DocumentState::kMissing);
  font.setItalic(document.state == DocumentState::kRewritten);
  item.setFont(font);
  item.setData(toQString(document.path), NavigatorModel::PathRole);
  item.setData(document.colour, NavigatorModel::ColourRole);
}

}  // namespace

NavigatorModel::NavigatorModel(Workspace& workspace) : workspace_(workspace) {
  for (const DocumentKind kind : kKinds) {
    auto* const row = new QStandardItem(titleOf(kind));
    row->setData(static_cast<int>(kind), KindRole);
    row->setFlags(Qt::ItemIsEnabled);
    appendRow(row);
    countDocuments(*row);
  }
  for (const Document& document : workspace_.documents()) add(document.id);
  connect(&workspace_, &Workspace::documentAdded, this, &NavigatorModel::add);
  connect(&workspace_, &Workspace::documentAboutToBeRemoved, this, &NavigatorModel::remove);
  connect(&workspace_, &Workspace::documentChanged, this, &NavigatorModel::change);
}

void NavigatorModel::countDocuments(QStandardItem& kind) {
  kind.setAccessibleText(u"%1, %2 open"_s.arg(kind.text()).arg(kind.rowCount()));
}

QModelIndex NavigatorModel::indexOfDocument(int id) const {
  return match(index(0, 0), IdRole, id, 1, Qt::MatchExactly | Qt::MatchRecursive).value(0);
}

QVariant NavigatorModel::data(const QModelIndex& index, int role) const {
  QVariant value = QStandardItemModel::data(index, role);
  if (role != Qt::ToolTipRole) return value;
  const QString obstacle = QStandardItemModel::data(index, ObstacleRole).toString();
  if (obstacle.isEmpty()) return value;
  return u"Not drawn in this view: %1\n\n%2"_s.arg(obstacle, value.toString());
}

void NavigatorModel::setObstacles(const std::function<QString(const Document&)>& obstacleOf) {
  for (const Document& document : workspace_.documents()) {
    const QModelIndex index = indexOfDocument(document.id);
    const QString obstacle = obstacleOf(document);
    if (!index.isValid() || index.data(ObstacleRole).toString() == obstacle) continue;
    itemFromIndex(index)->setData(obstacle, ObstacleRole);
  }
}

bool NavigatorModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const bool is_document = index.data(PathRole).isValid();
  const Document* const document =
      is_document ? workspace_.find(index.data(IdRole).toInt()) : nullptr;
  if (role == Qt::CheckStateRole && document != nullptr) {
    workspace_.setShown(document->id, value.toInt() == Qt::Checked);
    return true;
  }
  const QString label = value.toString().trimmed();
  if (role != Qt::EditRole || document == nullptr || label.isEmpty()) return false;
  const QString before = document->label;
  const int id = document->id;
  workspace_.rename(id, label);
  if (label != before) Q_EMIT renamed(id, before, label);
  return true;
}

QStandardItem& NavigatorModel::itemOf(DocumentKind kind) const {
  int row = 0;
  while (item(row)->data(KindRole).toInt() != static_cast<int>(kind)) ++row;
  return *item(row);
}

void NavigatorModel::add(int id) {
  const Document& document = *workspace_.find(id);
  auto* const added = new QStandardItem;
  added->setData(id, IdRole);
  describe(document, *added);
  QStandardItem& kind = itemOf(document.kind);
  kind.appendRow(added);
  countDocuments(kind);
}

void NavigatorModel::remove(int id) {
  const QModelIndex index = indexOfDocument(id);
  if (!index.isValid()) return;
  QStandardItem& kind = *itemFromIndex(index.parent());
  kind.removeRow(index.row());
  countDocuments(kind);
}

void NavigatorModel::change(int id) {
  const QModelIndex index = indexOfDocument(id);
  if (index.isValid()) describe(*workspace_.find(id), *itemFromIndex(index));
}

}  // namespace lime::explorer
