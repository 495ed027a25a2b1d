// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/sequence_tokens.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "analysis/engine/run_analysis.h"
#include "analysis/tokens/tokens_analysis.h"
#include "checkpoint/tokenizer.h"
#include "explorer/models/found_tokenizer.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/models/text.h"
#include "explorer/models/unhashed.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

/// Layers whose contributions to the entropy are computed side by side.
constexpr std::size_t kLayersAtOnce = 4;

/// Returns the layers of the request's site in the order in which they are measured: the first one
/// alone, then those around it in groups, each ascending.
std::vector<std::vector<int>> layersInTurn(const SequenceRequest& request) {
  std::vector<int> layers = request.capture->layers(request.site);
  const int first = request.first_layer.value_or(layers.back());
  std::ranges::stable_sort(layers, {}, [&](int layer) { return std::abs(layer - first); });
  std::vector<std::vector<int>> groups = {{layers.front()}};
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (i % kLayersAtOnce == 1) groups.emplace_back();
    groups.back().push_back(layers[i]);
  }
  for (std::vector<int>& group : groups) std::ranges::sort(group);
  return groups;
}

/// Adds the texts of the tokens, and the checkpoint whose tokenizer decodes them.
void setTexts(const SequenceRequest& request, SequenceTokens& tokens) {
  const auto [folder, tokenizer] = findTokenizer(*request.capture, request.checkpoints);
  tokens.checkpoint = folder;
  const SentenceReader reader(request.capture, tokenizer);
  const auto at = static_cast<std::size_t>(request.sequence);
  const std::vector<std::int64_t>& offsets = request.capture->offsets();
  for (std::int64_t row = offsets[at]; row < offsets[at + 1]; ++row) {
    tokens.texts.push_back(
        reader.tokenText(request.capture->rows().token[static_cast<std::size_t>(row)]));
  }
  for (std::size_t r = 0; tokenizer && r < tokens.results.rows.size(); ++r) {
    tokens.results.rows[r].set(col::kText, tokens.texts[r % tokens.texts.size()].toStdString());
  }
}

/// Replaces the rows of some layers, which are in the same order; they keep their texts.
void replaceRows(SequenceTokens& tokens, const std::vector<ResultRow>& rows) {
  const auto placeOf = [](const ResultRow& row) {
    return std::pair(row.integer(col::kLayer), row.integer(col::kPosition));
  };
  auto next = rows.begin();
  for (ResultRow& row : tokens.results.rows) {
    if (next == rows.end()) return;
    if (placeOf(row) != placeOf(*next)) continue;
    const std::string text = row.text(col::kText);
    row = *next++;
    if (!text.empty()) row.set(col::kText, text);
  }
}

}  // namespace

const std::vector<TokenMeasureName>& tokenMeasures() {
  static const std::vector<TokenMeasureName> measures = {
      {col::kEntropyContribution, "Entropy contribution"},
      {col::kNorm, "Norm"},
      {col::kRelativeNorm, "Norm / median"},
      {col::kNextCosine, "Cosine with next token"},
      {col::kLensProbability, "Logit lens: probability of next token"},
      {col::kLensRank, "Logit lens: rank of next token"},
      {col::kLensKl, "Logit lens: KL from final layer"},
  };
  return measures;
}

SequenceTokens measureSequence(const SequenceRequest& request, const JobContext& context,
                               const std::function<void(SequenceTokens)>& publish) {
  TokensOptions options;
  options.captures.captures = {request.capture->path()};
  options.captures.notes_massive_rows = false;
  options.captures.label = {request.label};
  options.captures.site = {request.site};
  options.sequence = request.sequence;
  options.no_entropy = true;
  RunOptions run;
  run.threads = request.threads;
  SequenceTokens tokens;
  tokens.results = compute(unhashed(prepare_tokens(options, run)), run, {}, context.stop).table();
  setTexts(request, tokens);
  options.no_entropy = false;
  const std::vector<std::vector<int>> groups = layersInTurn(request);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (publish) publish(tokens);
    ++tokens.revision;
    context.on_progress({static_cast<std::int64_t>(i), std::ssize(groups), ""});
    options.captures.layer = LayerSelection::parse(layers_to_string(groups[i]));
    AnalysisResult result = compute(unhashed(prepare_tokens(options, run)), run, {}, context.stop);
    replaceRows(tokens, result.results.rows);
  }
  return tokens;
}

std::vector<std::optional<double>> valuesOfLayer(const SequenceTokens& tokens,
                                                 const std::string& measure, int layer) {
  std::vector<std::optional<double>> values;
  const Column column{measure};
  for (const ResultRow& row : tokens.results.rows) {
    if (row.cell(col::kLayer) != layer) continue;
    values.push_back(row.has(column) ? std::optional(row.number(column)) : std::nullopt);
  }
  return values;
}

QString tokenName(const std::vector<QString>& texts, int token) {
  if (token < 0 || token >= static_cast<int>(texts.size())) return {};
  return u"'%1' (%2)"_s.arg(texts[static_cast<std::size_t>(token)]).arg(token);
}

QString describeToken(const SequenceTokens& tokens, int token, int layer, int layer_base) {
  QString text = u"%1, layer %2"_s.arg(tokenName(tokens.texts, token)).arg(layer + layer_base);
  const auto at = static_cast<std::size_t>(token);
  for (const TokenMeasureName& token_measure_name : tokenMeasures()) {
    const std::vector<std::optional<double>> values =
        valuesOfLayer(tokens, std::string(token_measure_name.column.name), layer);
    if (at >= values.size() || !values[at]) continue;
    text += u"; %1 %2"_s.arg(QString::fromUtf8(token_measure_name.title).toLower())
                .arg(*values[at], 0, 'g', 4);
    if (!token_measure_name.column.unit.empty())
      text += u' ' + toQString(std::string(token_measure_name.column.unit));
  }
  return text;
}

}  // namespace lime::explorer
