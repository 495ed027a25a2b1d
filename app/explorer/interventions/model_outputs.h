// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "explorer/models/text.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// A predicted token with its probability.
struct Prediction {
  std::int64_t id = 0;
  QString token;
  double probability = 0.0;

  bool operator==(const Prediction&) const = default;
};

/// A token of a line, and the predictions of the next one.
struct TokenReading {
  std::int64_t id = 0;
  QString token;
  std::optional<double> log_probability;  ///< nats; nothing for the first token
  std::vector<Prediction> next;           ///< the likeliest first
  QString continuation;                   ///< generated text; of the last token of a line
};

/// The output of a model for a line, token by token.
using LineReading = std::vector<TokenReading>;

/// Parses the output of `lime-generate --next-tokens K --each-token --continuation`.
/// @throws FormatError  naming what is missing
LineReading parseReading(const QByteArray& json);

/// The log-likelihood of a line, original and edited.
struct LineScore {
  int line = 0;  ///< from 0
  QString text;
  double before = 0.0;  ///< log-likelihood, nats
  double after = 0.0;
  std::int64_t tokens = 0;

  /// Returns the loss that the edits cause, in nats per token.
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

/// Compares two captures of one text, made with --log-likelihood.
/// @throws FormatError  if they have no scores, or other texts
TextScore compareScores(const CaptureReader& before, const CaptureReader& after);

inline const QString kOriginal = u"original"_s;
inline const QString kEdited = u"edited"_s;

/// Makes spaces and line ends visible: "·is", "\n".
QString visibleToken(const QString& token);

}  // namespace lime::explorer
