// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/questions.h"

#include <QCoreApplication>
#include <QDir>
#include <fstream>

#include "analysis/router/checkpoint_routers.h"
#include "checkpoint/checkpoint.h"
#include "explorer/router/router_figures.h"
#include "viz/figure_source.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {
namespace {

constexpr int kDemoFoldersUp = 5;
constexpr std::size_t kLimeColour = 1;  // its place in answeringModels()
constexpr int kShownLines = 20;         // of the text whose loss is shown

/// Returns the path of a file of the demo. @throws IoError  if it is missing
std::filesystem::path demoFile(const char* relative) {
  const QString path = findAbove(QLatin1String(relative));
  throw_if<IoError>(path.isEmpty(), "'{}': not found; run scripts/demo.sh", relative);
  return toPath(path);
}

FigureSource demoResults(const char* relative) { return read_figure_source(demoFile(relative)); }

/// The layers of the LIMe whose weight on the embeddings is above 1/n.
Finding findReaders() {
  const Checkpoint checkpoint = Checkpoint::open(demoFile("data/aet-lime"));
  const CheckpointRouters routers(checkpoint);
  Finding finding{.sentence = {},
                  .figure = embeddingsFigure({.routers = &routers, .name = "LIMe"}, {})};
  auto& curves = std::get<CurvePanel>(finding.figure.panels.front().content).curves;
  curves.front().style.colour = kLimeColour;
  const Curve& own = curves.front();
  const Curve& uniform = curves.back();
  QStringList above;
  std::size_t most = 0;
  for (std::size_t i = 0; i < own.x.size(); ++i) {
    if (own.y[i] > uniform.y[i]) above << QString::number(own.x[i]);
    if (own.y[i] / uniform.y[i] > own.y[most] / uniform.y[most]) most = i;
  }
  const double times = own.y[most] / uniform.y[most];
  finding.sentence =
      above.isEmpty()
          ? u"In no layer is more router weight on the embeddings than 1/n. The most is %1 times "
            u"1/n, in layer %2."_s.arg(times, 0, 'f', 2)
                .arg(own.x[most])
          : u"More router weight than 1/n is on the embeddings in %1 of %2 layers (%3). The most "
            u"is "
            u"%4 times 1/n, in layer %5."_s.arg(above.size())
                .arg(own.x.size())
                .arg(above.join(u", "_s))
                .arg(times, 0, 'f', 2)
                .arg(own.x[most]);
  return finding;
}

/// The largest decrease of a curve over layers.
struct Drop {
  std::string label;
  int layer = 0;  ///< after it
  double before = 0.0;
  double after = 0.0;
  double size() const { return before - after; }
};

Drop largestDrop(const CurvePanel& panel) {
  Drop largest;
  for (const Curve& curve : panel.curves) {
    for (std::size_t i = 1; i < curve.y.size(); ++i) {
      const Drop drop{curve.label, static_cast<int>(curve.x[i]), curve.y[i - 1], curve.y[i]};
      if (drop.size() > largest.size()) largest = drop;
    }
  }
  return largest;
}

/// The layer into which the entropy of the hidden states drops most, and the accuracy of a probe
/// there.
Finding findCollapse() {
  FigureOptions options;
  options.site = {"hidden"};
  const std::vector<FigureSource> entropies = {demoResults("out/entropy.json")};
  Finding finding{.sentence = {}, .figure = make_figure(entropies, options)};
  const Drop drop = largestDrop(std::get<CurvePanel>(finding.figure.panels.front().content));
  finding.state["site"] = "hidden";
  if (drop.label.empty()) {
    finding.sentence = u"The entropy of the hidden states drops into no layer."_s;
    return finding;
  }
  finding.sentence =
      u"The entropy of the hidden states drops most into layer %1 of %2, from %3 to %4 nats."_s
          .arg(drop.layer)
          .arg(toQString(drop.label))
          .arg(drop.before, 0, 'f', 2)
          .arg(drop.after, 0, 'f', 2);
  for (const ResultRow& row : demoResults("out/separability.json").results.rows) {
    const bool is_it = row.text(col::kLabel) == drop.label && row.text(col::kSite) == "hidden" &&
                       row.cell(col::kLayer) == drop.layer && row.text(col::kLabels) == "words";
    if (!is_it) continue;
    finding.sentence += u" A probe still recognises %1% of the numbers there (chance: %2%)."_s
                            .arg(100.0 * row.number(col::kMean), 0, 'f', 0)
                            .arg(100.0 * row.number(col::kMajority), 0, 'f', 0);
  }
  return finding;
}

/// The route whose removal raises the loss most, and how many change it by more than their
/// interval.
Finding findRoute() {
  const std::vector<FigureSource> sources = {demoResults("out/routes.json")};
  Finding finding{.sentence = {}, .figure = make_figure(sources, {})};
  const ResultRow* original = nullptr;
  const ResultRow* most = nullptr;
  int num_routes = 0;
  int num_changed = 0;
  for (const ResultRow& row : sources.front().results.rows) {
    if (!row.has(col::kSource)) {
      original = &row;
      continue;
    }
    ++num_routes;
    if (row.number(col::kEffect.low) > 0.0 || row.number(col::kEffect.high) < 0.0) ++num_changed;
    if (most == nullptr || row.number(col::kEffect) > most->number(col::kEffect)) most = &row;
  }
  throw_if<FormatError>(original == nullptr || most == nullptr,
                        "'out/routes.json': contains no route; run scripts/demo.sh");
  finding.sentence =
      u"The loss on the answers rises most, from %3 to %4 nats, if layer %1 no longer reads %2. It "
      u"changes measurably for %5 of %6 routes."_s.arg(most->integer(col::kLayer))
          .arg(most->integer(col::kSource) == most->integer(col::kLayer)
                   ? u"its own keys and values"_s
                   : u"layer %1"_s.arg(most->integer(col::kSource)))
          .arg(original->number(col::kLoss), 0, 'f', 2)
          .arg(most->number(col::kLoss), 0, 'f', 2)
          .arg(num_changed)
          .arg(num_routes);
  std::ifstream lines(demoFile("out/expressions.txt"));
  std::string text;
  std::string line;
  for (int i = 0; i < kShownLines && std::getline(lines, line); ++i) text += line + "\n";
  Json edit = {{"layer", most->integer(col::kLayer)},
               {"source", most->integer(col::kSource)},
               {"scale", 0.0}};
  finding.state = {{"text", text}, {"scored", 1}, {"scored_text", "="}, {"run", true}};
  finding.state["edits"] = Json::array({std::move(edit)});
  return finding;
}

}  // namespace

