// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/influence_figure.h"

#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

/// The input of a block: layer l is compared with l + 1 for block l. Of outputs that is block l
/// + 1.
constexpr const char* kInputSite = "hook_resid_pre";

bool is_input(const FigureRow& row) { return row.text(col::kSite).ends_with(kInputSite); }

int block_of(const FigureRow& row) {
  return row.index(col::kLayer, kMaxLayers) + (is_input(row) ? 0 : 1);
}

/// Returns the comparisons of a layer with the next one of the same model; block 0 from the input
/// of block 1, the others from their outputs if both are there.
FigureRows neighbours(const FigureRows& rows, const Column& measure) {
  const bool has_outputs =
      std::ranges::any_of(rows, [](const FigureRow& row) { return !is_input(row); });
  return rows_where(rows, [&](const FigureRow& row) {
    const int layer = row.index(col::kLayer, kMaxLayers);
    return row.has(measure) && row.text(col::kLabel) == row.text(col::kOtherLabel) &&
           row.index(col::kOtherLayer, kMaxLayers) == layer + 1 &&
           (!is_input(row) || !has_outputs || layer == 0);
  });
}

}  // namespace

Figure influence_figure(FigureSources sources, const FigureOptions& options) {
  const MeasuredColumn measure =
      one_measure(options, "influence", "influence", {"influence", "angle"}) == "angle"
          ? col::kAngle
          : col::kInfluence;
  FigureRows rows = neighbours(rows_of(sources, options), measure);
  throw_if<NothingToShow>(rows.empty(),
                          "figure: the results compare no neighbouring layers of one model; run "
                          "lime-metrics similarity --measure change");
  // The site of the residual stream, unless others are requested.
  if (options.site.empty()) {
    const FigureRows stream = rows_where(rows, [](const FigureRow& row) {
      return is_input(row) || row.text(col::kSite) == "hidden";
    });
    if (!stream.empty()) rows = stream;
  }
  std::vector<ResultRow> blocks;
  for (const FigureRow& row : rows) {
    blocks.push_back(*row.row);
    blocks.back().set(col::kLayer, block_of(row));
  }
  FigureRows shown = rows;
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i].row = &blocks[i];
  Figure figure;
  figure.panels.push_back(layer_panel(shown,
                                      {.value = measure,
                                       .low = measure.low,
                                       .high = measure.high,
                                       .y_label = measure_name(std::string(measure.name))},
                                      distinct(shown, col::kLabel), options));
  figure.panels.back().x.label = "block";
  const bool begins = std::ranges::any_of(
      blocks, [](const ResultRow& row) { return row.integer(col::kLayer) == 0; });
  figure.note = begins ? "" : "block 0 needs the site hook_resid_pre";
  add_note(figure, intervals_note(figure, sources));
  return figure;
}

}  // namespace lime
