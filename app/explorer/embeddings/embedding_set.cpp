// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_set.h"

#include "viz/class_colours.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

/// Whether the rows of `points` are those of `capture`.
bool isOf(const CaptureEmbeddings& points, const CaptureReader& capture) {
  const RowTable& rows = capture.rows();
  for (std::size_t i = 0; i < points.row.size(); ++i) {
    const std::int64_t row = points.row[i];
    if (row < 0 || row >= rows.size()) return false;
    if (rows.token[static_cast<std::size_t>(row)] != points.table.token[i]) return false;
  }
  return true;
}

EmbeddedModel modelOf(CaptureEmbeddings points, const ResultsInput* input, const fs::path& results,
                      const OpenInputs& open_inputs, QStringList& problems) {
  EmbeddedModel model;
  model.label = toQString(points.label);
  model.faults = align_layers(points);
  for (std::size_t i = 0; i < points.row.size(); ++i) {
    model.point_of_row[points.row[i]] = static_cast<int>(i);
  }
  model.points = std::move(points);
  const auto indexTokens = [&](std::string text, RowKind kind) {
    model.tokens = std::make_shared<const TokenRows>(
        std::move(text), std::make_shared<const RowTable>(model.points.table), kind);
  };
  // Without a hash of its text a capture corresponds to itself only.
  const std::string own = "embedding:" + results.string() + "#" + model.points.label;
  const bool is_known = input != nullptr && !input->text_sha256.empty();
  indexTokens(is_known ? input->text_sha256 : own, RowKind::kTokens);
  if (input == nullptr) return model;
  try {
    auto capture = open_inputs.captureOf(*input, results);
    if (capture && isOf(model.points, *capture)) {
      indexTokens(is_known ? input->text_sha256 : textOf(*capture), capture->info().rows);
      auto tokenizer = findTokenizer(*capture, open_inputs.checkpoints).tokenizer;
      model.sentences = std::make_shared<const SentenceReader>(std::move(capture), tokenizer);
      return model;
    }
    problems
        << u"%1: its capture %2 %3; locate it (File menu) to see sentences and neighbours"_s.arg(
               model.label, toQString(input->path), capture ? u"has changed"_s : u"is missing"_s);
  } catch (const Error& error) {
    problems << u"%1: %2"_s.arg(model.label, toQString(error));
  }
  return model;
}

constexpr std::size_t kMaxTokens = 6;  // with a colour of their own
constexpr int kBins = 8;  // of positions and sequences, in figures: more than groups have colours

std::string plain(const std::string& name) {
  return name.size() > 1 && name.front() == ' ' ? name.substr(1) : name;
}

/// Numbers names as they come.
int numberOf(std::vector<std::string>& names, const std::string& name) {
  if (!contains(names, name)) names.push_back(name);
  return static_cast<int>(std::ranges::find(names, name) - names.begin());
}

void groupByClass(const EmbeddingSet& set, EmbeddingGroups& groups) {
  const auto nameOf = [](const EmbeddedModel& model, std::int16_t id) {
    return id < 0 ? "other" : plain(model.points.class_names[static_cast<std::size_t>(id)]);
  };
  // The classes that have rows, in the order of the captures' classes, as figures do.
  for (const EmbeddedModel& model : set.models) {
    const std::vector<std::int16_t>& ids = model.points.table.class_id;
    for (const std::int16_t id : std::set(ids.begin(), ids.end())) {
      if (id >= 0) numberOf(groups.names, nameOf(model, id));
    }
  }
  for (const EmbeddedModel& model : set.models) {
    std::vector<int>& group = groups.group.emplace_back();
    for (const std::int16_t id : model.points.table.class_id) {
      group.push_back(numberOf(groups.names, nameOf(model, id)));
    }
  }
}

void groupByToken(const EmbeddingSet& set, EmbeddingGroups& groups) {
  std::map<std::int32_t, std::int64_t> count;
  for (const EmbeddedModel& model : set.models) {
    for (const std::int32_t token : model.points.table.token) ++count[token];
  }
  std::vector<std::pair<std::int64_t, std::int32_t>> common;
  for (const auto& [token, times] : count) common.emplace_back(-times, token);
  std::sort(common.begin(), common.end());
  std::map<std::int32_t, int> number;
  for (std::size_t i = 0; i < std::min(common.size(), kMaxTokens); ++i) {
    const std::int32_t token = common[i].second;
    QString name = u"#%1"_s.arg(token);
    for (const EmbeddedModel& model : set.models) {
      if (model.sentences) name = model.sentences->tokenText(token);
    }
    number[token] = static_cast<int>(groups.names.size());
    groups.names.push_back(plain(name.toStdString()));
  }
  const auto other = static_cast<int>(groups.names.size());
  if (common.size() > kMaxTokens) groups.names.emplace_back("other");
  for (const EmbeddedModel& model : set.models) {
    std::vector<int>& group = groups.group.emplace_back();
    for (const std::int32_t token : model.points.table.token) {
      const auto at = number.find(token);
      group.push_back(at == number.end() ? other : at->second);
    }
  }
}

