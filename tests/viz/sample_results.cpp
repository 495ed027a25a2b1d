// SPDX-License-Identifier: Apache-2.0
#include "viz/sample_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "store/results/matrix_rows.h"

namespace lime::testing {
namespace {

constexpr std::array kModels = {"LLaMA", "LIMe"};

FigureSource begun(const std::string& metric) {
  FigureSource source{metric + ".json", {}};
  source.results.metric = metric;
  source.results.provenance["created_utc"] = "2026-11-21T04:10:33Z";
  return source;
}

}  // namespace

FigureSource sample_entropy(int layers) {
  FigureSource source = begun("entropy");
  for (const char* const label : {"LLaMA", "LIMe"}) {
    for (const char* const site : {"values", "hidden"}) {
      for (int l = 0; l < layers; ++l) {
        const double mean = (label[1] == 'L' ? 2.0 : 2.5) + 0.1 * std::sin(l);
        source.results.rows.push_back({{col::kLabel, label},
                                       {col::kSite, site},
                                       {col::kLayer, l},
                                       {col::kAlpha, 0.5},
                                       {col::kMean, mean},
                                       {col::kCiLow, mean - 0.05},
                                       {col::kCiHigh, mean + 0.05},
                                       {col::kCeiling, std::log(32.0)},
                                       {col::kUnit, "nats"}});
      }
    }
  }
  return source;
}

namespace {

/// Returns the results of sample_router() with a row per element of a matrix.
FigureSource router_elements(int layers, int heads) {
  FigureSource source = begun("router");
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

/// Returns `source` with matrices in place of their elements.
FigureSource with_arrays(FigureSource source) {
  source.results.rows = with_matrices(std::move(source.results.rows), source.results.metric);
  return source;
}

}  // namespace

FigureSource sample_router(int layers, int heads) {
  return with_arrays(router_elements(layers, heads));
}

FigureSource sample_experts() {
  FigureSource source = begun("experts");
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
  FigureSource source = begun("sweep");
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
  FigureSource source = begun("counterfactual");
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

FigureSource sample_comparison(int layers) {
  FigureSource source = sample_entropy(layers);
  for (const char* const site : {"values", "hidden"}) {
    for (int l = 0; l < layers; ++l) {
      const double difference = l == 1 ? 0.01 : 0.4 - 0.1 * l;
      source.results.rows.push_back({{col::kKind, "comparison"},
                                     {col::kLabel, "LIMe"},
                                     {col::kBaseline, "LLaMA"},
                                     {col::kSite, site},
                                     {col::kLayer, l},
                                     {col::kAlpha, 0.5},
                                     {col::kQuantity, "entropy"},
                                     {col::kDifference, difference},
                                     {col::kCiLow, difference - 0.05},
                                     {col::kCiHigh, difference + 0.05},
                                     {col::kPHolm, l == 1   ? 0.7
                                                   : l == 2 ? 0.02
                                                            : 0.0004}});
    }
  }
  return source;
}

FigureSource sample_separability(int layers) {
  FigureSource source = begun("separability");
  for (const char* const label : kModels) {
    for (int l = 0; l < layers; ++l) {
      for (const char* const labels : {"words", "shuffled"}) {
        const bool is_real = labels == std::string("words");
        const double fall = (label == kModels[0] ? 0.08 : 0.02) * l;
        source.results.rows.push_back({{col::kLabel, label},
                                       {col::kSite, "hidden"},
                                       {col::kLayer, l},
                                       {col::kMethod, "converged"},
                                       {col::kLabels, labels},
                                       {col::kMean, is_real ? 0.95 - fall : 0.27},
                                       {col::kStd, 0.02},
                                       {col::kMajority, 0.25}});
      }
    }
  }
  return source;
}

FigureSource sample_geometry(int layers) {
  FigureSource source = begun("geometry");
  for (const char* const label : kModels) {
    for (const char* const measure : {"effective_rank", "anisotropy", "curvature", "rankme"}) {
      for (int l = 0; l < layers; ++l) {
        const double mean = (label == kModels[0] ? 1.0 : 1.5) * (l + 1);
        source.results.rows.push_back({{col::kLabel, label},
                                       {col::kSite, "hidden"},
                                       {col::kLayer, l},
                                       {col::kGroup, "rank"},
                                       {col::kMeasure, measure},
                                       {col::kOver, "rows"},
                                       {col::kMean, mean}});
      }
    }
  }
  return source;
}

FigureSource sample_similarity(int layers) {
  FigureSource source = begun("similarity");
  for (const auto& [label, other] :
       {std::pair(kModels[0], kModels[0]), std::pair(kModels[1], kModels[1]),
        std::pair(kModels[0], kModels[1])}) {
    for (int l = 0; l < layers; ++l) {
      for (int m = 0; m < layers; ++m) {
        const double cka = (label == other ? 1.0 : 0.8) * std::exp(-0.3 * std::abs(l - m));
        source.results.rows.push_back({{col::kLabel, label},
                                       {col::kOtherLabel, other},
                                       {col::kSite, "hidden"},
                                       {col::kLayer, l},
                                       {col::kOtherLayer, m},
                                       {col::kCka, cka},
                                       {col::kCkaDebiased, cka},
                                       {col::kProcrustes, 2.0 - 2.0 * cka},
                                       {col::kInfluence, 0.5 - 0.5 * cka}});
      }
    }
  }
  return source;
}

FigureSource sample_tsne(int layers, int points) {
  FigureSource source = begun("tsne");
  Random random(7);
  for (const char* const label : kModels) {
    for (int l = 0; l < layers; ++l) {
      source.results.rows.push_back(
          {{col::kLabel, label}, {col::kSite, "hidden"}, {col::kLayer, l}});
      SourceEmbedding embedding{label, "hidden", l, {}, {}, {}, {" is", " are", " was"}};
      for (int i = 0; i < points; ++i) {
        const double angle = 2.0944 * (i % 3);
        embedding.x.push_back(
            static_cast<float>((3 - l) * std::cos(angle) + 0.7 * random.normal()));
        embedding.y.push_back(
            static_cast<float>((3 - l) * std::sin(angle) + 0.7 * random.normal()));
        embedding.classes.push_back(i % 3);
      }
      source.embeddings.push_back(std::move(embedding));
    }
  }
  return source;
}

FigureSource sample_blimp(int layers) {
  FigureSource source = begun("blimp");
  struct Group {
    const char* level;
    const char* name;
    double mean;
  };
  const std::vector<Group> groups = {{"all", "all", 0.72},
                                     {"field", "syntax", 0.66},
                                     {"field", "morphology", 0.81},
                                     {"linguistics_term", "island_effects", 0.58},
                                     {"linguistics_term", "determiner_noun_agreement", 0.81}};
  for (const char* const label : kModels) {
    for (const Group& group : groups) {
      for (int l = 0; l < std::max(1, layers); ++l) {
        const double mean = group.mean + (label == kModels[0] ? 0.0 : 0.05) + 0.02 * l;
        ResultRow row = {
            {col::kLabel, label}, {col::kLevel, group.level}, {col::kName, group.name},
            {col::kMean, mean},   {col::kCiLow, mean - 0.04}, {col::kCiHigh, mean + 0.03},
            {col::kN, 12}};
        if (layers > 0) row.add(ResultRow{{col::kSite, "hidden"}, {col::kLayer, l}});
        source.results.rows.push_back(std::move(row));
      }
    }
  }
  return source;
}

FigureSource sample_choices(int layers) {
  FigureSource source = begun("choices");
  auto& rows = source.results.rows;
  for (const char* const task :
       {"copa", "wic", "bigbench_logical_deduction_three_objects", "qnli", "piqa", "rte", "all"}) {
    for (const char* const label : kModels) {
      const double mean = label == kModels[0] ? 0.61 : 0.66;
      ResultRow row = {{col::kLabel, label},       {col::kName, task},
                       {col::kMeasure, "acc"},     {col::kMean, mean},
                       {col::kCiLow, mean - 0.08}, {col::kCiHigh, mean + 0.07}};
      rows.push_back(row);
      for (int l = 0; l < layers; ++l) {
        for (const char* const reader : {"acc", "probe"}) {
          row.set(col::kMeasure, reader);
          row.set(col::kLayer, l);
          rows.push_back(row);
        }
      }
    }
    rows.push_back({{col::kKind, "comparison"},
                    {col::kQuantity, "acc"},
                    {col::kTask, task},
                    {col::kLabel, kModels[1]},
                    {col::kBaseline, kModels[0]},
                    {col::kDifference, 0.05},
                    {col::kCiLow, -0.01},
                    {col::kCiHigh, 0.11}});
  }
  return source;
}

FigureSource sample_series() {
  FigureSource source = begun("series");
  for (const char* const site : {"values", "routed_values", "hidden"}) {
    for (const char* const reference : {"", "first", "previous", "last"}) {
      for (const int step : {10, 300, 2000}) {
        for (const int layer : {0, 1}) {
          const bool is_drift = *reference != '\0';
          ResultRow row = {{col::kSite, site},
                           {col::kMeasure, is_drift ? "cka_debiased" : "entropy"},
                           {col::kLayer, layer},
                           {col::kStep, step},
                           {col::kMean, 0.5 + 0.1 * layer + 1e-4 * step}};
          if (is_drift) row.add(ResultRow{{col::kQuantity, "drift"}, {col::kReference, reference}});
          source.results.rows.push_back(std::move(row));
        }
      }
    }
  }
  return source;
}

FigureSource sample_cost() {
  FigureSource source = begun("cost");
  for (const char* const decoder : {"llama", "lime"}) {
    const bool is_lime = decoder == std::string("lime");
    source.results.rows.push_back({{col::kLabel, "lime-base"},
                                   {col::kDecoder, decoder},
                                   {col::kNumKeyValueHeads, 8},
                                   {col::kSequenceLength, 2048},
                                   {col::kDtype, "float32"},
                                   {col::kParameters, is_lime ? 1076082688 : 1076074048},
                                   {col::kRouterParameters, is_lime ? 8640 : 0},
                                   {col::kMultiplyAccumulates, is_lime ? 2.76379e12 : 2.76153e12},
                                   {col::kMixingShare, is_lime ? 0.00082 : 0.0},
                                   {col::kCacheBytes, 134217728}});
  }
  return source;
}

FigureSource sample_attention_heads(int layers, int heads) {
  FigureSource source = begun("attention");
  for (const char* const label : kModels) {
    for (int l = 0; l < layers; ++l) {
      source.results.rows.push_back({{col::kLabel, label},
                                     {col::kSite, "attn.hook_pattern"},
                                     {col::kLayer, l},
                                     {col::kKind, "layer"},
                                     {col::kMeasure, "sink_rate"},
                                     {col::kMean, static_cast<double>(l) / layers}});
      for (int h = 0; h < heads; ++h) {
        const double share = label == kModels[0] ? (l + 1.0) / (layers + h) : 0.1 * h;
        for (const auto& [measure, mean] :
             {std::pair("entropy", 2.0 - share), std::pair("first_share", share)}) {
          source.results.rows.push_back({{col::kLabel, label},
                                         {col::kSite, "attn.hook_pattern"},
                                         {col::kLayer, l},
                                         {col::kKind, "head"},
                                         {col::kHead, h},
                                         {col::kMeasure, measure},
                                         {col::kMean, mean}});
        }
      }
    }
  }
  return source;
}

FigureSource sample_attention(int layers) {
  FigureSource source = sample_attention_heads(layers, 2);
  auto& rows = source.results.rows;
  std::erase_if(rows, [](const ResultRow& row) { return row.cell(col::kLabel) != kModels[1]; });
  const std::vector<std::string> texts = {"<s>", "3", "x", "9", "=", "27"};
  const auto tokens = static_cast<int>(texts.size());
  const auto add = [&](int layer, int head, ResultRow row) {
    row.add({{col::kLabel, kModels[1]}, {col::kLayer, layer}, {col::kHead, head}});
    rows.push_back(std::move(row));
  };
  for (int l = 0; l < layers; ++l) {
    for (int h = 0; h < 2; ++h) {
      for (int q = 0; q < tokens; ++q) {
        for (int k = 0; k <= q; ++k) {
          const double weight = h == 1 ? 1.0 / (q + 1) : k == 0 ? 1.0 : 0.0;
          add(l, h,
              {{col::kKind, "weight"}, {col::kQuery, q}, {col::kKey, k}, {col::kWeight, weight}});
        }
      }
      for (int m = 0; m <= l; ++m) {
        for (int k = 0; k < tokens - 1; ++k) {
          const double share = (k + 1.0 + m) / (15.0 * (l + 1) + 5.0 * l * (l + 1) / 2.0);
          add(l, h,
              {{col::kKind, "routed"},
               {col::kQuery, tokens - 2},
               {col::kSourceLayer, m},
               {col::kKey, k},
               {col::kShare, share},
               {col::kBy, "values"}});
        }
      }
    }
  }
  for (int t = 0; t < tokens; ++t) {
    rows.push_back({{col::kKind, "token"},
                    {col::kLabel, kModels[1]},
                    {col::kPosition, t},
                    {col::kToken, 100 + t},
                    {col::kText, texts[static_cast<std::size_t>(t)]}});
  }
  return with_arrays(std::move(source));
}

FigureSource sample_training(const std::string& label, int steps) {
  FigureSource source = begun("training");
  source.path = label + "/training_log.jsonl";
  for (int step = 1; step <= steps; ++step) {
    const double loss = 4.0 * std::exp(-step / 60.0) + (label == kModels[0] ? 0.3 : 0.2);
    ResultRow row = {{col::kKind, "train"},     {col::kLabel, label},
                     {col::kStep, step},        {col::kTokens, 1e4 * step},
                     {col::kFlops, 6e9 * step}, {col::kLoss, loss + 0.1 * std::sin(7.0 * step)}};
    source.results.rows.push_back(row);
    if (step % 40 != 0) continue;
    row.set(col::kKind, "validation");
    row.set(col::kLoss, loss);
    source.results.rows.push_back(row);
  }
  for (int operands = 4; operands <= 6; ++operands) {
    const double accuracy = (label == kModels[0] ? 0.8 : 1.2) - 0.08 * operands;
    source.results.rows.push_back({{col::kKind, "evaluation"},
                                   {col::kLabel, label},
                                   {col::kStep, steps},
                                   {kOperands, operands},
                                   {col::kMean, accuracy},
                                   {col::kCiLow, accuracy - 0.02},
                                   {col::kCiHigh, accuracy + 0.02}});
  }
  return source;
}

std::vector<FigureSource> sample_sources() {
  return {sample_comparison(), sample_router(),         sample_separability(), sample_geometry(),
          sample_similarity(), sample_tsne(),           sample_blimp(),        sample_cost(),
          sample_training(),   sample_counterfactual(), sample_attention()};
}

}  // namespace lime::testing
