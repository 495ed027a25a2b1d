// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/text_measurements.h"

#include <algorithm>

#include "explorer/models/document.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

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

}  // namespace

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
      if (other->id != document->id && other->capture->has(site) &&
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
