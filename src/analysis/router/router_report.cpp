// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/router_report.h"

#include <cmath>
#include <map>

#include "store/results/difference_name.h"
#include "store/results/matrix_rows.h"

namespace lime {
namespace {

using Eigen::Index;
using Rows = RowPointers;

Rows rows_of(const Results& results, const std::string& kind, const std::string& weighting) {
  return rows_with(results.rows, {{col::kKind, kind}, {col::kWeighting, weighting}});
}

std::vector<std::string> weightings_of(const Results& results, const std::string& kind) {
  return distinct(rows_with(results.rows, {{col::kKind, kind}}), col::kWeighting);
}

std::string layers_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("layer {}", first) : fmt::format("layers {}-{}", first, last);
}

double mean_share(const Results& results, const std::string& weighting, const Column& column,
                  std::int64_t first) {
  double sum = 0.0;
  int count = 0;
  for (const ResultRow* row : rows_of(results, "layer", weighting)) {
    if (row->integer(col::kLayer) < first) continue;
    sum += row->number(column);
    ++count;
  }
  return count == 0 ? 0.0 : 100.0 * sum / count;
}

/// Statement about a fraction of the weight, compared with uniform weights.
struct Claim {
  const char* subject;
  Column column;
  std::int64_t first_layer;  ///< the first layer where the fraction is informative
  int num_sources;
};

constexpr Claim kClaims[] = {
    {"embeddings: the buffer of layer 0, projected from the embeddings, receives",
     col::kShareEmbedding, 1, 1},
    {"first layers: layers 0 and 1 receive", col::kShareFirstTwo, 2, 2},
    {"nearby: the previous layer receives", col::kSharePrevious, 1, 1},
    {"own layer: it receives", col::kShareOwn, 1, 1},
};

double uniform_fraction(const Claim& claim, std::int64_t num_layers) {
  double sum = 0.0;
  for (std::int64_t layer = claim.first_layer; layer < num_layers; ++layer) {
    sum += static_cast<double>(claim.num_sources) / static_cast<double>(layer + 1);
  }
  return 100.0 * sum / static_cast<double>(num_layers - claim.first_layer);
}

std::string sentence(const Results& results, const Claim& claim, std::int64_t num_layers) {
  std::string text = fmt::format(
      "{} {:.1f}% of the weight in {} ({:.1f}% if the weight were uniform", claim.subject,
      mean_share(results, "none", claim.column, claim.first_layer),
      layers_text(claim.first_layer, num_layers - 1), uniform_fraction(claim, num_layers));
  for (const std::string& weighting : weightings_of(results, "layer")) {
    if (weighting == "none") continue;
    text += fmt::format("; weighted by {} {:.1f}%", weighting,
                        mean_share(results, weighting, claim.column, claim.first_layer));
  }
  return text + ")";
}

std::string map_title(const std::string& weighting) {
  const std::string axes = "rows: layers, columns: source layers";
  if (weighting == "none") {
    return fmt::format("mean map of |R|: percentage of a layer's weight, {}", axes);
  }
  if (is_difference_name(weighting)) {
    return fmt::format("difference from the map of |R|: percentage points, {}", axes);
  }
  return fmt::format("weighted by {}, |R| times the root mean square of each buffered head's: {}",
                     weighting, axes);
}

MatrixD map_of(const Results& results, const std::string& weighting, std::int64_t num_layers) {
  MatrixD map = MatrixD::Constant(num_layers, num_layers, NAN);
  for (const ResultRow* row : rows_of(results, "mean_map", weighting)) {
    const std::vector<double>& weights = array_in(*row, col::kWeight).values;
    std::ranges::copy(weights, map.row(row->integer(col::kLayer)).begin());
  }
  return map;
}

std::vector<ReportPart> mean_maps(const Results& results, const RouterNotes& notes) {
  std::vector<ReportPart> maps;
  for (const std::string& weighting : weightings_of(results, "mean_map")) {
    maps.push_back({TextMap{map_title(weighting), map_of(results, weighting, notes.num_layers),
                            is_difference_name(weighting)}});
  }
  return maps;
}

/// Returns the columns of layers and heads that the rows have, after `columns`.
std::vector<TableColumn> with_numbers(const Rows& rows, std::vector<TableColumn> columns) {
  columns.insert(
      columns.end(),
      {number_column(col::kEffectiveSources, 2, "eff heads"), number_column(col::kEntropy, 3),
       number_column(col::kMeanDepth, 2, "depth"),
       number_column(col::kShareEmbedding, 1, "emb %", 100.0),
       number_column(col::kShareFirstTwo, 1, "first2 %", 100.0),
       number_column(col::kSharePrevious, 1, "prev %", 100.0),
       number_column(col::kShareOwn, 1, "own %", 100.0),
       number_column(col::kShareNegative, 1, "neg %", 100.0),
       number_column(col::kCancellation, 3, "cancel"), number_column(col::kDistanceOwn, 3, "own-I"),
       number_column(col::kOthersRatio, 3, "others"),
       number_column(col::kDistanceInitial, 3, "initial")});
  return present_in(rows, std::move(columns));
}

/// Returns the maps of the heads by layer, [heads, source layers].
std::map<Index, MatrixD> head_maps(const Results& results) {
  std::map<Index, MatrixD> maps;
  for (const ResultRow* row : rows_of(results, "head_map", "none")) {
    maps[row->integer(col::kLayer)] = matrix_of(array_in(*row, col::kWeight));
  }
  return maps;
}

constexpr Index kStripWidth = 24;

/// Returns the weight per source layer, or per several.
ShadedCell strip(const VectorD& map) {
  const Index group = (map.size() + kStripWidth - 1) / kStripWidth;
  VectorD sums = VectorD::Zero((map.size() + group - 1) / group);
  for (Index i = 0; i < map.size(); ++i) sums(i / group) += map(i);
  return {std::move(sums)};
}

Table heads_table(const Results& results, const Rows& rows) {
  const auto maps = head_maps(results);
  const TableColumn sources = {"sources",
                               [&](const ResultRow& row) -> TableCell {
                                 const auto found = maps.find(row.integer(col::kLayer));
                                 if (found == maps.end()) return "";
                                 return strip(found->second.row(row.integer(col::kHead)));
                               },
                               false};
  Table table = column_table(
      rows, with_numbers(rows, {table_column(col::kLayer), table_column(col::kHead), sources}));
  table.title = "per target head, |R|; sources: a shade per source layer, oldest first";
  return table;
}

/// @param layer  heading of the first column
Table layers_table(const Results& results, const std::string& weighting,
                   const std::string& layer = "") {
  const Rows rows = rows_of(results, "layer", weighting);
  return column_table(rows, with_numbers(rows, {table_column(col::kLayer, layer)}));
}

std::vector<ReportPart> router_parts(const Results& results, const RouterNotes& notes) {
  std::vector<ReportPart> parts = mean_maps(results, notes);
  for (const std::string& weighting : weightings_of(results, "layer")) {
    Table table = layers_table(results, weighting);
    table.title = "per layer, mean over target heads, |R|";
    if (weighting != "none") table.title += " weighted by " + weighting;
    parts.push_back({std::move(table), ShownIn::kTerminal});
  }
  if (const Rows heads = rows_of(results, "head", "none"); !heads.empty()) {
    parts.push_back({heads_table(results, heads), ShownIn::kTerminal});
  }
  parts.push_back({layers_table(results, "none", "Layer"), ShownIn::kPaper});
  return parts;
}

}  // namespace

