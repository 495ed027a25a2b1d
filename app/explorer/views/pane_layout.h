// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QString>
#include <Qt>

class QAbstractItemModel;
class QLabel;
class QSplitter;
class QTableView;
class QVBoxLayout;
class QWidget;

namespace lime::explorer {

/// A column that fills `page`, without margins or gaps.
QVBoxLayout* fillWithColumn(QWidget& page);

/// A line or two below a view's bar, for what could not be done. Hidden until it has something to
/// say. @param name  for assistive technology
QLabel* makeNote(const QString& name);

/// Panes side by side or below each other that can be made larger but not be closed, parted by a
/// hairline. @param sizes  of the panes, in proportion
QSplitter* makeSplitter(Qt::Orientation orientation, const QList<QWidget*>& panes,
                        const QList<int>& sizes);

/// A table of `model` with neither frame nor grid, of low rows that are chosen whole and one at a
/// time. Tab leaves it. @param accessible_name  for assistive technology
QTableView* makeTable(QAbstractItemModel& model, const QString& accessible_name);

}  // namespace lime::explorer
