// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/attention/attention_patterns.h"
#include "explorer/models/job_cache.h"
#include "explorer/models/preferences.h"
#include "explorer/text/pinned_layers.h"
#include "explorer/text/pinned_token.h"
#include "store/results_file.h"
#include "viz/figure.h"
#include "viz/figure_source.h"

namespace lime::explorer {

class Workspace;
struct Document;

/// A measure of a token: its column in the rows of lime-metrics tokens.
struct TokenMeasureName {
  Column column;
  const char* title;
};
const std::vector<TokenMeasureName>& tokenMeasures();

/// A sequence of a capture, measured token by token.
struct SequenceTokens {
  Results results;                   ///< of lime-metrics tokens
  std::vector<QString> texts;        ///< of the tokens; "#17" without a tokenizer
  std::filesystem::path checkpoint;  ///< of the tokenizer; empty: none was found
  int revision = 0;                  ///< number of the part that was published
};

/// Names the sequence that is measured.
struct SequenceRequest {
  std::shared_ptr<const CaptureReader> capture;
  std::string label;
  std::string site;
  std::int64_t sequence = 0;
  int threads = 0;
  std::vector<std::filesystem::path> checkpoints;  ///< open ones
  std::optional<int> first_layer = std::nullopt;   ///< that is measured first; unset: the last one
};

/// Measures the tokens of a sequence in all layers. Runs in a job.
/// @param publish  gets what is known on the way, soon all but the contributions to the entropy;
///                 these come layer by layer, from `first_layer` to both sides. May be empty.
/// @throws as prepare_tokens()
SequenceTokens measureSequence(const SequenceRequest& request, const JobContext& context,
                               const std::function<void(SequenceTokens)>& publish = {});

/// Returns the values of one layer, a number per token; nothing where the layer is missing.
std::vector<std::optional<double>> valuesOfLayer(const SequenceTokens& tokens,
                                                 const std::string& measure, int layer);

/// Returns "'·is' (3)"; empty where there is no such token.
QString tokenName(const std::vector<QString>& texts, int token);

/// Describes a token in a layer by all its measures.
QString describeToken(const SequenceTokens& tokens, int token, int layer, int layer_base);

/// Draws a pattern as a heatmap: queries from top to bottom, keys from left to right.
Figure patternFigure(const AttentionPatterns& attention, std::int64_t head,
                     const std::vector<QString>& texts);

/// Draws the patterns of all heads, a panel each.
Figure patternsFigure(const AttentionPatterns& attention, const std::vector<QString>& texts,
                      int layer_base);

/// Draws the fractions of the buffered layers, the oldest at the bottom, and of the keys.
Figure routedAttentionFigure(const RoutedAttention& routed, std::int64_t query,
                             const std::vector<QString>& texts, int layer_base);

/// Summarises the mean attention of a head in a line, and explains its numbers.
QString headSummary(const AttentionPatterns& attention, std::int64_t head, int layer_base = 0);

/// Attention pattern on display, for the copied commands.
struct AttentionCommand {
  std::filesystem::path capture;
  QString label;
  int layer = 0;
  std::int64_t head = 0;  ///< negative: all
  std::int64_t sequence = 0;
  std::optional<std::int64_t> query;  ///< followed through the routers
  std::filesystem::path checkpoint;   ///< of the tokenizer; empty: none was found
  int layer_base = 0;
};
/// Returns the commands that draw the same figures without the explorer.
QStringList attentionCommandLines(const AttentionCommand& command);

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
