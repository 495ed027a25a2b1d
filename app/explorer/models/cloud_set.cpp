// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/cloud_set.h"

#include <QTemporaryDir>
#include <algorithm>
#include <set>
#include <utility>

#include "analysis/cloud_alignment.h"
#include "analysis/run_analysis.h"
#include "analysis/tsne_analysis.h"
#include "core/errors.h"
#include "explorer/models/text.h"
#include "store/capture_reader.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

/// The capture that results name: the open one, or the file.
std::shared_ptr<const CaptureReader> captureOf(const ResultsInput& input, const fs::path& results,
                                               const CloudSurroundings& surroundings) {
  const std::optional<fs::path> path = surroundings.locator.find(input, results);
  if (!path) return nullptr;
  const auto open = surroundings.captures.find(*path);
  if (open != surroundings.captures.end()) return open->second;
  return std::make_shared<const CaptureReader>(*path);
}

/// Whether the rows of `points` are those of `capture`.
bool isOf(const CaptureEmbeddings& points, const CaptureReader& capture) {
  const RowTable& rows = capture.rows();
  for (std::size_t i = 0; i < points.row.size(); ++i) {
    const std::int64_t row = points.row[i];
    if (row < 0 || row >= rows.size()) return false;
    if (rows.token[static_cast<std::size_t>(row)] != points.table.token[i]) return false;
  }
  return true;
}

CloudModel modelOf(CaptureEmbeddings points, const ResultsInput* input, const fs::path& results,
                   const CloudSurroundings& surroundings, QStringList& problems) {
  CloudModel model;
  model.label = toQString(points.label);
  align_layers(points);
  for (std::size_t i = 0; i < points.row.size(); ++i) {
    model.point_of_row[points.row[i]] = static_cast<int>(i);
  }
  model.points = std::move(points);
  const auto indexTokens = [&](std::string text, RowKind kind) {
    model.tokens = std::make_shared<const TokenRows>(
        std::move(text), std::make_shared<const RowTable>(model.points.table), kind);
  };
  // What is known of no text corresponds to itself only.
  const std::string own = "cloud:" + results.string() + "#" + model.points.label;
  const bool is_known = input != nullptr && !input->text_sha256.empty();
  indexTokens(is_known ? input->text_sha256 : own, RowKind::kTokens);
  if (input == nullptr) return model;
  try {
    auto capture = captureOf(*input, results, surroundings);
    if (capture && isOf(model.points, *capture)) {
      indexTokens(is_known ? input->text_sha256 : textOf(*capture), capture->info().rows);
      auto tokenizer = tokenizerOf(*capture, surroundings.checkpoints);
      model.sentences = std::make_shared<const SentenceReader>(std::move(capture), tokenizer);
      return model;
    }
    problems << QStringLiteral(
                    "%1: its capture %2 %3; locate it (File menu) to see sentences and neighbours")
                    .arg(model.label, toQString(input->path),
                         capture ? QStringLiteral("has other rows now")
                                 : QStringLiteral("is not there"));
  } catch (const Error& error) {
    problems << QStringLiteral("%1: %2").arg(model.label, toQString(error));
  }
  return model;
}

CloudSet setOf(std::vector<CaptureEmbeddings> captures, const std::vector<ResultsInput>& inputs,
               const fs::path& results, const CloudSurroundings& surroundings) {
  CloudSet set;
  for (CaptureEmbeddings& points : captures) {
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const ResultsInput& one) {
      return one.label == points.label;
    });
    set.models.push_back(modelOf(std::move(points), input == inputs.end() ? nullptr : &*input,
                                 results, surroundings, set.problems));
  }
  return set;
}

}  // namespace

const MatrixF* CloudModel::coordinates(const std::string& site, int layer) const {
  for (const LayerEmbedding& one : points.layers) {
    if (one.site == site && one.layer == layer) return &one.coordinates;
  }
  return nullptr;
}

std::vector<std::string> CloudSet::sites() const {
  std::vector<std::string> sites;
  for (const CloudModel& model : models) {
    for (const LayerEmbedding& layer : model.points.layers) {
      if (std::find(sites.begin(), sites.end(), layer.site) == sites.end()) {
        sites.push_back(layer.site);
      }
    }
  }
  return sites;
}

std::vector<int> CloudSet::layers(const std::string& site) const {
  std::set<int> layers;
  for (const CloudModel& model : models) {
    for (const LayerEmbedding& layer : model.points.layers) {
      if (layer.site == site) layers.insert(layer.layer);
    }
  }
  return {layers.begin(), layers.end()};
}

CloudSet loadClouds(const FigureSource& results, const CloudSurroundings& surroundings) {
  const fs::path beside = embeddings_beside(results.path);
  return setOf(read_embeddings(beside), results.results.inputs, results.path, surroundings);
}

CloudSet computeClouds(const CloudRequest& request, const CloudSurroundings& surroundings,
                       const ProgressFn& on_progress, std::stop_token stop) {
  TsneAnalysisOptions options;
  options.captures.captures = request.captures;
  options.captures.label = request.labels;
  options.captures.site = {request.site};
  options.max_points = request.max_points;
  options.align = true;
  RunOptions run;
  run.threads = request.threads;
  const Report report = run_analysis(prepare_tsne(options, run), run, on_progress, stop);
  const QTemporaryDir folder;
  const fs::path path = toPath(folder.filePath(QStringLiteral("clouds.embeddings.h5")));
  for (const Companion& companion : report.companions) {
    if (companion.suffix.ends_with(".h5")) companion.write(path);
  }
  return setOf(read_embeddings(path), report.results.inputs, path, surroundings);
}

}  // namespace lime::explorer
