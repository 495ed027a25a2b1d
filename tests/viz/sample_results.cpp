// SPDX-License-Identifier: Apache-2.0
#include "viz/sample_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/random.h"

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
        source.results.rows.push_back({{"label", label},
                                       {"site", site},
                                       {"layer", l},
                                       {"alpha", 0.5},
                                       {"mean", mean},
                                       {"ci_low", mean - 0.05},
                                       {"ci_high", mean + 0.05},
                                       {"ceiling", std::log(32.0)},
                                       {"unit", "nats"}});
      }
    }
  }
  return source;
}

FigureSource sample_router(int layers, int heads) {
  FigureSource source = begun("router");
  auto& rows = source.results.rows;
  for (int l = 1; l < layers; ++l) {
    for (int j = 0; j <= l; ++j) {
      const double share = 1.0 / (l + 1);
      rows.push_back({{"kind", "mean_map"},
                      {"label", "LIMe"},
                      {"layer", l},
                      {"weighting", "none"},
                      {"source_layer", j},
                      {"weight", share}});
      for (int h = 0; h < heads; ++h) {
        rows.push_back({{"kind", "head_map"},
                        {"label", "LIMe"},
                        {"layer", l},
                        {"weighting", "none"},
                        {"head", h},
                        {"source_layer", j},
                        {"weight", share}});
        for (int k = 0; k < heads; ++k) {
          rows.push_back({{"kind", "weight"},
                          {"label", "LIMe"},
                          {"layer", l},
                          {"head", h},
                          {"source_layer", j},
                          {"source_head", k},
                          {"weight", h == k ? 0.5 : -0.25}});
        }
      }
    }
  }
  return source;
}

FigureSource sample_weighted_router(int layers) {
  FigureSource source = sample_router(layers);
  std::vector<Json> more;
  for (const Json& row : source.results.rows) {
    if (row["kind"] == "weight") continue;
    const auto shift = 0.05 * (row["source_layer"] == 0 ? row["layer"].get<double>() : -1.0);
    Json other = row;
    other["weighting"] = "keys";
    other["weight"] = row["weight"].get<double>() + shift;
    more.push_back(other);
    if (row["kind"] != "mean_map") continue;
    other["weighting"] = "keys - none";
    other["weight"] = shift;
    more.push_back(other);
  }
  source.results.rows.insert(source.results.rows.end(), more.begin(), more.end());
  return source;
}

FigureSource sample_counterfactual(int layers) {
  FigureSource source = begun("counterfactual");
  auto& rows = source.results.rows;
  const std::vector<std::pair<const char*, double>> routers = {
      {"trained", 0.0}, {"identity", -0.2}, {"last-2", -0.1}, {"unsigned", -0.3}, {"random", 0.1}};
  for (const char* const quantity : {"entropy", "effective_rank"}) {
    const double scale = quantity == std::string("entropy") ? 1.0 : 4.0;
    const auto add = [&](const Json& about, const Json& layer, double mean) {
      Json row = {{"site", "values"},
                  {"layer", layer},
                  {"quantity", quantity},
                  {"mean", scale * mean},
                  {"ci_low", scale * (mean - 0.05)},
                  {"ci_high", scale * (mean + 0.05)},
                  {"ceiling", scale * 3.0}};
      if (quantity == std::string("entropy")) row["alpha"] = 0.5;
      row.update(about);
      rows.push_back(std::move(row));
    };
    for (int l = 0; l < layers; ++l) {
      for (const auto& [router, change] : routers) {
        add({{"label", "LIMe"}, {"router", router}}, l, 2.5 - 0.1 * l + (l == 0 ? 0.0 : change));
      }
      add({{"label", "LLaMA"}, {"router", "identity"}}, l, 2.2 - 0.1 * l);
      const double mixing = l == 0 ? 0.0 : 0.2;
      add({{"label", "LIMe - LLaMA"}, {"part", "gap"}}, l, 0.3);
      add({{"label", "LIMe - LLaMA"}, {"part", "projections"}}, l, 0.3 - mixing);
      add({{"label", "LIMe - LLaMA"}, {"part", "mixing"}}, l, mixing);
    }
    for (const auto& [router, change] : routers) {
      Json about = {{"label", "LIMe"}, {"router", router}};
      if (router != std::string("trained")) {
        about["difference"] = scale * change;
        about["difference_low"] = scale * (change - 0.04);
        about["difference_high"] = scale * (change + 0.04);
      }
      add(about, nullptr, 2.3 + change);
    }
  }
  return source;
}

