// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "viz/recipes/recipe.h"

// Results of every metric with figures, with values that are easy to recognise.

namespace lime::testing {

/// Labels of the two models of most samples.
inline constexpr std::array kSampleModels = {"LLaMA", "LIMe"};

/// Returns results of a metric without rows.
FigureSource sample_of(const std::string& metric);
/// Returns `source` with matrices in place of their elements.
FigureSource with_arrays(FigureSource source);

/// Returns entropies of `layers` layers of two models, values and hidden states.
FigureSource sample_entropy(int layers = 4);
/// Returns the same with the rows of --compare first; layer 1 does not differ.
FigureSource sample_comparison(int layers = 4);

/// Returns heatmaps and weights of a router with the same number of heads in each of `layers`
/// layers.
FigureSource sample_router(int layers = 4, int heads = 2);

/// Returns the mean map of |R|, of |R| times the keys, and their difference.
FigureSource sample_weighted_router(int layers = 4);

/// Returns entropy and effective rank of a LIMe under four routers, of a LLaMA, and the gap's
/// parts.
FigureSource sample_counterfactual(int layers = 4);

/// Returns accuracies of two models, with the control "shuffled".
FigureSource sample_separability(int layers = 4);
FigureSource sample_geometry(int layers = 4);
/// Returns heatmaps of LLaMA, of LIMe, and between them.
FigureSource sample_similarity(int layers = 4);
/// Returns t-SNE embeddings of three classes, `points` in all, of two models.
FigureSource sample_tsne(int layers = 2, int points = 150);
/// Returns probes of two models over `layers` layers, or zero-shot accuracies if `layers` is 0.
FigureSource sample_blimp(int layers = 4);
/// Returns accuracies of two models on six tasks and their mean, their differences, and what lens
/// and probes reach in `layers` layers.
FigureSource sample_choices(int layers = 4);
/// Returns entropy and drift of two layers over three steps, for three sites: 12 panels.
FigureSource sample_series();
FigureSource sample_cost();
/// Returns loads of four experts in three layers, the experts of five tokens, and effects of
/// theirs.
FigureSource sample_experts();
/// Returns effects of the depth weights of a plain decoder of two layers.
FigureSource sample_depth_sweep();
/// Returns summaries of two models' heads.
FigureSource sample_attention_heads(int layers = 6, int heads = 4);
/// Returns one sequence of six tokens: a head that attends to the first token and one that attends
/// broadly, and the last token's attention to the buffered layers.
FigureSource sample_attention(int layers = 2);
/// Returns a log of `steps` steps of a model called `label`.
FigureSource sample_training(const std::string& label = "LLaMA", int steps = 200);

/// Returns one of each of them.
std::vector<FigureSource> sample_sources();

}  // namespace lime::testing
