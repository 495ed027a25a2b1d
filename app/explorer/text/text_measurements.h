// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/attention/attention_patterns.h"
#include "explorer/models/job_cache.h"
#include "explorer/models/preferences.h"
#include "explorer/text/pinned_layers.h"
#include "explorer/text/pinned_token.h"
#include "explorer/text/sequence_tokens.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

class Workspace;
struct Document;

/// Measures the tokens of one sequence in the open captures that have it, and what they attend to
/// in one layer, in jobs. Lives on the GUI thread.
class TextMeasurements : public QObject {
  Q_OBJECT

 public:
  using Capture = std::shared_ptr<const CaptureReader>;
  /// The attention of a sequence in a layer, and of one query of a head through the router.
  struct AttentionKey {
    Capture capture;
    std::int64_t sequence = 0;
    int layer = 0;
    bool operator==(const AttentionKey&) const = default;
  };
  struct RoutedKey {
    AttentionKey attention;
    std::int64_t head = 0;
    std::int64_t query = 0;
    bool operator==(const RoutedKey&) const = default;
  };

  TextMeasurements(Workspace& workspace, JobRunner& jobs, const Preferences& preferences);

  /// Measures a sequence in `document`, and in every other open capture with the same tokens there.
  /// @param document  null: nothing is measured
  /// @param first_layer  the layer on display
  void measure(const Document* document, const std::string& site, std::int64_t sequence,
               std::optional<int> first_layer);
  /// Returns the captures that the sequence is measured in, the requested one first.
  const std::vector<int>& documents() const { return documents_; }
  const Answer<SequenceTokens>& tokens(int document) const;
  bool isMeasuring() const { return tokens_.isBusy(); }
  /// Measures again.
  void recompute();

  void measureAttention(const std::optional<AttentionKey>& key);
  const Answer<AttentionPatterns>& attention() const;
  /// Follows a query of that attention through the router.
  void measureRouted(std::optional<std::pair<std::int64_t, std::int64_t>> head_and_query);
  const Answer<RoutedAttention>& routed() const;

  /// Reads a token of the sequence in documents(), in jobs. @param token  empty: none
  void readPinned(std::optional<int> token);
  const Answer<PinnedToken>& pinned(int document) const;
  /// Returns the layers of that token in the requested capture, as far as they are known.
  const Answer<std::vector<PinnedLayer>>& pinnedLayers() const;

 Q_SIGNALS:
  void changed();
  void attentionChanged();
  void routedChanged();
  void pinnedChanged();

 private:
  struct TokensKey {
    Capture capture;
    std::string site;
    std::int64_t sequence = 0;
    bool operator==(const TokensKey&) const = default;
  };
  struct PinnedKey {
    Capture capture;
    std::int64_t sequence = 0;
    int token = 0;
    bool operator==(const PinnedKey&) const = default;
  };
  struct LayersKey {
    PinnedKey token;
    std::string site;
    bool operator==(const LayersKey&) const = default;
  };
  void start();
  void dropClosed();
  std::optional<LayersKey> layersKey() const;
  void readLayers();

  Workspace& workspace_;
  const Preferences& preferences_;
  std::string site_;
  std::int64_t sequence_ = 0;
  std::optional<int> first_layer_;
  std::vector<int> documents_;
  JobCache<TokensKey, SequenceTokens> tokens_;
  std::optional<AttentionKey> attention_key_;
  JobCache<AttentionKey, AttentionPatterns> attention_;
  std::optional<RoutedKey> routed_key_;
  JobCache<RoutedKey, RoutedAttention> routed_;
  std::optional<int> pinned_token_;
  JobCache<PinnedKey, PinnedToken> pinned_;
  JobCache<LayersKey, std::vector<PinnedLayer>> layers_;
};

}  // namespace lime::explorer
