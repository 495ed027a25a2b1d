// SPDX-License-Identifier: Apache-2.0
#include "viz/sample_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "store/results/matrix_rows.h"

namespace lime::testing {

FigureSource sample_of(const std::string& metric) {
  FigureSource source{metric + ".json", {}};
  source.results.metric = metric;
  source.results.provenance["created_utc"] = "2026-11-21T04:10:33Z";
  return source;
}

FigureSource with_arrays(FigureSource source) {
  source.results.rows = with_matrices(std::move(source.results.rows), source.results.metric);
  return source;
}

FigureSource sample_entropy(int layers) {
  FigureSource source = sample_of("entropy");
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
  FigureSource source = sample_of("separability");
  for (const char* const label : kSampleModels) {
    for (int l = 0; l < layers; ++l) {
      for (const char* const labels : {"words", "shuffled"}) {
        const bool is_real = labels == std::string("words");
        const double fall = (label == kSampleModels[0] ? 0.08 : 0.02) * l;
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
  FigureSource source = sample_of("geometry");
  for (const char* const label : kSampleModels) {
    for (const char* const measure : {"effective_rank", "anisotropy", "curvature", "rankme"}) {
      for (int l = 0; l < layers; ++l) {
        const double mean = (label == kSampleModels[0] ? 1.0 : 1.5) * (l + 1);
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
  FigureSource source = sample_of("similarity");
  for (const auto& [label, other] : {std::pair(kSampleModels[0], kSampleModels[0]),
                                     std::pair(kSampleModels[1], kSampleModels[1]),
                                     std::pair(kSampleModels[0], kSampleModels[1])}) {
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
  FigureSource source = sample_of("tsne");
  Random random(7);
  for (const char* const label : kSampleModels) {
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
  FigureSource source = sample_of("blimp");
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
  for (const char* const label : kSampleModels) {
    for (const Group& group : groups) {
      for (int l = 0; l < std::max(1, layers); ++l) {
        const double mean = group.mean + (label == kSampleModels[0] ? 0.0 : 0.05) + 0.02 * l;
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
  FigureSource source = sample_of("choices");
  auto& rows = source.results.rows;
  for (const char* const task :
       {"copa", "wic", "bigbench_logical_deduction_three_objects", "qnli", "piqa", "rte", "all"}) {
    for (const char* const label : kSampleModels) {
      const double mean = label == kSampleModels[0] ? 0.61 : 0.66;
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
                    {col::kLabel, kSampleModels[1]},
                    {col::kBaseline, kSampleModels[0]},
                    {col::kDifference, 0.05},
                    {col::kCiLow, -0.01},
                    {col::kCiHigh, 0.11}});
  }
  return source;
}

FigureSource sample_series() {
  FigureSource source = sample_of("series");
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
  FigureSource source = sample_of("cost");
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
  FigureSource source = sample_of("attention");
  for (const char* const label : kSampleModels) {
    for (int l = 0; l < layers; ++l) {
      source.results.rows.push_back({{col::kLabel, label},
                                     {col::kSite, "attn.hook_pattern"},
                                     {col::kLayer, l},
                                     {col::kKind, "layer"},
                                     {col::kMeasure, "sink_rate"},
                                     {col::kMean, static_cast<double>(l) / layers}});
      for (int h = 0; h < heads; ++h) {
        const double share = label == kSampleModels[0] ? (l + 1.0) / (layers + h) : 0.1 * h;
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
  std::erase_if(rows,
                [](const ResultRow& row) { return row.cell(col::kLabel) != kSampleModels[1]; });
  const std::vector<std::string> texts = {"<s>", "3", "x", "9", "=", "27"};
  const auto tokens = static_cast<int>(texts.size());
  const auto add = [&](int layer, int head, ResultRow row) {
    row.add({{col::kLabel, kSampleModels[1]}, {col::kLayer, layer}, {col::kHead, head}});
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
                    {col::kLabel, kSampleModels[1]},
                    {col::kPosition, t},
                    {col::kToken, 100 + t},
                    {col::kText, texts[static_cast<std::size_t>(t)]}});
  }
  return with_arrays(std::move(source));
}

FigureSource sample_training(const std::string& label, int steps) {
  FigureSource source = sample_of("training");
  source.path = label + "/training_log.jsonl";
  for (int step = 1; step <= steps; ++step) {
    const double loss = 4.0 * std::exp(-step / 60.0) + (label == kSampleModels[0] ? 0.3 : 0.2);
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
    const double accuracy = (label == kSampleModels[0] ? 0.8 : 1.2) - 0.08 * operands;
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
