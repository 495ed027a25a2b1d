// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/text_panes.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

constexpr qsizetype kShownCharacters = 300;
constexpr qsizetype kToolTipCharacters = 1000;

constexpr int kEdge = 12;    // around the text, pixels
constexpr int kBeside = 2;   // of a token's text
constexpr int kGap = 1;      // between tokens
constexpr int kLineGap = 5;  // between lines

}  // namespace

SentencesModel::SentencesModel() {
  const auto number = [](const SequenceRow& row) { return row.number; };
  const auto tokens = [](const SequenceRow& row) { return static_cast<qlonglong>(row.num_tokens); };
  const auto text = [this](const SequenceRow& row) { return textOf(row).left(kShownCharacters); };
  const auto tool_tip = [this](const SequenceRow& row) {
    return textOf(row).left(kToolTipCharacters);
  };
  // Numbers are sorted as such.
  const auto by = [](const std::function<QVariant(const SequenceRow&)>& sorted) {
    return [sorted](const SequenceRow& row, int role) {
      return role == Qt::UserRole ? sorted(row) : QVariant();
    };
  };
  setTable({{u"No."_s, number, true, {}, tool_tip, by(number)},
            {u"Tokens"_s, tokens, true, {}, tool_tip, by(tokens)},
            {u"Sequence"_s, text, false, {}, tool_tip, by([this](const SequenceRow& row) {
               return textOf(row);
             })}},
           {});
}

void SentencesModel::setCapture(std::shared_ptr<const CaptureReader> capture) {
  if (capture == capture_) return;
  std::vector<SequenceRow> rows;
  for (std::int64_t i = 0; capture && i < capture->num_sequences(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    rows.push_back({static_cast<int>(i), capture->offsets()[at + 1] - capture->offsets()[at]});
  }
  capture_ = std::move(capture);
  setRows(std::move(rows));
}

QString SentencesModel::textOf(const SequenceRow& row) const {
  return toQString(capture_->sequences()[static_cast<std::size_t>(row.number)].text)
      .replace(u'\n', u' ');
}

SequenceList::SequenceList()
    : search_(makeSearch(u"find a sequence"_s, u"List only sequences that contain this text"_s)) {
  filter_.setSourceModel(&model_);
  filter_.setFilterKeyColumn(SentencesModel::kText);
  filter_.setFilterRole(Qt::UserRole);
  filter_.setFilterCaseSensitivity(Qt::CaseInsensitive);
  filter_.setSortRole(Qt::UserRole);
  table_ = makeTable(filter_, u"sequences"_s);
  table_->setSortingEnabled(true);
  table_->sortByColumn(SentencesModel::kNumber, Qt::AscendingOrder);
  const int digit = table_->fontMetrics().averageCharWidth();
  table_->setColumnWidth(SentencesModel::kNumber, 7 * digit);
  table_->setColumnWidth(SentencesModel::kTokens, 9 * digit);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(8, 4, 0, 0);
  column->addWidget(search_);
  column->addWidget(table_, 1);
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    // The table would move to a neighbour where the current sequence leaves it.
    is_filtering_ = true;
    filter_.setFilterFixedString(text);
    is_filtering_ = false;
    setCurrent(current_);
  });
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (!index.isValid() || is_filtering_) return;
            Q_EMIT sequenceSelected(filter_.mapToSource(index).row());
          });
}

void SequenceList::setCapture(std::shared_ptr<const CaptureReader> capture) {
  is_filtering_ = true;
  model_.setCapture(std::move(capture));
  is_filtering_ = false;
}

void SequenceList::setCurrent(int sequence) {
  current_ = sequence;
  const QModelIndex row = filter_.mapFromSource(model_.index(sequence, 0));
  if (row.isValid() && table_->currentIndex().row() != row.row()) setCurrentQuietly(*table_, row);
}

void SequenceList::focusSearch() { search_->setFocus(Qt::ShortcutFocusReason); }

AttentionPanes::AttentionPanes(const TextMeasurements& measurements)
    : measurements_(measurements),
      heads_bar_(new QWidget),
      pattern_(new FigurePane(u"attention pattern"_s)),
      routed_(new FigurePane(u"routed attention"_s)) {
  auto* const heads = new QHBoxLayout(heads_bar_);
  heads->setContentsMargins(0, 0, 0, 0);
  heads_ = addChoiceBox(*heads, u"&Head"_s, u"Attention head"_s);
  pattern_->plot().setKeepsAspect(true);
  fillWithColumn(*this)->addWidget(makeSplitter(Qt::Horizontal, {pattern_, routed_}, {400, 440}));
  connect(heads_, &QComboBox::activated, this, [this] {
    head_ = heads_->currentData().toInt();
    Q_EMIT headSelected();
  });
  pattern_->plot().setDescriber([this](const FigureHit& hit) { return describePattern(hit); });
  routed_->plot().setDescriber([this](const FigureHit& hit) { return describeRouted(hit); });
  connect(&pattern_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (hit.cell) Q_EMIT tokenSelected(static_cast<int>(texts_.size()) - 1 - hit.cell->row);
  });
  connect(&routed_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (hit.cell) Q_EMIT tokenSelected(hit.cell->col);
  });
}