void fill_router_report(Report& report, const RouterNotes& notes) {
  report.notes.push_back(fmt::format(
      "{}{}: {} layers, {} key-value heads, {}", notes.is_routed ? "routers of " : "no routers in ",
      notes.label, notes.num_layers, notes.num_heads, notes.checkpoint));
  if (!notes.is_routed) {
    report.notes.push_back(
        "a plain transformer: every head reads the keys and values of its own layer (identity "
        "routing)");
    report.notes.emplace_back(
        "its residual stream contains every earlier output with weight 1: see the rows of kind "
        "source_map");
  } else {
    for (const Claim& claim : kClaims) {
      if (notes.num_layers <= claim.first_layer) continue;
      report.notes.push_back(sentence(report.results, claim, notes.num_layers));
    }
  }
  if (notes.per_dimension) {
    report.notes.emplace_back(
        "routers per dimension: R is their mean over the dimensions of a head");
  }
  if (!notes.capture.empty()) {
    report.notes.push_back(fmt::format("keys, values: from {}", notes.capture));
    if (!notes.has_cancellation) {
      report.notes.push_back(
          "no cancellation index: the capture lacks token rows of values of all layers");
    }
  }
  report.legend =
      "eff heads: effective number of buffered heads; depth: mean number of layers back; emb, "
      "first2, "
      "prev, own: fraction of weight on layer 0, layers 0 and 1, the previous layer, the layer "
      "itself; neg: fraction of negative weights; own-I: distance of the own block from the "
      "identity; others: magnitude of the other weights relative to initialisation";
  if (notes.has_cancellation) {
    report.legend += "; cancel: fraction of the buffered heads' contributions that cancels out";
  }
  report.parts = [notes](const Results& results) { return router_parts(results, notes); };
}

}  // namespace lime
