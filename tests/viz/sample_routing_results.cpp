// SPDX-License-Identifier: Apache-2.0
// Samples of routers over depth and over experts, and of sweeps.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "viz/sample_results.h"

namespace lime::testing {
namespace {

/// Returns the results of sample_router() with a row per element of a matrix.
FigureSource router_elements(int layers, int heads) {
  FigureSource source = sample_of("router");
  auto& rows = source.results.rows;
  for (int l = 1; l < layers; ++l) {
    for (int j = 0; j <= l; ++j) {
      const double share = 1.0 / (l + 1);
      rows.push_back({{col::kKind, "mean_map"},
                      {col::kLabel, "LIMe"},
                      {col::kLayer, l},
                      {col::kWeighting, "none"},
                      {col::kSourceLayer, j},
                      {col::kWeight, share}});
      for (int h = 0; h < heads; ++h) {
        rows.push_back({{col::kKind, "head_map"},
                        {col::kLabel, "LIMe"},
                        {col::kLayer, l},
                        {col::kWeighting, "none"},
                        {col::kHead, h},
                        {col::kSourceLayer, j},
                        {col::kWeight, share}});
        for (int k = 0; k < heads; ++k) {
          rows.push_back({{col::kKind, "weight"},
                          {col::kLabel, "LIMe"},
                          {col::kLayer, l},
                          {col::kHead, h},
                          {col::kSourceLayer, j},
                          {col::kSourceHead, k},
                          {col::kWeight, h == k ? 0.5 : -0.25}});
        }
      }
    }
  }
  return source;
}

}  // namespace

FigureSource sample_router(int layers, int heads) {
  return with_arrays(router_elements(layers, heads));
}

FigureSource sample_experts() {
  FigureSource source = sample_of("experts");
  auto& rows = source.results.rows;
  const std::array<std::string, 5> words = {"the", " cat", " sat", " on", " it"};
  for (int layer = 0; layer < 3; ++layer) {
    std::vector<double> load;
    for (int expert = 0; expert < 4; ++expert) load.push_back((1.0 + (expert + layer) % 4) / 10.0);
    rows.push_back(
        matrix_row("experts", "load", {{col::kLabel, "MoE"}, {col::kLayer, layer}}, {4}, load));
    for (int token = 0; token < 5; ++token) {
      rows.push_back({{col::kLabel, "MoE"},
                      {col::kLayer, layer},
                      {col::kKind, "token"},
                      {col::kSequence, 0},
                      {col::kPosition, token},
                      {col::kToken, 10 + token},
                      {col::kText, words[static_cast<std::size_t>(token)]},
                      {col::kExpert, (token * (layer + 1)) % 4}});
    }
    for (int expert = 0; expert < 4; ++expert) {
      const double effect = 0.1 * layer - 0.05 * expert;
      rows.push_back({{col::kLabel, "MoE"},
                      {col::kLayer, layer},
                      {col::kKind, "effect"},
                      {col::kExpert, expert},
                      {col::kMass, load[static_cast<std::size_t>(expert)]},
                      {col::kEffect, effect},
                      {col::kEffect.low, effect - 0.03},
                      {col::kEffect.high, effect + 0.02}});
    }
  }
  return source;
}

FigureSource sample_depth_sweep() {
  FigureSource source = sample_of("sweep");
  auto& rows = source.results.rows;
  for (int layer = 0; layer < 2; ++layer) {
    for (const std::string read : {"attn", "mlp"}) {
      const int sources = 2 * layer + (read == "mlp" ? 2 : 1);
      for (int s = 0; s < sources; ++s) {
        const double effect = 0.4 / (1.0 + s) - 0.1 * layer;
        rows.push_back({{col::kLabel, "LLaMA"},
                        {col::kPart, "depth-weight"},
                        {col::kLayer, layer},
                        {col::kRead, read},
                        {col::kSource, s},
                        {col::kEffect, effect},
                        {col::kEffect.low, effect - 0.05},
                        {col::kEffect.high, effect + 0.05}});
      }
    }
    for (int later = layer + 1; later < 3; ++later) {
      rows.push_back({{col::kLabel, "LLaMA"},
                      {col::kKind, "later"},
                      {col::kPart, "layer"},
                      {col::kLayer, layer},
                      {col::kLaterLayer, later},
                      {col::kChange, 0.5 / (later - layer)}});
    }
  }
  return source;
}

FigureSource sample_weighted_router(int layers) {
  FigureSource source = router_elements(layers, 2);
  std::vector<ResultRow> more;
  for (const ResultRow& row : source.results.rows) {
    if (row.cell(col::kKind) == "weight") continue;
    const auto shift = 0.05 * (row.cell(col::kSourceLayer) == 0 ? row.number(col::kLayer) : -1.0);
    ResultRow other = row;
    other.set(col::kWeighting, "keys");
    other.set(col::kWeight, row.number(col::kWeight) + shift);
    more.push_back(other);
    if (row.cell(col::kKind) != "mean_map") continue;
    other.set(col::kWeighting, "keys - none");
    other.set(col::kWeight, shift);
    more.push_back(other);
  }
  source.results.rows.insert(source.results.rows.end(), more.begin(), more.end());
  return with_arrays(std::move(source));
}

FigureSource sample_counterfactual(int layers) {
  FigureSource source = sample_of("counterfactual");
  auto& rows = source.results.rows;
  const std::vector<std::pair<const char*, double>> routers = {
      {"trained", 0.0}, {"identity", -0.2}, {"last-2", -0.1}, {"unsigned", -0.3}, {"random", 0.1}};
  for (const char* const quantity : {"entropy", "effective_rank"}) {
    const double scale = quantity == std::string("entropy") ? 1.0 : 4.0;
    const auto add = [&](const ResultRow& about, std::optional<int> layer, double mean) {
      ResultRow row = {{col::kSite, "values"},
                       {col::kLayer, nullptr},
                       {col::kQuantity, quantity},
                       {col::kMean, scale * mean},
                       {col::kCiLow, scale * (mean - 0.05)},
                       {col::kCiHigh, scale * (mean + 0.05)},
                       {col::kCeiling, scale * 3.0}};
      if (quantity == std::string("entropy")) row.set(col::kAlpha, 0.5);
      if (layer) row.set(col::kLayer, *layer);
      row.add(about);
      rows.push_back(std::move(row));
    };
    for (int l = 0; l < layers; ++l) {
      for (const auto& [router, change] : routers) {
        add({{col::kLabel, "LIMe"}, {col::kRouter, router}}, l,
            2.5 - 0.1 * l + (l == 0 ? 0.0 : change));
      }
      add({{col::kLabel, "LLaMA"}, {col::kRouter, "identity"}}, l, 2.2 - 0.1 * l);
      const double mixing = l == 0 ? 0.0 : 0.2;
      add({{col::kLabel, "LIMe - LLaMA"}, {col::kPart, "gap"}}, l, 0.3);
      add({{col::kLabel, "LIMe - LLaMA"}, {col::kPart, "projections"}}, l, 0.3 - mixing);
      add({{col::kLabel, "LIMe - LLaMA"}, {col::kPart, "mixing"}}, l, mixing);
    }
    for (const auto& [router, change] : routers) {
      ResultRow about = {{col::kLabel, "LIMe"}, {col::kRouter, router}};
      if (router != std::string("trained")) {
        about.set(col::kDifference, scale * change);
        about.set(col::kDifference.low, scale * (change - 0.04));
        about.set(col::kDifference.high, scale * (change + 0.04));
      }
      add(about, std::nullopt, 2.3 + change);
    }
  }
  return source;
}

}  // namespace lime::testing
