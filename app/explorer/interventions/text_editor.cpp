// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/text_editor.h"

#include <QEvent>
#include <QFile>
#include <QFrame>
#include <QHeaderView>
#include <QModelIndex>
#include <QPlainTextEdit>
#include <QRegularExpression>
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
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kLargestText = std::size_t{4} << 20;  // bytes

/// Returns for each word of `a` whether it is in a longest common subsequence with `b`.
std::vector<bool> commonWords(const QStringList& a, const QStringList& b) {
  const auto rows = static_cast<std::size_t>(a.size()), cols = static_cast<std::size_t>(b.size());
  std::vector<std::vector<int>> longest(rows + 1, std::vector<int>(cols + 1, 0));
  const auto isSame = [&](std::size_t i, std::size_t j) {
    return a[static_cast<qsizetype>(i)] == b[static_cast<qsizetype>(j)];
  };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = cols; j-- > 0;) {
      longest[i][j] =
          isSame(i, j) ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  std::vector<bool> common(rows, false);
  for (std::size_t i = 0, j = 0; i < rows && j < cols;) {
    if (isSame(i, j)) {
      common[i] = true;
      ++i, ++j;
    } else {
      (longest[i + 1][j] >= longest[i][j + 1] ? i : j)++;
    }
  }
  return common;
}

/// Returns a text with the words that `other` lacks in bold.
QString markedWords(const QString& text, const QString& other) {
  static const QRegularExpression kGaps(u"(?<=\\s)(?=\\S)"_s);
  const QStringList words = text.split(kGaps);
  const std::vector<bool> common = commonWords(words, other.split(kGaps));
  QString html;
  for (qsizetype i = 0; i < words.size(); ++i) {
    const QString word = words[i].toHtmlEscaped().replace(u'\n', u"<br>"_s);
    html += common[static_cast<std::size_t>(i)] ? word : u"<b>%1</b>"_s.arg(word);
  }
  return html;
}

/// Returns the prompt with both continuations side by side as HTML; words that differ are bold.
QString continuationsHtml(const QString& prompt, const LineReading& before,
                          const LineReading& after, const QString& muted) {
  const QString& original = before.back().continuation;
  const QString& edited = after.back().continuation;
  const auto column = [&](const QString& title, const QString& text, const QString& other) {
    return u"<td width='50%' style='padding-right:12px'><p>%1:<br><span "
           u"style='color:%2'>%3</span>%4"
           u"</p></td>"_s.arg(title, muted, prompt.toHtmlEscaped(), markedWords(text, other));
  };
  return u"<table width='100%'><tr>%1%2</tr></table>"_s.arg(column(u"Original"_s, original, edited),
                                                            column(u"Edited"_s, edited, original));
}

void styleText(QPlainTextEdit& text, const QString& placeholder, const QString& name) {
  text.setPlaceholderText(placeholder);
  text.setAccessibleName(name);
  text.setTabChangesFocus(true);
  // A frame that is seen in the dark too.
  text.setFrameStyle(QFrame::Box | QFrame::Plain);
  text.setForegroundRole(QPalette::PlaceholderText);
  text.setLineWrapMode(QPlainTextEdit::NoWrap);
}

QStringList linesOf(const QString& text) {
  QStringList lines;
  for (const QString& line : text.split(u'\n')) {
    if (!line.trimmed().isEmpty()) lines << line;
  }
  return lines;
}

}  // namespace

TextEditor::TextEditor()
    : text_(new QPlainTextEdit),
      second_(new QPlainTextEdit),
      tabs_(makeTabs({u"Text"_s, u"Second text"_s, u"Lines by change"_s, u"Generated"_s},
                     u"text, second text, lines with their losses, or generated text"_s)),
      table_(makeTable(scores_, u"lines with their losses"_s)),
      generated_(new QTextEdit) {
  styleText(*text_,
            u"Type a prompt or a text; each line is a separate sequence.\nCtrl+Return runs it "
            u"through the original and the edited model."_s,
            u"input text of the models"_s);
  styleText(*second_,
            u"A second text, for 'Patch': a patched part takes its output from this text, at the "
            u"same positions.\nType as many lines as the text has, each of as many tokens."_s,
            u"second text, from which parts are patched"_s);
  for (QPlainTextEdit* const typed : {text_, second_}) typed->installEventFilter(this);
  table_->setAlternatingRowColors(true);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setDefaultSectionSize(84);
  table_->setColumnWidth(ScoredLines::kLine, 48);
  generated_->setReadOnly(true);
  generated_->setFrameShape(QFrame::NoFrame);
  generated_->setAccessibleName(u"text that both models generate"_s);
  generated_->setToolTip(
      u"The line in grey, then its greedy continuation by 40 tokens; words that differ are bold"_s);
  generated_->setPlaceholderText(u"Run the text to see what both models generate after a line."_s);
  auto* const pages = new QStackedWidget;
  for (QWidget* const page : std::initializer_list<QWidget*>{text_, second_, table_, generated_}) {
    pages->addWidget(page);
  }
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(12, 0, 12, 0);
  column->setSpacing(0);
  column->addWidget(tabs_);
  column->addWidget(pages, 1);
  connect(tabs_, &QTabBar::currentChanged, pages, &QStackedWidget::setCurrentIndex);
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

QString TextEditor::file() const {
  QFile file(file_);
  const bool is_same = !file_.isEmpty() && file.open(QIODevice::ReadOnly) &&
                       QString::fromUtf8(file.readAll()) == text();
  return is_same ? file_ : QString();
}

QStringList TextEditor::lines() const {
  if (!plain_lines_) plain_lines_ = linesOf(text());
  return *plain_lines_;
}

QString TextEditor::secondText() const { return second_->toPlainText(); }

void TextEditor::setSecondText(const QString& requested) {
  if (requested != secondText()) second_->setPlainText(requested);
}

QStringList TextEditor::secondLines() const { return linesOf(secondText()); }

void TextEditor::showSecondText() {
  tabs_->setCurrentIndex(1);
  second_->setFocus();
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

void TextEditor::setGenerated(const QString& prompt, const LineReading* before,
                              const LineReading* after) {
  const bool is_known = before != nullptr && after != nullptr;
  generated_->setHtml(is_known
                          ? continuationsHtml(prompt, *before, *after, mutedText(palette()).name())
                          : QString());
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
