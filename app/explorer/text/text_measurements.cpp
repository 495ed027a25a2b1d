// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/text_measurements.h"

#include "analysis/engine/run_analysis.h"
#include "analysis/tokens/tokens_analysis.h"
#include "checkpoint/tokenizer.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/models/unhashed.h"
#include "explorer/models/workspace.h"
#include "viz/recipes/attention_figures.h"

namespace lime::explorer {
namespace {

std::vector<std::string> utf8Of(const std::vector<QString>& texts) {
  std::vector<std::string> all;
  for (const QString& text : texts) all.push_back(text.toStdString());
  return all;
}

/// Sequences of more tokens wait for their turn.
constexpr std::int64_t kQuickTokens = 512;

/// Whether both captures have the same tokens in the sequence.
bool haveSameTokens(const CaptureReader& a, const CaptureReader& b, std::int64_t sequence) {
  if (sequence >= b.num_sequences() || b.info().rows != RowKind::kTokens) return false;
  const auto at = static_cast<std::size_t>(sequence);
  const auto idsOf = [&](const CaptureReader& capture_reader) {
    const std::vector<std::int32_t>& tokens = capture_reader.rows().token;
    return std::vector<std::int32_t>(tokens.begin() + capture_reader.offsets()[at],
                                     tokens.begin() + capture_reader.offsets()[at + 1]);
  };
  return idsOf(a) == idsOf(b);
}

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

Figure patternFigure(const AttentionPatterns& attention, std::int64_t head,
                     const std::vector<QString>& texts) {
  const MatrixF& pattern = attention.patterns[static_cast<std::size_t>(head)];
  return figure_of_attention({attention_panel(pattern.cast<double>(), utf8Of(texts))});
}

Figure patternsFigure(const AttentionPatterns& attention, const std::vector<QString>& texts,
                      int layer_base) {
  std::vector<FigurePanel> panels;
  for (std::int64_t head = 0; head < attention.num_heads(); ++head) {
    panels.push_back(std::move(patternFigure(attention, head, texts).panels.front()));
    panels.back().title = "head " + std::to_string(head + layer_base);
  }
  Figure figure = figure_of_attention(std::move(panels));
  figure.columns = columns_for(figure.panels.size(), 0);
  thin_out_labels(figure);
  return figure;
}

Figure routedAttentionFigure(const RoutedAttention& routed, std::int64_t query,
                             const std::vector<QString>& texts, int layer_base) {
  return figure_of_routed_attention(
      {routed_attention_panel(routed.shares, query, utf8Of(texts), layer_base)});
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

QString headSummary(const AttentionPatterns& attention, std::int64_t head, int layer_base) {
  const Eigen::RowVectorXd mean = summarize_head(attention, head);
  const auto percent = [](double fraction) { return QString::number(100.0 * fraction, 'f', 0); };
  return u"Head %1: entropy %2 nats (%3 keys), %4 tokens back; first %5%, previous %6%, own %7 "
         u"%\n\nMeans over the queries of the sequence from the second on, as in lime-metrics "
         u"attention.\nEntropy: -sum a ln a of a query's attention (Ghader & Monz 2017); its "
         u"exponential is the number of equally weighted keys with that entropy.\nTokens back: sum "
         u"a (query - key) (Vig & Belinkov 2019).\nFirst: attention to the first token, an "
         u"attention sink if large (Xiao et al. 2023); previous and own: to the previous token and "
         u"to the token itself (Clark et al. 2019)"_s.arg(head + layer_base)
             .arg(mean(0), 0, 'f', 2)
             .arg(mean(1), 0, 'f', 1)
             .arg(mean(2), 0, 'f', 1)
             .arg(percent(mean(3)), percent(mean(4)), percent(mean(5)));
}

QStringList attentionCommandLines(const AttentionCommand& command) {
  QStringList measure{"lime-metrics", "attention", toQString(command.capture)};
  const auto add = [&](const char* option, std::int64_t value) {
    measure << QLatin1String(option) << QString::number(value);
  };
  measure << "--label" << command.label;
  add("--layer", command.layer);
  if (command.head >= 0) add("--head", command.head);
  add("--sequence", command.sequence);
  if (command.query) add("--query", *command.query);
  if (!command.checkpoint.empty()) measure << "--checkpoint" << toQString(command.checkpoint);
  QStringList lines = {shellLine(measure << QStringList{"-o", "attention.json"})};
  for (const char* const kind : {"attention", "attention-routed"}) {
    const bool is_routed = QLatin1String(kind) == "attention-routed"_L1;
    if (is_routed && !command.query) continue;
    QStringList draw{"lime-figure", "attention.json"};
    if (is_routed) draw << "--kind" << kind;
    if (command.layer_base != 0) draw << QStringList{"--layer-base", "1"};
    lines << shellLine(draw << "-o" << QLatin1String(kind) + u".pdf"_s);
  }
  return lines;
}

TextMeasurements::TextMeasurements(Workspace& workspace, JobRunner& jobs,
                                   const Preferences& preferences)
    : workspace_(workspace),
      preferences_(preferences),
      tokens_(jobs),
      attention_(jobs),
      routed_(jobs),
      pinned_(jobs),
      layers_(jobs) {
  connect(&workspace, &Workspace::documentRemoved, this, &TextMeasurements::dropClosed);
  connect(&workspace, &Workspace::documentChanged, this, &TextMeasurements::dropClosed);
  connect(&tokens_, &JobCacheSignals::changed, this, &TextMeasurements::changed);
  connect(&attention_, &JobCacheSignals::changed, this, &TextMeasurements::attentionChanged);
  connect(&routed_, &JobCacheSignals::changed, this, &TextMeasurements::routedChanged);
  connect(&pinned_, &JobCacheSignals::changed, this, &TextMeasurements::pinnedChanged);
  connect(&layers_, &JobCacheSignals::changed, this, &TextMeasurements::pinnedChanged);
}

void TextMeasurements::measure(const Document* document, const std::string& site,
                               std::int64_t sequence, std::optional<int> first_layer) {
  documents_.clear();
  first_layer_ = first_layer;
  site_ = site;
  sequence_ = sequence;
  if (document != nullptr && document->capture && sequence < document->capture->num_sequences()) {
    documents_.push_back(document->id);
    for (const Document* const other : workspace_.documentsOf(DocumentKind::kCapture)) {
      if (other->id != document->id && contains(other->capture->sites(), site) &&
          haveSameTokens(*document->capture, *other->capture, sequence)) {
        documents_.push_back(other->id);
      }
    }
  }
  tokens_.dropIf([&](const TokensKey& key) {
    const bool is_shown = std::any_of(documents_.begin(), documents_.end(), [&](int id) {
      return workspace_.find(id)->capture == key.capture;
    });
    return !is_shown || key.site != site || key.sequence != sequence;
  });
  start();
}

void TextMeasurements::dropClosed() {
  std::erase_if(documents_, [this](int id) { return workspace_.find(id) == nullptr; });
  tokens_.dropIf([this](const TokensKey& key) { return !workspace_.isOpen(key.capture); });
  pinned_.dropIf([this](const PinnedKey& key) { return !workspace_.isOpen(key.capture); });
  if (attention_key_ && !workspace_.isOpen(attention_key_->capture)) measureAttention(std::nullopt);
}

void TextMeasurements::start() {
  const auto at = static_cast<std::size_t>(sequence_);
  for (const int id : documents_) {
    const Document& document = *workspace_.find(id);
    const SequenceRequest request{.capture = document.capture,
                                  .label = document.label.toStdString(),
                                  .site = site_,
                                  .sequence = sequence_,
                                  .threads = preferences_.threads,
                                  .checkpoints = workspace_.openInputs().checkpoints,
                                  .first_layer = first_layer_};
    const std::vector<std::int64_t>& offsets = document.capture->offsets();
    tokens_.requestInParts(
        {document.capture, site_, sequence_},
        {.title = u"Norms and entropy contributions of sequence %1 of %2 (%3)"_s.arg(sequence_).arg(
             document.label, toQString(site_)),
         .key = u"text/%1"_s.arg(id),
         .lane = offsets[at + 1] - offsets[at] <= kQuickTokens ? JobLane::kQuick : JobLane::kLong},
        [request](const JobContext& context, const auto& publish) {
          return measureSequence(request, context, publish);
        });
  }
}

const Answer<SequenceTokens>& TextMeasurements::tokens(int document) const {
  const Document* const found = workspace_.find(document);
  return tokens_.at({found == nullptr ? nullptr : found->capture, site_, sequence_});
}

void TextMeasurements::recompute() {
  tokens_.clear();
  start();
}

void TextMeasurements::measureAttention(const std::optional<AttentionKey>& key) {
  if (key == attention_key_) return;
  attention_key_ = key;
  attention_.keepOnly(key);
  measureRouted(std::nullopt);
  if (key) {
    attention_.request(
        *key,
        {.title = u"Attention in layer %1 of sequence %2"_s.arg(key->layer).arg(key->sequence),
         .key = "text/attention",
         .is_shown = false},
        [key = *key](const JobContext&) {
          return PatternReader(*key.capture).read(key.layer, key.sequence);
        });
  }
  Q_EMIT attentionChanged();
}

const Answer<AttentionPatterns>& TextMeasurements::attention() const {
  return attention_.at(attention_key_.value_or(AttentionKey()));
}

void TextMeasurements::measureRouted(
    std::optional<std::pair<std::int64_t, std::int64_t>> head_and_query) {
  std::optional<RoutedKey> key;
  if (head_and_query && attention_key_ && attention().result) {
    key = RoutedKey{*attention_key_, head_and_query->first, head_and_query->second};
  }
  if (key == routed_key_) return;
  routed_key_ = key;
  routed_.keepOnly(key);
  if (key) {
    routed_.request(*key,
                    {.title = u"Routed attention of token %1"_s.arg(key->query),
                     .key = "text/routed",
                     .is_shown = false},
                    [key = *key, attention = *attention().result](const JobContext&) {
                      return routed_attention_of_query(*key.attention.capture, attention, key.head,
                                                       key.query);
                    });
  }
  Q_EMIT routedChanged();
}

const Answer<RoutedAttention>& TextMeasurements::routed() const {
  return routed_.at(routed_key_.value_or(RoutedKey()));
}

void TextMeasurements::readPinned(std::optional<int> token) {
  pinned_token_ = token;
  pinned_.dropIf(
      [&](const PinnedKey& key) { return key.token != token || key.sequence != sequence_; });
  for (const int id : token ? documents_ : std::vector<int>()) {
    const Document& document = *workspace_.find(id);
    const PinnedKey key{document.capture, sequence_, *token};
    pinned_.request(key,
                    {.title = u"Token %1 of %2"_s.arg(*token).arg(document.label),
                     .key = u"text/pinned/%1"_s.arg(id),
                     .is_shown = false},
                    [key](const JobContext& context) {
                      return readPinnedToken(*key.capture, key.sequence, key.token, context.stop);
                    });
  }
  readLayers();
}

std::optional<TextMeasurements::LayersKey> TextMeasurements::layersKey() const {
  if (!pinned_token_ || documents_.empty()) return std::nullopt;
  const Document& document = *workspace_.find(documents_.front());
  return LayersKey{{document.capture, sequence_, *pinned_token_}, site_};
}

void TextMeasurements::readLayers() {
  const std::optional<LayersKey> key = layersKey();
  layers_.keepOnly(key);
  if (!key) return;
  const PinnedLayersRequest request{.capture = key->token.capture,
                                    .site = key->site,
                                    .sequence = key->token.sequence,
                                    .token = key->token.token,
                                    .checkpoints = workspace_.openInputs().checkpoints,
                                    .first_layer = first_layer_};
  layers_.requestInParts(
      *key,
      {.title = u"Neighbours of token %1 of sequence %2 of %3 (%4)"_s.arg(key->token.token)
                    .arg(sequence_)
                    .arg(workspace_.find(documents_.front())->label, toQString(site_)),
       .key = u"text/layers"_s},
      [request](const JobContext& context, const auto& publish) {
        return readPinnedLayers(request, context, publish);
      });
}

const Answer<std::vector<PinnedLayer>>& TextMeasurements::pinnedLayers() const {
  return layers_.at(layersKey().value_or(LayersKey()));
}

const Answer<PinnedToken>& TextMeasurements::pinned(int document) const {
  const Document* const found = workspace_.find(document);
  return pinned_.at(
      {found == nullptr ? nullptr : found->capture, sequence_, pinned_token_.value_or(-1)});
}

}  // namespace lime::explorer
