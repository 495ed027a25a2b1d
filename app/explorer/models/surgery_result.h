// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "viz/figure.h"

namespace lime {
class CaptureReader;
struct Results;
}  // namespace lime

namespace lime::explorer {

/// A token that a model expects, with its probability.
struct Guess {
  std::int64_t id = 0;
  QString token;
  double probability = 0.0;

  bool operator==(const Guess&) const = default;
};

/// A token of a line, and what the model expects behind it.
struct TokenReading {
  std::int64_t id = 0;
  QString token;
  std::optional<double> log_probability;  ///< nats; nothing for the first token
  double entropy = 0.0;                   ///< of what comes behind it, nats
  std::vector<Guess> next;                ///< the likeliest first

  bool operator==(const TokenReading&) const = default;
};

/// How a model reads a line, token by token.
using LineReading = std::vector<TokenReading>;

/// What `lime-generate --next-tokens K --each-token` prints.
/// @throws FormatError  that says what is missing.
LineReading parseReading(const QByteArray& json);

/// A token that one of two models expects. Where it is not among those that the other one listed,
/// that one's probability is below the least that it listed.
struct GuessPair {
  QString token;
  std::optional<double> before;
  std::optional<double> after;
  double before_below = 0.0;  ///< bound where `before` is not known
  double after_below = 0.0;
};

/// The `count` tokens that either of the two expects most, by the larger probability.
std::vector<GuessPair> compareGuesses(const TokenReading& before, const TokenReading& after,
                                      std::size_t count);

/// How likely a line is before and after the edits.
struct LineScore {
  int line = 0;  ///< from 0
  QString text;
  double before = 0.0;  ///< log-likelihood, nats
  double after = 0.0;
  std::int64_t tokens = 0;

  /// Nats per token that the edits cost.
  double change() const { return (before - after) / static_cast<double>(tokens); }
};

struct TextScore {
  double before = 0.0;  ///< log-likelihood of the text, nats
  double after = 0.0;
  std::int64_t tokens = 0;
  std::vector<LineScore> lines;  ///< those that have a scored token

  double lossBefore() const { return -before / static_cast<double>(tokens); }
  double lossAfter() const { return -after / static_cast<double>(tokens); }
};

/// The scores of two captures of one text, made with --log-likelihood.
/// @throws FormatError  where they have none, or other texts.
TextScore compareScores(const CaptureReader& before, const CaptureReader& after);

/// Bars of what both expect behind a token: at most `count` tokens, and but for the first few only
/// those that one of the two finds likelier than 0.1 %.
Figure nextTokensFigure(const TokenReading& before, const TokenReading& after, std::size_t count);

/// Curves of the entropies over layers. @param results  of both captures, labelled as kTrained and
/// kEdited. @throws InvalidArgument  where they do not hold the site
Figure entropiesFigure(const Results& results, const QString& site, int layer_base);

inline const QString kTrained = QStringLiteral("as trained");
inline const QString kEdited = QStringLiteral("edited");

/// A token so that spaces and line ends can be seen: "·is", "\n".
QString visibleToken(const QString& token);

}  // namespace lime::explorer