const std::vector<Question>& allQuestions() {
  static const std::vector<Question> questions = {
      {u"Which layers re-read the embeddings?"_s, {u"data/aet-lime"_s}, u"router"_s, findReaders},
      {u"Where does it collapse, and does it matter?"_s,
       {u"out/aet-llama.h5"_s, u"out/aet-lime.h5"_s, u"out/separability.json"_s},
       u"collapse"_s,
       findCollapse},
      {u"What happens when I cut a route?"_s, {u"data/aet-lime"_s}, u"interventions"_s, findRoute},
  };
  return questions;
}

const QStringList& answeringModels() {
  static const QStringList models = {u"aet-llama"_s, u"aet-lime"_s};
  return models;
}

QString findAbove(const QString& relative) {
  QDir above(QCoreApplication::applicationDirPath());
  for (int i = 0; i < kDemoFoldersUp; ++i) {
    if (above.exists(relative)) return QDir::cleanPath(above.filePath(relative));
    if (!above.cdUp()) break;
  }
  return QDir::current().exists(relative) ? QDir::current().filePath(relative) : QString();
}

QStringList pathsOf(const Question& question) {
  QStringList paths;
  for (const QString& file : question.files) {
    paths << findAbove(file);
    if (paths.back().isEmpty()) return {};
  }
  return paths;
}

}  // namespace lime::explorer
