// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/attention_panels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "viz/recipes/recipes.h"

namespace lime {
namespace {

constexpr std::size_t kMostNumberedTicks = 10;
/// Letters that a number and the space beside it take.
constexpr std::size_t kLettersOfNumber = 4;

std::size_t num_letters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // continuation bytes of UTF-8
  }));
}

bool fit_below(const std::vector<std::string>& texts, std::size_t letters) {
  std::size_t longest = 0;
  for (const std::string& text : texts) longest = std::max(longest, num_letters(text) + 1);
  return longest * texts.size() <= letters;
}

/// How many positions have room at both axes of a square map, which then have the same ones.
int most_positions(const TokenRoom& room) {
  const std::size_t most = std::min(room.lines_beside, room.letters_below / kLettersOfNumber);
  return static_cast<int>(std::clamp<std::size_t>(most, 2, kMostNumberedTicks));
}

/// Ticks at tokens; where there are many, at some of their positions.
/// @param is_upright  the axis goes up, the first token is at its upper end.
FigureAxis token_axis(const std::string& label, const std::vector<std::string>& texts,
                      bool is_upright, const TokenRoom& room) {
  FigureAxis axis{.label = label};
  const bool has_texts =
      is_upright ? texts.size() <= room.lines_beside : fit_below(texts, room.letters_below);
  if (!has_texts) axis.label += ", position";
  const int round = round_step(static_cast<int>(texts.size()), most_positions(room));
  const std::size_t step = has_texts ? 1 : static_cast<std::size_t>(round);
  for (std::size_t i = 0; i < texts.size(); i += step) {
    const auto at = static_cast<double>(is_upright ? texts.size() - 1 - i : i);
    axis.ticks.push_back({at, has_texts ? texts[i] : std::to_string(i)});
  }
  return axis;
}

}  // namespace

FigurePanel attention_panel(const MatrixD& pattern, const std::vector<std::string>& texts,
                            const TokenRoom& room) {
  MapPanel map;
  map.values = pattern.colwise().reverse();
  for (Eigen::Index q = 0; q < pattern.rows(); ++q) {
    // What comes later is not seen.
    map.values.row(pattern.rows() - 1 - q)
        .tail(pattern.cols() - 1 - q)
        .setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  return {.title = {},
          .x = token_axis("key", texts, false, room),
          .y = token_axis("query", texts, true, room),
          .content = std::move(map)};
}

FigurePanel routed_attention_panel(const MatrixD& shares, std::int64_t query,
                                   const std::vector<std::string>& texts, int layer_base,
                                   const TokenRoom& room) {
  MapPanel map;
  map.values = shares;
  for (Eigen::Index k = query + 1; k < shares.cols(); ++k) {
    map.values.col(k).setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  FigurePanel panel{.title = {},
                    .x = token_axis("key", texts, false, room),
                    .y = {.label = "buffered layer"},
                    .content = {}};
  for (Eigen::Index m = 0; m < shares.rows(); ++m) {
    panel.y.ticks.push_back({static_cast<double>(m), std::to_string(m + layer_base)});
  }
  panel.content = std::move(map);
  return panel;
}

Figure figure_of_attention(std::vector<FigurePanel> panels) {
  Figure figure;
  figure.name = "attention";
  figure.panel_aspect = 1.0;
  figure.colour_label = "attention";
  figure.colour_range = std::pair(0.0, 1.0);
  figure.panels = std::move(panels);
  return figure;
}

Figure figure_of_routed_attention(std::vector<FigurePanel> panels) {
  Figure figure;
  figure.name = "attention-routed";
  figure.panel_aspect = 0.5;
  figure.colour_label = "share read";
  figure.panels = std::move(panels);
  const double largest = colour_range_of(figure).second;
  figure.colour_range = std::pair(0.0, largest > 0.0 ? largest : 1.0);
  return figure;
}

}  // namespace lime
