// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/text_panes.h"

#include "explorer/models/figures.h"
#include "explorer/models/workspace.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

constexpr qsizetype kShownCharacters = 300;
constexpr qsizetype kToolTipCharacters = 1000;

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
  sequences_ = nullptr;
  setRows(std::move(rows));
}

void SentencesModel::showTexts(const std::vector<Sequence>& sequences) {
  sequences_ = &sequences;
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, kText), index(rowCount() - 1, kText));
}

QString SentencesModel::textOf(const SequenceRow& row) const {
  if (sequences_ == nullptr) return {};
  return toQString((*sequences_)[static_cast<std::size_t>(row.number)].text).replace(u'\n', u' ');
}

SequenceList::SequenceList(JobRunner& jobs)
    : jobs_(jobs),
      search_(makeSearch(u"find a sequence"_s, u"List only sequences that contain this text"_s)) {
  filter_.setSourceModel(&model_);
  filter_.setFilterKeyColumn(SentencesModel::kText);
  filter_.setFilterRole(Qt::UserRole);
  filter_.setFilterCaseSensitivity(Qt::CaseInsensitive);
  filter_.setSortRole(Qt::UserRole);
  table_ = makeTable(filter_, u"sequences"_s);
  table_->setSortingEnabled(true);
  table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);  // texts are elided
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

void SequenceList::setCapture(const std::shared_ptr<const CaptureReader>& capture) {
  if (capture == model_.capture()) return;
  is_filtering_ = true;
  model_.setCapture(capture);
  is_filtering_ = false;
  if (capture == nullptr) return;
  // Reading waits for other readers of HDF5: not on the GUI thread.
  jobs_.start<const std::vector<Sequence>*>(
      this, {.title = u"Reading the sequences"_s, .key = u"text/sequences"_s, .is_shown = false},
      [capture](const JobContext&) { return &capture->sequences(); },
      [this, capture](const std::vector<Sequence>* sequences) {
        if (capture != model_.capture()) return;
        is_filtering_ = true;
        model_.showTexts(*sequences);
        is_filtering_ = false;
        setCurrent(current_);
      });
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
    if (head_ == kAllHeads) {
      head_ = static_cast<int>(hit.panel);
      Q_EMIT headSelected();
      return;
    }
    if (hit.cell) Q_EMIT tokenSelected(static_cast<int>(texts_.size()) - 1 - hit.cell->row);
  });
  connect(&routed_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (hit.cell) Q_EMIT tokenSelected(hit.cell->col);
  });
}

void AttentionPanes::listHeads(bool is_shown) {
  const Answer<AttentionPatterns>& answer = measurements_.attention();
  const int count = answer.result ? static_cast<int>(answer.result->num_heads()) : 0;
  heads_->setEnabled(count > 0 && is_shown);
  if (count == 0) return;
  head_ = std::clamp(head_, kAllHeads, count - 1);
  if (heads_->count() != count + 1) {
    heads_->clear();
    for (int h = kAllHeads; h < count; ++h) heads_->addItem(u"all"_s, h);
  }
  for (int h = 0; h < count; ++h) heads_->setItemText(h + 1, QString::number(h + layer_base_));
  selectData(*heads_, head_);
  heads_->setToolTip(head_ == kAllHeads ? u"Patterns of all heads; click one to enlarge it"_s
                                        : headSummary(*answer.result, head_, layer_base_));
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
  const AttentionPatterns& attention = *measurements_.attention().result;
  if (head_ == kAllHeads) {
    pattern_->show(patternsFigure(attention, texts, layer_base), {},
                   u"Attention of all heads in layer %1. Click a head to enlarge it"_s.arg(
                       attention.layer + layer_base));
    return;
  }
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
  const Answer<AttentionPatterns>& attention = measurements_.attention();
  routed_->setVisible(head_ != kAllHeads);
  if (!answer.result || !attention.result || texts_.empty() || head_ == kAllHeads) {
    routed_->show(std::nullopt,
                  answer.job != 0 ? u"Computing routed attention ..."_s : answer.problem);
    return;
  }
  routed_->show(
      routedAttentionFigure(*answer.result, query_, texts_, layer_base_), {},
      u"Buffered layers read by %1 (head %2, %3)"_s.arg(tokenName(texts_, query_))
          .arg(attention.result->routed_head(head_) + layer_base_)
          .arg(answer.result->of_values ? u"by its values"_s : u"by the RMS of the values"_s));
}

