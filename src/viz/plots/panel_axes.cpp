// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/panel_axes.h"

#include <QFontMetricsF>

#include "viz/figure_extents.h"

namespace lime {
namespace {

constexpr int kBarSteps = 128;

/// Returns the range that `axis` shows for `extent`, with a margin.
QCPRange range_of(const FigureAxis& axis, const Extent& extent) {
  double low = extent.empty() ? 0.0 : extent.low;
  double high = extent.empty() ? 1.0 : extent.high;
  if (axis.logarithmic) {
    const double factor = std::max(1.05, std::pow(high / low, 0.05));
    return {axis.min.value_or(low / factor), axis.max.value_or(high * factor)};
  }
  const double size = high - low;
  // A constant series gets a range that shows how small its changes are.
  const double margin = size > 0.0 ? 0.05 * size : std::max(0.5, 0.05 * std::abs(high));
  return {axis.min.value_or(low - margin), axis.max.value_or(high + margin)};
}

/// Returns a ticker with every `stride`-th of `ticks`.
QSharedPointer<QCPAxisTicker> text_ticker(const std::vector<AxisTick>& ticks, std::size_t stride) {
  const QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  for (std::size_t i = 0; i < ticks.size(); i += stride) {
    ticker->addTick(ticks[i].at, QString::fromStdString(ticks[i].label));
  }
  return ticker;
}

QSharedPointer<QCPAxisTicker> ticker_of(const FigureAxis& axis) {
  // The layout sets the labels of crowded axes once it knows what fits.
  if (axis.if_crowded) return text_ticker({}, 1);
  if (!axis.ticks.empty()) return text_ticker(axis.ticks, 1);
  if (axis.logarithmic) return QSharedPointer<QCPAxisTicker>(new LogTicker);
  if (axis.whole_numbers) {
    const QSharedPointer<QCPAxisTickerFixed> ticker(new QCPAxisTickerFixed);
    ticker->setTickStep(1.0);
    ticker->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
    ticker->setTickCount(6);
    return ticker;
  }
  return QSharedPointer<QCPAxisTicker>(new EvenTicker);
}

void style_texts(QCPAxis& axis, const std::string& label, const PlotTheme& theme) {
  axis.setLabel(QString::fromStdString(label));
  axis.setLabelFont(theme.label_font());
  axis.setTickLabelFont(theme.tick_font());
  axis.setLabelColor(theme.ink());
  axis.setTickLabelColor(theme.ink());
  axis.setBasePen(theme.axis_pen());
  axis.setTickPen(theme.axis_pen());
  axis.setSubTicks(false);
  axis.setTickLabelPadding(units(2));
}

void style_axis(QCPAxis& axis, const FigureAxis& figure_axis, const PlotTheme& theme) {
  style_texts(axis, figure_axis.label, theme);
  axis.setTickLength(0, units(2.5));
  axis.setLabelPadding(units(3.5));
  axis.setPadding(units(1));
  if (figure_axis.logarithmic) {
    axis.setScaleType(QCPAxis::stLogarithmic);
    axis.setNumberFormat("eb");
    axis.setNumberPrecision(0);
  }
  if (!figure_axis.logarithmic) axis.setNumberFormat("gb");
  axis.setTicker(ticker_of(figure_axis));
  axis.grid()->setPen(theme.grid_pen());
  axis.grid()->setZeroLinePen(theme.grid_pen());
  if (figure_axis.hides_numbers) {
    axis.setTicks(false);
    axis.setTickLabels(false);
  }
}

/// Draws a full frame, and one scale for both axes: distances are comparable in all directions.
void frame_scatter(const PanelPlace& place) {
  const double half = 0.5 * std::max(place.x()->range().size(), place.y()->range().size());
  for (QCPAxis* const axis : {place.x(), place.y()}) {
    const double centre = axis->range().center();
    axis->setRange(centre - half, centre + half);
  }
  for (const auto side : {QCPAxis::atTop, QCPAxis::atRight}) {
    QCPAxis* const axis = place.rect->axis(side);
    axis->setVisible(true);
    axis->setTicks(false);
    axis->setTickLabels(false);
  }
  for (QCPAxis* const axis : place.rect->axes()) {
    axis->setBasePen(QPen(place.theme->muted(), units(0.5)));
  }
}

/// Labels the groups from top to bottom; `extent` is that of the values.
void style_bar_axes(const PanelPlace& place, const FigurePanel& panel, const BarPanel& bars,
                    const Extent& extent) {
  const auto count = static_cast<double>(bars.groups.size());
  FigureAxis names = panel.y;
  for (std::size_t g = 0; g < bars.groups.size(); ++g) {
    names.ticks.push_back({count - 1.0 - static_cast<double>(g), bars.groups[g]});
  }
  place.y()->setTicker(ticker_of(names));
  place.y()->setRange(-0.6, count - 0.4);
  place.y()->setTickLength(0, 0);
  QCPRange values = place.x()->range();
  // If all bars point to one side, they begin at the frame.
  if (!panel.x.min && extent.low >= 0.0) values.lower = 0.0;
  if (!panel.x.max && extent.high <= 0.0) values.upper = 0.0;
  place.x()->setRange(values);
  place.x()->grid()->setVisible(true);
}

constexpr double kLargest = 99'999.0;  // largest number in decimal notation
constexpr int kMaxDecimals = 4;
constexpr double kSmallest = 1e-3;      // on a logarithmic axis
constexpr double kEvenDecades = 0.5;    // up to here evenly spaced ticks are clearer
constexpr double kFineDecades = 3.0;    // up to here ticks include 2 and 5
constexpr double kCoarseDecades = 1.5;  // the same for numbers not in decimal notation
constexpr double kMaxPowers = 7.0;
constexpr int kUsualCount = 5;  // of ticks; fewer are requested in narrow panels

bool is_written_out(double value) { return value >= kSmallest && value <= kLargest; }

constexpr double kGap = 2.5;          // between adjacent labels, points
constexpr double kTightLine = 0.85;   // relative height of a tightly spaced text line
constexpr int kMaxCrowdedTicks = 10;  // ticks of a crowded axis
constexpr int kFewestNumbers = 2;

bool is_below(const QCPAxis& axis) { return axis.orientation() == Qt::Horizontal; }

double width_of(const QFontMetricsF& metrics, const std::string& text) {
  return metrics.horizontalAdvance(QString::fromStdString(text));
}

/// Returns the distance between the first two of `ticks`, which are evenly spaced, in units.
double spacing_of(const QCPAxis& axis, const std::vector<AxisTick>& ticks) {
  return std::abs(axis.coordToPixel(ticks[1].at) - axis.coordToPixel(ticks[0].at));
}

/// Returns true if the labels of every `stride`-th tick have gaps between them.
bool fit_along(const QCPAxis& axis, const std::vector<AxisTick>& ticks, std::size_t stride = 1) {
  const QFontMetricsF metrics(axis.tickLabelFont());
  const auto half = [&](const AxisTick& tick) { return 0.5 * width_of(metrics, tick.label); };
  for (std::size_t i = stride; i < ticks.size(); i += stride) {
    const AxisTick& last = ticks[i - stride];
    const double room = std::abs(axis.coordToPixel(ticks[i].at) - axis.coordToPixel(last.at));
    const double needed =
        is_below(axis) ? half(last) + half(ticks[i]) + units(kGap) : kTightLine * metrics.height();
    if (needed > room) return false;
  }
  return true;
}

}  // namespace

QCPAxisRect* new_axis_rect(QCustomPlot* plot) {
  auto* const rect = new QCPAxisRect(plot, true);
  rect->axis(QCPAxis::atTop)->setVisible(false);
  rect->axis(QCPAxis::atRight)->setVisible(false);
  for (QCPAxis* const axis : rect->axes()) {
    axis->setLayer("axes");
    axis->grid()->setLayer("grid");
  }
  rect->setMinimumMargins(QMargins(units(2), units(3), units(6), units(2)));
  return rect;
}

QCPAxisRect* new_colour_bar(QCustomPlot* plot, const HeatmapScale& scale, const std::string& label,
                            const PlotTheme& theme) {
  // A heatmap with one column.
  QCPAxisRect* const rect = new_axis_rect(plot);
  QCPAxis* const values = rect->axis(QCPAxis::atRight);
  QCPAxis* const steps = rect->axis(QCPAxis::atLeft);
  QCPAxis* const across = rect->axis(QCPAxis::atBottom);
  MatrixD ramp(kBarSteps, 1);
  for (int i = 0; i < kBarSteps; ++i) {
    ramp(i, 0) = scale.value((i + 0.5) / kBarSteps);
  }
  new HeatmapPlottable(across, steps, {.values = ramp}, scale, theme.tick_font());
  across->setRange(-0.5, 0.5);
  steps->setRange(-0.5, kBarSteps - 0.5);
  for (QCPAxis* const axis : {across, steps}) {
    axis->setVisible(false);
    axis->grid()->setVisible(false);
  }
  style_texts(*values, label, theme);
  values->setVisible(true);
  values->grid()->setVisible(false);
  values->setTicker(QSharedPointer<QCPAxisTicker>(new EvenTicker));
  if (scale.is_logarithmic) {
    values->setScaleType(QCPAxis::stLogarithmic);
    values->setTicker(QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog));
  }
  values->setTickLabels(true);
  values->setTickLength(0, units(2));
  values->setLabelPadding(units(3));
  values->setRange(scale.low, scale.high);
  rect->setSizeConstraintRect(QCPLayoutElement::scrInnerRect);
  rect->setMinimumSize(units(7), 0);
  rect->setMaximumSize(units(7), QWIDGETSIZE_MAX);
  return rect;
}

