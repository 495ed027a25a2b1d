// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/figures.h"

#include "explorer/models/text.h"

namespace lime::explorer {

FigureOrMessage figureOrMessage(std::span<const FigureSource> sources,
                                const FigureOptions& options) {
  if (sources.empty()) return {};
  try {
    return {.figure = make_figure(sources, options)};
  } catch (const NothingToShow&) {
    return {};
  } catch (const Error& error) {
    return {.message = toQString(error)};
  }
}

const Curve* curveAt(const Figure* figure, const FigureHit& hit) {
  if (figure == nullptr || !hit.point) return nullptr;
  const auto* const panel = std::get_if<CurvePanel>(&figure->panels[hit.panel].content);
  return panel == nullptr ? nullptr : &panel->curves[hit.point->series];
}

QString describeCurvePoint(const Figure* figure, const FigureHit& hit, const QString& quantity) {
  const Curve* const curve = curveAt(figure, hit);
  if (curve == nullptr) return {};
  const std::size_t at = hit.point->index;
  const QString text = u"%1, layer %2: %3 %4"_s.arg(toQString(curve->label))
                           .arg(curve->x[at])
                           .arg(quantity)
                           .arg(curve->y[at], 0, 'g', 5);
  if (at >= curve->low.size()) return text;
  return text + u" [%1, %2]"_s.arg(curve->low[at], 0, 'g', 5).arg(curve->high[at], 0, 'g', 5);
}

}  // namespace lime::explorer
