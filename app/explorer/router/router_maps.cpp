// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_maps.h"

#include <algorithm>
#include <numeric>

#include "viz/recipes/router_panels.h"

namespace lime::explorer {
namespace {

using Eigen::Index;

/// Returns the label of an axis of buffered layers.
std::string sourceLabel(const RouterDisplay& display) {
  return fmt::format("buffered layer ({}: embeddings)", display.layer_base);
}

constexpr double kNoCell = std::numeric_limits<double>::quiet_NaN();

/// 0, 1, ... or the columns of `values` by the sum of their magnitudes, the strongest first.
std::vector<int> orderOf(const Eigen::Ref<const MatrixD>& values, bool is_sorted) {
  std::vector<int> order(static_cast<std::size_t>(values.cols()));
  std::iota(order.begin(), order.end(), 0);
  const Eigen::RowVectorXd strength =
      values.array().isFinite().select(values.cwiseAbs(), 0.0).colwise().sum();
  if (is_sorted) std::ranges::stable_sort(order, {}, [&](int i) { return -strength(i); });
  return order;
}

/// Returns ticks of numbers in any order: of all where they are few.
std::vector<AxisTick> sortedTicks(const std::vector<int>& numbers, int base) {
  constexpr int kMaxTicks = 16;
  const int count = static_cast<int>(numbers.size());
  const int step = (count + kMaxTicks - 1) / kMaxTicks;
  std::vector<AxisTick> ticks;
  for (int i = 0; i < count; i += step) {
    const int number = numbers[static_cast<std::size_t>(i)];
    ticks.push_back({static_cast<double>(i), std::to_string(number + base)});
  }
  return ticks;
}

/// Content of a map before it is sorted and thresholded.
struct MapParts {
  MatrixD values;     ///< [target, source]
  int first_row = 0;  ///< targets before it are left out
  bool has_layer_rows = false;
  bool is_signed = false;
  std::optional<double> largest = {};
  /// Returns the heatmap of values from top to bottom.
  std::function<FigurePanel(const MatrixD& shown)> panel = nullptr;
};

/// Returns the values of the routers, less those of the others if there are any.
template <typename Values>
MapParts partsOf(const RouterSubject& subject, const RouterDisplay& display, Values&& values_of) {
  MapParts parts{.values = values_of(*subject.routers)};
  if (subject.minus != nullptr) parts.values -= values_of(*subject.minus);
  parts.is_signed = display.is_signed || subject.minus != nullptr;
  return parts;
}

RouterMap mapOf(const MapParts& parts, const RouterDisplay& display) {
  RouterMap map;
  map.cols = orderOf(parts.values, display.is_sorted);
  map.rows = orderOf(parts.values.transpose(), display.is_sorted && !parts.has_layer_rows);
  std::erase_if(map.rows, [&](int row) { return row < parts.first_row; });
  std::reverse(map.rows.begin(), map.rows.end());  // the first one is at the top
  map.values.resize(static_cast<Index>(map.rows.size()), static_cast<Index>(map.cols.size()));
  const double largest =
      largestMagnitude(parts.values.bottomRows(parts.values.rows() - parts.first_row));
  for (Index r = 0; r < map.values.rows(); ++r) {
    for (Index c = 0; c < map.values.cols(); ++c) {
      map.values(r, c) = parts.values(map.rows[static_cast<std::size_t>(r)],
                                      map.cols[static_cast<std::size_t>(c)]);
    }
  }
  const double end = std::max(parts.largest.value_or(largest), 1e-12);
  map.figure.colour_range = std::pair(parts.is_signed ? -end : 0.0, end);
  map.figure.panel_aspect = static_cast<double>(map.rows.size()) /
                            static_cast<double>(std::max<std::size_t>(map.cols.size(), 1));
  const MatrixD shown =
      (map.values.array().abs() >= display.threshold * largest).select(map.values, kNoCell);
  const int base = display.layer_base;
  FigurePanel drawn = parts.panel(shown.colwise().reverse());
  if (display.is_sorted) drawn.x.ticks = sortedTicks(map.cols, base);
  if (display.is_sorted && !parts.has_layer_rows) drawn.y.ticks = sortedTicks(map.rows, base);
  auto& panel = std::get<HeatmapPanel>(drawn.content);
  panel.is_signed = parts.is_signed;
  panel.shows_numbers = map.values.size() <= 64;
  map.figure.panels = {std::move(drawn)};
  return map;
}

RouterMap mapOfLayers(MapParts parts, const RouterDisplay& display) {
  parts.first_row = parts.values.rows() > 1 ? 1 : 0;
  parts.has_layer_rows = true;
  parts.panel = [first = parts.first_row, base = display.layer_base](const MatrixD& shown) {
    return router_layers_panel(shown, first, base);
  };
  RouterMap map = mapOf(parts, display);
  map.figure.panels.front().x.label = sourceLabel(display);
  map.figure.panels.front().y.label = "layer";
  return map;
}

std::function<FigurePanel(const MatrixD&)> headsPanel(int layer_base) {
  return [layer_base](const MatrixD& shown) { return router_heads_panel(shown, layer_base); };
}

std::string quantityLabel(const RouterDisplay& display, RouterQuantity quantity,
                          bool is_difference) {
  if (display.is_uniform && quantity == display.quantity()) return "fraction of |R| / uniform";
  std::string text = quantity == RouterQuantity::kShare         ? "fraction of |R|"
                     : quantity == RouterQuantity::kMagnitude   ? "|R|"
                     : quantity == RouterQuantity::kSignedShare ? "R as a fraction of |R|"
                                                                : "R";
  text = weighted_router_quantity(text, display.weighting);
  return is_difference ? "difference of " + text : text;
}

/// Draws the target heads of a layer, with the labels of router_heads_panel().
RouterMap mapOfHeads(const RouterSubject& subject, int layer, const RouterDisplay& display) {
  MapParts parts = partsOf(subject, display, [&](const CheckpointRouters& routers) {
    return router_head_values(routers.routers(), layer, display.quantity());
  });
  if (display.is_uniform) parts.values *= layer + 1.0;
  parts.panel = headsPanel(display.layer_base);
  RouterMap map = mapOf(parts, display);
  map.figure.colour_label = quantityLabel(display, display.quantity(), subject.minus != nullptr);
  return map;
}

/// Returns the number at a position of an axis of a map; nothing beyond its ends.
std::optional<int> numberAt(const std::vector<int>& numbers, double place) {
  if (!(place > -0.5 && place < static_cast<double>(numbers.size()) - 0.5)) return std::nullopt;
  return numbers[static_cast<std::size_t>(place + 0.5)];
}

}  // namespace

double largestMagnitude(const MatrixD& values) {
  return values.array().isFinite().select(values.cwiseAbs(), 0.0).maxCoeff();
}

std::optional<std::pair<int, int>> RouterMap::cellAt(const FigureHit& hit) const {
  const std::optional<int> row = numberAt(rows, hit.y);
  const std::optional<int> col = numberAt(cols, hit.x);
  return row && col ? std::optional(std::pair(*row, *col)) : std::nullopt;
}
int RouterMap::placeOf(const std::vector<int>& numbers, int number) {
  const auto found = std::ranges::find(numbers, number);
  return found == numbers.end() ? -1 : static_cast<int>(found - numbers.begin());
}

RouterMap layerMap(const RouterSubject& subject, const RouterDisplay& display,
                   std::optional<double> largest) {
  MapParts parts = partsOf(subject, display, [&](const CheckpointRouters& routers) {
    return routers.layer_values(display.quantity());
  });
  parts.largest = largest;
  for (Index l = 0; display.is_uniform && l < parts.values.rows(); ++l) {
    parts.values.row(l) *= static_cast<double>(l + 1);
  }
  RouterMap map = mapOfLayers(std::move(parts), display);
  map.figure.name = "router-mean";
  map.figure.colour_label = quantityLabel(display, display.quantity(), subject.minus != nullptr);
  return map;
}

RouterMap signedMap(const MatrixD& values, bool of_layers, int layer_base, double largest) {
  MapParts parts{.values = values, .is_signed = true, .largest = largest};
  const RouterDisplay display{.is_signed = true, .is_normalised = false, .layer_base = layer_base};
  if (of_layers) return mapOfLayers(std::move(parts), display);
  parts.panel = headsPanel(layer_base);
  return mapOf(parts, display);
}

RouterMap headMap(const RouterSubject& subject, int layer, const RouterDisplay& display) {
  RouterMap map = mapOfHeads(subject, layer, display);
  map.figure.name = "router-heads";
  map.figure.panels.front().x.label = sourceLabel(display);
  map.figure.panels.front().y.label = "head of layer " + std::to_string(layer + display.layer_base);
  return map;
}

RouterOverview headOverview(const RouterSubject& subject, const RouterDisplay& display) {
  const int layers = static_cast<int>(subject.routers->num_layers());
  RouterOverview all;
  all.first_layer = layers > 1 ? 1 : 0;
  double end = 0.0;
  std::vector<FigurePanel> panels;
  std::vector<int> numbers;
  for (int layer = all.first_layer; layer < layers; ++layer) {
    all.maps.push_back(mapOfHeads(subject, layer, display));
    const Figure& own = all.maps.back().figure;
    end = std::max(end, own.colour_range->second);
    panels.push_back(own.panels.front());
    std::get<HeatmapPanel>(panels.back().content).shows_numbers = false;
    numbers.push_back(layer);
  }
  all.figure = figure_of_router_heads(std::move(panels), numbers, display.layer_base, 0);
  const Figure& last = all.maps.back().figure;
  all.figure.colour_label = last.colour_label;
  all.figure.colour_range = std::pair(last.colour_range->first < 0.0 ? -end : 0.0, end);
  return all;
}

RouterMap blockMap(const RouterSubject& subject, int layer, int source_layer,
                   const RouterDisplay& display) {
  const RouterQuantity quantity = display.signedQuantity();
  MapParts parts = partsOf(subject, display, [&](const CheckpointRouters& routers) {
    return router_block_values(routers.routers(), layer, source_layer, quantity);
  });
  parts.is_signed = true;
  parts.panel = headsPanel(display.layer_base);
  RouterMap map = mapOf(parts, display);
  map.figure.name = "router-weights";
  map.figure.colour_label = quantityLabel(display, quantity, subject.minus != nullptr);
  map.figure.panels.front().x.label =
      "head of buffered layer " + std::to_string(source_layer + display.layer_base);
  map.figure.panels.front().y.label = "head of layer " + std::to_string(layer + display.layer_base);
  return map;
}

}  // namespace lime::explorer