void style_axes(const PanelPlace& place, const FigurePanel& panel) {
  style_axis(*place.x(), panel.x, *place.theme);
  style_axis(*place.y(), panel.y, *place.theme);
  place.x()->grid()->setVisible(false);
  if (const auto* const map = std::get_if<HeatmapPanel>(&panel.content)) {
    place.x()->setRange(panel.x.min.value_or(-0.5),
                        panel.x.max.value_or(static_cast<double>(map->values.cols()) - 0.5));
    place.y()->setRange(panel.y.min.value_or(-0.5),
                        panel.y.max.value_or(static_cast<double>(map->values.rows()) - 0.5));
    return;
  }
  const PanelExtents extents = extents_of(panel);
  place.x()->setRange(range_of(panel.x, extents.x));
  if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
    style_bar_axes(place, panel, *bars, extents.x);
  } else {
    place.y()->setRange(range_of(panel.y, extents.y));
  }
  if (std::holds_alternative<ScatterPanel>(panel.content)) frame_scatter(place);
}

EvenTicker::EvenTicker() { setTickCount(kUsualCount); }

double EvenTicker::getTickStep(const QCPRange& range) {
  step_ = QCPAxisTicker::getTickStep(range);
  return step_;
}

QString EvenTicker::getTickLabel(double tick, const QLocale& locale, QChar format, int precision) {
  int decimals = 0;
  for (double scaled = step_;
       decimals <= kMaxDecimals && std::abs(scaled - std::round(scaled)) > 1e-6 * scaled;
       scaled *= 10.0) {
    ++decimals;
  }
  if (decimals > kMaxDecimals || std::abs(tick) > kLargest) {
    return QCPAxisTicker::getTickLabel(tick, locale, format, precision);
  }
  const double shown = std::abs(tick) < 1e-9 * step_ ? 0.0 : tick;
  const QString text = QString::number(std::abs(shown), 'f', decimals);
  return shown < 0.0 ? QChar(0x2212) + text : text;
}

