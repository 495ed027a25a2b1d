// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_loader.h"

#include "explorer/embeddings/computed_embeddings.h"
#include "explorer/models/capture_contents.h"
#include "explorer/models/document.h"
#include "explorer/models/workspace.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

constexpr std::int64_t kComputedPoints = 2000;  // of a capture

}  // namespace

EmbeddingLoader::EmbeddingLoader(Workspace& workspace, JobRunner& jobs)
    : workspace_(workspace), sets_(jobs) {
  connect(&sets_, &JobCacheSignals::changed, this, &EmbeddingLoader::showAnswer);
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

void EmbeddingLoader::start(int source, const QString& progress, JobSpec spec, const Work& work) {
  inputs_ = workspace_.openInputs();
  progress_ = progress;
  requested_ = source;
  sets_.clear();
  sets_.requestInParts(
      source, std::move(spec),
      [work, inputs = inputs_](const JobContext& context,
                               const std::function<void(Sets::Value)>& publish) -> Sets::Value {
        return std::make_shared<EmbeddingSet>(work(inputs, context, [&](EmbeddingSet part) {
          publish(std::make_shared<EmbeddingSet>(std::move(part)));
        }));
      });
  Q_EMIT changed();
}

/// Until there is an answer, and if it was cancelled, the set of before stays.
void EmbeddingLoader::showAnswer() {
  if (answer().result) {
    set_ = **answer().result;
    source_ = requested_;
  } else if (!answer().problem.isEmpty() && !answer().is_cancelled) {
    set_ = {};
  }
  Q_EMIT changed();
}

void EmbeddingLoader::load(int id) {
  const Document* const document = workspace_.find(id);
  if (document == nullptr) {
    if (std::exchange(source_, 0) == 0) return;
    requested_ = 0;
    set_ = {};
    sets_.clear();
    Q_EMIT changed();
    return;
  }
  source_ = id;
  results_ = document->results;
  start(id, u"Reading ..."_s,
        {.title = u"Embeddings of %1"_s.arg(document->label), .key = "embeddings/load"},
        [results = results_](const OpenInputs& inputs, const JobContext&, const auto&) {
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
  options.captures.notes_massive_rows = false;
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
        {.title = u"%1 of %2 (%3)"_s.arg(method, names.join(u", "_s), toQString(site)),
         .key = u"embeddings/compute"_s,
         .lane = JobLane::kLong},
        [request](const OpenInputs& inputs, const JobContext& context, const auto& publish) {
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
