// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/training_figures.h"

#include <algorithm>

#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

constexpr std::size_t kMaxMarkers = 16;  // more would hide the line

struct AxisOfTraining {
  Column column;
  const char* label;
};

AxisOfTraining axis_of(TrainingAxis axis) {
  switch (axis) {
    case TrainingAxis::kSteps: break;
    case TrainingAxis::kTokens: return {col::kTokens, "training tokens"};
    case TrainingAxis::kFlops: return {col::kFlops, "training FLOPs (6 N tokens)"};
  }
  return {col::kStep, "step"};
}

Curve loss_curve(const FigureRows& rows, const Column& column) {
  Curve curve;
  for (const FigureRow& row : rows) {
    curve.x.push_back(row.number(column));
    curve.y.push_back(row.number(col::kLoss));
  }
  return curve;
}

}  // namespace

Figure loss_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options),
                                     [](const FigureRow& row) { return row.has(col::kLoss); });
  throw_if<NothingToShow>(rows.empty(), "figure: the training log contains no loss");
  const AxisOfTraining axis = axis_of(options.over);
  if (!std::ranges::all_of(rows, [&](const FigureRow& row) { return row.has(axis.column); })) {
    throw InvalidArgument(
        OptionName("over"),
        "the training log does not contain the number of parameters, which {} need; use "
        "steps or tokens",
        enum_name(options.over));
  }
  CurvePanel curves;
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const auto part = [&](const std::string& kind, const std::string& label) {
    return loss_curve(rows_with(rows, {{col::kKind, kind}, {col::kLabel, label}}), axis.column);
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
    if (validation.x.size() > kMaxMarkers) validation.style.marker = MarkerShape::kNone;
    if (!train.x.empty()) curves.curves.push_back(std::move(train));
    if (is_behind) curves.curves.push_back(std::move(validation));
  }
  // Faint curves are drawn behind the others. (Clang 14 does not compile the form of std::ranges.)
  std::stable_partition(curves.curves.begin(), curves.curves.end(),
                        [](const Curve& curve) { return curve.style.is_faint; });
  Figure figure;
  figure.panels.push_back({.x = {.label = axis.label},
                           .y = {.label = "loss (nats per token)"},
                           .content = std::move(curves)});
  if (has_validation) figure.note = "bold: validation; pale: training, per batch";
  return figure;
}

Figure operands_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options),
                                     [](const FigureRow& row) { return row.has(kOperands); });
  throw_if<NothingToShow>(rows.empty(),
                          "figure: the training log contains no accuracy per number of operands; "
                          "use a finished run of lime-train --task aet");
  CurvePanel curves;
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const FigureRows own = rows_with(rows, {{col::kLabel, labels[i]}});
    curves.curves.push_back(layer_curve(own, {.spread = Curve::Spread::kBars, .over = kOperands}, 0,
                                        labels[i], model_style(i)));
  }
  Figure figure;
  figure.panels.push_back({.x = {.label = "operands", .whole_numbers = true},
                           .y = {.label = "expressions solved (fraction)"},
                           .content = std::move(curves)});
  figure.note = "bars: 95% intervals over the expressions";
  return figure;
}

}  // namespace lime
