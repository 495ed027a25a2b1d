// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "explorer/models/text.h"
#include "store/capture_reader.h"
#include "viz/figure.h"
#include "viz/figure_hit.h"

namespace lime::explorer {

/// What a capture may contain of a token.
enum class TokenPart { kLens, kAttention, kSources, kExperts };

/// What a capture contains of one token, layer by layer. Parts that were not captured are empty.
struct PinnedToken {
  /// The logit lens of the next token.
  struct Lens {
    int layer = 0;
    double probability = 0.0;
    int rank = 1;
    double kl_to_final = 0.0;  ///< nats
  };
  int token = 0;           ///< in the sequence
  std::vector<Lens> lens;  ///< empty also for the last token
  std::vector<int> attention_layers;
  MatrixD attention;  ///< mean over heads, [layers, keys up to the token]
  int num_heads = 0;
  MatrixD sources;  ///< shares in the input of each part, [parts, sources]; NaN: cannot be read
  bool is_depth = false;  ///< parts are attention and MLP of each layer; else layers
  std::vector<int> expert_layers;
  MatrixD experts;  ///< routing weights, [layers, experts]; NaN: not selected

  /// Sites of lime-capture that the model has, but the capture lacks, by what they show.
  std::map<TokenPart, std::string> missing;

  bool has(TokenPart part) const;
};

/// Reads the rows of a token. @throws FormatError, IoError, Interrupted
PinnedToken readPinnedToken(const CaptureReader& capture, std::int64_t sequence, int token,
                            const std::stop_token& stop = {});

/// Returns the commands that compute the numbers without the explorer.
QStringList pinnedTokenCommandLines(const PinnedToken& token, const std::filesystem::path& capture,
                                    std::int64_t sequence);

/// A token in one of the open captures.
struct PinnedIn {
  QString label;  ///< of the capture; empty if there is only one
  PinnedToken token;
};

/// Draws a token through all layers: a panel per capture and part that it has, heatmaps of
/// lime-figure's kinds. @param texts  of the tokens of the sequence
class PinnedFigure {
 public:
  PinnedFigure(std::vector<PinnedIn> tokens, std::vector<QString> texts, int layer_base);

  /// Returns the figure; no value if no capture has anything.
  std::optional<Figure> figure() const;
  /// Describes what is under the pointer by its numbers.
  QString describe(const FigureHit& hit) const;
  /// Names the parts that no capture has, and the option that stores them; empty if there are none.
  QString missing() const;

 private:
  struct Panel {
    const PinnedIn* in = nullptr;
    TokenPart part = TokenPart::kLens;
  };
  /// Returns the keys of an attention panel, those with the largest weights, ascending.
  static std::vector<int> keysOf(const PinnedToken& token);
  FigurePanel panelOf(const Panel& panel) const;
  QString nameOf(int token) const;

  std::vector<PinnedIn> tokens_;
  std::vector<QString> texts_;
  int layer_base_ = 0;
  std::vector<Panel> panels_;
};

}  // namespace lime::explorer
