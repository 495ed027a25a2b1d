// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_figures.h"

#include "viz/recipes/recipe.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kLeastShown = 3;       // tokens, however unlikely they are
constexpr double kShownProbability = 0.001;  // of further ones, in one of the models
/// Returns the probability of the token `id` among `predictions`.
std::optional<double> probabilityOf(const std::vector<Prediction>& predictions, std::int64_t id) {
  const auto found = std::ranges::find(predictions, id, &Prediction::id);
  return found == predictions.end() ? std::nullopt : std::optional(found->probability);
}

double likelier(const PredictionPair& pair) {
  return std::max(pair.before.value_or(0.0), pair.after.value_or(0.0));
}

/// "84.1%", "0.02%", "< 0.01%".
std::string percent(const std::optional<double>& probability, double below) {
  constexpr double kLeast = 0.01;
  const double shown = 100.0 * probability.value_or(below);
  const bool is_bound = !probability || shown < kLeast;
  const QString number = QString::number(std::max(shown, kLeast), 'f', shown >= 0.995 ? 1 : 2);
  return (is_bound ? "< " : "") + number.toStdString() + "%";
}

/// Draws results with a recipe of lime-figure.
Figure recipeFigure(const Results& results, FigureOptions options, int layer_base) {
  options.layer_base = layer_base;
  const std::vector<FigureSource> sources = {{.path = options.kind + ".json", .results = results}};
  return make_figure(sources, options);
}

}  // namespace

std::vector<PredictionPair> comparePredictions(const TokenReading& before,
                                               const TokenReading& after, std::size_t count) {
  const auto below = [](const TokenReading& reading) {
    return reading.next.empty() ? 1.0 : reading.next.back().probability;
  };
  std::vector<PredictionPair> pairs;
  const auto add = [&](const Prediction& prediction) {
    pairs.push_back({.token = prediction.token,
                     .before = probabilityOf(before.next, prediction.id),
                     .after = probabilityOf(after.next, prediction.id),
                     .before_below = below(before),
                     .after_below = below(after)});
  };
  for (const Prediction& prediction : before.next) add(prediction);
  for (const Prediction& prediction : after.next) {
    if (!probabilityOf(before.next, prediction.id)) add(prediction);
  }
  std::ranges::stable_sort(pairs, std::greater(), likelier);
  if (pairs.size() > count) pairs.resize(count);
  return pairs;
}

Figure nextTokensFigure(const TokenReading& before, const TokenReading& after, std::size_t count,
                        std::size_t colour) {
  BarPanel bars;
  bars.series.resize(2);
  bars.series[0].label = kOriginal.toStdString();
  bars.series[0].style.colour = kMutedColour;
  bars.series[1].label = kEdited.toStdString();
  bars.series[1].style.colour = colour;
  for (const PredictionPair& pair : comparePredictions(before, after, count)) {
    if (bars.groups.size() >= kLeastShown && likelier(pair) < kShownProbability) break;
    bars.groups.push_back(visibleToken(pair.token).toStdString());
    bars.series[0].values.push_back(pair.before.value_or(0.0));
    bars.series[1].values.push_back(pair.after.value_or(0.0));
    bars.series[0].stars.push_back(percent(pair.before, pair.before_below));
    bars.series[1].stars.push_back(percent(pair.after, pair.after_below));
  }
  FigurePanel panel;
  panel.x.label = "probability";
  panel.x.min = 0.0;
  panel.x.max = 1.3;  // room for the numbers after the bars
  panel.x.ticks = {{0.0, "0"}, {0.5, "0.5"}, {1.0, "1"}};
  panel.content = std::move(bars);
  Figure figure;
  figure.name = "next-tokens";
  figure.panels = {std::move(panel)};
  return figure;
}

Figure entropiesFigure(const Results& results, const QString& site, int layer_base,
                       std::size_t colour) {
  FigureOptions options;
  options.kind = "entropy";
  options.site = {site.toStdString()};
  Figure figure = recipeFigure(results, options, layer_base);
  for (FigurePanel& panel : figure.panels) {
    auto& content = std::get<CurvePanel>(panel.content);
    for (Curve& curve : content.curves) {
      const bool is_edited = toQString(curve.label) == kEdited;
      curve.style.colour = is_edited ? colour : kMutedColour;
      curve.style.pattern = is_edited ? LinePattern::kSolid : LinePattern::kDashed;
    }
  }
  return figure;
}

Figure sweepFigure(const Results& results, int layer_base) {
  FigureOptions options;
  options.kind = "sweep";
  return recipeFigure(results, options, layer_base);
}

const ResultRow* sweptRouteAt(const Results& results, const FigureHit& hit) {
  if (!hit.cell) return nullptr;
  const auto is_route = [](const ResultRow& row) { return row.has(col::kSource); };
  std::int64_t first = kMaxLayers;  // the layer at the bottom
  for (const ResultRow& row : results.rows) {
    if (is_route(row)) first = std::min(first, row.integer(col::kLayer));
  }
  const auto found = std::ranges::find_if(results.rows, [&](const ResultRow& row) {
    return is_route(row) && row.integer(col::kLayer) - first == hit.cell->row &&
           row.integer(col::kSource) == hit.cell->col;
  });
  return found == results.rows.end() ? nullptr : &*found;
}

QString describeRoute(const ResultRow& route, int layer_base) {
  const auto nats = [&](const auto& column) {
    const double value = route.number(column);
    return (value < 0.0 ? QString(QChar(0x2212)) : u"+"_s) +
           QString::number(std::abs(value), 'f', 4);
  };
  QString text = u"without the route from layer %1 to layer %2: loss %3 nats per token"_s
                     .arg(route.integer(col::kSource) + layer_base)
                     .arg(route.integer(col::kLayer) + layer_base)
                     .arg(nats(Column(col::kEffect)));
  if (std::isnan(route.number(col::kEffect.low))) return text;
  return text + u" [%1, %2]"_s.arg(nats(col::kEffect.low), nats(col::kEffect.high));
}

}  // namespace lime::explorer
