// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/side_bar.h"

#include <QEvent>
#include <QFont>
#include <QListWidget>
#include <QPainter>
#include <QProgressBar>
#include <QToolButton>
#include <QTreeView>

#include "explorer/widgets/theme.h"
#include "explorer/window/view_stack.h"

namespace lime::explorer {
namespace {

/// In the order of DocumentKind.
constexpr std::array kKindTitles = {"Checkpoints", "Captures", "Results"};
/// In the order of DocumentState.
constexpr std::array kStates = {"", "Changed on disk since it was opened. Press F5 to reload it.",
                                "Deleted, moved or renamed."};

/// Writes what is known of a document into its item and the lines below it.
void describe(const Document& document, QStandardItem& item) {
  const auto state = QString::fromUtf8(kStates[static_cast<std::size_t>(document.state)]);
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

constexpr int kLeastWidth = 160;  // for names such as "agreement-probes"
constexpr int kSteps = 1000;      // of a progress bar

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

constexpr int kDot = 10;
constexpr int kIcon = 14;

QPixmap dot(const QColor& colour, double ratio) {
  QPixmap pixmap(QSize(kIcon, kIcon) * ratio);
  pixmap.setDevicePixelRatio(ratio);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  const double margin = 0.5 * (kIcon - kDot);
  painter.drawEllipse(QRectF(margin, margin, kDot, kDot));
  return pixmap;
}

QLabel* caption(const QString& text) {
  auto* const label = new QLabel(text);
  QFont font = label->font();
  font.setPointSizeF(0.88 * font.pointSizeF());
  font.setWeight(QFont::DemiBold);
  label->setFont(font);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setContentsMargins(12, 10, 12, 4);
  return label;
}

/// A list or tree whose lines are aligned with the captions.
template <typename List> class Indented : public List {
 public:
  explicit Indented(int left) { this->setViewportMargins(left, 0, 6, 0); }
};

/// Draws the lines of the navigator: documents with the dot of their colour, outlines in small
/// type.
class NavigatorDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const bool is_kind = index.data(NavigatorModel::IdRole).toInt() == 0;
    const bool is_document = index.data(NavigatorModel::PathRole).isValid();
    if (is_document) {
      const QColor colour =
          documentColour(index.data(NavigatorModel::ColourRole).toInt(), option->palette);
      option->features |= QStyleOptionViewItem::HasDecoration;
      // Also where the line is selected, when styles would tint it.
      const QPixmap pixmap = dot(colour, option->widget->devicePixelRatioF());
      option->icon = QIcon();
      for (const auto mode : {QIcon::Normal, QIcon::Selected}) option->icon.addPixmap(pixmap, mode);
      option->decorationSize = QSize(kIcon, kIcon);
    } else {
      option->palette.setColor(QPalette::Text, mutedText(option->palette));
      if (!is_kind) option->font.setPointSizeF(0.92 * option->font.pointSizeF());
    }
  }
};

}  // namespace

NavigatorModel::NavigatorModel(Workspace& workspace) : workspace_(workspace) {
  for (const char* const title : kKindTitles) {
    auto* const kind = new QStandardItem(QString::fromUtf8(title));
    kind->setFlags(Qt::ItemIsEnabled);
    appendRow(kind);
    countDocuments(*kind);
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

void NavigatorModel::add(int id) {
  const Document& document = *workspace_.find(id);
  auto* const added = new QStandardItem;
  added->setData(id, IdRole);
  describe(document, *added);
  QStandardItem& kind = *item(static_cast<int>(document.kind));
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
  auto* const title = new QLabel(job->spec.title);
  title->setToolTip(job->spec.title);
  title->setMinimumWidth(40);
  line.detail = new QLabel;
  line.detail->setForegroundRole(QPalette::PlaceholderText);
  line.detail->setMinimumWidth(40);
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
  constexpr int kMostShown = 3;
  int number = 0;
  for (const auto& [id, line] : lines_) line.widget->setVisible(++number <= kMostShown);
  setVisible(number > 0);
}

void JobPanel::update(JobId id) {
  const auto line = lines_.find(id);
  const std::optional<JobInfo> job = jobs_.find(id);
  if (line == lines_.end() || !job) return;
  line->second.detail->setText(detailOf(*job));
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

SideBar::SideBar(Workspace& workspace, JobRunner& jobs)
    : workspace_(workspace),
      navigator_(workspace),
      views_(new Indented<QListWidget>(9)),
      tree_(new Indented<QTreeView>(2)) {
  setMinimumWidth(kLeastWidth);
  addViews();
  addDocuments();
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(caption(u"VIEWS"_s));
  column->addWidget(views_);
  column->addWidget(caption(u"OPEN"_s));
  column->addWidget(tree_, 1);
  column->addWidget(new JobPanel(jobs));
}

void SideBar::addViews() {
  views_->setFrameShape(QFrame::NoFrame);
  views_->setAccessibleName(u"views"_s);
  views_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  const int height = fontMetrics().height() + 12;
  int number = 0;
  for (const ViewKind& kind : allViews()) {
    auto* const item = new QListWidgetItem(kind.title, views_);
    item->setToolTip(u"%1 (Ctrl+%2)"_s.arg(kind.question).arg(++number));
    item->setSizeHint(QSize(0, height));
  }
  views_->setFixedHeight(number * height + 4);
  views_->setCurrentRow(0);
  connect(views_, &QListWidget::currentRowChanged, this, &SideBar::viewSelected);
}

void SideBar::addDocuments() {
  tree_->setIndentation(11);
  tree_->setTextElideMode(Qt::ElideMiddle);  // names differ at their ends
  tree_->setFrameShape(QFrame::NoFrame);
  tree_->setModel(&navigator_);
  tree_->setItemDelegate(new NavigatorDelegate(tree_));
  tree_->setHeaderHidden(true);
  tree_->setAccessibleName(u"open checkpoints, captures and results"_s);
  tree_->setContextMenuPolicy(Qt::ActionsContextMenu);
  tree_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  for (int kind = 0; kind < navigator_.rowCount(); ++kind) tree_->expand(navigator_.index(kind, 0));
  connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& index) {
            const int id = index.data(NavigatorModel::IdRole).toInt();
            if (id != 0) workspace_.setCurrent(id);
          });
  connect(tree_, &QTreeView::activated, this, [this](const QModelIndex& index) {
    Q_EMIT documentActivated(index.data(NavigatorModel::IdRole).toInt());
  });
  connect(&workspace_, &Workspace::documentAdded, this,
          [this](int id) { tree_->expand(navigator_.indexOfDocument(id).parent()); });
  connect(&workspace_, &Workspace::currentChanged, this, [this](int id) {
    const QModelIndex index = navigator_.indexOfDocument(id);
    const int shown = tree_->currentIndex().data(NavigatorModel::IdRole).toInt();
    if (index.isValid() && shown != id) tree_->setCurrentIndex(index);
  });
}

void SideBar::setCurrentView(int index) {
  const QSignalBlocker quiet(views_);
  views_->setCurrentRow(index);
}

void SideBar::addDocumentActions(const QList<QAction*>& actions) { tree_->addActions(actions); }

void SideBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  views_->setPalette(sideBarPalette(palette()));
  tree_->setPalette(sideBarPalette(palette()));
}

}  // namespace lime::explorer
