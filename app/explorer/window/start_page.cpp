// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/start_page.h"

#include <QAction>
#include <QEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/capture/capture_run.h"
#include "explorer/widgets/job_line.h"
#include "explorer/window/question_card.h"

namespace lime::explorer {
namespace {

constexpr int kColumnWidth = 560;
constexpr int kMaxShown = 6;
constexpr int kPageEdge = 24;
constexpr double kFocusRound = 4.0;

QLabel* addText(QVBoxLayout& column, const QString& text, double scale = 1.0, bool muted = false) {
  auto* const label = new QLabel(text);
  label->setWordWrap(true);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setWeight(scale > 1.2 ? QFont::DemiBold : QFont::Normal);
  label->setFont(font);
  if (muted) label->setForegroundRole(QPalette::PlaceholderText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column.addWidget(label);
  return label;
}

/// A button that looks like a link: one stop of Tab, pressed by Enter or Space too.
class LinkButton : public QPushButton {
 public:
  LinkButton(const QString& words, const QString& toolTip) : QPushButton(words) {
    setToolTip(toolTip);
    setFlat(true);
    setAutoDefault(true);  // Enter presses it
    setCursor(Qt::PointingHandCursor);
    showColour();
  }

 protected:
  void paintEvent(QPaintEvent* event) override {
    QPushButton::paintEvent(event);
    if (!hasFocus()) return;
    QPainter painter(this);  // the style draws nothing around a flat button
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2.0));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1.0, 1.0, -1.0, -1.0), kFocusRound,
                            kFocusRound);
  }
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::EnabledChange) {
      showColour();
    }
    QPushButton::changeEvent(event);
  }

 private:
  void showColour() {
    const auto role = isEnabled() ? QPalette::Link : QPalette::PlaceholderText;
    const QColor colour = QGuiApplication::palette().color(role);
    if (palette().color(QPalette::ButtonText) == colour) return;
    QPalette own = palette();
    own.setColor(QPalette::ButtonText, colour);
    setPalette(own);
  }
};

LinkButton* addLink(QVBoxLayout& column, const QString& text, const QString& toolTip) {
  auto* const link = new LinkButton(text, toolTip);
  column.addWidget(link, 0, Qt::AlignLeft);
  return link;
}

LinkButton* addOpenLink(QVBoxLayout& column) {
  return addLink(column, u"Open a GGUF file, a capture or results (Ctrl+O)"_s,
                 u"A checkpoint in one file, or what lime-capture or lime-metrics wrote"_s);
}

/// Makes a column in the middle of a page, with a third of the free room above it.
QVBoxLayout* makeColumn(QWidget& page) {
  auto* const row = new QHBoxLayout(&page);
  auto* const content = new QWidget;
  content->setMaximumWidth(kColumnWidth);
  auto* const column = new QVBoxLayout(content);
  column->setSpacing(6);
  column->addStretch(2);
  row->addStretch(1);
  row->addWidget(content, 4);
  row->addStretch(1);
  return column;
}

void clear(QVBoxLayout& column) {
  while (QLayoutItem* const item = column.takeAt(0)) {
    delete item->widget();
    delete item;
  }
}

}  // namespace

StartPage::StartPage(JobRunner& jobs) : jobs_(jobs) {
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(kPageEdge, kPageEdge, kPageEdge, kPageEdge);
  column->setSpacing(10);
  column->addStretch(1);
  addText(*column, u"Where do representations collapse, and how does routing affect it?"_s, 1.6);
  auto* const cards = new QHBoxLayout;
  cards->setSpacing(12);
  for (const Question& question : allQuestions()) {
    auto* const card = new QuestionCard(question);
    cards_.push_back(card);
    cards->addWidget(card, 1);
    connect(card, &QAbstractButton::clicked, this,
            [this, card] { Q_EMIT questionAsked(card->question(), *card->finding()); });
  }
  column->addLayout(cards);
  auto* const row = new QHBoxLayout;
  auto* const own = new QVBoxLayout;
  recent_ = new QVBoxLayout;
  for (QVBoxLayout* const part : {own, recent_}) {
    part->setSpacing(0);
    row->addLayout(part, 1);
  }
  column->addLayout(row);
  column->addStretch(1);
  addText(*own, u"Open your own model"_s, 1.0, true);
  auto* const folder = addLink(*own, u"Open a checkpoint folder (Ctrl+Shift+O)"_s,
                               u"A folder with config.json and weights in Hugging Face format"_s);
  connect(folder, &QPushButton::clicked, this, &StartPage::openFolderWanted);
  LinkButton* const open = addOpenLink(*own);
  connect(open, &QPushButton::clicked, this, &StartPage::openWanted);
  addText(*own, u"or drop files, folders and a text (.txt) onto this window"_s, 1.0, true);
  own->addStretch();
  folder_ = folder;
  setRecent({});
}

