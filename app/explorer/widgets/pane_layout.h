// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QString>
#include <QStringList>
#include <Qt>

class QAbstractItemModel;
class QHBoxLayout;
class QLabel;
class QModelIndex;
class QSplitter;
class QTableView;
class QVBoxLayout;
class QWidget;

namespace lime::explorer {

/// Makes a layout in a column that fills `page`, without margins or gaps.
QVBoxLayout* fillWithColumn(QWidget& page);

/// Makes the bar of controls above a view.
QHBoxLayout* makeBar(QWidget& bar);

/// Makes a caption that gives way where there is little room.
QLabel* makeCaption(const QString& text = {});

/// Makes a line or two for problems, below a view's bar; hidden while it is empty. @param name  for
/// assistive technology
QLabel* makeNote(const QString& name);
void setNote(QLabel& note, const QStringList& lines);

/// Makes panes with a hairline between them; the user can resize but not close them. @param sizes
/// of the panes, in proportion
QSplitter* makeSplitter(Qt::Orientation orientation, const QList<QWidget*>& panes,
                        const QList<int>& sizes);

/// Makes a table of `model` with neither frame nor grid. Rows are low and are selected whole and
/// one at a time; the last column fills the rest; Tab leaves the table. @param accessible_name  for
/// assistive technology
QTableView* makeTable(QAbstractItemModel& model, const QString& accessible_name);

/// Makes a row current without signals, or none where it is not valid.
void setCurrentQuietly(QTableView& table, const QModelIndex& index);

}  // namespace lime::explorer
