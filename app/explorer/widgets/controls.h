// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QBoxLayout>
#include <QComboBox>
#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QList>
#include <QModelIndex>
#include <QSplitter>
#include <QString>
#include <QStringList>
#include <QTabBar>
#include <QTableView>
#include <QVariant>
#include <functional>
#include <string>

#include "explorer/models/text.h"
#include "explorer/widgets/bar_layout.h"

class QAbstractItemModel;
class QLayout;
class QWidget;

namespace lime::explorer {

/// Width of a box for choices where its texts do not fit, pixels.
inline constexpr int kLeastBoxWidth = 80;

/// Adds a vertical layout without margins or spacing to `page`.
QVBoxLayout* fillWithColumn(QWidget& page);

/// Makes the layout of the controls above a view, which wrap where there is little room.
BarLayout* makeBar(QWidget& bar);

/// Makes a caption that gives way where there is little room.
QLabel* makeCaption(const QString& text = {});

/// Marks the caption of the pane that was used last.
void setActiveCaption(QLabel& caption, bool active);

QTabBar* makeTabs(const QStringList& titles, const QString& accessible_name);
/// Makes a field for a text that filters a list. @param what  "find a sequence"
QLineEdit* makeSearch(const QString& what, const QString& tool_tip);
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

/// Adds `label` before `widget`, whose mnemonic gives it the focus, and `widget` to `bar`.
void addLabelled(QLayout& bar, const QString& label, QWidget* widget);
/// Adds `label` and a new box to `bar`. The mnemonic of the label gives the box the focus, and the
/// label is its accessible name.
QComboBox* addChoiceBox(QLayout& bar, const QString& label, const QString& toolTip);

void addChoice(QComboBox& box, const QString& text, const QVariant& data, const QString& toolTip);

std::string selectedName(const QComboBox& box);

/// Shows the entry with this data; leaves the box as it is where there is none.
void selectData(QComboBox& box, const QVariant& data);

/// Replaces the entries by `names`, which are their data too, each once. Keeps the selected one, or
/// selects the awaited one.
void setNames(QComboBox& box, const QStringList& names);

/// Lets setNames() select `name` when it fills an empty box.
void awaitName(QComboBox& box, const QString& name);
/// Returns the name that an empty box awaits; empty: none.
QString awaitedName(const QComboBox& box);

}  // namespace lime::explorer
