// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/model_outputs.h"

#include "core/json.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

constexpr const char* kWhere = "lime-generate --each-token";

std::vector<Prediction> predictionsOf(const Json& list) {
  std::vector<Prediction> predictions;
  for (const Json& prediction : list) {
    predictions.push_back({prediction.at("id").get<std::int64_t>(),
                           toQString(prediction.at("token").get<std::string>()),
                           prediction.at("probability").get<double>()});
  }
  return predictions;
}

}  // namespace

QString visibleToken(const QString& token) {
  QString shown = token;
  shown.replace(u'\n', u"\\n"_s);
  shown.replace(u'\t', u"\\t"_s);
  shown.replace(u' ', QChar(0x00B7));  // middle dot
  return shown.isEmpty() ? u"?"_s : shown;
}

LineReading parseReading(const QByteArray& json) {
  const Json read = parse_json(json.toStdString(), kWhere);
  LineReading reading;
  try {
    for (const Json& token : read.at("tokens")) {
      TokenReading token_reading;
      token_reading.id = token.at("id").get<std::int64_t>();
      token_reading.token = toQString(token.at("token").get<std::string>());
      if (!token.at("log_probability").is_null()) {
        token_reading.log_probability = token.at("log_probability").get<double>();
      }
      token_reading.next = predictionsOf(token.at("next_tokens"));
      reading.push_back(std::move(token_reading));
    }
  } catch (const Json::exception& error) {
    throw FormatError("{}: the output must contain tokens with their predictions, got: {}", kWhere,
                      error.what());
  }
  if (reading.empty()) throw FormatError("{}: the output must contain a token, got none", kWhere);
  reading.back().continuation = toQString(read.value("continuation", std::string()));
  return reading;
}

TextScore compareScores(const CaptureReader& before, const CaptureReader& after) {
  const std::vector<Sequence>& trained = before.sequences();
  const std::vector<Sequence>& edited = after.sequences();
  throw_if<FormatError>(
      trained.size() != edited.size(), "'{}': must contain the {} sequences of '{}', got {}",
      after.path().string(), trained.size(), before.path().string(), edited.size());
  TextScore score;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    throw_if<FormatError>(
        !trained[i].is_scored() || trained[i].scored_tokens != edited[i].scored_tokens,
        "'{}': sequence {} must be scored as in '{}'; capture --log-likelihood",
        after.path().string(), i, before.path().string());
    if (trained[i].scored_tokens == 0) continue;
    score.lines.push_back({.line = static_cast<int>(i),
                           .text = toQString(trained[i].text),
                           .before = trained[i].log_likelihood,
                           .after = edited[i].log_likelihood,
                           .tokens = trained[i].scored_tokens});
    score.before += trained[i].log_likelihood;
    score.after += edited[i].log_likelihood;
    score.tokens += trained[i].scored_tokens;
  }
  return score;
}

}  // namespace lime::explorer
