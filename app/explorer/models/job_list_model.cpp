// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/job_list_model.h"

#include <algorithm>

#include "core/program/progress.h"
#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

/// "3 of 12", "capture: 512 of 4096 tokens", "load: 1.5 GiB of 13 GiB".
QString countOf(const JobInfo& job) {
  const auto text = [&job](std::int64_t count) {
    return job.unit == "bytes" ? toQString(human_bytes(static_cast<double>(count)))
                               : QString::number(count);
  };
  QString counted =
      QStringLiteral("%1 of %2").arg(text(job.progress.done), text(job.progress.total));
  if (!job.unit.empty() && job.unit != "bytes") counted += QLatin1Char(' ') + toQString(job.unit);
  return job.stage.empty() ? counted : toQString(job.stage) + QStringLiteral(": ") + counted;
}

QString detailOf(const JobInfo& job) {
  if (job.is_stopping) return QStringLiteral("stopping");
  if (!job.is_running) return QStringLiteral("waiting");
  QStringList parts;
  if (job.progress.total > 0) parts << countOf(job);
  if (!job.progress.note.empty()) parts << toQString(job.progress.note);
  if (job.seconds_left) {
    parts << toQString(human_duration(*job.seconds_left)) + QStringLiteral(" left");
  }
  return parts.join(QStringLiteral(", "));
}

}  // namespace

JobListModel::JobListModel(JobRunner& jobs, QObject* parent)
    : QAbstractListModel(parent), jobs_(jobs) {
  for (const JobInfo& job : jobs_.jobs()) {
    if (job.spec.is_shown) shown_.push_back(job);
  }
  connect(&jobs_, &JobRunner::jobAdded, this, &JobListModel::add);
  connect(&jobs_, &JobRunner::jobChanged, this, &JobListModel::change);
  connect(&jobs_, &JobRunner::jobRemoved, this, &JobListModel::remove);
}

int JobListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant JobListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const JobInfo& job = shown_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return job.spec.title;
    case Qt::ToolTipRole:
    case DetailRole:
      return detailOf(job);
    case Qt::AccessibleTextRole:
      return QStringLiteral("%1, %2").arg(job.spec.title, detailOf(job));
    case IdRole:
      return QVariant::fromValue<qulonglong>(job.id);
    case ShareRole:
      return job.share().value_or(-1.0);
    default:
      return {};
  }
}

int JobListModel::rowOf(JobId id) const {
  const auto found =
      std::find_if(shown_.begin(), shown_.end(), [id](const JobInfo& job) { return job.id == id; });
  return found == shown_.end() ? -1 : static_cast<int>(found - shown_.begin());
}

void JobListModel::add(JobId id) {
  for (JobInfo& job : jobs_.jobs()) {
    if (job.id != id || !job.spec.is_shown) continue;
    const int row = rowCount();
    beginInsertRows({}, row, row);
    shown_.push_back(std::move(job));
    endInsertRows();
  }
}

void JobListModel::change(JobId id) {
  const int row = rowOf(id);
  if (row < 0) return;
  for (JobInfo& job : jobs_.jobs()) {
    if (job.id == id) shown_[static_cast<std::size_t>(row)] = std::move(job);
  }
  Q_EMIT dataChanged(index(row), index(row));
}

void JobListModel::remove(JobId id) {
  const int row = rowOf(id);
  if (row < 0) return;
  beginRemoveRows({}, row, row);
  shown_.erase(shown_.begin() + row);
  endRemoveRows();
}

}  // namespace lime::explorer
