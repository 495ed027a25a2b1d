// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_set.h"

#include <QTemporaryDir>
#include <set>

#include "analysis/engine/run_analysis.h"
#include "explorer/models/workspace.h"
#include "store/capture_reader.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kComputedPoints = 2000;  // of a capture

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
  align_layers(points);
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

EmbeddingSet setOf(std::vector<CaptureEmbeddings> captures, const std::vector<ResultsInput>& inputs,
                   const fs::path& results, const OpenInputs& open_inputs) {
  EmbeddingSet set;
  for (CaptureEmbeddings& points : captures) {
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const ResultsInput& one) {
      return one.label == points.label;
    });
    set.models.push_back(modelOf(std::move(points), input == inputs.end() ? nullptr : &*input,
                                 results, open_inputs, set.problems));
  }
  return set;
}

}  // namespace

const MatrixF* EmbeddedModel::coordinates(const std::string& site, int layer) const {
  for (const LayerEmbedding& one : points.layers) {
    if (one.site == site && one.layer == layer) return &one.coordinates;
  }
  return nullptr;
}

std::vector<int> EmbeddedModel::pointsOf(const TokenSelection& selected) const {
  const std::vector<std::int64_t> rows = tokens->find(selected).rows;
  return {rows.begin(), rows.end()};
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
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(count, near.size()));
  std::partial_sort(near.begin(), end, near.end(),
                    [](const NearRow& a, const NearRow& b) { return a.distance < b.distance; });
  near.erase(end, near.end());
  return near;
}

bool EmbeddingSet::hasText(const std::string& text) const {
  return std::any_of(models.begin(), models.end(),
                     [&](const EmbeddedModel& model) { return model.tokens->text() == text; });
}

bool EmbeddingSet::isOneText() const {
  return std::all_of(models.begin(), models.end(), [&](const EmbeddedModel& model) {
    return model.tokens->text() == models.front().tokens->text();
  });
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

EmbeddingSet loadEmbeddings(const FigureSource& results, const OpenInputs& open_inputs) {
  const fs::path beside = embeddings_beside(results.path);
  return setOf(read_embeddings(beside), results.results.inputs, results.path, open_inputs);
}

EmbeddingSet computeEmbeddings(const TsneAnalysisOptions& options, int threads,
                               const OpenInputs& open_inputs, const ProgressFn& on_progress,
                               std::stop_token stop) {
  const RunOptions run{.threads = threads};
  const Report report = run_analysis(prepare_tsne(options, run), run, on_progress, stop);
  const QTemporaryDir folder;
  const fs::path path = toPath(folder.filePath(u"embeddings.embeddings.h5"_s));
  for (const Companion& companion : report.companions) {
    if (companion.suffix.ends_with(".h5")) companion.write(path);
  }
  return setOf(read_embeddings(path), report.results.inputs, path, open_inputs);
}

EmbeddingLoader::EmbeddingLoader(Workspace& workspace, JobRunner& jobs)
    : workspace_(workspace), jobs_(jobs) {
  connect(&jobs, &JobRunner::jobRemoved, this, [this](JobId id) {
    if (id != job_) return;
    // It was cancelled: its result would have reset the id.
    job_ = 0;
    message_.clear();
    Q_EMIT changed();
  });
}

bool EmbeddingLoader::isOutdated() const {
  const Document* const document = workspace_.find(source_);
  if (document == nullptr && source_ != kComputed) return false;
  if (document != nullptr && document->results != results_) return true;
  const bool has_gaps =
      std::any_of(set_.models.begin(), set_.models.end(),
                  [](const EmbeddedModel& model) { return model.sentences == nullptr; });
  for (const auto& [path, capture] : workspace_.openInputs().captures) {
    const auto before = inputs_.captures.find(path);
    const bool is_new = before == inputs_.captures.end();
    // A capture that was reloaded, or one that a model may lack.
    if (is_new ? has_gaps : before->second != capture) return true;
  }
  return false;
}

void EmbeddingLoader::start(const QString& message) {
  inputs_ = workspace_.openInputs();
  message_ = message;
}

void EmbeddingLoader::finish(EmbeddingSet set, const QString& message) {
  job_ = 0;
  set_ = std::move(set);
  message_ = message;
  Q_EMIT changed();
}

void EmbeddingLoader::load(int id) {
  const Document* const document = workspace_.find(id);
  if (document == nullptr) {
    if (std::exchange(source_, 0) != 0) finish({}, {});
    return;
  }
  source_ = id;
  results_ = document->results;
  start(u"Reading ..."_s);
  job_ = jobs_.start<EmbeddingSet>(
      this, {.title = u"Embeddings of %1"_s.arg(document->label), .key = "embeddings/load"},
      [results = results_, inputs = inputs_](const JobContext&) {
        return loadEmbeddings(*results, inputs);
      },
      [this](EmbeddingSet set) { finish(std::move(set), {}); },
      [this](const QString& error) { finish({}, error); });
  Q_EMIT changed();
}

void EmbeddingLoader::compute(int threads) {
  TsneAnalysisOptions options;
  options.max_points = kComputedPoints;
  options.align = true;
  options.captures.captures.clear();  // of its default
  std::string site;
  QStringList names;
  for (const Document* const document : workspace_.documentsOf(DocumentKind::kCapture)) {
    options.captures.captures.push_back(document->path);
    names << workspace_.uniqueLabel(*document);
    options.captures.label.push_back(names.back().toStdString());
    const std::vector<std::string> sites = representationsOf(*document->capture);
    if (site.empty() && !sites.empty()) site = contains(sites, "hidden") ? "hidden" : sites.front();
  }
  if (names.isEmpty()) return;
  options.captures.site = {site};
  start(u"Computing t-SNE ..."_s);
  job_ = jobs_.start<EmbeddingSet>(
      this,
      {.title = u"t-SNE of %1"_s.arg(names.join(u", "_s)),
       .key = u"embeddings/compute"_s,
       .lane = JobLane::kLong},
      [options, threads, inputs = inputs_](const JobContext& context) {
        return computeEmbeddings(options, threads, inputs, context.on_progress, context.stop);
      },
      [this](EmbeddingSet set) {
        source_ = kComputed;
        finish(std::move(set), {});
      },
      [this](const QString& error) { finish({}, error); });
  Q_EMIT changed();
}

}  // namespace lime::explorer