void gradeBy(const EmbeddingSet& set, std::vector<std::int32_t> RowTable::*column,
             EmbeddingGroups& groups) {
  std::int32_t most = 1;
  for (const EmbeddedModel& model : set.models) {
    for (const std::int32_t value : model.points.table.*column) most = std::max(most, value);
  }
  for (const EmbeddedModel& model : set.models) {
    std::vector<double>& fraction = groups.fraction.emplace_back();
    for (const std::int32_t value : model.points.table.*column) {
      fraction.push_back(static_cast<double>(value) / most);
    }
  }
}

QRgb rgb(Colour colour) { return qRgb(colour.red, colour.green, colour.blue); }

}  // namespace

const MatrixF* EmbeddedModel::coordinates(const std::string& site, int layer) const {
  for (const LayerEmbedding& layer_embedding : points.layers) {
    if (layer_embedding.site == site && layer_embedding.layer == layer)
      return &layer_embedding.coordinates;
  }
  return nullptr;
}

std::vector<int> EmbeddedModel::pointsOf(const TokenSelection& selected) const {
  const std::vector<std::int64_t> rows = tokens->find(selected).rows;
  return {rows.begin(), rows.end()};
}

std::vector<int> EmbeddedModel::pointsOfToken(const QString& text) const {
  std::map<std::int32_t, bool> is_it;
  std::vector<int> found;
  for (int i = 0; i < size() && sentences; ++i) {
    const std::int32_t token = points.table.token[static_cast<std::size_t>(i)];
    const auto [at, is_new] = is_it.try_emplace(token, false);
    if (is_new) {
      at->second =
          sentences->tokenText(token).trimmed().compare(text.trimmed(), Qt::CaseInsensitive) == 0;
    }
    if (at->second) found.push_back(i);
  }
  return found;
}

TokenSelection EmbeddedModel::tokensAt(const std::vector<int>& at) const {
  return tokens->tokensAt(std::vector<std::int64_t>(at.begin(), at.end()));
}

SelectedToken EmbeddedModel::describe(int point) const {
  const auto at = static_cast<std::size_t>(point);
  const RowTable& table = points.table;
  SelectedToken token{.point = point,
                      .token = u"#%1"_s.arg(table.token[at]),
                      .note = {},
                      .sentence = {},
                      .sequence = table.sequence[at],
                      .position = table.position[at]};
  const std::int16_t id = table.class_id[at];
  if (id >= 0) token.note = toQString(points.class_names[static_cast<std::size_t>(id)]).trimmed();
  if (sentences) {
    token.token = sentences->tokenText(table.token[at]);
    token.sentence = sentences->at(table.sequence[at], table.position[at], table.token[at]);
  }
  return token;
}

std::vector<NearRow> EmbeddedModel::nearestDrawn(const std::string& site, int layer, int point,
                                                 std::size_t count) const {
  const MatrixF* const drawn = coordinates(site, layer);
  std::vector<NearRow> near;
  for (int i = 0; drawn != nullptr && i < size(); ++i) {
    if (i == point) continue;
    const auto apart = (drawn->row(i) - drawn->row(point)).norm();
    near.push_back({points.row[static_cast<std::size_t>(i)], static_cast<double>(apart)});
  }
  std::ranges::stable_sort(near, {}, &NearRow::distance);
  near.resize(std::min(count, near.size()));
  return near;
}

QStringList EmbeddingSet::warnings(int layer_base) const {
  QStringList lines = problems;
  for (const EmbeddedModel& model : models) {
    for (const LayerFault& fault : model.faults) {
      lines << u"%1: site '%2', layer %3 diverged: %4; run lime-metrics tsne again"_s
                   .arg(model.label, toQString(fault.site))
                   .arg(fault.layer + layer_base)
                   .arg(toQString(fault.what));
    }
  }
  return lines;
}

std::size_t EmbeddingSet::numOfText(const std::string& text) const {
  return static_cast<std::size_t>(std::ranges::count(
      models, text, [](const EmbeddedModel& model) { return model.tokens->text(); }));
}

std::vector<std::string> EmbeddingSet::sites() const {
  std::vector<std::string> sites;
  for (const EmbeddedModel& model : models) {
    for (const LayerEmbedding& layer : model.points.layers) {
      if (!contains(sites, layer.site)) sites.push_back(layer.site);
    }
  }
  return sites;
}

std::vector<int> EmbeddingSet::layers(const std::string& site) const {
  std::set<int> layers;
  for (const EmbeddedModel& model : models) {
    for (const LayerEmbedding& layer : model.points.layers) {
      if (layer.site == site) layers.insert(layer.layer);
    }
  }
  return {layers.begin(), layers.end()};
}