void AttentionPanes::listHeads(bool is_shown) {
  const Answer<AttentionExploration>& answer = measurements_.attention();
  const int count = answer.result ? static_cast<int>(answer.result->num_heads()) : 0;
  heads_->setEnabled(count > 0 && is_shown);
  if (count == 0) return;
  head_ = std::clamp(head_, 0, count - 1);
  if (heads_->count() != count) {
    heads_->clear();
    for (int h = 0; h < count; ++h) heads_->addItem(QString(), h);
  }
  for (int h = 0; h < count; ++h) heads_->setItemText(h, QString::number(h + layer_base_));
  selectData(*heads_, head_);
  heads_->setToolTip(headSummary(*answer.result, head_, layer_base_));
}

void AttentionPanes::drawPattern(const std::vector<QString>& texts, const QString& message,
                                 int query, int layer_base) {
  texts_ = texts;
  query_ = query;
  layer_base_ = layer_base;
  if (texts.empty()) {
    pattern_->show(std::nullopt, message);
    return;
  }
  const AttentionExploration& attention = *measurements_.attention().result;
  pattern_->show(patternFigure(attention, head_, texts), {},
                 u"Attention of head %1 in layer %2"_s.arg(head_ + layer_base)
                     .arg(attention.layer + layer_base),
                 headSummary(attention, head_, layer_base));
  const auto count = static_cast<double>(texts.size());
  pattern_->plot().setMarks(
      {{.panel = 0, .area = QRectF(-0.5, count - 1.5 - query, count, 1.0), .is_strong = false}});
}

void AttentionPanes::drawRouted() {
  const Answer<RoutedAttention>& answer = measurements_.routed();
  const Answer<AttentionExploration>& attention = measurements_.attention();
  if (!answer.result || !attention.result || texts_.empty()) {
    routed_->show(std::nullopt,
                  answer.job != 0 ? u"Computing routed attention ..."_s : answer.problem);
    return;
  }
  routed_->show(routedAttentionFigure(*answer.result, query_, texts_, layer_base_), {},
                u"Buffered layers read by %1 (head %2, %3)"_s.arg(tokenName(texts_, query_))
                    .arg(attention.result->routed_head(head_) + layer_base_)
                    .arg(answer.result->of_values ? u"by its values"_s
                                                  : u"by the mean values of the text"_s));
}

QString AttentionPanes::describePattern(const FigureHit& hit) const {
  const Answer<AttentionExploration>& answer = measurements_.attention();
  if (!answer.result || !hit.cell) return {};
  const MatrixF& pattern = answer.result->patterns[static_cast<std::size_t>(head_)];
  const auto query = static_cast<int>(pattern.rows()) - 1 - hit.cell->row;
  return u"%1 attends to %2 with %3; click to follow it through the routers"_s
      .arg(tokenName(texts_, query), tokenName(texts_, hit.cell->col))
      .arg(static_cast<double>(pattern(query, hit.cell->col)), 0, 'f', 4);
}

QString AttentionPanes::describeRouted(const FigureHit& hit) const {
  const Answer<RoutedAttention>& answer = measurements_.routed();
  if (!answer.result || !hit.cell) return {};
  const MatrixD& shares = answer.result->shares;
  return u"%1 in buffered layer %2: %3 % of the input; the whole layer: %4 %"_s
      .arg(tokenName(texts_, hit.cell->col))
      .arg(hit.cell->row + layer_base_)
      .arg(100.0 * shares(hit.cell->row, hit.cell->col), 0, 'f', 2)
      .arg(100.0 * shares.row(hit.cell->row).sum(), 0, 'f', 1);
}

