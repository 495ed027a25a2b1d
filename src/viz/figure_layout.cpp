// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_layout.h"

#include "core/program/terminal.h"
#include "viz/figure_legend.h"
#include "viz/plots/panel_builder.h"

namespace lime {
namespace {

constexpr int kRounds = 3;             // of fitting sizes: labels depend slightly on them
constexpr double kLinesPerTick = 2.0;  // in a low panel, so that tick labels do not overlap
constexpr int kFewestTicks = 3;
/// Minimum readable heights in lines: of a panel, of a heatmap, of a name next to bars, of one bar.
constexpr double kLowestPanel = 4.0;
constexpr double kLowestMap = 1.0;
constexpr double kLowestName = 0.85;
constexpr double kLowestBar = 0.35;
constexpr int kUsualTicks = 5;
constexpr double kLabelOverhang = 1.15;  // relative to the axis
constexpr double kTitleGap = 4.0;        // points, between a letter, a title and what follows

/// Wraps `text` at spaces if it is longer than `room`.
QString wrapped(const QString& text, const QFont& font, double room) {
  const QFontMetricsF metrics(font);
  QString lines;
  QString line;
  for (const QString& word : text.split(' ')) {
    const QString longer = line.isEmpty() ? word : line + ' ' + word;
    if (!line.isEmpty() && metrics.horizontalAdvance(longer) > room) {
      lines += line + '\n';
      line = word;
    } else {
      line = longer;
    }
  }
  return lines + line;
}

/// Returns `text` in lines of at most `room`, if possible with its parts "LIMe, layer 1" in one
/// line each; words that are longer are elided.
QString fitted(QString text, const QFont& font, double room) {
  const QFontMetricsF metrics(font);
  if (metrics.horizontalAdvance(text) > room) text.replace(", ", ",\n");
  QStringList lines;
  for (const QString& part : text.split('\n')) lines << wrapped(part, font, room).split('\n');
  for (QString& line : lines) line = metrics.elidedText(line, Qt::ElideMiddle, room);
  return lines.join('\n');
}

/// Returns the longest label of a reference line at the upper right of `panel`.
double reference_width(const FigurePanel& panel, const QFont& font) {
  const auto* const curves = std::get_if<CurvePanel>(&panel.content);
  double width = 0.0;
  if (curves == nullptr) return width;
  for (const ReferenceLine& line : curves->references) {
    if (line.label.empty() || line.in_legend) continue;
    const QString label = QString::fromStdString(line.label);
    width = std::max(width, QFontMetricsF(font).horizontalAdvance(label) + units(kTitleGap));
  }
  return width;
}

/// Returns stretch factors that give the axis areas of `count` panels, `step` apart, equal extents.
std::vector<double> even_factors(const std::vector<QCPAxisRect*>& rects, int count, int step,
                                 int (QRect::*extent)() const) {
  std::vector<double> factors;  // of the labels, at first
  double area = 0.0;
  for (int i = 0; i < count; ++i) {
    const QCPAxisRect& rect = *rects[static_cast<std::size_t>(i * step)];
    const double inner = (rect.rect().*extent)();
    factors.push_back((rect.outerRect().*extent)() - inner);
    area += inner;
  }
  for (double& factor : factors) factor = std::max(1.0, factor + area / count);
  return factors;
}

}  // namespace

FigureLayout::FigureLayout(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme,
                           int width, std::optional<int> height)
    : plot_(plot),
      figure_(figure),
      theme_(theme),
      width_(width),
      height_(height),
      num_colours_(num_colours_of(figure)) {
  plot_.plotLayout()->clear();
  plot_.plotLayout()->setRowSpacing(units(2));
  plot_.plotLayout()->setAutoMargins(QCP::msNone);
  plot_.plotLayout()->setMargins(QMargins(units(2), units(3), units(2), units(2)));
  plot_.setBackground(theme_.ground());
  plot_.setAntialiasedElements(QCP::aeAll);
  const std::string title =
      escaped_lines(theme_.style().title.empty() ? figure_.title : theme_.style().title);
  const int text_width = width_ - 2 * units(4);
  if (!title.empty()) {
    add_row(new_note(&plot_, title, theme_.title_font(), theme_.ink(), text_width));
  }
  if (const std::vector<LegendEntry> entries = legend_of(figure_); entries.size() > 1) {
    legend_ = new LegendElement(&plot_, entries, num_colours_, theme_, text_width);
    add_row(legend_);
  }
  add_panels();
  if (!figure_.note.empty()) {
    add_row(new_note(&plot_, figure_.note, theme_.note_font(), theme_.muted(), text_width));
  }
}

void FigureLayout::add_row(QCPLayoutElement* element) {
  plot_.plotLayout()->addElement(plot_.plotLayout()->rowCount(), 0, element);
}

int FigureLayout::num_columns() const {
  return std::clamp(figure_.columns, 1, static_cast<int>(figure_.panels.size()));
}

int FigureLayout::num_rows() const {
  return (static_cast<int>(figure_.panels.size()) + num_columns() - 1) / num_columns();
}

bool FigureLayout::has_long_colour_bar() const {
  constexpr double kLowest = 20.0;     // mm, for the tick labels and the label of a colour bar
  constexpr double kColourBar = 15.0;  // mm, including its labels
  constexpr double kLabels = 10.0;
  const double width = (width_ / kUnitsPerMm - kColourBar) / num_columns() - kLabels;
  const double panel =
      height_ ? *height_ / kUnitsPerMm / num_rows() - kLabels : width * figure_.panel_aspect;
  return has_any<HeatmapPanel>(figure_) && num_rows() > 1 && panel < kLowest;
}

HeatmapScale FigureLayout::heatmap_scale() const {
  const bool is_signed = std::ranges::any_of(figure_.panels, [](const FigurePanel& panel) {
    const auto* const map = std::get_if<HeatmapPanel>(&panel.content);
    return map != nullptr && map->is_signed;
  });
  const auto [low, high] = colour_range_of(figure_);
  return {theme_.map_palette(is_signed), low, high, figure_.logarithmic_colours};
}

void FigureLayout::add_panels() {
  // Insert the grid before filling it: what is drawn in a panel looks up its axes in the plot.
  grid_ = new QCPLayoutGrid;
  if (has_long_colour_bar()) {
    sheet_ = new QCPLayoutGrid;
    add_row(sheet_);
    sheet_->setColumnSpacing(units(5));
    sheet_->addElement(0, 0, grid_);
  } else {
    add_row(grid_);
  }
  grid_->setColumnSpacing(units(5));
  grid_->setRowSpacing(units(4));
  std::vector<QCPMarginGroup*> columns;
  columns.reserve(static_cast<std::size_t>(num_columns()));
  for (int c = 0; c < num_columns(); ++c) columns.push_back(new QCPMarginGroup(&plot_));
  std::vector<QCPMarginGroup*> rows;
  for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
    const int col = static_cast<int>(i) % num_columns();
    if (col == 0) rows.push_back(new QCPMarginGroup(&plot_));
    QCPLayoutElement* const element = panel_element(i);
    elements_.push_back(element);
    if (auto* const rect = qobject_cast<QCPAxisRect*>(element)) {
      rect->setMarginGroup(QCP::msLeft | QCP::msRight, columns[static_cast<std::size_t>(col)]);
      rect->setMarginGroup(QCP::msTop | QCP::msBottom, rows.back());
      rects_.push_back(rect);
    }
  }
  if (figure_.shares_y) share_y();
  if (has_any<HeatmapPanel>(figure_)) {
    // Aligned with the upper and lower ends of the adjacent panels.
    add_colour_bar(rows.front(), sheet_ != nullptr ? rows.back() : rows.front());
  }
}

