// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/start_page.h"

#include <QAction>
#include <QCoreApplication>
#include <QDir>
#include <QEvent>
#include <QFileInfo>
#include <QPushButton>

namespace lime::explorer {
namespace {

constexpr int kColumnWidth = 560;
constexpr int kMaxShown = 6;
constexpr int kFoldersUp = 5;

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

/// A line that does something when it is clicked, or Enter is pressed on it.
class LinkLine : public QLabel {
 public:
  LinkLine(const QString& words, const QString& toolTip) : words_(words) {
    setToolTip(toolTip);
    setAccessibleName(words);
    setTextFormat(Qt::RichText);
    setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    setFocusPolicy(Qt::StrongFocus);
    setContentsMargins(0, 4, 0, 4);
    write();
  }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::EnabledChange) write();
    QLabel::changeEvent(event);
  }

 private:
  /// A label takes the colour of its links from the palette only when its text is set.
  void write() {
    const QString words = words_.toHtmlEscaped();
    const auto role = isEnabled() ? QPalette::Link : QPalette::PlaceholderText;
    setText(isEnabled() ? u"<a href='#' style='color: %1; text-decoration: none'>%2</a>"_s.arg(
                              palette().color(role).name(), words)
                        : words);
  }

  QString words_;
};

LinkLine* addLink(QVBoxLayout& column, const QString& text, const QString& toolTip) {
  auto* const link = new LinkLine(text, toolTip);
  column.addWidget(link, 0, Qt::AlignLeft);
  return link;
}

LinkLine* addOpenLink(QVBoxLayout& column) {
  return addLink(column, u"Open a capture or results (Ctrl+O)"_s,
                 u"A file written by lime-capture or lime-metrics"_s);
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

StartPage::StartPage() {
  QVBoxLayout* const column = makeColumn(*this);
  addText(*column, u"Where do representations collapse, and how does routing affect it?"_s, 1.7);
  addText(*column,
          u"Open a checkpoint folder to see its router, a capture of lime-capture to see its "
          u"layers, or results of lime-metrics as figures. Several can be compared."_s,
          1.0, true);
  column->addSpacing(12);
  LinkLine* const open = addOpenLink(*column);
  connect(open, &QLabel::linkActivated, this, &StartPage::openWanted);
  setFocusProxy(open);
  auto* const folder = addLink(*column, u"Open a checkpoint folder (Ctrl+Shift+O)"_s,
                               u"A folder with config.json and weights in Hugging Face format"_s);
  connect(folder, &QLabel::linkActivated, this, &StartPage::openFolderWanted);
  addText(*column,
          u"or drop files and folders onto this window, and a text (.txt) to run through them"_s,
          1.0, true);
  column->addSpacing(12);
  demo_ = new QVBoxLayout;
  column->addLayout(demo_);
  column->addSpacing(12);
  recent_ = new QVBoxLayout;
  recent_->setSpacing(0);
  column->addLayout(recent_);
  column->addStretch(3);
  setDemo({});
}

void StartPage::setDemo(const QStringList& paths) {
  clear(*demo_);
  if (paths.isEmpty()) {
    addText(*demo_,
            u"For a demo, run scripts/demo.sh: it captures and measures four small checkpoints."_s,
            1.0, true);
    return;
  }
  auto* const button = addLink(*demo_, u"Open the demo"_s, paths.join(u'\n'));
  connect(button, &QLabel::linkActivated, this, [this, paths] { Q_EMIT openPaths(paths); });
  addText(*demo_,
          u"LLaMA and LIMe trained on arithmetic and on English, with their captures and results"_s,
          1.0, true);
}

void StartPage::setRecent(const QStringList& paths) {
  clear(*recent_);
  if (!paths.isEmpty()) addText(*recent_, u"Recent files"_s, 1.0, true);
  for (const QString& path : paths.mid(0, kMaxShown)) {
    const QFileInfo file(path);
    auto* const button = addLink(*recent_, file.fileName(), path);
    button->setEnabled(file.exists());
    connect(button, &QLabel::linkActivated, this, [this, path] { Q_EMIT openPaths({path}); });
  }
}

OfferPage::OfferPage() : button_(new QPushButton) {
  QVBoxLayout* const column = makeColumn(*this);
  question_ = addText(*column, {}, 1.4);
  text_ = addText(*column, {}, 1.0, true);
  column->addSpacing(12);
  column->addWidget(button_, 0, Qt::AlignLeft);
  column->addSpacing(6);
  LinkLine* const open = addOpenLink(*column);
  column->addStretch(3);
  connect(button_, &QPushButton::clicked, this, [this] { action_->trigger(); });
  connect(open, &QLabel::linkActivated, this, &OfferPage::openWanted);
  setFocusProxy(button_);
}

void OfferPage::offer(const QString& question, const QString& text, QAction* action) {
  question_->setText(question);
  text_->setText(text);
  action_ = action;
  button_->setText(action->text());
  button_->setMinimumWidth(button_->sizeHint().width() + 2 * button_->fontMetrics().height());
}

QString findAbove(const QString& relative) {
  QDir above(QCoreApplication::applicationDirPath());
  for (int i = 0; i < kFoldersUp; ++i) {
    if (above.exists(relative)) return QDir::cleanPath(above.filePath(relative));
    if (!above.cdUp()) break;
  }
  return QDir::current().exists(relative) ? QDir::current().filePath(relative) : QString();
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