QVector<double> LogTicker::createTickVector(double step, const QCPRange& range) {
  const double decades = range.lower > 0.0 ? std::log10(range.upper / range.lower) : 0.0;
  is_even_ = decades < kEvenDecades;
  if (is_even_) return EvenTicker::createTickVector(step, range);
  is_plain_ = is_written_out(range.lower) && is_written_out(range.upper);
  const bool has_room = tickCount() >= kUsualCount || decades <= 1.0;
  const bool is_fine = has_room && decades <= (is_plain_ ? kFineDecades : kCoarseDecades);
  const double most = kMaxPowers * tickCount() / kUsualCount;
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / most)));
  const int first = static_cast<int>(std::floor(std::log10(range.lower)));
  const int last = static_cast<int>(std::ceil(std::log10(range.upper)));
  QVector<double> ticks;
  for (int power = first; power <= last; ++power) {
    if (power % stride != 0) continue;
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit == 1.0 || is_fine) ticks.push_back(digit * std::pow(10.0, power));
    }
  }
  return ticks;
}

QString LogTicker::getTickLabel(double tick, const QLocale& locale, QChar format, int precision) {
  if (is_even_) return EvenTicker::getTickLabel(tick, locale, format, precision);
  if (is_plain_) return QString::number(tick, 'g', 5);
  return QCPAxisTicker::getTickLabel(tick, locale, format, precision);
}