QCPAxisRect* FigureLayout::axes_of(std::size_t panel) const {
  return qobject_cast<QCPAxisRect*>(elements_.at(panel));
}

void FigureLayout::place_on_grid(QCPLayoutElement* element, std::size_t index) {
  grid_->addElement(static_cast<int>(index) / num_columns(),
                    static_cast<int>(index) % num_columns(), element);
}

QCPLayoutElement* FigureLayout::panel_element(std::size_t index) {
  const FigurePanel& panel = figure_.panels[index];
  if (const auto* const table = std::get_if<TablePanel>(&panel.content)) {
    auto* const element = new_table(&plot_, *table, theme_);
    place_on_grid(element, index);
    return element;
  }
  QCPAxisRect* const rect = new_axis_rect(&plot_);
  place_on_grid(rect, index);
  const PanelPlace place{&plot_, rect, &theme_, num_colours_, heatmap_scale()};
  std::visit([&](const auto& content) { add_content(place, content); }, panel.content);
  style_axes(place, panel);
  add_title(rect, index);
  return rect;
}

void FigureLayout::add_title(QCPAxisRect* rect, std::size_t index) {
  const bool has_letters = theme_.style().panel_letters && figure_.panels.size() <= 26;
  const std::string letter(has_letters ? 1 : 0, static_cast<char>('a' + index));
  const std::string& title = figure_.panels[index].title;
  const auto has_title = [](const FigurePanel& panel) { return !panel.title.empty(); };
  if (!has_letters && std::ranges::none_of(figure_.panels, has_title)) return;
  set_title_lines(rect, 1);
  const auto text = [&](const std::string& words, const QFont& font) {
    QCPItemText* const item =
        add_text(&plot_, words, font, theme_.ink(), Qt::AlignLeft | Qt::AlignBottom,
                 QMargins(0, 0, 0, units(1.5)));
    item->setTextAlignment(Qt::AlignLeft);
    item->position->setAxisRect(rect);
    item->position->setType(QCPItemPosition::ptAxisRectRatio);
    item->position->setCoords(0.0, 0.0);
    return item;
  };
  QCPItemText* front = letter.empty() ? nullptr : text(letter, theme_.title_font());
  if (title.empty()) return;
  QCPItemText* const behind = text(title, theme_.label_font());
  titles_.push_back({index, behind, 0.0});
  if (front == nullptr) return;
  titles_.back().indent =
      QFontMetricsF(front->font()).horizontalAdvance(front->text()) + units(kTitleGap);
  behind->position->setParentAnchor(front->bottomRight);
  behind->position->setType(QCPItemPosition::ptAbsolute);
  behind->position->setCoords(units(kTitleGap), 0.0);
}