void StartPage::takeFocus() {
  // No focus proxy: Tab would jump from the page to the proxy, over the cards.
  const auto answered = std::ranges::find_if(cards_, &QWidget::isEnabled);
  (answered == cards_.end() ? folder_ : static_cast<QWidget*>(*answered))->setFocus();
}

void StartPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  // After the first paint.
  QTimer::singleShot(0, this, &StartPage::findAnswers);
}

void StartPage::findAnswers() {
  for (QuestionCard* const card : cards_) {
    if (card->finding()) continue;
    if (pathsOf(card->question()).isEmpty()) {
      card->setProblem(u"Run scripts/demo.sh to see the answer of two small models."_s);
      continue;
    }
    jobs_.start<Finding>(
        card, {.title = card->question().title, .key = card->question().title, .is_shown = false},
        [find = card->question().find](const JobContext&) { return find(); },
        [this, card](const Finding& finding) {
          card->setFinding(finding);
          // Unless the user has moved on: Enter opens the first answer.
          if (card == cards_.front() && folder_->hasFocus()) card->setFocus();
        },
        [card](const QString& problem) { card->setProblem(problem); });
  }
}

void StartPage::setRecent(const QStringList& paths) {
  clear(*recent_);
  if (!paths.isEmpty()) addText(*recent_, u"Recent files"_s, 1.0, true);
  for (const QString& path : paths.mid(0, kMaxShown)) {
    const QFileInfo file(path);
    auto* const button = addLink(*recent_, file.fileName(), path);
    button->setEnabled(file.exists());
    connect(button, &QPushButton::clicked, this, [this, path] { Q_EMIT openPaths({path}); });
  }
  recent_->addStretch();
}

OfferPage::OfferPage(JobRunner& jobs) : button_(new QPushButton) {
  QVBoxLayout* const column = makeColumn(*this);
  question_ = addText(*column, {}, 1.4);
  text_ = addText(*column, {}, 1.0, true);
  column->addSpacing(12);
  column->addWidget(button_, 0, Qt::AlignLeft);
  column->addSpacing(6);
  auto* const progress = new JobLine(jobs, kCaptureJobs);
  column->addWidget(progress);
  QLabel* const promise = addText(*column, u"Capturing ... The result will appear here."_s);
  const auto update = [progress, promise] { promise->setVisible(!progress->isHidden()); };
  for (const auto signal : {&JobRunner::jobAdded, &JobRunner::jobRemoved}) {
    connect(&jobs, signal, promise, update);
  }
  update();
  LinkButton* const open = addOpenLink(*column);
  column->addStretch(3);
  connect(button_, &QPushButton::clicked, this, [this] { action_->trigger(); });
  connect(open, &QPushButton::clicked, this, &OfferPage::openWanted);
  setFocusProxy(button_);
}

void OfferPage::offer(const QString& question, const QString& text, QAction* action) {
  question_->setText(question);
  text_->setText(text);
  action_ = action;
  button_->setText(action->text());
  button_->setMinimumWidth(button_->sizeHint().width() + 2 * button_->fontMetrics().height());
}

QStringList findDemo() {
  QStringList names;
  for (const auto* const pair :
       {"data/lm-%1", "data/aet-%1", "out/words-%1.h5", "out/agreement-%1.h5", "out/numbers-%1.h5",
        "out/pairs-%1.h5", "out/aet-%1.h5"}) {
    for (const QString& model : {u"llama"_s, u"lime"_s}) names << QString(pair).arg(model);
  }
  for (const auto* const results :
       {"entropy", "compared", "similarity", "separability", "small-numbers", "large-numbers",
        "pairs", "router", "counterfactual", "cost", "words", "agreement", "agreement-probes",
        "word-embeddings"}) {
    names << u"out/%1.json"_s.arg(results);
  }
  QStringList found;
  for (const QString& name : names) found << findAbove(name);
  found.removeAll(QString());
  return found;
}

}  // namespace lime::explorer
