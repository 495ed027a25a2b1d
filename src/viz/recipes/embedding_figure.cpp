// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/embedding_figure.h"

#include <set>

#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

constexpr std::size_t kMaxPanels = 6;  // per row and model

/// Returns the name of a class without the leading space of a token.
std::string shown_name(const std::string& name) {
  return name.size() > 1 && name.front() == ' ' ? name.substr(1) : name;
}

/// Returns the layers of `embeddings` to draw: the requested ones, or at most six, evenly spaced.
std::vector<int> shown_layers(const std::vector<const SourceEmbedding*>& embeddings,
                              const FigureOptions& options) {
  std::set<int> available;
  for (const SourceEmbedding* const embedding : embeddings) available.insert(embedding->layer);
  return layers_to_draw(options, available, kMaxPanels);
}

std::vector<const SourceEmbedding*> embeddings_of(FigureSources sources,
                                                  const FigureOptions& options) {
  std::vector<const SourceEmbedding*> embeddings;
  for (const FigureSource& source : sources) {
    for (const SourceEmbedding& embedding : source.embeddings) {
      if (is_requested(options.site, embedding.site) &&
          is_requested(options.label, embedding.label)) {
        embeddings.push_back(&embedding);
      }
    }
  }
  return embeddings;
}

std::vector<std::string> classes_of(const std::vector<const SourceEmbedding*>& embeddings) {
  std::vector<std::string> names;
  for (const SourceEmbedding* const embedding : embeddings) {
    for (const std::string& name : embedding->class_names) {
      const std::string shown = shown_name(name);
      if (!contains(names, shown)) names.push_back(shown);
    }
  }
  return names;
}

ScatterPanel panel_of(const SourceEmbedding& embedding,
                      const std::vector<std::string>& class_names) {
  ScatterPanel panel{embedding.x, embedding.y, {}, class_names};
  std::vector<int> number;
  for (const std::string& name : embedding.class_names) {
    const auto at = std::ranges::find(class_names, shown_name(name));
    number.push_back(static_cast<int>(at - class_names.begin()));
  }
  for (const int c : embedding.classes)
    panel.classes.push_back(number[static_cast<std::size_t>(c)]);
  return panel;
}

}  // namespace

Figure embedding_figure(FigureSources sources, const FigureOptions& options) {
  rows_of(sources, options);  // throws if a site or label does not exist
  std::vector<const SourceEmbedding*> embeddings = embeddings_of(sources, options);
  if (embeddings.empty())
    throw NothingToShow("figure: no t-SNE coordinates found next to the results");
  const std::vector<int> layers = shown_layers(embeddings, options);
  std::erase_if(embeddings,
                [&](const auto* embedding) { return !contains(layers, embedding->layer); });
  const std::vector<std::string> class_names = classes_of(embeddings);
  std::set<std::string> labels;
  std::set<std::string> sites;
  for (const SourceEmbedding* const embedding : embeddings) {
    labels.insert(embedding->label);
    sites.insert(embedding->site);
  }
  Figure figure;
  for (const SourceEmbedding* const embedding : embeddings) {
    // The axes of t-SNE have no meaning.
    figure.panels.push_back(
        {.title = joined_parts({labels.size() > 1 ? embedding->label : "",
                                sites.size() > 1 ? embedding->site : "",
                                fmt::format("layer {}", embedding->layer + options.layer_base)}),
         .x = {.hides_numbers = true},
         .y = {.hides_numbers = true},
         .content = panel_of(*embedding, class_names)});
  }
  figure.note = site_note({sites.begin(), sites.end()});
  lay_out(figure, options, static_cast<int>(layers.size()), 3);
  figure.panel_aspect = 1.0;
  return figure;
}

}  // namespace lime
