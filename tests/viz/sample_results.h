// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/recipes/recipe.h"

// Results of every metric that figures are made of, with numbers that are easy to recognise.

namespace lime::testing {

/// Entropies of `layers` layers of two models, values and hidden states.
FigureSource sample_entropy(int layers = 4);
/// The same with the rows that --compare first adds; layer 1 does not differ.
FigureSource sample_comparison(int layers = 4);

/// Maps and weights of a router with as many heads in each of `layers` layers.
FigureSource sample_router(int layers = 4, int heads = 2);

/// The mean map of |R|, of |R| times the keys, and their difference.
FigureSource sample_weighted_router(int layers = 4);

/// Entropy and effective rank of a LIMe under four routers, beside a LLaMA, and the gap's parts.
FigureSource sample_counterfactual(int layers = 4);

/// Accuracies of two models, with the control "shuffled".
FigureSource sample_separability(int layers = 4);
FigureSource sample_geometry(int layers = 4);
/// Maps of LLaMA, of LIMe, and between them.
FigureSource sample_similarity(int layers = 4);
/// Clouds of three classes, `points` in all, of two models.
FigureSource sample_tsne(int layers = 2, int points = 150);
/// Probes of two models over `layers` layers, or zero-shot accuracies if `layers` is 0.
FigureSource sample_blimp(int layers = 4);
FigureSource sample_cost();
/// Summaries of two models' heads.
FigureSource sample_attention_heads(int layers = 6, int heads = 4);
/// One sequence of six tokens: a head that looks at the first token and one that looks around, and
/// what the last token reads of the buffered layers.
FigureSource sample_attention(int layers = 2);
/// A log of `steps` steps of a model called `label`.
FigureSource sample_training(const std::string& label = "LLaMA", int steps = 200);

/// One of each of them.
std::vector<FigureSource> sample_sources();

}  // namespace lime::testing
