// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/sequence_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/run_analysis.h"
#include "analysis/tokens_analysis.h"
#include "checkpoint/tokenizer.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

/// Letters and lines that have room beside a pattern.
constexpr qsizetype kLettersBelow = 48;
constexpr std::size_t kLinesBeside = 32;
constexpr std::size_t kNumberedTicks = 10;

bool fitsBelow(const std::vector<QString>& texts) {
  qsizetype longest = 0;
  for (const QString& text : texts) longest = std::max(longest, text.size() + 1);
  return longest * static_cast<qsizetype>(texts.size()) <= kLettersBelow;
}

/// Ticks at tokens; where there are many, at some of their positions.
/// @param is_upright  the axis goes up, the first token is at its upper end.
FigureAxis tokenAxis(const std::string& label, const std::vector<QString>& texts, bool is_upright) {
  FigureAxis axis{.label = label};
  const bool has_texts = is_upright ? texts.size() <= kLinesBeside : fitsBelow(texts);
  if (!has_texts) axis.label += ", position";
  const std::size_t step = has_texts ? 1 : std::max<std::size_t>(1, texts.size() / kNumberedTicks);
  for (std::size_t i = 0; i < texts.size(); i += step) {
    const auto at = static_cast<double>(is_upright ? texts.size() - 1 - i : i);
    axis.ticks.push_back({at, has_texts ? texts[i].toStdString() : std::to_string(i)});
  }
  return axis;
}

}  // namespace

const std::vector<TokenMeasureName>& tokenMeasures() {
  static const std::vector<TokenMeasureName> measures = {
      {"entropy_contribution", "Entropy contribution", "nats",
       "S(Z) - S(Z without the token): by how much the matrix entropy of the sequence falls where "
       "the token is left out (order 1/2, dimensions standardised over the capture as in the LIMe "
       "code). Above 0: it adds directions; below 0: it outweighs the others",
       true},
      {"norm", "Norm", "", "Euclidean length of the token's row", false},
      {"relative_norm", "Norm / median", "",
       "The norm over the median norm of the sequence in the layer; far above 1 are massive "
       "activations (Sun et al. 2024)",
       false},
      {"next_cosine", "Cosine with the next", "",
       "Cosine of the token's row and the next token's; near 1 neighbours have become alike", true},
  };
  return measures;
}

SequenceTokens measureSequence(const SequenceRequest& request, const ProgressFn& on_progress,
                               std::stop_token stop) {
  TokensOptions options;
  options.captures.captures = {request.capture->path()};
  options.captures.label = {request.label};
  options.captures.site = {request.site};
  options.sequence = request.sequence;
  RunOptions run;
  run.threads = request.threads;
  SequenceTokens tokens;
  tokens.results =
      run_analysis(prepare_tokens(options, run), run, on_progress, std::move(stop)).results;
  const auto [folder, tokenizer] = findTokenizer(*request.capture, request.checkpoints);
  tokens.checkpoint = folder;
  const SentenceReader reader(request.capture, tokenizer);
  const auto at = static_cast<std::size_t>(request.sequence);
  tokens.first_row = request.capture->offsets()[at];
  for (std::int64_t row = tokens.first_row; row < request.capture->offsets()[at + 1]; ++row) {
    tokens.texts.push_back(
        reader.tokenText(request.capture->rows().token[static_cast<std::size_t>(row)]));
  }
  for (std::size_t r = 0; tokenizer && r < tokens.results.rows.size(); ++r) {
    tokens.results.rows[r]["text"] = tokens.texts[r % tokens.texts.size()].toStdString();
  }
  return tokens;
}

std::vector<std::optional<double>> valuesOfLayer(const SequenceTokens& tokens,
                                                 const std::string& measure, int layer) {
  std::vector<std::optional<double>> values;
  for (const Json& row : tokens.results.rows) {
    if (row.at("layer") != layer) continue;
    const auto value = row.find(measure);
    if (value == row.end() || value->is_null()) {
      values.emplace_back();
    } else {
      values.emplace_back(results_number(row, measure));
    }
  }
  return values;
}

Figure patternFigure(const AttentionExploration& attention, std::int64_t head,
                     const std::vector<QString>& texts) {
  const MatrixF& pattern = attention.patterns[static_cast<std::size_t>(head)];
  MapPanel map;
  map.values = pattern.cast<double>().colwise().reverse();
  for (Eigen::Index q = 0; q < pattern.rows(); ++q) {
    // What comes later is not seen.
    map.values.row(pattern.rows() - 1 - q)
        .tail(pattern.cols() - 1 - q)
        .setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  Figure figure;
  figure.name = "attention";
  figure.panel_aspect = 1.0;
  figure.colour_label = "attention";
  figure.colour_range = std::pair(0.0, 1.0);
  figure.panels.push_back({.title = {},
                           .x = tokenAxis("key", texts, false),
                           .y = tokenAxis("query", texts, true),
                           .content = std::move(map)});
  return figure;
}

Figure routedAttentionFigure(const RoutedAttention& routed, const std::vector<QString>& texts,
                             int layer_base) {
  MapPanel map;
  map.values = routed.shares;
  FigurePanel panel{.title = {},
                    .x = tokenAxis("key", texts, false),
                    .y = {.label = "buffered layer"},
                    .content = {}};
  for (Eigen::Index m = 0; m < routed.shares.rows(); ++m) {
    panel.y.ticks.push_back({static_cast<double>(m), std::to_string(m + layer_base)});
  }
  const double largest = std::max(routed.shares.maxCoeff(), 1e-6);
  panel.content = std::move(map);
  Figure figure;
  figure.name = "routed-attention";
  figure.panel_aspect = 0.5;
  figure.colour_label = "share of what is read";
  figure.colour_range = std::pair(0.0, largest);
  figure.panels.push_back(std::move(panel));
  return figure;
}

}  // namespace lime::explorer