QString AttentionPanes::describePattern(const FigureHit& hit) const {
  const Answer<AttentionPatterns>& answer = measurements_.attention();
  if (!answer.result || !hit.cell) return {};
  const std::size_t head = head_ == kAllHeads ? hit.panel : static_cast<std::size_t>(head_);
  if (head_ == kAllHeads)
    return headSummary(*answer.result, static_cast<std::int64_t>(head), layer_base_)
        .section(u'\n', 0, 0);
  const MatrixF& pattern = answer.result->patterns[head];
  const auto query = static_cast<int>(pattern.rows()) - 1 - hit.cell->row;
  return u"%1 attends to %2 with %3; click to follow it through the routers"_s
      .arg(tokenName(texts_, query), tokenName(texts_, hit.cell->col))
      .arg(static_cast<double>(pattern(query, hit.cell->col)), 0, 'f', 4);
}

QString AttentionPanes::describeRouted(const FigureHit& hit) const {
  const Answer<RoutedAttention>& answer = measurements_.routed();
  if (!answer.result || !hit.cell) return {};
  const MatrixD& shares = answer.result->shares;
  return u"%1 in buffered layer %2: %3% of the input; the whole layer: %4%"_s
      .arg(tokenName(texts_, hit.cell->col))
      .arg(hit.cell->row + layer_base_)
      .arg(100.0 * shares(hit.cell->row, hit.cell->col), 0, 'f', 2)
      .arg(100.0 * shares.row(hit.cell->row).sum(), 0, 'f', 1);
}

TokenMap::TokenMap(const TextMeasurements& measurements, Workspace& workspace,
                   const Preferences& preferences)
    : FigurePane(u"tokens in all layers"_s),
      measurements_(measurements),
      workspace_(workspace),
      preferences_(preferences) {
  plot().setDescriber([this](const FigureHit& hit) { return describe(hit); });
  connect(&plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (hit.cell) Q_EMIT cellSelected(hit.cell->col, layerAt(hit.cell->row));
  });
}

std::optional<int> TokenMap::layerAt(int row) const {
  const auto at = static_cast<std::size_t>(row);
  return at < content_.layers.size() ? std::optional(content_.layers[at]) : std::nullopt;
}

void TokenMap::draw(Content content, const QString& message) {
  // A click redraws the view, but changes no value.
  Drawn drawn{.content = content, .message = message, .layer_base = preferences_.layer_base};
  for (const int id : measurements_.documents()) {
    const Answer<SequenceTokens>& answer = measurements_.tokens(id);
    const Document* const document = workspace_.find(id);
    if (!answer.result || document == nullptr) continue;
    drawn.parts.emplace_back(document->capture, workspace_.uniqueLabel(*document),
                             answer.result->revision);
  }
  if (drawn == drawn_) return;
  drawn_ = std::move(drawn);
  content_ = std::move(content);
  std::vector<FigureSource> sources;
  documents_.clear();
  for (const int id : measurements_.documents()) {
    const Answer<SequenceTokens>& answer = measurements_.tokens(id);
    const Document* const document = workspace_.find(id);
    if (!answer.result || document == nullptr) continue;
    FigureSource source{document->path, answer.result->results};
    const std::string label = workspace_.uniqueLabel(*document).toStdString();
    for (ResultRow& row : source.results.rows) row.set(col::kLabel, label);
    sources.push_back(std::move(source));
    documents_.push_back(id);
  }
  FigureOptions options;
  options.layer_base = preferences_.layer_base;
  options.mixed_texts = true;
  options.measure = {content_.measure};
  FigureOrMessage figure_or_message = figureOrMessage(sources, options);
  const QString& problem = figure_or_message.message;
  const QString& reason = message.isEmpty() ? figure_or_message.nothing : message;
  show(std::move(figure_or_message.figure), problem.isEmpty() ? reason : problem,
       u"%1 of each token in each layer, sequence %2"_s.arg(content_.title).arg(content_.sequence));
  plot().linkAllPanels(workspace_, u"token"_s);
}

