// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/pinned_token.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/attention/attention_patterns.h"
#include "analysis/experts/routed_layer.h"
#include "analysis/lens/lens_analysis.h"
#include "analysis/router/source_maps.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/router_layout.h"
#include "explorer/router/router_figures.h"
#include "explorer/text/sequence_tokens.h"
#include "store/lens_row.h"
#include "viz/map_panel.h"
#include "viz/recipes/figure_parts.h"
#include "viz/recipes/router_panels.h"

namespace lime::explorer {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kShownKeys = 10;
constexpr double kLeastWeight = 0.01;  // end of the colours

constexpr TokenPart kParts[] = {TokenPart::kLens, TokenPart::kAttention, TokenPart::kSources,
                                TokenPart::kExperts};

const char* titleOf(TokenPart part) {
  switch (part) {
    case TokenPart::kLens: return "logit lens";
    case TokenPart::kAttention: return "attention";
    case TokenPart::kSources: return "sources";
    case TokenPart::kExperts: return "experts";
  }
  return "";
}

std::optional<ModelConfig> configOf(const CaptureReader& capture) {
  try {
    return parse_model_config(capture.config(), "");
  } catch (const Error&) {
    return std::nullopt;  // only Python knows the model
  }
}

void readLens(const CaptureReader& capture, std::int64_t row, PinnedToken& token) {
  for (const int layer : capture.layers(kLensSite)) {
    const MatrixF values = capture.read_rows(kLensSite, layer, row, 1);
    const auto rank = static_cast<int>(values(0, lens_column::kRank));
    if (rank < 1) continue;
    token.lens.push_back(
        {.layer = layer,
         .probability = std::exp(-static_cast<double>(values(0, lens_column::kLoss))),
         .rank = rank,
         .kl_to_final = static_cast<double>(values(0, lens_column::kKl))});
  }
}

void readAttention(const CaptureReader& capture, std::int64_t sequence, PinnedToken& token,
                   const std::stop_token& stop) {
  const PatternReader patterns(capture);
  token.attention_layers = capture.layers(kPatternSite);
  token.num_heads = static_cast<int>(patterns.num_heads());
  token.attention.resize(std::ssize(token.attention_layers), token.token + 1);
  for (std::size_t i = 0; i < token.attention_layers.size(); ++i) {
    throw_if_stopped(stop);
    token.attention.row(static_cast<Eigen::Index>(i)) =
        patterns.read_query(token.attention_layers[i], sequence, token.token)
            .cast<double>()
            .colwise()
            .mean();
  }
}

void readExperts(const CaptureReader& capture, std::int64_t row, PinnedToken& token) {
  token.expert_layers = capture.layers(kExpertIndicesSite);
  std::int64_t experts = 0;
  for (const int layer : token.expert_layers) {
    experts = std::max(experts, num_experts_of(capture, layer));
  }
  token.experts = MatrixD::Constant(std::ssize(token.expert_layers), experts, kNone);
  for (std::size_t i = 0; i < token.expert_layers.size(); ++i) {
    const int layer = token.expert_layers[i];
    const MatrixF indices = capture.read_rows(kExpertIndicesSite, layer, row, 1);
    MatrixF weights =
        MatrixF::Constant(1, indices.cols(), 1.0F / static_cast<float>(indices.cols()));
    if (capture.has(kExpertWeightsSite, layer)) {
      weights = capture.read_rows(kExpertWeightsSite, layer, row, 1);
    }
    for (Eigen::Index k = 0; k < indices.cols(); ++k) {
      const auto expert = static_cast<Eigen::Index>(indices(0, k));
      if (expert < 0 || expert >= experts) continue;
      token.experts(static_cast<Eigen::Index>(i), expert) = static_cast<double>(weights(0, k));
    }
  }
}

void readSources(const CaptureReader& capture, const ModelConfig& config, std::int64_t row,
                 PinnedToken& token, const std::stop_token& stop) {
  if (config.routing == DepthRouting::kNone) return;
  const std::string site = source_site(config);
  if (capture.has(site)) {
    token.is_depth = site == kDepthWeightsSite;
    token.sources = source_shares(capture, config, std::vector<std::int64_t>{row}, stop);
  } else if (config.routing != DepthRouting::kLime || !has_static_router(config, 1)) {
    // Static routers read the same for every token.
    token.missing[TokenPart::kSources] = site;
  }
}

FigurePanel lensPanel(const PinnedToken& token, int base) {
  CurvePanel panel;
  Curve& curve = panel.curves.emplace_back();
  curve.label = "next token";
  for (const PinnedToken::Lens& lens : token.lens) {
    curve.x.push_back(lens.layer + base);
    curve.y.push_back(lens.probability);
  }
  return {.x = {.label = "layer", .whole_numbers = true},
          .y = {.label = "probability", .min = 0.0, .max = 1.0},
          .content = std::move(panel)};
}

std::vector<int> shownLayers(std::vector<int> layers, int base) {
  for (int& layer : layers) layer += base;
  return layers;
}

QString percentText(double fraction) { return QString::number(100.0 * fraction, 'f', 1) + u'%'; }

}  // namespace