TickForm fitting_form(const QCPAxis& axis, const FigureAxis& figure_axis) {
  if (!figure_axis.if_crowded || figure_axis.ticks.size() < 2) return TickForm::kLevel;
  const QFontMetricsF metrics(axis.tickLabelFont());
  const QRect panel = axis.axisRect()->rect();
  if (is_below(axis) && fit_along(axis, figure_axis.ticks)) return TickForm::kLevel;
  double longest = 0.0;
  for (const AxisTick& tick : figure_axis.ticks) {
    longest = std::max(longest, width_of(metrics, tick.label));
  }
  const bool has_lines = spacing_of(axis, figure_axis.ticks) >= kTightLine * metrics.height();
  const double most = is_below(axis) ? panel.height() : panel.width();
  if (!has_lines || longest > most) return TickForm::kCrowded;
  return is_below(axis) ? TickForm::kTurned : TickForm::kLevel;
}

int crowded_step(const QCPAxis& axis, const FigureAxis& figure_axis) {
  if (!figure_axis.if_crowded || figure_axis.if_crowded->ticks.size() < 2) return 1;
  const std::vector<AxisTick>& ticks = figure_axis.if_crowded->ticks;
  const QFontMetricsF metrics(axis.tickLabelFont());
  const double needed =
      is_below(axis) ? width_of(metrics, ticks.back().label) + 2.0 * units(kGap) : metrics.height();
  const auto count = static_cast<int>(ticks.size());
  const auto most = static_cast<int>(count * spacing_of(axis, ticks) / needed);
  return round_step(count, std::clamp(most, 1, kMaxCrowdedTicks));
}

void set_form(QCPAxis& axis, const FigureAxis& figure_axis, TickForm form, int step) {
  if (!figure_axis.if_crowded) return;
  const bool is_crowded = form == TickForm::kCrowded;
  const std::vector<AxisTick>& ticks =
      is_crowded ? figure_axis.if_crowded->ticks : figure_axis.ticks;
  std::string label = figure_axis.label;
  if (is_crowded && !label.empty()) label += figure_axis.if_crowded->addition;
  axis.setLabel(QString::fromStdString(label));
  axis.setTickLabelRotation(form == TickForm::kTurned ? -90.0 : 0.0);
  axis.setTicker(text_ticker(ticks, static_cast<std::size_t>(is_crowded ? step : 1)));
}

void thin_out_ticks(QCPAxis& axis, const FigureAxis& figure_axis) {
  const std::vector<AxisTick>& ticks = figure_axis.ticks;
  bool are_numbers = false;
  if (!ticks.empty()) QString::fromStdString(ticks.front().label).toInt(&are_numbers);
  if (figure_axis.if_crowded || !are_numbers) return;
  std::size_t stride = 1;
  while (stride < ticks.size() && !fit_along(axis, ticks, stride)) stride *= 2;
  axis.setTicker(text_ticker(ticks, stride));
}

void thin_out_numbers(QCPAxis& axis) {
  const QSharedPointer<QCPAxisTicker> ticker = axis.ticker();
  if (qSharedPointerDynamicCast<QCPAxisTickerText>(ticker) || !axis.tickLabels()) return;
  const auto overlap = [&] {
    QVector<double> places;
    QVector<QString> labels;
    ticker->generate(axis.range(), QLocale::c(), QLatin1Char('g'), axis.numberPrecision(), places,
                     nullptr, &labels);
    std::vector<AxisTick> ticks;
    for (qsizetype i = 0; i < places.size(); ++i) {
      ticks.push_back({places[i], labels[i].toStdString()});
    }
    return !fit_along(axis, ticks);
  };
  for (int count = ticker->tickCount() - 1; count >= kFewestNumbers && overlap(); --count) {
    ticker->setTickCount(count);
  }
}

}  // namespace lime