void FigureLayout::set_title_lines(QCPAxisRect* rect, int lines) {
  QMargins margins = rect->minimumMargins();
  margins.setTop(lines * theme_.line_height() + units(3));
  rect->setMinimumMargins(margins);
}

void FigureLayout::wrap_titles() {
  for (const PanelTitle& title : titles_) {
    const FigurePanel& panel = figure_.panels[title.panel];
    const std::size_t next = title.panel + 1;
    const bool has_next = next < elements_.size() && static_cast<int>(next) % num_columns() != 0;
    const QCPAxisRect* const own = axes_of(title.panel);
    const double label = reference_width(panel, theme_.tick_font());
    const int right = label > 0.0 ? own->right()
                      : has_next  ? axes_of(next)->left() - units(kTitleGap)
                                  : own->outerRect().right();
    const double room = right - own->left() - title.indent - label;
    title.item->setText(fitted(QString::fromStdString(panel.title), title.item->font(), room));
    set_title_lines(axes_of(title.panel), 1 + static_cast<int>(title.item->text().count('\n')));
  }
}

void FigureLayout::share_y() {
  QCPRange all = rects_.front()->axis(QCPAxis::atLeft)->range();
  for (QCPAxisRect* const rect : rects_) all.expand(rect->axis(QCPAxis::atLeft)->range());
  for (std::size_t i = 0; i < rects_.size(); ++i) {
    QCPAxis* const axis = rects_[i]->axis(QCPAxis::atLeft);
    axis->setRange(all);
    if (static_cast<int>(i) % num_columns() == 0) continue;
    axis->setTickLabels(false);
    axis->setLabel("");
  }
}

// The groups are arguments: QCPLayoutElement::marginGroup() is inline and, compiled here, does not
// find 1 % of the groups that Debian's library stored, depending on the hash seed of the process.
void FigureLayout::add_colour_bar(QCPMarginGroup* top, QCPMarginGroup* bottom) {
  QCPAxisRect* const bar = new_colour_bar(&plot_, heatmap_scale(), figure_.colour_label, theme_);
  colour_bar_ = bar->axis(QCPAxis::atRight);
  // In the first row of panels, as high as one panel; if that is too low, next to all rows.
  QCPLayoutGrid* const grid = sheet_ != nullptr ? sheet_ : grid_;
  const int column = grid->columnCount();
  grid->addElement(0, column, bar);
  grid->setColumnStretchFactor(column, 1e-3);
  bar->setMarginGroup(QCP::msTop, top);
  bar->setMarginGroup(QCP::msBottom, bottom);
}

void FigureLayout::update(int height) {
  plot_.setViewport(QRect(0, 0, width_, height));
  for (const auto phase :
       {QCPLayoutElement::upPreparation, QCPLayoutElement::upMargins, QCPLayoutElement::upLayout}) {
    plot_.plotLayout()->update(phase);
  }
}

void FigureLayout::wrap_labels() {
  const auto wrap = [](QCPAxis* axis, double room) {
    axis->setLabel(wrapped(axis->label().replace('\n', ' '), axis->labelFont(), room));
  };
  for (QCPAxisRect* const rect : rects_) {
    wrap(rect->axis(QCPAxis::atLeft), kLabelOverhang * rect->height());
    wrap(rect->axis(QCPAxis::atBottom), kLabelOverhang * rect->width());
  }
  if (colour_bar_ == nullptr) return;
  // Nothing else is above and below a colour bar.
  const QCPAxisRect& bar = *colour_bar_->axisRect();
  const QMargins around = bar.margins();
  wrap(colour_bar_, bar.height() + 2.0 * std::min(around.top(), around.bottom()));
}

