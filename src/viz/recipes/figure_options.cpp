// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/figure_options.h"

#include "core/errors.h"

namespace lime {
namespace {

void check_limits(const std::vector<double>& limits, const char* name) {
  if (limits.empty() || (limits.size() == 2 && limits[0] < limits[1])) return;
  throw InvalidArgument("{}: must be two numbers, the smaller first, got {}", name,
                        fmt::join(limits, ","));
}

}  // namespace

void FigureOptions::describe(OptionList& list) {
  list.group("What to show");
  list.add("kind", kind, "figure; the usual one of the metric if not given (see --list)");
  list.add("site", site, "sites, e.g. values,hidden; all if not given");
  list.add("label", label, "models; all if not given");
  list.add("layer", layer, "layers of figures that have a panel per layer, from --layer-base on");
  list.add("head", head, "heads of attention; all if not given");
  list.add("measure", measure,
           "measures or quantities, of geometry, similarity, tokens, attention and comparison");
  list.add("router", router, "routers of counterfactual, e.g. trained,identity; all if not given");
  list.add("weighting", weighting, "of router maps: none, keys, values, or 'keys - none'");
  list.add("by", by, "what BLiMP is broken down by");
  list.add("over", over, "what loss curves run over");
  list.add("layer_base", layer_base, "number of the first layer on axes and in --layer, 0 or 1");
  list.add("x_limits", x_limits, "smallest and largest x");
  list.add("y_limits", y_limits, "smallest and largest y");
  list.add("log_x", log_x, "logarithmic x axis");
  list.add("log_y", log_y, "logarithmic y axis");
  list.add("columns", columns, "panels side by side, up to 100; 0 chooses");
  list.add("mixed_texts", mixed_texts, "draw results of different texts in one figure");
}

void FigureOptions::validate() const {
  if (layer_base != 0 && layer_base != 1) {
    throw InvalidArgument("layer_base: must be 0 or 1, got {}", layer_base);
  }
  constexpr int kMostColumns = 100;
  if (columns < 0 || columns > kMostColumns) {
    throw InvalidArgument("columns: must be from 0 to {}, got {}", kMostColumns, columns);
  }
  check_limits(x_limits, "x_limits");
  check_limits(y_limits, "y_limits");
}

std::string one_measure(const FigureOptions& options, const std::string& kind,
                        const std::string& usual) {
  if (options.measure.size() > 1) {
    throw InvalidArgument("measure: {} shows one of them, got {}", kind,
                          fmt::join(options.measure, ","));
  }
  return options.measure.empty() ? usual : options.measure.front();
}

}  // namespace lime
