// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_set.h"

#include <algorithm>

#include "core/errors.h"
#include "explorer/models/found_tokenizer.h"
#include "explorer/models/text.h"
#include "store/capture_reader.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

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

EmbeddedModel modelOf(CaptureEmbeddings points, const ResultsInput* input, const fs::path& results,
                      const OpenInputs& open_inputs, QStringList& problems) {
  EmbeddedModel model;
  model.label = toQString(points.label);
  model.faults = align_layers(points);
  for (std::size_t i = 0; i < points.row.size(); ++i) {
    model.point_of_row[points.row[i]] = static_cast<int>(i);
  }
  model.points = std::move(points);
  const auto indexTokens = [&](std::string text, RowKind kind) {
    model.tokens = std::make_shared<const TokenRows>(
        std::move(text), std::make_shared<const RowTable>(model.points.table), kind);
  };
  // Without a hash of its text a capture corresponds to itself only.
  const std::string own = "embedding:" + results.string() + "#" + model.points.label;
  const bool is_known = input != nullptr && !input->text_sha256.empty();
  indexTokens(is_known ? input->text_sha256 : own, RowKind::kTokens);
  if (input == nullptr) return model;
  try {
    auto capture = open_inputs.captureOf(*input, results);
    if (capture && isOf(model.points, *capture)) {
      indexTokens(is_known ? input->text_sha256 : textOf(*capture), capture->info().rows);
      auto tokenizer = findTokenizer(*capture, open_inputs.checkpoints).tokenizer;
      model.sentences = std::make_shared<const SentenceReader>(std::move(capture), tokenizer);
      return model;
    }
    problems
        << u"%1: its capture %2 %3; locate it (File menu) to see sentences and neighbours"_s.arg(
               model.label, toQString(input->path), capture ? u"has changed"_s : u"is missing"_s);
  } catch (const Error& error) {
    problems << u"%1: %2"_s.arg(model.label, toQString(error));
  }
  return model;
}

}  // namespace

const MatrixF* EmbeddedModel::coordinates(const std::string& site, int layer) const {
  for (const LayerEmbedding& layer_embedding : points.layers) {
    if (layer_embedding.site == site && layer_embedding.layer == layer)
      return &layer_embedding.coordinates;
  }
  return nullptr;
}

std::vector<int> EmbeddedModel::pointsOf(const TokenSelection& selected) const {
  const std::vector<std::int64_t> rows = tokens->find(selected).rows;
  return {rows.begin(), rows.end()};
}

std::vector<int> EmbeddedModel::pointsOfToken(const QString& text) const {
  std::map<std::int32_t, bool> is_it;
  std::vector<int> found;
  for (int i = 0; i < size() && sentences; ++i) {
    const std::int32_t token = points.table.token[static_cast<std::size_t>(i)];
    const auto [at, is_new] = is_it.try_emplace(token, false);
    if (is_new) {
      at->second =
          sentences->tokenText(token).trimmed().compare(text.trimmed(), Qt::CaseInsensitive) == 0;
    }
    if (at->second) found.push_back(i);
  }
  return found;
}

TokenSelection EmbeddedModel::tokensAt(const std::vector<int>& at) const {
  return tokens->tokensAt(std::vector<std::int64_t>(at.begin(), at.end()));
}

SelectedToken EmbeddedModel::describe(int point) const {
  const auto at = static_cast<std::size_t>(point);
  const RowTable& table = points.table;
  SelectedToken token{.point = point,
                      .token = u"#%1"_s.arg(table.token[at]),
                      .note = {},
                      .sentence = {},
                      .sequence = table.sequence[at],
                      .position = table.position[at]};
  const std::int16_t id = table.class_id[at];
  if (id >= 0) token.note = toQString(points.class_names[static_cast<std::size_t>(id)]).trimmed();
  if (sentences) {
    token.token = sentences->tokenText(table.token[at]);
    token.sentence = sentences->at(table.sequence[at], table.position[at], table.token[at]);
  }
  return token;
}

std::vector<NearRow> EmbeddedModel::nearestDrawn(const std::string& site, int layer, int point,
                                                 std::size_t count) const {
  const MatrixF* const drawn = coordinates(site, layer);
  std::vector<NearRow> near;
  for (int i = 0; drawn != nullptr && i < size(); ++i) {
    if (i == point) continue;
    const auto apart = (drawn->row(i) - drawn->row(point)).norm();
    near.push_back({points.row[static_cast<std::size_t>(i)], static_cast<double>(apart)});
  }
  std::ranges::stable_sort(near, {}, &NearRow::distance);
  near.resize(std::min(count, near.size()));
  return near;
}

QStringList EmbeddingSet::warnings(int layer_base) const {
  QStringList lines = problems;
  for (const EmbeddedModel& model : models) {
    for (const LayerFault& fault : model.faults) {
      lines << u"%1: site '%2', layer %3 diverged: %4; run lime-metrics tsne again"_s
                   .arg(model.label, toQString(fault.site))
                   .arg(fault.layer + layer_base)
                   .arg(toQString(fault.what));
    }
  }
  return lines;
}

std::size_t EmbeddingSet::numOfText(const std::string& text) const {
  return static_cast<std::size_t>(std::ranges::count(
      models, text, [](const EmbeddedModel& model) { return model.tokens->text(); }));
}

std::vector<std::string> EmbeddingSet::sites() const {
  std::vector<std::string> sites;
  for (const EmbeddedModel& model : models) {
    for (const LayerEmbedding& layer : model.points.layers) {
      if (!contains(sites, layer.site)) sites.push_back(layer.site);
    }
  }
  return sites;
}

std::vector<int> EmbeddingSet::layers(const std::string& site) const {
  std::set<int> layers;
  for (const EmbeddedModel& model : models) {
    for (const LayerEmbedding& layer : model.points.layers) {
      if (layer.site == site) layers.insert(layer.layer);
    }
  }
  return {layers.begin(), layers.end()};
}

EmbeddingSet setOf(std::vector<CaptureEmbeddings> captures, const std::vector<ResultsInput>& inputs,
                   const fs::path& results, const OpenInputs& open_inputs) {
  EmbeddingSet set;
  for (CaptureEmbeddings& points : captures) {
    const auto input = std::ranges::find(inputs, points.label, &ResultsInput::label);
    set.models.push_back(modelOf(std::move(points), input == inputs.end() ? nullptr : &*input,
                                 results, open_inputs, set.problems));
  }
  return set;
}

EmbeddingSet loadEmbeddings(const FigureSource& results, const OpenInputs& open_inputs) {
  const fs::path beside = embeddings_beside(results.path);
  return setOf(read_embeddings(beside), results.results.inputs, results.path, open_inputs);
}

}  // namespace lime::explorer