bool PinnedToken::has(TokenPart part) const {
  switch (part) {
    case TokenPart::kLens: return !lens.empty();
    case TokenPart::kAttention: return attention.size() > 0;
    case TokenPart::kSources: return sources.size() > 0;
    case TokenPart::kExperts: return experts.size() > 0;
  }
  return false;
}

PinnedToken readPinnedToken(const CaptureReader& capture, std::int64_t sequence, int token,
                            const std::stop_token& stop) {
  PinnedToken pinned;
  pinned.token = token;
  const std::int64_t row = capture.offsets()[static_cast<std::size_t>(sequence)] + token;
  const std::optional<ModelConfig> config = configOf(capture);
  const auto reads = [&](const char* site, TokenPart part) {
    if (capture.has(site)) return true;
    pinned.missing[part] = site;
    return false;
  };
  if (reads(kLensSite, TokenPart::kLens)) readLens(capture, row, pinned);
  if (reads(kPatternSite, TokenPart::kAttention)) readAttention(capture, sequence, pinned, stop);
  if (config) readSources(capture, *config, row, pinned, stop);
  if (capture.has(kExpertIndicesSite)) {
    readExperts(capture, row, pinned);
  } else if (config && config->spec.experts) {
    pinned.missing[TokenPart::kExperts] =
        std::string(kExpertIndicesSite) + "," + kExpertWeightsSite;
  }
  return pinned;
}

QStringList pinnedTokenCommandLines(const PinnedToken& token, const std::filesystem::path& capture,
                                    std::int64_t sequence) {
  QStringList lines;
  const auto add = [&](TokenPart part, const char* metric) {
    if (!token.has(part)) return;
    lines << shellLine(
        {"lime-metrics", metric, toQString(capture), "--sequence", QString::number(sequence)});
  };
  add(TokenPart::kLens, "tokens");
  add(TokenPart::kAttention, "attention");
  add(TokenPart::kExperts, "experts");
  if (token.has(TokenPart::kSources)) {
    lines << shellLine({"lime-metrics", "router", toQString(capture)});
  }
  return lines;
}

PinnedFigure::PinnedFigure(std::vector<PinnedIn> tokens, std::vector<QString> texts, int layer_base)
    : tokens_(std::move(tokens)), texts_(std::move(texts)), layer_base_(layer_base) {
  for (const PinnedIn& in : tokens_) {
    for (const TokenPart part : kParts) {
      if (in.token.has(part)) panels_.push_back({&in, part});
    }
  }
}

std::vector<int> PinnedFigure::keysOf(const PinnedToken& token) {
  const Eigen::RowVectorXd largest = token.attention.colwise().maxCoeff();
  std::vector<int> keys(static_cast<std::size_t>(largest.size()));
  std::iota(keys.begin(), keys.end(), 0);
  std::ranges::stable_sort(keys, std::greater(), [&](int key) { return largest(key); });
  keys.resize(std::min(keys.size(), kShownKeys));
  std::ranges::sort(keys);
  return keys;
}

FigurePanel PinnedFigure::panelOf(const Panel& panel) const {
  const PinnedToken& token = panel.in->token;
  switch (panel.part) {
    case TokenPart::kLens: return lensPanel(token, layer_base_);
    case TokenPart::kSources:
      return router_sources_panel(token.sources, token.is_depth, layer_base_);
    case TokenPart::kExperts: {
      const auto experts = static_cast<int>(token.experts.cols());
      return map_panel(token.experts.transpose(),
                       {"layer", shownLayers(token.expert_layers, layer_base_)},
                       {"expert", numbers_from(0, experts)});
    }
    case TokenPart::kAttention: break;
  }
  const std::vector<int> keys = keysOf(token);
  MatrixD values(std::ssize(keys), token.attention.rows());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    values.row(static_cast<Eigen::Index>(i)) = token.attention.col(keys[i]).transpose();
    texts.push_back(texts_[static_cast<std::size_t>(keys[i])].toStdString());
  }
  FigurePanel map = map_panel(values, {"layer", shownLayers(token.attention_layers, layer_base_)},
                              {"key", keys, /*is_downward=*/true});
  map.y = token_axis("key", texts, keys, /*is_downward=*/true);
  return map;
}

