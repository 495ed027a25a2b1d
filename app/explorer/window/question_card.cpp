// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/question_card.h"

#include <QEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include "explorer/widgets/theme.h"
#include "viz/figure_file.h"

namespace lime::explorer {
namespace {

constexpr int kThumbnailHeight = 132;
constexpr int kCardWidth = 180;
constexpr int kCardMargin = 12;
constexpr double kCardRound = 6.0;

QLabel* makeCardLabel(QVBoxLayout& column) {
  auto* const label = new QLabel;
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setAttribute(Qt::WA_TransparentForMouseEvents);
  column.addWidget(label);
  return label;
}

}  // namespace

QuestionCard::QuestionCard(const Question& question) : question_(question) {
  setText(question.title);
  setAccessibleName(question.title);
  setFocusPolicy(Qt::StrongFocus);
  setCursor(Qt::PointingHandCursor);
  setAttribute(Qt::WA_Hover);
  setEnabled(false);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);  // as high as the cards beside it
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(kCardMargin, kCardMargin, kCardMargin, kCardMargin);
  thumbnail_ = makeCardLabel(*column);
  thumbnail_->setFixedHeight(kThumbnailHeight);
  thumbnail_->setAlignment(Qt::AlignCenter);
  QLabel* const title = makeCardLabel(*column);
  title->setText(question.title);
  QFont font = title->font();
  font.setWeight(QFont::DemiBold);
  title->setFont(font);
  sentence_ = makeCardLabel(*column);
  sentence_->setText(u"..."_s);
  sentence_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  sentence_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Expanding);
  column->setStretchFactor(sentence_, 1);
}

void QuestionCard::setFinding(const Finding& finding) {
  finding_ = finding;
  sentence_->setText(finding.sentence);
  setAccessibleDescription(finding.sentence);
  setEnabled(true);
  drawThumbnail();
}

void QuestionCard::setProblem(const QString& problem) {
  sentence_->setText(problem);
  setAccessibleDescription(problem);
}

void QuestionCard::drawThumbnail() {
  if (!finding_ || thumbnail_->width() < kCardMargin) return;
  FigureStyle style;
  style.theme = isDark(palette()) ? FigureTheme::kDark : FigureTheme::kLight;
  style.no_note = true;
  const double ratio = devicePixelRatioF();
  try {
    QImage image =
        preview_figure(finding_->figure, style, (QSizeF(thumbnail_->size()) * ratio).toSize());
    image.setDevicePixelRatio(ratio);
    thumbnail_->setPixmap(QPixmap::fromImage(image));
  } catch (const Error& error) {
    thumbnail_->setText(toQString(error));
  }
}

void QuestionCard::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const bool is_marked = isEnabled() && (underMouse() || hasFocus());
  const auto edge = is_marked ? QPalette::Highlight : QPalette::Mid;
  painter.setPen(QPen(palette().color(edge), is_marked ? 2.0 : 1.0));
  painter.setBrush(isDown() ? palette().color(QPalette::Midlight) : QColor(Qt::transparent));
  painter.drawRoundedRect(QRectF(rect()).adjusted(1.0, 1.0, -1.0, -1.0), kCardRound, kCardRound);
}

void QuestionCard::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    click();
  } else {
    QAbstractButton::keyPressEvent(event);
  }
}

void QuestionCard::changeEvent(QEvent* event) {
  QAbstractButton::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) drawThumbnail();
}

void QuestionCard::resizeEvent(QResizeEvent* event) {
  QAbstractButton::resizeEvent(event);
  drawThumbnail();
}

QSize QuestionCard::sizeHint() const { return layout()->sizeHint().expandedTo({260, 300}); }

QSize QuestionCard::minimumSizeHint() const {
  return {kCardWidth, layout()->heightForWidth(kCardWidth)};
}

}  // namespace lime::explorer
