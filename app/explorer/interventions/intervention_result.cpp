// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_result.h"

#include <algorithm>

#include "core/json.h"
#include "store/capture_reader.h"
#include "store/results_file.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kLeastShown = 3;       // tokens, however unlikely they are
constexpr double kShownProbability = 0.001;  // of further ones, in one of the models
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

/// Returns the probability of the token `id` among `predictions`.
std::optional<double> probabilityOf(const std::vector<Prediction>& predictions, std::int64_t id) {
  const auto found = std::find_if(predictions.begin(), predictions.end(),
                                  [id](const Prediction& g) { return g.id == id; });
  if (found == predictions.end()) return std::nullopt;
  return found->probability;
}

double leastOf(const std::vector<Prediction>& predictions) {
  return predictions.empty() ? 1.0 : predictions.back().probability;
}

double likelier(const PredictionPair& pair) {
  return std::max(pair.before.value_or(0.0), pair.after.value_or(0.0));
}

/// "84.1 %", "0.02 %", "< 0.01 %".
std::string percent(const std::optional<double>& probability, double below) {
  constexpr double kLeast = 0.01;
  const double shown = 100.0 * probability.value_or(below);
  const bool is_bound = !probability || shown < kLeast;
  const QString number = QString::number(std::max(shown, kLeast), 'f', shown >= 0.995 ? 1 : 2);
  return (is_bound ? "< " : "") + number.toStdString() + " %";
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
      TokenReading one;
      one.id = token.at("id").get<std::int64_t>();
      one.token = toQString(token.at("token").get<std::string>());
      if (!token.at("log_probability").is_null()) {
        one.log_probability = token.at("log_probability").get<double>();
      }
      one.entropy = token.at("entropy").get<double>();
      one.next = predictionsOf(token.at("next_tokens"));
      reading.push_back(std::move(one));
    }
  } catch (const Json::exception& error) {
    throw FormatError("{}: the output must contain tokens with their predictions, got: {}", kWhere,
                      error.what());
  }
  if (reading.empty()) throw FormatError("{}: the output must contain a token, got none", kWhere);
  return reading;
}

std::vector<PredictionPair> comparePredictions(const TokenReading& before,
                                               const TokenReading& after, std::size_t count) {
  std::vector<PredictionPair> pairs;
  const auto add = [&](const Prediction& prediction) {
    pairs.push_back({.token = prediction.token,
                     .before = probabilityOf(before.next, prediction.id),
                     .after = probabilityOf(after.next, prediction.id),
                     .before_below = leastOf(before.next),
                     .after_below = leastOf(after.next)});
  };
  for (const Prediction& prediction : before.next) add(prediction);
  for (const Prediction& prediction : after.next) {
    if (!probabilityOf(before.next, prediction.id)) add(prediction);
  }
  std::stable_sort(
      pairs.begin(), pairs.end(),
      [](const PredictionPair& a, const PredictionPair& b) { return likelier(a) > likelier(b); });
  if (pairs.size() > count) pairs.resize(count);
  return pairs;
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

Figure nextTokensFigure(const TokenReading& before, const TokenReading& after, std::size_t count) {
  BarPanel bars;
  BarPanel::Series trained{.label = kOriginal.toStdString(),
                           .values = {},
                           .low = {},
                           .high = {},
                           .style = {.colour = kMutedColour}};
  BarPanel::Series edited{
      .label = kEdited.toStdString(), .values = {}, .low = {}, .high = {}, .style = {.colour = 0}};
  for (const PredictionPair& pair : comparePredictions(before, after, count)) {
    if (bars.groups.size() >= kLeastShown && likelier(pair) < kShownProbability) break;
    bars.groups.push_back(visibleToken(pair.token).toStdString());
    trained.values.push_back(pair.before.value_or(0.0));
    edited.values.push_back(pair.after.value_or(0.0));
    trained.stars.push_back(percent(pair.before, pair.before_below));
    edited.stars.push_back(percent(pair.after, pair.after_below));
  }
  bars.series = {std::move(trained), std::move(edited)};
  Figure figure;
  figure.name = "next-tokens";
  FigurePanel panel;
  panel.x.label = "probability";
  panel.x.min = 0.0;
  panel.x.max = 1.3;  // room for the numbers after the bars
  panel.x.ticks = {{0.0, "0"}, {0.5, "0.5"}, {1.0, "1"}};
  panel.content = std::move(bars);
  figure.panels = {std::move(panel)};
  return figure;
}

Figure entropiesFigure(const Results& results, const QString& site, int layer_base) {
  FigureOptions options;
  options.kind = "entropy";
  options.site = {site.toStdString()};
  options.layer_base = layer_base;
  const std::vector<FigureSource> sources = {{.path = "entropy.json", .results = results}};
  Figure figure = make_figure(sources, options);
  for (FigurePanel& panel : figure.panels) {
    auto& content = std::get<CurvePanel>(panel.content);
    for (Curve& curve : content.curves) {
      const bool is_edited = toQString(curve.label) == kEdited;
      curve.style.colour = is_edited ? 0 : kMutedColour;
      curve.style.pattern = is_edited ? LinePattern::kSolid : LinePattern::kDashed;
    }
  }
  return figure;
}

}  // namespace lime::explorer
