// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/job_panel.h"

#include <QLabel>
#include <QProgressBar>
#include <QToolButton>
#include <QVBoxLayout>

namespace lime::explorer {
namespace {

constexpr int kSteps = 1000;  // of a progress bar

}  // namespace

JobPanel::JobPanel(JobRunner& jobs, QWidget* parent)
    : QWidget(parent), jobs_(jobs), model_(jobs), column_(new QVBoxLayout(this)) {
  setAccessibleName(QStringLiteral("jobs"));
  column_->setContentsMargins(12, 8, 12, 8);
  connect(&model_, &QAbstractItemModel::rowsInserted, this,
          [this](const QModelIndex&, int first, int) { insert(first); });
  connect(&model_, &QAbstractItemModel::rowsAboutToBeRemoved, this,
          [this](const QModelIndex&, int first, int) { remove(first); });
  connect(&model_, &QAbstractItemModel::dataChanged, this,
          [this](const QModelIndex& index) { update(index.row()); });
  for (int row = 0; row < model_.rowCount(); ++row) insert(row);
  setVisible(model_.rowCount() > 0);
}

void JobPanel::insert(int row) {
  const QModelIndex index = model_.index(row);
  const JobId id = index.data(JobListModel::IdRole).toULongLong();
  Line line;
  line.widget = new QWidget;
  auto* const title = new QLabel(index.data().toString());
  title->setToolTip(index.data().toString());
  title->setMinimumWidth(40);
  line.detail = new QLabel;
  line.detail->setForegroundRole(QPalette::PlaceholderText);
  line.detail->setMinimumWidth(40);
  line.bar = new QProgressBar;
  line.bar->setTextVisible(false);
  line.bar->setMaximumHeight(8);
  line.bar->setAccessibleName(index.data().toString());
  auto* const cancel = new QToolButton;
  cancel->setText(QStringLiteral("Cancel"));
  cancel->setAccessibleName(QStringLiteral("cancel %1").arg(index.data().toString()));
  connect(cancel, &QToolButton::clicked, this, [this, id] { jobs_.cancel(id); });
  auto* const grid = new QGridLayout(line.widget);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(2);
  grid->addWidget(title, 0, 0, 1, 2);
  grid->addWidget(line.bar, 1, 0);
  grid->addWidget(cancel, 1, 1);
  grid->addWidget(line.detail, 2, 0, 1, 2);
  column_->insertWidget(row, line.widget);
  lines_.insert(lines_.begin() + row, line);
  update(row);
  show();
}

void JobPanel::remove(int row) {
  delete lines_[static_cast<std::size_t>(row)].widget;
  lines_.erase(lines_.begin() + row);
  setVisible(!lines_.empty());
}

void JobPanel::update(int row) {
  const QModelIndex index = model_.index(row);
  const Line& line = lines_[static_cast<std::size_t>(row)];
  line.detail->setText(index.data(JobListModel::DetailRole).toString());
  const double share = index.data(JobListModel::ShareRole).toDouble();
  line.bar->setRange(0, share < 0.0 ? 0 : kSteps);
  if (share >= 0.0) line.bar->setValue(static_cast<int>(share * kSteps));
}

}  // namespace lime::explorer
