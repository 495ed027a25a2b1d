// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/text_editor.h"

#include <QEvent>
#include <QFrame>
#include <QHeaderView>
#include <QModelIndex>
#include <QPlainTextEdit>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QTextBlock>
#include <QTextEdit>
#include <QVBoxLayout>
#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "core/files/input_file.h"
#include "explorer/widgets/controls.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kLargestText = std::size_t{4} << 20;  // bytes

/// Returns both continuations of a line as HTML; the parts that differ are bold.
QString continuationsHtml(const LineReading& before, const LineReading& after) {
  const QString& original = before.back().continuation;
  const QString& edited = after.back().continuation;
  const auto differs = std::ranges::mismatch(original, edited);
  const qsizetype same = differs.in1 - original.begin();
  const auto paragraph = [same](const QString& title, const QString& text) {
    const auto html = [](const QString& part) {
      return part.toHtmlEscaped().replace(u'\n', u"<br>"_s);
    };
    return u"<p>%1:<br>%2<b>%3</b></p>"_s.arg(title, html(text.first(same)),
                                              html(text.sliced(same)));
  };
  return paragraph(u"Original"_s, original) + paragraph(u"Edited"_s, edited);
}

}  // namespace

TextEditor::TextEditor()
    : text_(new QPlainTextEdit),
      table_(makeTable(scores_, u"lines with their losses"_s)),
      generated_(new QTextEdit) {
  text_->setPlaceholderText(
      u"Type a prompt or a text; each line is a separate sequence.\nCtrl+Return runs it through "
      u"the original and the edited model."_s);
  text_->setAccessibleName(u"input text of the models"_s);
  text_->setTabChangesFocus(true);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->installEventFilter(this);
  table_->setAlternatingRowColors(true);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setDefaultSectionSize(84);
  table_->setColumnWidth(ScoredLines::kLine, 48);
  generated_->setReadOnly(true);
  generated_->setFrameShape(QFrame::NoFrame);
  generated_->setAccessibleName(u"text that both models generate"_s);
  generated_->setToolTip(
      u"Greedy continuation of the line by 40 tokens; bold from the first difference on"_s);
  generated_->setPlaceholderText(u"Run the text to see what both models generate after a line."_s);
  QTabBar* const tabs = makeTabs({u"Text"_s, u"Lines, most changed first"_s, u"Generated text"_s},
                                 u"text, its lines with their losses, or the generated text"_s);
  auto* const pages = new QStackedWidget;
  for (QWidget* const page : std::initializer_list<QWidget*>{text_, table_, generated_}) {
    pages->addWidget(page);
  }
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(12, 0, 12, 0);
  column->setSpacing(0);
  column->addWidget(tabs);
  column->addWidget(pages, 1);
  connect(tabs, &QTabBar::currentChanged, pages, &QStackedWidget::setCurrentIndex);
  connect(text_, &QPlainTextEdit::textChanged, this, [this] {
    plain_text_.reset();
    plain_lines_.reset();
  });
  for (const auto signal : {&QTableView::clicked, &QTableView::activated}) {
    connect(table_, signal, this, [this](const QModelIndex& index) {
      Q_EMIT lineSelected(scores_.at(index.row()).line);
    });
  }
}

QString TextEditor::text() const {
  if (!plain_text_) plain_text_ = text_->toPlainText();
  return *plain_text_;
}

void TextEditor::setText(const QString& requested) {
  if (requested != text()) text_->setPlainText(requested);
}

QStringList TextEditor::lines() const {
  if (!plain_lines_) {
    plain_lines_.emplace();
    for (const QString& line : text().split(u'\n')) {
      if (!line.trimmed().isEmpty()) *plain_lines_ << line;
    }
  }
  return *plain_lines_;
}

int TextEditor::cursorLine() const {
  int line = -1;
  QTextBlock block = text_->document()->firstBlock();
  for (; block.isValid(); block = block.next()) {
    if (!block.text().trimmed().isEmpty()) ++line;
    if (block == text_->textCursor().block()) break;
  }
  return std::max(line, 0);
}

void TextEditor::setScores(const std::vector<LineScore>& scores, int current_line) {
  scores_.setScores(scores);
  const int row = scores_.rowOfLine(current_line);
  if (row >= 0) table_->selectRow(row);
}

void TextEditor::setGenerated(const LineReading* before, const LineReading* after) {
  const bool is_known = before != nullptr && after != nullptr;
  generated_->setHtml(is_known ? continuationsHtml(*before, *after) : QString());
}

bool TextEditor::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut) Q_EMIT textTyped();
  return QWidget::eventFilter(watched, event);
}

QString readText(const QString& path) {
  const MappedFile file(toPath(path));
  throw_if(file.size() > kLargestText,
           "'{}': text in the explorer is limited to 4 MiB, got {} bytes; use lime-capture --lines "
           "--edit",
           path.toStdString(), file.size());
  return QString::fromUtf8(file.text().data(), static_cast<qsizetype>(file.size()));
}

}  // namespace lime::explorer
