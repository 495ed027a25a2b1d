// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_loader.h"

#include "explorer/embeddings/computed_embeddings.h"
#include "explorer/models/workspace.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

constexpr std::int64_t kComputedPoints = 2000;  // of a capture

}  // namespace

EmbeddingLoader::EmbeddingLoader(Workspace& workspace, JobRunner& jobs)
    : workspace_(workspace), jobs_(jobs) {
  connect(&jobs, &JobRunner::jobRemoved, this, [this](JobId id) {
    if (id != job_) return;
    // It was cancelled: its result would have reset the id.
    job_ = 0;
    is_partial_ = false;
    message_.clear();
    Q_EMIT changed();
  });
}

bool EmbeddingLoader::isOutdated() const {
  const Document* const document = workspace_.find(source_);
  if (document == nullptr && source_ != kComputed) return false;
  if (document != nullptr && document->results != results_) return true;
  const bool has_gaps =
      std::ranges::find(set_.models, nullptr, &EmbeddedModel::sentences) != set_.models.end();
  for (const auto& [path, capture] : workspace_.openInputs().captures) {
    const auto before = inputs_.captures.find(path);
    const bool is_new = before == inputs_.captures.end();
    // A capture that was reloaded, or one that a model may lack.
    if (is_new ? has_gaps : before->second != capture) return true;
  }
  return false;
}

void EmbeddingLoader::start(int source, const QString& message, JobSpec spec, const Work& work) {
  inputs_ = workspace_.openInputs();
  message_ = message;
  is_partial_ = false;
  job_ = jobs_.start<EmbeddingSet>(
      this, std::move(spec),
      [this, source, work, inputs = inputs_](const JobContext& context) {
        return work(inputs, context, [&](EmbeddingSet part) {
          const auto shared = std::make_shared<EmbeddingSet>(std::move(part));
          context.deliver([this, source, shared] {
            source_ = source;
            is_partial_ = true;
            set_ = std::move(*shared);
            Q_EMIT changed();
          });
        });
      },
      [this, source](EmbeddingSet set) {
        source_ = source;
        finish(std::move(set), {});
      },
      [this](const QString& error) { finish({}, error); });
  Q_EMIT changed();
}

void EmbeddingLoader::finish(EmbeddingSet set, const QString& message) {
  job_ = 0;
  is_partial_ = false;
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
  start(id, u"Reading ..."_s,
        {.title = u"Embeddings of %1"_s.arg(document->label), .key = "embeddings/load"},
        [results = results_](const OpenInputs& inputs, const JobContext&, const Publish&) {
          return loadEmbeddings(*results, inputs);
        });
}

void EmbeddingLoader::compute(int threads, const TsneOptions& tsne) {
  const bool is_pca = tsne.iterations == 0;
  TsneAnalysisOptions options;
  options.max_points = kComputedPoints;
  options.tsne = tsne;
  options.align = !is_pca;
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
  EmbeddingRequest request{.options = options, .threads = threads};
  const auto captures = workspace_.documentsOf(DocumentKind::kCapture);
  const std::vector<int> layers =
      site.empty() ? std::vector<int>() : captures.front()->capture->layers(site);
  const int layer = workspace_.selection().layer.value_or(layers.empty() ? 0 : layers.front());
  if (std::ranges::all_of(captures, [&](const Document* document) {
        return document->capture->has(site, layer);
      })) {
    request.first_layer = layer;
  }
  const QString method = is_pca ? u"PCA"_s : u"t-SNE"_s;
  start(kComputed, u"Computing %1 ..."_s.arg(method),
        {.title = u"%1 of %2"_s.arg(method, names.join(u", "_s)),
         .key = u"embeddings/compute"_s,
         .lane = JobLane::kLong},
        [request](const OpenInputs& inputs, const JobContext& context, const Publish& publish) {
          return computeEmbeddings(request, inputs, context, publish);
        });
}

bool EmbeddingLoader::hasCache(const TsneOptions& tsne) const {
  const auto captures = workspace_.documentsOf(DocumentKind::kCapture);
  std::error_code error;
  return !captures.empty() &&
         std::filesystem::exists(embeddingCacheOf(captures.front()->path, tsne.iterations == 0),
                                 error);
}

}  // namespace lime::explorer