TokenText::TokenText() {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(u"text, token by token"_s);
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void TokenText::setTokens(std::vector<Token> tokens) {
  const bool is_same_text =
      std::equal(tokens.begin(), tokens.end(), tokens_.begin(), tokens_.end(),
                 [](const Token& a, const Token& b) { return a.text == b.text; });
  tokens_ = std::move(tokens);
  if (!is_same_text) {
    current_ = -1;
    hovered_ = -1;
    layOut(width(), &places_);
    updateGeometry();
  }
  update();
}

void TokenText::setCurrent(int token) {
  if (token >= static_cast<int>(tokens_.size())) token = -1;
  if (token == current_) return;
  current_ = token;
  announce();
  update();
}

void TokenText::announce() {
  setAccessibleDescription(current_ < 0 ? QString()
                                        : u"token %1: %2"_s.arg(current_).arg(
                                              tokens_[static_cast<std::size_t>(current_)].text));
}

QRect TokenText::place(int token) const {
  return token >= 0 && token < static_cast<int>(places_.size())
             ? places_[static_cast<std::size_t>(token)]
             : QRect();
}

int TokenText::layOut(int width, std::vector<QRect>* places) const {
  const QFontMetrics metrics(font());
  const int line = metrics.height() + 4;
  const int right = std::max(width - kEdge, kEdge + 40);
  int x = kEdge;
  int y = kEdge / 2;
  if (places != nullptr) places->clear();
  for (const Token& token : tokens_) {
    const int wide = std::min(metrics.horizontalAdvance(token.text) + 2 * kBeside, right - kEdge);
    if (x + wide > right && x > kEdge) {
      x = kEdge;
      y += line + kLineGap;
    }
    if (places != nullptr) places->emplace_back(x, y, wide, line);
    x += wide + kGap;
  }
  return y + line + kEdge / 2;
}

int TokenText::heightForWidth(int width) const { return layOut(width, nullptr); }

QSize TokenText::sizeHint() const {
  const int wide = 480;
  return {wide, heightForWidth(wide)};
}

void TokenText::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.setRenderHint(QPainter::Antialiasing);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Token& token = tokens_[i];
    const QRect& place = places_[i];
    QColor ink = palette().color(QPalette::Text);
    if (token.ground.isValid()) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(token.ground);
      painter.drawRoundedRect(place, 2.5, 2.5);
      ink = inkOn(token.ground);
    }
    painter.setPen(ink);
    painter.drawText(place.adjusted(kBeside, 0, -kBeside, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     fontMetrics().elidedText(token.text, Qt::ElideRight, place.width()));
    const bool is_current = static_cast<int>(i) == current_;
    if (!is_current && static_cast<int>(i) != hovered_) continue;
    QPen pen(is_current ? palette().color(QPalette::Text)
                        : palette().color(QPalette::PlaceholderText));
    pen.setWidth(is_current ? 2 : 1);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(place).adjusted(0.5, 0.5, -0.5, -0.5), 2.5, 2.5);
  }
  if (hasFocus() && current_ < 0) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 1, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(1, 1, -2, -2));
  }
}

void TokenText::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  layOut(width(), &places_);
}

int TokenText::tokenAt(const QPoint& position) const {
  const auto at = std::find_if(places_.begin(), places_.end(),
                               [&](const QRect& place) { return place.contains(position); });
  return at == places_.end() ? -1 : static_cast<int>(at - places_.begin());
}

void TokenText::mouseMoveEvent(QMouseEvent* event) {
  const int token = tokenAt(event->position().toPoint());
  if (token == hovered_) return;
  hovered_ = token;
  update();
  Q_EMIT hovered(token);
}

void TokenText::mousePressEvent(QMouseEvent* event) {
  const int token = tokenAt(event->position().toPoint());
  if (event->button() != Qt::LeftButton || token < 0) {
    QWidget::mousePressEvent(event);
    return;
  }
  setCurrent(token);
  Q_EMIT selected(token);
}

void TokenText::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  if (hovered_ < 0) return;
  hovered_ = -1;
  update();
  Q_EMIT hovered(-1);
}

void TokenText::keyPressEvent(QKeyEvent* event) {
  const int count = static_cast<int>(tokens_.size());
  int wanted = current_;
  switch (event->key()) {
    case Qt::Key_Left:
      wanted = current_ < 0 ? count - 1 : std::max(0, current_ - 1);
      break;
    case Qt::Key_Right:
      wanted = std::min(count - 1, current_ + 1);
      break;
    case Qt::Key_Home:
      wanted = 0;
      break;
    case Qt::Key_End:
      wanted = count - 1;
      break;
    default:
      QWidget::keyPressEvent(event);
      return;
  }
  if (event->modifiers() != Qt::NoModifier || count == 0) {
    QWidget::keyPressEvent(event);
    return;
  }
  setCurrent(wanted);
  Q_EMIT selected(wanted);
}

void TokenText::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::FontChange) return;
  layOut(width(), &places_);
  updateGeometry();
}

}  // namespace lime::explorer
