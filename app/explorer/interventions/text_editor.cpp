// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/text_editor.h"

#include <QEvent>
#include <QHeaderView>
#include <QPlainTextEdit>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QTextBlock>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/widgets/pane_layout.h"

namespace lime::explorer {

TextEditor::TextEditor(QWidget* parent)
    : QWidget(parent),
      text_(new QPlainTextEdit),
      table_(makeTable(scores_, QStringLiteral("lines with their losses"))) {
  text_->setPlaceholderText(
      QStringLiteral("Type a prompt or a text; each line is a separate sequence.\nCtrl+Return runs "
                     "it through the original and the edited model."));
  text_->setAccessibleName(QStringLiteral("input text of the models"));
  text_->setTabChangesFocus(true);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->installEventFilter(this);
  table_->setAlternatingRowColors(true);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setDefaultSectionSize(84);
  table_->setColumnWidth(ScoredLines::kLine, 48);
  auto* const tabs = new QTabBar;
  tabs->addTab(QStringLiteral("Text"));
  tabs->addTab(QStringLiteral("Lines, most changed first"));
  tabs->setDrawBase(false);
  tabs->setExpanding(false);
  tabs->setAccessibleName(QStringLiteral("text, or its lines with their losses"));
  auto* const pages = new QStackedWidget;
  pages->addWidget(text_);
  pages->addWidget(table_);
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
    connect(table_, signal, this,
            [this](const QModelIndex& index) { Q_EMIT lineSelected(scores_.lineAt(index.row())); });
  }
}

QString TextEditor::text() const {
  if (!plain_text_) plain_text_ = text_->toPlainText();
  return *plain_text_;
}

void TextEditor::setText(const QString& wanted) {
  if (wanted != text()) text_->setPlainText(wanted);
}

QStringList TextEditor::lines() const {
  if (!plain_lines_) {
    plain_lines_.emplace();
    for (const QString& line : text().split(QLatin1Char('\n'))) {
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

bool TextEditor::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut) Q_EMIT textTyped();
  return QWidget::eventFilter(watched, event);
}

}  // namespace lime::explorer