std::optional<Figure> PinnedFigure::figure() const {
  if (panels_.empty()) return std::nullopt;
  Figure figure;
  figure.name = "token";
  std::size_t columns = 0;
  for (const Panel& panel : panels_) {
    figure.panels.push_back(panelOf(panel));
    figure.panels.back().title = titleOf(panel.part);
    if (!panel.in->label.isEmpty()) {
      figure.panels.back().title += " (" + panel.in->label.toStdString() + ")";
    }
    columns = std::max(columns,
                       static_cast<std::size_t>(std::ranges::count(panels_, panel.in, &Panel::in)));
  }
  figure.columns = static_cast<int>(columns);
  figure.keeps_columns = true;
  figure.is_wide = true;
  figure.colour_label = "weight";
  figure.colour_range = {kLeastWeight, 1.0};
  figure.logarithmic_colours = true;
  return figure;
}

QString PinnedFigure::nameOf(int token) const { return tokenName(texts_, token); }

QString PinnedFigure::describe(const FigureHit& hit) const {
  if (hit.panel >= panels_.size()) return {};
  const Panel& panel = panels_[hit.panel];
  const PinnedToken& token = panel.in->token;
  const QString where = panel.in->label.isEmpty() ? QString() : panel.in->label + u": "_s;
  if (panel.part == TokenPart::kLens) {
    if (!hit.point || hit.point->index >= token.lens.size()) return {};
    const PinnedToken::Lens& lens = token.lens[hit.point->index];
    return where +
           u"layer %1: the next token, %2, has probability %3, rank %4; KL from the final "
           u"distribution %5 nats"_s.arg(lens.layer + layer_base_)
               .arg(nameOf(token.token + 1))
               .arg(lens.probability, 0, 'g', 3)
               .arg(lens.rank)
               .arg(lens.kl_to_final, 0, 'g', 3);
  }
  if (!hit.cell) return {};
  const auto row = static_cast<Eigen::Index>(hit.cell->row);
  const auto col = static_cast<Eigen::Index>(hit.cell->col);
  if (panel.part == TokenPart::kSources) {
    const int part = static_cast<int>(token.sources.rows() - 1 - row);
    return where +
           describeShare(token.sources, token.is_depth, layer_base_, part, static_cast<int>(col));
  }
  if (panel.part == TokenPart::kExperts) {
    if (col >= token.experts.rows() || row >= token.experts.cols()) return {};
    const int layer = token.expert_layers[static_cast<std::size_t>(col)] + layer_base_;
    const double weight = token.experts(col, row);
    if (std::isnan(weight)) return {};
    return where +
           u"layer %1: expert %2 with weight %3; %4 of %5 experts are selected"_s.arg(layer)
               .arg(row)
               .arg(weight, 0, 'f', 4)
               .arg((token.experts.row(col).array() == token.experts.row(col).array()).count())
               .arg(token.experts.cols());
  }
  const std::vector<int> keys = keysOf(token);
  const Eigen::Index at = std::ssize(keys) - 1 - row;
  if (at < 0 || at >= std::ssize(keys) || col >= token.attention.rows()) return {};
  const int key = keys[static_cast<std::size_t>(at)];
  return where + u"layer %1: %2 of the attention of %3 is on %4, mean over %5 heads"_s
                     .arg(token.attention_layers[static_cast<std::size_t>(col)] + layer_base_)
                     .arg(percentText(token.attention(col, key)), nameOf(token.token), nameOf(key))
                     .arg(token.num_heads);
}

QString PinnedFigure::missing() const {
  QStringList names, sites;
  for (const TokenPart part : kParts) {
    const bool is_there =
        std::ranges::any_of(tokens_, [&](const PinnedIn& in) { return in.token.has(part); });
    const auto lacks = std::ranges::find_if(
        tokens_, [&](const PinnedIn& in) { return in.token.missing.contains(part); });
    if (is_there || lacks == tokens_.end()) continue;
    names << QLatin1String(titleOf(part));
    sites << toQString(lacks->token.missing.at(part));
  }
  if (names.isEmpty()) return {};
  return u"Not captured: %1. Capture the text with these boxes ticked (Ctrl+T), or with "
         u"lime-capture --sites hidden,%2"_s.arg(names.join(u", "_s), sites.join(u','));
}

}  // namespace lime::explorer
