// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/written_figure.h"

#include <algorithm>
#include <limits>

#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double medianNorm(const MatrixF& rows) {
  const Eigen::VectorXf norms = rows.rowwise().norm();
  std::vector<float> sorted(norms.begin(), norms.end());
  if (sorted.empty()) return kNaN;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

/// Returns the median norms of a site, [layers]; empty if the capture has no such site.
std::vector<double> normsOf(const CaptureReader& capture, const std::string& site,
                            std::int64_t num_rows, const std::stop_token& stop) {
  if (!contains(capture.sites(), site)) return {};
  const std::int64_t count = std::min(num_rows, capture.num_rows());
  std::vector<double> norms;
  for (const int layer : capture.layers(site)) {
    norms.resize(static_cast<std::size_t>(layer) + 1, kNaN);
    norms.back() = medianNorm(capture.read_rows(site, layer, 0, count, stop));
  }
  return norms;
}

Curve curveOf(const std::string& name, const std::vector<double>& values, std::size_t colour,
              int layer_base) {
  Curve curve;
  curve.label = name;
  for (std::size_t layer = 0; layer < values.size(); ++layer) {
    curve.x.push_back(static_cast<double>(layer) + layer_base);
    curve.y.push_back(values[layer]);
  }
  curve.style = {.colour = colour == kMutedColour ? colour : group_colour(colour),
                 .marker = MarkerShape::kNone};
  if (colour == kMutedColour) curve.style.pattern = LinePattern::kDashed;
  return curve;
}

/// Colours of the parts, the same in both panels: sweeps list attention first.
enum PartColour : std::size_t { kAttentionColour, kMlpColour, kBothColour };

FigurePanel normPanel(const WrittenNorms& norms, int layer_base) {
  CurvePanel curves;
  const auto add = [&](const std::string& name, const std::vector<double>& values,
                       std::size_t colour) {
    if (!values.empty()) curves.curves.push_back(curveOf(name, values, colour, layer_base));
  };
  add("attention", norms.attention, kAttentionColour);
  add("mlp", norms.mlp, kMlpColour);
  if (norms.attention.empty() || norms.mlp.empty()) add("both together", norms.both, kBothColour);
  add("residual stream", norms.stream, kMutedColour);
  return {.title = "what each part writes",
          .x = {.label = "layer", .whole_numbers = true},
          .y = {.label = "norm, median over tokens", .logarithmic = true},
          .content = std::move(curves)};
}

}  // namespace

WrittenNorms writtenNorms(const CaptureReader& capture, std::int64_t num_rows,
                          std::stop_token stop) {
  WrittenNorms norms{.attention = normsOf(capture, "hook_attn_out", num_rows, stop),
                     .mlp = normsOf(capture, "hook_mlp_out", num_rows, stop),
                     .both = {},
                     .stream = {}};
  if (!contains(capture.sites(), std::string("hidden"))) return norms;
  const std::int64_t count = std::min(num_rows, capture.num_rows());
  MatrixF before;
  int before_layer = -1;
  for (const int layer : capture.layers("hidden")) {
    MatrixF rows = capture.read_rows("hidden", layer, 0, count, stop);
    norms.stream.resize(static_cast<std::size_t>(layer) + 1, kNaN);
    norms.both.resize(static_cast<std::size_t>(layer) + 1, kNaN);
    norms.stream.back() = medianNorm(rows);
    const bool follows = layer > 0 && before_layer == layer - 1 && before.cols() == rows.cols();
    if (follows) norms.both.back() = medianNorm(rows - before);
    before = std::move(rows);
    before_layer = layer;
  }
  return norms;
}

FigureOrMessage writtenFigure(const WrittenNorms* norms, std::span<const FigureSource> sweeps,
                              int layer_base) {
  Figure figure;
  figure.name = "router-written";
  if (norms != nullptr) {
    FigurePanel panel = normPanel(*norms, layer_base);
    if (!std::get<CurvePanel>(panel.content).curves.empty()) figure.panels.push_back(panel);
  }
  if (!sweeps.empty()) {
    FigureOptions options;
    options.kind = "sweep";
    options.layer_base = layer_base;
    FigureOrMessage effects = figureOrMessage(sweeps, options);
    if (effects.figure) {
      for (FigurePanel& panel : effects.figure->panels) {
        if (!std::holds_alternative<CurvePanel>(panel.content)) continue;
        panel.title = "what the loss is without it";
        panel.y.label = "change in loss (nats per token)";
        figure.panels.push_back(std::move(panel));
      }
      figure.note = effects.figure->note;
    }
  }
  if (figure.panels.empty()) return {};
  figure.columns = static_cast<int>(figure.panels.size());
  figure.panel_aspect = figure.panels.size() == 1 ? 0.5 : 0.8;
  figure.is_wide = true;
  return {.figure = std::move(figure)};
}

void colourParts(Figure& figure, std::size_t model_colour) {
  for (FigurePanel& panel : figure.panels) {
    for (Curve& curve : std::get<CurvePanel>(panel.content).curves) {
      if (!is_group_colour(curve.style.colour)) continue;
      curve.style.pattern = curve.style.colour == group_colour(kMlpColour) ? LinePattern::kDotted
                                                                           : LinePattern::kSolid;
      curve.style.colour = model_colour;
    }
  }
}

}  // namespace lime::explorer