std::vector<int> EmbeddingGroups::pointsOf(std::size_t model, int number) const {
  std::vector<int> points;
  for (int i = 0; i < std::ssize(group[model]); ++i) {
    if (group[model][static_cast<std::size_t>(i)] == number) points.push_back(i);
  }
  return points;
}

EmbeddingColour usualColour(const EmbeddingSet& set) {
  for (const EmbeddedModel& model : set.models) {
    const std::vector<std::int16_t>& ids = model.points.table.class_id;
    if (std::ranges::any_of(ids, [](std::int16_t id) { return id >= 0; })) {
      return EmbeddingColour::kClass;
    }
  }
  return set.models.empty() ? EmbeddingColour::kClass : EmbeddingColour::kPosition;
}

EmbeddingGroups groupsOf(const EmbeddingSet& set, EmbeddingColour colour) {
  EmbeddingGroups groups;
  if (colour == EmbeddingColour::kClass) groupByClass(set, groups);
  if (colour == EmbeddingColour::kToken) groupByToken(set, groups);
  if (colour == EmbeddingColour::kPosition) gradeBy(set, &RowTable::position, groups);
  if (colour == EmbeddingColour::kSequence) gradeBy(set, &RowTable::sequence, groups);
  return groups;
}

QRgb colourOf(double fraction, bool dark) {
  // The lightest tenth is lost on white, the darkest on black.
  const double place = dark ? 0.2 + 0.8 * fraction : 0.9 * fraction;
  return rgb(heatmap_colour(HeatmapPalette::kViridis, place));
}

std::vector<QRgb> coloursOf(const EmbeddingGroups& groups, std::size_t model, bool dark) {
  std::vector<QRgb> colours;
  if (groups.names.empty()) {
    for (const double fraction : groups.fraction[model]) {
      colours.push_back(colourOf(fraction, dark));
    }
    return colours;
  }
  std::vector<QRgb> palette;
  for (const std::size_t colour : class_colours(groups.names)) {
    palette.push_back(colour == kMutedColour
                          ? qRgb(140, 140, 140)
                          : rgb(colour_of_group(ClassPalette::kOkabeIto, colour, dark)));
  }
  for (const int group : groups.group[model]) {
    colours.push_back(palette[static_cast<std::size_t>(group)]);
  }
  return colours;
}

Figure embeddingsFigure(const EmbeddingSet& set, const EmbeddingGroups& groups,
                        const std::string& site, int layer, int layer_base) {
  Figure figure;
  figure.name = "embeddings";
  for (std::size_t m = 0; m < set.models.size(); ++m) {
    const MatrixF* const points = set.models[m].coordinates(site, layer);
    if (points == nullptr) continue;
    ScatterPanel embedding;
    for (Eigen::Index i = 0; i < points->rows(); ++i) {
      embedding.x.push_back((*points)(i, 0));
      embedding.y.push_back((*points)(i, 1));
    }
    embedding.class_names = groups.names;
    if (groups.names.empty()) {
      for (int bin = 0; bin < kBins; ++bin) {
        embedding.class_names.push_back(bin == 0           ? "first"
                                        : bin == kBins - 1 ? "last"
                                                           : fmt::format("{}/{}", bin + 1, kBins));
      }
      for (const double fraction : groups.fraction[m]) {
        embedding.classes.push_back(std::min(kBins - 1, static_cast<int>(kBins * fraction)));
      }
    } else {
      embedding.classes = groups.group[m];
    }
    FigurePanel panel;
    panel.title =
        set.models[m].label.toStdString() + ", layer " + std::to_string(layer + layer_base);
    panel.x = {.hides_numbers = true};
    panel.y = {.hides_numbers = true};
    panel.content = std::move(embedding);
    figure.panels.push_back(std::move(panel));
  }
  figure.columns = std::max(1, static_cast<int>(figure.panels.size()));
  figure.panel_aspect = 1.0;
  figure.is_wide = figure.columns >= 2;
  return figure;
}

EmbeddingSet setOf(std::vector<CaptureEmbeddings> captures, const std::vector<ResultsInput>& inputs,
                   const fs::path& results, const OpenInputs& open_inputs) {
  EmbeddingSet set;
  for (CaptureEmbeddings& points : captures) {
    const auto input = std::ranges::find(inputs, points.label, &ResultsInput::label);
    set.models.push_back(modelOf(std::move(points), input == inputs.end() ? nullptr : &*input,
                                 results, open_inputs, set.problems));
  }
  return set;
}

EmbeddingSet loadEmbeddings(const FigureSource& results, const OpenInputs& open_inputs) {
  const fs::path beside = embeddings_beside(results.path);
  return setOf(read_embeddings(beside), results.results.inputs, results.path, open_inputs);
}

}  // namespace lime::explorer
