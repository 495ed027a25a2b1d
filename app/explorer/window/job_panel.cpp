// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/job_panel.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPalette>
#include <QProgressBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <cstdint>
#include <optional>

#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

constexpr int kSteps = 1000;  // of a progress bar

/// "3 of 12", "capture: 512 of 4096 tokens", "load: 1.5 GiB of 13 GiB".
QString countOf(const JobInfo& job) {
  const auto text = [&job](std::int64_t count) {
    return job.unit == "bytes" ? toQString(human_bytes(static_cast<double>(count)))
                               : QString::number(count);
  };
  QString counted = u"%1 of %2"_s.arg(text(job.progress.done), text(job.progress.total));
  if (!job.unit.empty() && job.unit != "bytes") counted += u' ' + toQString(job.unit);
  return job.stage.empty() ? counted : toQString(job.stage) + u": "_s + counted;
}

QString detailOf(const JobInfo& job) {
  if (job.is_stopping) return u"stopping"_s;
  if (!job.is_running) return u"waiting"_s;
  QStringList parts;
  if (job.progress.total > 0) parts << countOf(job);
  if (!job.progress.note.empty()) parts << toQString(job.progress.note);
  if (job.seconds_left) parts << toQString(human_duration(*job.seconds_left)) + u" left"_s;
  return parts.join(u", "_s);
}

/// A line of text, whose middle becomes dots where it does not fit: names differ at both ends.
class ElidedLabel : public QLabel {
 public:
  explicit ElidedLabel(const QString& text = {}) : QLabel(text) { setMinimumWidth(40); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setPen(palette().color(foregroundRole()));
    painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeft,
                     fontMetrics().elidedText(text(), Qt::ElideMiddle, width()));
  }
};

}  // namespace

JobPanel::JobPanel(JobRunner& jobs) : jobs_(jobs), column_(new QVBoxLayout(this)) {
  setAccessibleName(u"jobs"_s);
  column_->setContentsMargins(12, 8, 12, 8);
  connect(&jobs_, &JobRunner::jobAdded, this, &JobPanel::add);
  connect(&jobs_, &JobRunner::jobChanged, this, &JobPanel::update);
  connect(&jobs_, &JobRunner::jobRemoved, this, &JobPanel::remove);
  setVisible(false);
  for (const JobInfo& job : jobs_.jobs()) add(job.id);
}

void JobPanel::add(JobId id) {
  const std::optional<JobInfo> job = jobs_.find(id);
  if (!job || !job->spec.is_shown) return;
  Line line;
  line.widget = new QWidget;
  auto* const title = new ElidedLabel(job->spec.title);
  title->setToolTip(job->spec.title);
  line.detail = new ElidedLabel;
  line.detail->setForegroundRole(QPalette::PlaceholderText);
  line.bar = new QProgressBar;
  line.bar->setTextVisible(false);
  line.bar->setMaximumHeight(8);
  line.bar->setMinimumWidth(40);
  line.bar->setAccessibleName(job->spec.title);
  auto* const cancel = new QToolButton;
  cancel->setText(u"\u00d7"_s);  // as a word, it would push a window of 1024 pixels wider
  cancel->setToolTip(u"Cancel"_s);
  cancel->setAccessibleName(u"cancel %1"_s.arg(job->spec.title));
  connect(cancel, &QToolButton::clicked, this, [this, id] { jobs_.cancel(id); });
  auto* const grid = new QGridLayout(line.widget);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(2);
  grid->addWidget(title, 0, 0, 1, 2);
  grid->addWidget(line.bar, 1, 0);
  grid->addWidget(cancel, 1, 1);
  grid->addWidget(line.detail, 2, 0, 1, 2);
  column_->addWidget(line.widget);
  lines_.emplace(id, line);
  update(id);
  showFirst();
}

void JobPanel::showFirst() {
  constexpr int kMaxShown = 3;
  int number = 0;
  for (const auto& [id, line] : lines_) line.widget->setVisible(++number <= kMaxShown);
  setVisible(number > 0);
}

void JobPanel::update(JobId id) {
  const auto line = lines_.find(id);
  const std::optional<JobInfo> job = jobs_.find(id);
  if (line == lines_.end() || !job) return;
  line->second.detail->setText(detailOf(*job));
  line->second.detail->setToolTip(detailOf(*job));
  const std::optional<double> done = job->share();
  line->second.bar->setRange(0, done ? kSteps : 0);
  if (done) line->second.bar->setValue(static_cast<int>(*done * kSteps));
}

void JobPanel::remove(JobId id) {
  const auto line = lines_.find(id);
  if (line == lines_.end()) return;
  delete line->second.widget;
  lines_.erase(line);
  showFirst();
}

}  // namespace lime::explorer
