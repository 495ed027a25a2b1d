// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "viz/recipes/figure_row.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/recipes.h"

namespace lime {
namespace {

constexpr std::size_t kMostMarkers = 16;  // more would hide the line

Column column_of(TrainingAxis axis) {
  if (axis == TrainingAxis::kSteps) return col::kStep;
  if (axis == TrainingAxis::kTokens) return col::kTokens;
  return col::kFlops;
}

std::string name_of(TrainingAxis axis) {
  if (axis == TrainingAxis::kSteps) return "step";
  return axis == TrainingAxis::kTokens ? "training tokens" : "training FLOPs (6 N tokens)";
}

Curve loss_curve(const std::vector<FigureRow>& rows, const Column& column) {
  Curve curve;
  for (const FigureRow& row : rows) {
    curve.x.push_back(row.number(column));
    curve.y.push_back(row.number(col::kLoss));
  }
  return curve;
}

}  // namespace

Figure loss_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  const std::vector<FigureRow> rows = rows_of(sources, options);
  const Column column = column_of(options.over);
  if (!std::all_of(rows.begin(), rows.end(),
                   [&](const FigureRow& row) { return row.has(column); })) {
    throw InvalidArgument(
        "over: the training log does not contain the number of parameters, which {} need; use "
        "steps or tokens",
        enum_name(options.over));
  }
  CurvePanel curves;
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const auto part = [&](const std::string& kind, const std::string& label) {
    return loss_curve(rows_with(rows, {{col::kKind, kind}, {col::kLabel, label}}), column);
  };
  bool has_validation = false;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Curve train = part("train", labels[i]);
    Curve validation = part("validation", labels[i]);
    const bool is_behind = !validation.x.empty();
    has_validation = has_validation || is_behind;
    train.label = is_behind ? fmt::format("{}, training", labels[i]) : labels[i];
    train.legend = is_behind ? "" : labels[i];
    train.style = {i, model_style(i).pattern, MarkerShape::kNone, is_behind};
    validation.label = labels[i];
    validation.style = model_style(i);
    if (validation.x.size() > kMostMarkers) validation.style.marker = MarkerShape::kNone;
    if (!train.x.empty()) curves.curves.push_back(std::move(train));
    if (is_behind) curves.curves.push_back(std::move(validation));
  }
  // Faint curves are drawn behind the others.
  std::stable_partition(curves.curves.begin(), curves.curves.end(),
                        [](const Curve& curve) { return curve.style.is_faint; });
  Figure figure;
  figure.panels.push_back({.title = "",
                           .x = {.label = name_of(options.over)},
                           .y = {.label = "loss (nats per token)"},
                           .content = std::move(curves)});
  if (has_validation) figure.note = "bold: validation; pale: training, per batch";
  return figure;
}

}  // namespace lime
