// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/computed_embeddings.h"

#include "analysis/engine/run_analysis.h"
#include "store/capture_tools.h"
#include "store/results_file.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kComputed = "computed";  // where results have a path

bool isPca(const TsneAnalysisOptions& options) { return options.tsne.iterations == 0; }

fs::path cacheFile(const TsneAnalysisOptions& options) {
  return embeddingCacheOf(options.captures.captures.front(), isPca(options));
}

/// Whether a file is newer than all files of the captures.
bool isNewer(const fs::path& file, const std::vector<fs::path>& captures) {
  const fs::file_time_type written = fs::last_write_time(file);
  for (const fs::path& capture : captures) {
    std::vector<fs::path> files = summarize_capture(capture).shards;
    files.push_back(capture);
    if (std::ranges::any_of(
            files, [&](const fs::path& each) { return fs::last_write_time(each) >= written; })) {
      return false;
    }
  }
  return true;
}

/// Returns what cacheEmbeddings() stored of the same captures with the same options; nothing where
/// there is none, or it cannot be read.
std::optional<std::vector<CaptureEmbeddings>> cachedEmbeddings(const TsneAnalysisOptions& options,
                                                               const RunOptions& run) {
  const fs::path file = cacheFile(options);
  try {
    if (!fs::exists(file) || !isNewer(file, options.captures.captures)) return std::nullopt;
    const Results results = read_results(file);
    Analysis analysis = prepare_tsne(options, run);
    if (results.inputs.size() != analysis.inputs.size()) return std::nullopt;
    for (std::size_t i = 0; i < results.inputs.size(); ++i) {
      if (results.inputs[i].path != analysis.inputs[i].path) return std::nullopt;
    }
    analysis.hashed_inputs = results.inputs;
    if (!difference_to_result(results, analysis, run).empty()) return std::nullopt;
    return read_embeddings(embeddings_beside(file));
  } catch (const Error&) {
    return std::nullopt;
  } catch (const fs::filesystem_error&) {
    return std::nullopt;
  }
}

/// Stores embeddings beside the first capture, if its folder can be written.
void cacheEmbeddings(const TsneEmbeddings& embeddings, const TsneAnalysisOptions& options) {
  const fs::path file = cacheFile(options);
  try {
    write_embeddings(embeddings_beside(file), embeddings.captures);
    write_results(file, embeddings.results);
  } catch (const IoError&) {
    // They are computed again.
  }
}

/// Sorts layers by the names of their sites, as in a file.
std::vector<CaptureEmbeddings> sortedBySite(std::vector<CaptureEmbeddings> captures) {
  for (CaptureEmbeddings& capture : captures) {
    std::ranges::stable_sort(capture.layers, {}, &LayerEmbedding::site);
  }
  return captures;
}

/// The captures as inputs of results, without hashes of their files.
std::vector<ResultsInput> inputsOf(const EmbeddingRequest& request, const OpenInputs& open_inputs) {
  std::vector<ResultsInput> inputs;
  const CaptureSetOptions& set = request.options.captures;
  for (std::size_t i = 0; i < set.captures.size(); ++i) {
    const auto capture = open_inputs.captures.find(set.captures[i]);
    if (capture == open_inputs.captures.end()) continue;
    inputs.push_back({.path = set.captures[i].string(),
                      .sha256 = {},
                      .label = set.label[i],
                      .text_sha256 = capture->second->info().input_sha256});
  }
  return inputs;
}

/// Embeddings of which some layers are t-SNE and the others still principal components.
class PartialEmbeddings {
 public:
  PartialEmbeddings(std::vector<CaptureEmbeddings> planes, const std::vector<ResultsInput>& inputs,
                    const OpenInputs& open_inputs)
      : points_(sortedBySite(std::move(planes))),
        set_(setOf(points_, inputs, kComputed, open_inputs)) {
    for (EmbeddedModel& model : set_.models) {
      for (const LayerEmbedding& layer : model.points.layers) {
        model.preliminary.emplace(layer.site, layer.layer);
      }
    }
  }

  const EmbeddingSet& set() const { return set_; }

  /// Replaces a layer by its t-SNE, and returns all.
  const EmbeddingSet& with(std::size_t capture, const LayerEmbedding& embedding) {
    for (LayerEmbedding& layer : points_[capture].layers) {
      if (layer.site == embedding.site && layer.layer == embedding.layer) layer = embedding;
    }
    EmbeddedModel& model = set_.models[capture];
    model.preliminary.erase({embedding.site, embedding.layer});
    model.points.layers = points_[capture].layers;
    model.faults = align_layers(model.points);
    return set_;
  }

 private:
  std::vector<CaptureEmbeddings> points_;  ///< not aligned
  EmbeddingSet set_;
};

/// Returns principal components of all layers, or of one; nothing where they fail: t-SNE will say
/// why.
std::optional<PartialEmbeddings> planesOf(const EmbeddingRequest& request,
                                          const OpenInputs& open_inputs, std::optional<int> layer,
                                          const std::stop_token& stop) {
  TsneAnalysisOptions options = request.options;
  if (layer) options.captures.layer = LayerSelection::parse(std::to_string(*layer));
  try {
    const RunOptions run{.threads = request.threads};
    return PartialEmbeddings(principal_components(options, run, stop),
                             inputsOf(request, open_inputs), open_inputs);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

fs::path embeddingCacheOf(const fs::path& capture, bool is_pca) {
  fs::path file = capture;
  return file.replace_extension(is_pca ? ".explorer-pca.json" : ".explorer-tsne.json");
}

EmbeddingSet computeEmbeddings(const EmbeddingRequest& request, const OpenInputs& open_inputs,
                               const JobContext& context,
                               const std::function<void(EmbeddingSet)>& publish) {
  const TsneAnalysisOptions& options = request.options;
  const RunOptions run{.threads = request.threads};
  const auto whole = [&](std::vector<CaptureEmbeddings> captures) {
    return setOf(sortedBySite(std::move(captures)), inputsOf(request, open_inputs), kComputed,
                 open_inputs);
  };
  if (auto cached = cachedEmbeddings(options, run)) return whole(std::move(*cached));
  std::optional<PartialEmbeddings> partial;
  if (publish) {
    if (request.first_layer) {
      partial = planesOf(request, open_inputs, request.first_layer, context.stop);
      if (partial) publish(partial->set());
    }
    partial = planesOf(request, open_inputs, std::nullopt, context.stop);
    if (partial) publish(partial->set());
  }
  TsneEmbeddings embeddings =
      compute_embeddings(options, run, context.on_progress, context.stop,
                         [&](std::size_t capture, const LayerEmbedding& layer) {
                           if (partial && !isPca(options)) publish(partial->with(capture, layer));
                         });
  cacheEmbeddings(embeddings, options);
  return whole(std::move(embeddings.captures));
}

}  // namespace lime::explorer