void TokenMap::mark(std::optional<int> layer, int token) {
  const Figure* const map = plot().figure();
  const std::vector<int>& all = content_.layers;
  const auto row = layer ? std::ranges::find(all, *layer) : all.end();
  std::vector<FigureMark> marks;
  for (std::size_t p = 0; map != nullptr && p < map->panels.size() && row != all.end(); ++p) {
    const auto at = static_cast<double>(row - all.begin());
    const auto& cells = std::get<HeatmapPanel>(map->panels[p].content).values;
    marks.push_back({.panel = p,
                     .area = QRectF(-0.5, at - 0.5, static_cast<double>(cells.cols()), 1.0),
                     .is_strong = false});
    if (token >= 0) marks.push_back({.panel = p, .area = QRectF(token - 0.5, at - 0.5, 1.0, 1.0)});
  }
  plot().setMarks(std::move(marks));
}

std::vector<TextToken> TokenMap::coloured(const std::vector<std::optional<double>>& values) const {
  const Figure* const map = plot().figure();
  const auto [low, high] = map != nullptr ? colour_range_of(*map) : std::pair(0.0, 1.0);
  const HeatmapPalette palette =
      usual_palette(map != nullptr && std::get<HeatmapPanel>(map->panels.front().content).is_signed,
                    isDark(this->palette()));
  std::vector<TextToken> tokens;
  for (const std::optional<double>& value : values) {
    TextToken& token = tokens.emplace_back();
    if (!value) continue;
    const Colour own = heatmap_colour(palette, high > low ? (*value - low) / (high - low) : 0.5);
    token.ground = QColor(own.red, own.green, own.blue);
    token.is_clipped = *value < low || *value > high;
  }
  return tokens;
}

QString TokenMap::describe(const FigureHit& hit) const {
  const Figure* const map = plot().figure();
  if (map == nullptr || !hit.cell || hit.panel >= documents_.size()) return {};
  const int id = documents_[hit.panel];
  const Document* const document = workspace_.find(id);
  const Answer<SequenceTokens>& answer = measurements_.tokens(id);
  const std::optional<int> layer = layerAt(hit.cell->row);
  if (document == nullptr || !answer.result || !layer) return {};
  const auto& cells = std::get<HeatmapPanel>(map->panels[hit.panel].content).values;
  return u"%1: %2, layer %3: %4 %5"_s
      .arg(document->label, tokenName(answer.result->texts, hit.cell->col))
      .arg(*layer + preferences_.layer_base)
      .arg(content_.title.toLower())
      .arg(cells(hit.cell->row, hit.cell->col), 0, 'g', 4);
}

QStringList TokenMap::commandLines(const QString& checkpoint,
                                   const QStringList& figure_options) const {
  QStringList measure{"lime-metrics", "tokens"}, labels;
  for (const int id : documents_) {
    const Document* const document = workspace_.find(id);
    if (document == nullptr) continue;
    measure << toQString(document->path);
    labels << workspace_.uniqueLabel(*document);
  }
  measure << "--label" << labels << "--site" << toQString(content_.site) << "--sequence"
          << QString::number(content_.sequence);
  if (!checkpoint.isEmpty()) measure << "--checkpoint" << checkpoint;
  return {
      shellLine(measure << QStringList{"-o", "tokens.json"}),
      shellLine(QStringList{"lime-figure", "tokens.json", "--measure", toQString(content_.measure)}
                << figure_options << QStringList{"-o", "tokens.pdf"})};
}

}  // namespace lime::explorer
