// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstddef>
#include <optional>
#include <vector>

#include "explorer/interventions/model_outputs.h"
#include "store/results_file.h"
#include "viz/figure.h"
#include "viz/figure_hit.h"

namespace lime::explorer {

/// A token that one of two models predicts. If the other model does not list it, its probability
/// there is below the smallest one that is listed.
struct PredictionPair {
  QString token;
  std::optional<double> before;
  std::optional<double> after;
  double before_below = 0.0;  ///< bound where `before` is not known
  double after_below = 0.0;
};

/// Returns the `count` most probable tokens of either model, by the larger probability.
std::vector<PredictionPair> comparePredictions(const TokenReading& before,
                                               const TokenReading& after, std::size_t count);

/// Draws the predictions of both models as bars: at most `count` tokens, and beyond the first few
/// only those above 0.1% in one of the models. @param colour  of the model, for the edited one
Figure nextTokensFigure(const TokenReading& before, const TokenReading& after, std::size_t count,
                        std::size_t colour);

/// Draws the entropies over layers. @param results  of both captures, labelled kOriginal and
/// kEdited. @param colour  of the model, for the edited one
/// @throws InvalidArgument  if they do not contain the site
Figure entropiesFigure(const Results& results, const QString& site, int layer_base,
                       std::size_t colour);

/// Draws the effect of ablating every route, as lime-figure does. @param results  of runs that
/// sweep
Figure sweepFigure(const Results& results, int layer_base);
/// Returns the layer, source and effect of the cell that is hit; null beside the cells.
const ResultRow* sweptRouteAt(const Results& results, const FigureHit& hit);
/// Describes such a route in one line.
QString describeRoute(const ResultRow& route, int layer_base);

}  // namespace lime::explorer
