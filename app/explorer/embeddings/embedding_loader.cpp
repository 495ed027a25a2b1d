// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_loader.h"

#include <algorithm>
#include <utility>

#include "explorer/models/workspace.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

OpenInputs openInputs(const Workspace& workspace) {
  OpenInputs inputs;
  for (const Document& document : workspace.documents()) {
    if (document.capture) inputs.captures[document.path] = document.capture;
    if (document.checkpoint) inputs.checkpoints.push_back(document.path);
  }
  inputs.locator = workspace.locator();
  return inputs;
}

}  // namespace

EmbeddingLoader::EmbeddingLoader(Workspace& workspace, JobRunner& jobs, QObject* parent)
    : QObject(parent), workspace_(workspace), jobs_(jobs) {
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
  for (const auto& [path, capture] : openInputs(workspace_).captures) {
    const auto before = inputs_.captures.find(path);
    const bool is_new = before == inputs_.captures.end();
    // A capture that was reloaded, or one that a model may lack.
    if (is_new ? has_gaps : before->second != capture) return true;
  }
  return false;
}

void EmbeddingLoader::start(const QString& message) {
  inputs_ = openInputs(workspace_);
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
  start(QStringLiteral("Reading ..."));
  job_ = jobs_.start<EmbeddingSet>(
      this,
      {.title = QStringLiteral("Embeddings of %1").arg(document->label), .key = "embeddings/load"},
      [results = results_, inputs = inputs_](const JobContext&) {
        return loadEmbeddings(*results, inputs);
      },
      [this](EmbeddingSet set) { finish(std::move(set), {}); },
      [this](const QString& error) { finish({}, error); });
  Q_EMIT changed();
}

void EmbeddingLoader::compute(int threads) {
  EmbeddingRequest request;
  QStringList names;
  for (const Document* const document : workspace_.documentsOf(DocumentKind::kCapture)) {
    request.captures.push_back(document->path);
    names << workspace_.uniqueLabel(*document);
    request.labels.push_back(names.back().toStdString());
    const std::vector<std::string>& sites = document->capture->sites();
    const bool has_hidden = std::find(sites.begin(), sites.end(), "hidden") != sites.end();
    if (request.site.empty() && !sites.empty()) {
      request.site = has_hidden ? "hidden" : sites.front();
    }
  }
  if (names.isEmpty()) return;
  request.threads = threads;
  start(QStringLiteral("Computing t-SNE ..."));
  job_ = jobs_.start<EmbeddingSet>(
      this,
      {.title = QStringLiteral("t-SNE of %1").arg(names.join(QStringLiteral(", "))),
       .key = QStringLiteral("embeddings/compute"),
       .lane = JobLane::kLong},
      [request, inputs = inputs_](const JobContext& context) {
        return computeEmbeddings(request, inputs, context.on_progress, context.stop);
      },
      [this](EmbeddingSet set) {
        source_ = kComputed;
        finish(std::move(set), {});
      },
      [this](const QString& error) { finish({}, error); });
  Q_EMIT changed();
}

}  // namespace lime::explorer