void FigureLayout::space_ticks() {
  for (std::size_t i = 0; i < rects_.size(); ++i) {
    QCPAxisRect* const rect = rects_[i];
    QCPAxis& below = *rect->axis(QCPAxis::atBottom);
    thin_out_ticks(below, figure_.panels[i].x);
    thin_out_ticks(*rect->axis(QCPAxis::atLeft), figure_.panels[i].y);
    if (const auto even = below.ticker().dynamicCast<EvenTicker>()) {
      even->setTickCount(kUsualTicks);
      thin_out_numbers(below);
    }
    const auto ticker = rect->axis(QCPAxis::atLeft)->ticker().dynamicCast<EvenTicker>();
    if (ticker == nullptr) continue;
    const double lines = rect->height() / static_cast<double>(theme_.line_height());
    ticker->setTickCount(
        std::clamp(static_cast<int>(lines / kLinesPerTick), kFewestTicks, kUsualTicks));
  }
}

/// Selects one form for the tick labels of all panels. Forms change the panel sizes, so a form that
/// needs more room is tried only once: `may_improve`.
void FigureLayout::select_tick_forms(bool may_improve) {
  if (may_improve) form_below_ = form_beside_ = TickForm::kLevel;
  int step = 1;  // of positions; square panels use the same for both axes
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    const QCPAxis& below = *axes_of(i)->axis(QCPAxis::atBottom);
    const QCPAxis& beside = *axes_of(i)->axis(QCPAxis::atLeft);
    const FigurePanel& panel = figure_.panels[i];
    form_below_ = std::max(form_below_, fitting_form(below, panel.x));
    form_beside_ = std::max(form_beside_, fitting_form(beside, panel.y));
    step = std::max({step, crowded_step(below, panel.x), crowded_step(beside, panel.y)});
  }
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    set_form(*axes_of(i)->axis(QCPAxis::atBottom), figure_.panels[i].x, form_below_, step);
    set_form(*axes_of(i)->axis(QCPAxis::atLeft), figure_.panels[i].y, form_beside_, step);
  }
}

void FigureLayout::settle(int height) {
  if (rects_.size() != elements_.size()) return;
  for (int round = 0; round < kRounds; ++round) {
    update(height);
    int column = 0;
    for (const double factor : even_factors(rects_, num_columns(), 1, &QRect::width)) {
      grid_->setColumnStretchFactor(column++, factor);
    }
    int row = 0;
    for (const double factor : even_factors(rects_, num_rows(), num_columns(), &QRect::height)) {
      grid_->setRowStretchFactor(row++, factor);
    }
    select_tick_forms(round == 0);
    wrap_titles();
    wrap_labels();
    space_ticks();
  }
  update(height);
}

double FigureLayout::preferred_height(std::size_t panel) const {
  const auto* const bars = std::get_if<BarPanel>(&figure_.panels[panel].content);
  if (bars == nullptr || bars->lines_per_group <= 0.0) {
    return figure_.panel_aspect * rects_[panel]->width();
  }
  return static_cast<double>(bars->groups.size()) * bars->lines_per_group * theme_.line_height();
}

bool FigureLayout::is_readable() const {
  if (rects_.size() != elements_.size()) return false;  // tables have a fixed height
  for (std::size_t i = 0; i < rects_.size(); ++i) {
    const auto& content = figure_.panels[i].content;
    double lines = std::holds_alternative<HeatmapPanel>(content) ? kLowestMap : kLowestPanel;
    if (const auto* const bars = std::get_if<BarPanel>(&content)) {
      const auto count = static_cast<double>(bars->series.size());
      lines = static_cast<double>(bars->groups.size()) * std::max(kLowestName, kLowestBar * count);
    }
    if (rects_[i]->height() < lines * theme_.line_height()) return false;
  }
  return true;
}

int FigureLayout::fitting_height() {
  if (rects_.empty()) {
    plot_.plotLayout()->update(QCPLayoutElement::upPreparation);
    return plot_.plotLayout()->minimumOuterSizeHint().height();
  }
  int height = width_;
  for (int round = 0; round < kRounds; ++round) {
    settle(height);
    double missing = 0.0;
    for (int r = 0; r < num_rows(); ++r) {
      const auto first = static_cast<std::size_t>(r * num_columns());
      missing += preferred_height(first) - rects_[first]->height();
    }
    height = std::max(units(20), height + static_cast<int>(std::lround(missing)));
  }
  return height;
}

}  // namespace lime
