// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/json.h"
#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// Returns what a script needs to name the values of figure_to_svg(figure, style) under the pointer
/// and to hide its series, in coordinates of the SVG's viewBox:
///
///   {"panels": [{"area": [x, y, width, height],
///                "points": [[x, y, "lime: layer 3, entropy (nats) 2.5"], ...],
///                "cells": {"rows": ["layer 1", ...], "columns": [...], "values": [[1.5, null]]}}],
///    "series": [{"label": "lime", "colour": "#0072b2"}]}
///
/// `points` are of curves and scatter plots, `cells` of heatmaps, row 0 at the bottom. Panels with
/// more elements than a page can contain have neither. Needs a QApplication.
Json figure_hover(const Figure& figure, const FigureStyle& style);

}  // namespace lime