FigureSource sample_comparison(int layers) {
  FigureSource source = sample_entropy(layers);
  for (const char* const site : {"values", "hidden"}) {
    for (int l = 0; l < layers; ++l) {
      const double difference = l == 1 ? 0.01 : 0.4 - 0.1 * l;
      source.results.rows.push_back({{"kind", "comparison"},
                                     {"label", "LIMe"},
                                     {"baseline", "LLaMA"},
                                     {"site", site},
                                     {"layer", l},
                                     {"alpha", 0.5},
                                     {"quantity", "entropy"},
                                     {"difference", difference},
                                     {"ci_low", difference - 0.05},
                                     {"ci_high", difference + 0.05},
                                     {"p_holm", l == 1   ? 0.7
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
        source.results.rows.push_back({{"label", label},
                                       {"site", "hidden"},
                                       {"layer", l},
                                       {"method", "converged"},
                                       {"labels", labels},
                                       {"mean", is_real ? 0.95 - fall : 0.27},
                                       {"std", 0.02},
                                       {"majority", 0.25}});
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
        source.results.rows.push_back({{"label", label},
                                       {"site", "hidden"},
                                       {"layer", l},
                                       {"group", "rank"},
                                       {"measure", measure},
                                       {"over", "rows"},
                                       {"mean", mean}});
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
        source.results.rows.push_back({{"label", label},
                                       {"other_label", other},
                                       {"site", "hidden"},
                                       {"layer", l},
                                       {"other_layer", m},
                                       {"cka", cka},
                                       {"cka_debiased", cka},
                                       {"procrustes", 2.0 - 2.0 * cka}});
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
      source.results.rows.push_back({{"label", label}, {"site", "hidden"}, {"layer", l}});
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
        Json row = {{"label", label}, {"level", group.level},  {"name", group.name},
                    {"mean", mean},   {"ci_low", mean - 0.04}, {"ci_high", mean + 0.03},
                    {"n", 12}};
        if (layers > 0) row.update(Json{{"site", "hidden"}, {"layer", l}});
        source.results.rows.push_back(std::move(row));
      }
    }
  }
  return source;
}

FigureSource sample_cost() {
  FigureSource source = begun("cost");
  for (const char* const decoder : {"llama", "lime"}) {
    const bool is_lime = decoder == std::string("lime");
    source.results.rows.push_back({{"label", "lime-base"},
                                   {"decoder", decoder},
                                   {"num_key_value_heads", 8},
                                   {"sequence_length", 2048},
                                   {"dtype", "float32"},
                                   {"parameters", is_lime ? 1076082688 : 1076074048},
                                   {"router_parameters", is_lime ? 8640 : 0},
                                   {"multiply_accumulates", is_lime ? 2.76379e12 : 2.76153e12},
                                   {"mixing_share", is_lime ? 0.00082 : 0.0},
                                   {"cache_bytes", 134217728.0}});
  }
  return source;
}

FigureSource sample_attention_heads(int layers, int heads) {
  FigureSource source = begun("attention");
  for (const char* const label : kModels) {
    for (int l = 0; l < layers; ++l) {
      for (int h = 0; h < heads; ++h) {
        const double share = label == kModels[0] ? (l + 1.0) / (layers + h) : 0.1 * h;
        for (const auto& [measure, mean] :
             {std::pair("entropy", 2.0 - share), std::pair("first_share", share)}) {
          source.results.rows.push_back({{"label", label},
                                         {"site", "attn.hook_pattern"},
                                         {"layer", l},
                                         {"kind", "head"},
                                         {"head", h},
                                         {"measure", measure},
                                         {"mean", mean}});
        }
      }
    }
  }
  return source;
}

FigureSource sample_attention(int layers) {
  FigureSource source = sample_attention_heads(layers, 2);
  auto& rows = source.results.rows;
  std::erase_if(rows, [](const Json& row) { return row["label"] != kModels[1]; });
  const std::vector<std::string> texts = {"<s>", "3", "x", "9", "=", "27"};
  const auto tokens = static_cast<int>(texts.size());
  const auto add = [&](int layer, int head, Json row) {
    row.update({{"label", kModels[1]}, {"layer", layer}, {"head", head}});
    rows.push_back(std::move(row));
  };
  for (int l = 0; l < layers; ++l) {
    for (int h = 0; h < 2; ++h) {
      for (int q = 0; q < tokens; ++q) {
        for (int k = 0; k <= q; ++k) {
          const double weight = h == 1 ? 1.0 / (q + 1) : k == 0 ? 1.0 : 0.0;
          add(l, h, {{"kind", "weight"}, {"query", q}, {"key", k}, {"weight", weight}});
        }
      }
      for (int m = 0; m <= l; ++m) {
        for (int k = 0; k < tokens - 1; ++k) {
          const double share = (k + 1.0 + m) / (15.0 * (l + 1) + 5.0 * l * (l + 1) / 2.0);
          add(l, h,
              {{"kind", "routed"},
               {"query", tokens - 2},
               {"source_layer", m},
               {"key", k},
               {"share", share},
               {"by", "values"}});
        }
      }
    }
  }
  for (int t = 0; t < tokens; ++t) {
    rows.push_back({{"kind", "token"},
                    {"label", kModels[1]},
                    {"position", t},
                    {"token", 100 + t},
                    {"text", texts[static_cast<std::size_t>(t)]}});
  }
  return source;
}

FigureSource sample_training(const std::string& label, int steps) {
  FigureSource source = begun("training");
  source.path = label + "/training_log.jsonl";
  for (int step = 1; step <= steps; ++step) {
    const double loss = 4.0 * std::exp(-step / 60.0) + (label == kModels[0] ? 0.3 : 0.2);
    Json row = {{"kind", "train"},     {"label", label},
                {"step", step},        {"tokens", 1e4 * step},
                {"flops", 6e9 * step}, {"loss", loss + 0.1 * std::sin(7.0 * step)}};
    source.results.rows.push_back(row);
    if (step % 40 != 0) continue;
    row["kind"] = "validation";
    row["loss"] = loss;
    source.results.rows.push_back(row);
  }
  return source;
}

std::vector<FigureSource> sample_sources() {
  return {sample_comparison(), sample_router(),         sample_separability(), sample_geometry(),
          sample_similarity(), sample_tsne(),           sample_blimp(),        sample_cost(),
          sample_training(),   sample_counterfactual(), sample_attention()};
}

}  // namespace lime::testing
