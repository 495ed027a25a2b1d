// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "analysis/engine/run_analysis.h"
#include "analysis/layered_points.h"
#include "analysis/tsne/tsne_analysis.h"
#include "analysis/write_capture.h"
#include "core/json.h"
#include "metrics/tsne/embedding_checks.h"
#include "store/embeddings_file.h"
#include "support/test_data.h"

namespace lime::testing {
namespace {

/// One run of aligned layers.
struct Cell {
  std::string name;
  LayeredPoints points;
  RowNormalization normalize = RowNormalization::kL2;
  double perplexity = 30.0;
  std::map<int, double> divergence;  ///< scikit-learn's, of some layers

  int num_layers() const { return divergence.rbegin()->first + 1; }
};

Cell cell_from(const Json& json) {
  Cell cell;
  const auto kind = json.at("kind").get<std::string>();
  const auto normalize = json.at("normalize").get<std::string>();
  cell.points.is_clusters = kind == "clusters";
  cell.points.points = json.at("points");
  cell.points.outliers = json.at("outliers");
  cell.points.factor = json.at("factor");
  cell.points.seed = json.at("seed");
  cell.normalize = normalize == "l2" ? RowNormalization::kL2 : RowNormalization::kNone;
  cell.perplexity = json.at("perplexity");
  for (const auto& [layer, value] : json.at("kl").items()) {
    cell.divergence[std::stoi(layer)] = value;
  }
  cell.name = fmt::format("{} {} points, {} outliers x {}, {}, seed {}", cell.points.points, kind,
                          cell.points.outliers, cell.points.factor, normalize, cell.points.seed);
  return cell;
}

std::vector<Cell> grid(const std::string& suite) {
  const Json file = parse_json(read_text(golden_file("tsne_grid.json")), "tsne_grid.json");
  std::vector<Cell> cells;
  for (const Json& cell : file.at("cells")) {
    if (cell.at("suite") == suite) cells.push_back(cell_from(cell));
  }
  return cells;
}

/// Embeds the layers of a cell with --align.
Report embed(const Cell& cell, const TemporaryFolder& folder) {
  SmallCapture capture;
  capture.lengths = {cell.points.points};
  for (int layer = 0; layer < cell.num_layers(); ++layer) {
    capture.activations.push_back({"hidden", layer, cell.points.layer(layer)});
  }
  write_capture(folder / "run.h5", capture);
  TsneAnalysisOptions options;
  options.captures.captures = {folder / "run.h5"};
  options.normalize = cell.normalize;
  options.align = true;
  options.tsne.perplexity = cell.perplexity;
  const RunOptions run{.threads = 2};
  return run_analysis(prepare_tsne(options, run), run);
}

std::vector<LayerEmbedding> embeddings_of(const Report& report, const TemporaryFolder& folder) {
  for (const Companion& companion : report.companions) {
    if (companion.suffix.ends_with(".h5")) companion.write(folder / "embeddings.h5");
  }
  return read_embeddings(folder / "embeddings.h5").at(0).layers;
}

/// Extremes over the layers of a grid.
struct Worst {
  double ratio = 0.0;  ///< divergence to scikit-learn's
  double trust = 1.0;
  double moved = 0.0;
  double least_radius = 1e9;
  double largest_radius = 0.0;
  int layers = 0;
};

void check_cell(const Cell& cell, Worst& worst) {
  SCOPED_TRACE(cell.name);
  const TemporaryFolder folder;
  const Report report = embed(cell, folder);
  const std::vector<ResultRow>& rows = report.results.rows;
  ASSERT_EQ(std::ssize(rows), cell.num_layers());
  for (const auto& [layer, theirs] : cell.divergence) {
    const double ours = rows[static_cast<std::size_t>(layer)].number(col::kKlDivergence);
    EXPECT_LE(ours, theirs) << "layer " << layer;
    worst.ratio = std::max(worst.ratio, ours / theirs);
  }
  for (const LayerEmbedding& layer : embeddings_of(report, folder)) {
    const double radius =
        radius_of(layer.coordinates.cast<double>()) / std::sqrt(cell.points.points);
    worst.least_radius = std::min(worst.least_radius, radius);
    worst.largest_radius = std::max(worst.largest_radius, radius);
  }
  for (const ResultRow& row : rows) {
    worst.trust = std::min(worst.trust, row.number(col::kTrustworthiness));
    if (row.has(col::kMoved)) worst.moved = std::max(worst.moved, row.number(col::kMoved));
  }
  worst.layers += cell.num_layers();
  // No layer collapses, is thrown apart, or loses the order of the one before.
  EXPECT_GT(worst.least_radius, 0.1);
  EXPECT_LT(worst.largest_radius, 10.0);
  EXPECT_LT(worst.moved, 1.3) << "unrelated points move by 1.4";
  EXPECT_GT(worst.trust, 0.65) << "of random points it is 0.5";
}

}  // namespace

void check_tsne_grid(const std::string& suite) {
  const std::vector<Cell> cells = grid(suite);
  ASSERT_FALSE(cells.empty());
  Worst worst;
  for (const Cell& cell : cells) check_cell(cell, worst);
  fmt::print(
      "{} runs, {} layers: KL / scikit-learn's at most {:.3f}, trustworthiness at least {:.3f}, "
      "moved at most {:.3f}, radius / sqrt(n) {:.3f} to {:.3f}\n",
      cells.size(), worst.layers, worst.ratio, worst.trust, worst.moved, worst.least_radius,
      worst.largest_radius);
}

}  // namespace lime::testing
