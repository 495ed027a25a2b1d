// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/part_edits.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "core/layer_selection.h"
#include "store/embeddings_file.h"
#include "store/results/columns.h"

namespace lime::explorer {
namespace {

constexpr int kFirstHeadColumn = 2;  // attention, MLP, then heads
constexpr const char* kFormat = "lime-edit/1";

/// Returns the numbers of a list of --edit, all of [0, kMaxLayers) if it is "all".
std::vector<int> numbersOf(const std::string& list) {
  std::vector<int> numbers;
  const LayerSelection selection = LayerSelection::parse(list);
  throw_if<FormatError>(selection.is_all(), "edit: expected numbers, got '{}'", printable(list));
  for (int i = 0; i < kMaxLayers; ++i) {
    if (selection.contains(i)) numbers.push_back(i);
  }
  return numbers;
}

/// Splits an edit, `OPERATION[=VALUE] [SITE] [KEY=LIST ...]`.
struct EditWords {
  std::string operation, value, site;
  std::map<std::string, std::string> keys;

  explicit EditWords(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      const std::string rest = equals == word.npos ? "" : word.substr(equals + 1);
      if (operation.empty()) {
        std::tie(operation, value) = std::pair(name, rest);
      } else if (equals == word.npos) {
        site = word;
      } else {
        keys[name] = rest;
      }
    }
  }
  std::optional<std::int64_t> number(const std::string& key) const {
    const auto found = keys.find(key);
    if (found == keys.end()) return std::nullopt;
    const std::vector<int> numbers = numbersOf(found->second);
    throw_if<FormatError>(numbers.size() != 1, "edit: expected one number in {}={}", key,
                          printable(found->second));
    return numbers.front();
  }
};

/// Returns the scale of `skip`, `zero` or `scale=F`; no value of other operations.
std::optional<double> scaleIn(const EditWords& words) {
  if (words.operation == "skip" || words.operation == "zero") return 0.0;
  bool is_number = false;
  const double scale = toQString(words.value).toDouble(&is_number);
  return words.operation == "scale" && is_number ? std::optional(scale) : std::nullopt;
}

std::optional<DecoderPart> partIn(const EditWords& words) {
  if (words.operation == "skip" && words.site.empty()) return DecoderPart::kLayer;
  if (words.site == "attention" || words.site == "hook_attn_out") return DecoderPart::kAttention;
  if (words.site == "mlp" || words.site == "hook_mlp_out") return DecoderPart::kMlp;
  if (words.site == "head" || words.site == "attn.hook_z") return DecoderPart::kHead;
  return std::nullopt;
}

void addEdit(const std::string& text, ExplorerEdits& edits) {
  const EditWords words(text);
  const std::optional<double> scale = scaleIn(words);
  if (scale && words.site == "route") {
    edits.routes.push_back({.layer = words.number("layers"),
                            .head = words.number("heads"),
                            .source = words.number("sources"),
                            .source_head = words.number("source_heads"),
                            .scale = *scale});
    return;
  }
  const std::optional<DecoderPart> part = partIn(words);
  const bool has_more = std::ranges::any_of(
      words.keys, [](const auto& key) { return key.first != "layers" && key.first != "heads"; });
  const bool is_head = part == DecoderPart::kHead;
  throw_if<FormatError>(
      !scale || !part || has_more || !words.keys.contains("layers") ||
          words.keys.contains("heads") != is_head,
      "edit '{}': the explorer edits whole layers, attention, MLPs, heads and routes; run other "
      "edits with lime-capture --edit",
      printable(text));
  for (const int layer : numbersOf(words.keys.at("layers"))) {
    const std::vector<int> heads = is_head ? numbersOf(words.keys.at("heads")) : std::vector{0};
    for (const int head : heads) edits.parts.push_back({*part, layer, head, *scale});
  }
}

QString signedNats(double value) {
  return (value < 0.0 ? QString(QChar(0x2212)) : u"+"_s) + QString::number(std::abs(value), 'f', 4);
}

/// Writes the effects of the parts that a sweep measured into a map of them.
void addEffects(const Results* sweep, MatrixD& values) {
  if (sweep == nullptr) return;
  for (const ResultRow& row : sweep->rows) {
    const std::optional<PartEdit> part = partOf(row);
    if (!part || part->part == DecoderPart::kLayer) continue;
    const int column = columnOf(*part);
    if (part->layer < values.rows() && column < values.cols()) {
      values(part->layer, column) = row.number(col::kEffect);
    }
  }
}

}  // namespace

QString partText(const PartEdit& edit, int layer_base) {
  const int layer = edit.layer + layer_base;
  switch (edit.part) {
    case DecoderPart::kAttention: return u"attention of layer %1"_s.arg(layer);
    case DecoderPart::kMlp: return u"MLP of layer %1"_s.arg(layer);
    case DecoderPart::kLayer: return u"attention and MLP of layer %1"_s.arg(layer);
    case DecoderPart::kHead: break;
  }
  return u"head %1 of layer %2"_s.arg(edit.head + layer_base).arg(layer);
}

QStringList editOptions(const std::vector<PartEdit>& edits) {
  QStringList options;
  for (const PartEdit& edit : edits) {
    const QString layer = u"layers=%1"_s.arg(edit.layer);
    const QString scale = u"scale=%1"_s.arg(edit.scale, 0, 'g', 17);
    const bool skips = edit.scale == 0.0;
    if (edit.part == DecoderPart::kHead) {
      options
          << u"%1 attn.hook_z %2 heads=%3"_s.arg(skips ? u"zero"_s : scale, layer).arg(edit.head);
      continue;
    }
    if (edit.part == DecoderPart::kLayer && skips) {
      options << u"skip "_s + layer;
      continue;
    }
    if (edit.part != DecoderPart::kMlp) {
      options << (skips ? u"skip attention "_s : scale + u" hook_attn_out "_s) + layer;
    }
    if (edit.part != DecoderPart::kAttention) {
      options << (skips ? u"skip mlp "_s : scale + u" hook_mlp_out "_s) + layer;
    }
  }
  return options;
}

QString editOption(const RouterEdit& routes) {
  QString option = u"scale=%1 route"_s.arg(routes.scale, 0, 'g', 17);
  const auto add = [&](const char* key, const std::optional<std::int64_t>& number) {
    if (number) option += u" %1=%2"_s.arg(QLatin1String(key)).arg(*number);
  };
  add("layers", routes.layer);
  add("heads", routes.head);
  add("sources", routes.source);
  add("source_heads", routes.source_head);
  return option;
}

std::string editsFile(const ExplorerEdits& edits) {
  if (edits.parts.empty()) return router_edits_to_json(edits.routes).dump(1) + "\n";
  Json list = Json::array();
  for (const RouterEdit& routes : edits.routes) list.push_back(editOption(routes).toStdString());
  for (const QString& option : editOptions(edits.parts)) list.push_back(option.toStdString());
  return Json{{"format", kFormat}, {"edits", list}}.dump(1) + "\n";
}

ExplorerEdits readEditsFile(const std::filesystem::path& path) {
  const Json json = read_json_file(path);
  if (!json.is_object() || json.value("format", Json()) != kFormat) {
    return {.routes = read_router_edits(path), .parts = {}};
  }
  const Json list = json.value("edits", Json());
  throw_if<FormatError>(!list.is_array(), "'{}': expected a list \"edits\", got {}", path.string(),
                        printable(list.dump()));
  ExplorerEdits edits;
  for (const Json& text : list) {
    throw_if<FormatError>(!text.is_string(), "'{}': expected edits as texts, got {}", path.string(),
                          printable(text.dump()));
    addEdit(text.get<std::string>(), edits);
  }
  return edits;
}

void checkParts(const std::vector<PartEdit>& edits, std::int64_t num_layers,
                std::int64_t num_heads) {
  for (const PartEdit& edit : edits) {
    throw_if(edit.layer < 0 || edit.layer >= num_layers,
             "edit: the model has layers 0 to {}, got {}", num_layers - 1, edit.layer);
    throw_if(edit.head < 0 || edit.head >= num_heads, "edit: the model has heads 0 to {}, got {}",
             num_heads - 1, edit.head);
  }
}

Json partsToJson(const PartsByCheckpoint& edits) {
  Json json = Json::object();
  for (const auto& [path, own] : edits) {
    for (const PartEdit& edit : own) {
      json[path].push_back({{"part", enum_name(edit.part)},
                            {"layer", edit.layer},
                            {"head", edit.head},
                            {"scale", edit.scale}});
    }
  }
  return json;
}

PartsByCheckpoint partsFromJson(const Json& json) {
  throw_if<FormatError>(!json.is_object(), "session: parts must be an object, got {}",
                        printable(json.dump()));
  PartsByCheckpoint edits;
  try {
    for (const auto& [path, own] : json.items()) {
      for (const Json& edit : own) {
        const auto part = find_enum<DecoderPart>(edit.at("part").get<std::string>());
        const double scale = edit.at("scale").get<double>();
        throw_if<FormatError>(!part || !std::isfinite(scale),
                              "session: parts must have a known name and a scale, got {}",
                              printable(edit.dump()));
        edits[path].push_back({*part, edit.at("layer").get<int>(), edit.value("head", 0), scale});
      }
    }
  } catch (const Json::exception& error) {
    throw FormatError("session: parts must be edits by checkpoint, got: {}", error.what());
  }
  return edits;
}

PartEdits::PartEdits() {
  using One = const PartEdit&;
  const auto name = [this](One edit) { return partText(edit, layer_base_); };
  setTable({{.title = u"Edit"_s,
             .text = name,
             .tool_tip = name,
             .further =
                 [name](One edit, int role) {
                   return role == Qt::EditRole ? QVariant(name(edit)) : QVariant();
                 }},
            {.title = u"Scale"_s,
             .text =
                 [](One edit) {
                   return edit.scale == 0.0 ? u"skipped"_s : u"× %1"_s.arg(edit.scale, 0, 'g', 4);
                 },
             .is_number = true,
             .help = u"Factor of the output of the part"_s,
             .further =
                 [](One edit, int role) {
                   return role == Qt::EditRole ? QVariant(edit.scale) : QVariant();
                 }}},
           {});
}

void PartEdits::setEdits(std::vector<PartEdit> edits) {
  if (edits != rows()) setRows(std::move(edits));
}

void PartEdits::setCheckpoint(const std::string& path) {
  if (path == checkpoint_) return;
  PartsByCheckpoint all = this->all();
  checkpoint_ = path;
  setAll(std::move(all));
}

PartsByCheckpoint PartEdits::all() const {
  PartsByCheckpoint all = others_;
  if (!edits().empty()) all[checkpoint_] = edits();
  return all;
}

void PartEdits::setAll(PartsByCheckpoint all) {
  auto own = all.extract(checkpoint_);
  others_ = std::move(all);
  setEdits(own.empty() ? std::vector<PartEdit>() : std::move(own.mapped()));
}

void PartEdits::setLayerBase(int layer_base) {
  if (layer_base == layer_base_) return;
  layer_base_ = layer_base;
  updateRows(rows());
}

double PartEdits::scaleOf(const PartEdit& part) const {
  const auto found =
      std::ranges::find_if(rows(), [&](const PartEdit& edit) { return edit.namesSameAs(part); });
  return found == rows().end() ? 1.0 : found->scale;
}

std::vector<PartEdit> PartEdits::with(std::vector<PartEdit> edits, const PartEdit& edit) {
  const auto found =
      std::ranges::find_if(edits, [&](const PartEdit& other) { return other.namesSameAs(edit); });
  if (found == edits.end()) {
    if (edit.scale != 1.0) edits.push_back(edit);
  } else if (edit.scale == 1.0) {
    edits.erase(found);
  } else {
    found->scale = edit.scale;
  }
  return edits;
}

Qt::ItemFlags PartEdits::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  if (index.isValid() && index.column() == kScale) flags |= Qt::ItemIsEditable;
  return flags;
}

bool PartEdits::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !index.isValid() || index.column() != kScale) return false;
  bool is_number = false;
  const double scale = value.toDouble(&is_number);
  if (!is_number || !std::isfinite(scale)) return false;
  PartEdit edit = at(index.row());
  edit.scale = scale;
  Q_EMIT scaleEntered(edit);
  return true;
}

PartEdit partAt(int layer, int column) {
  if (column >= kFirstHeadColumn) {
    return {.part = DecoderPart::kHead, .layer = layer, .head = column - kFirstHeadColumn};
  }
  return {.part = column == 0 ? DecoderPart::kAttention : DecoderPart::kMlp, .layer = layer};
}

int columnOf(const PartEdit& part) {
  if (part.part == DecoderPart::kHead) return kFirstHeadColumn + part.head;
  return part.part == DecoderPart::kMlp ? 1 : 0;
}

Figure partsFigure(const std::vector<PartEdit>& edits, int num_layers, int num_heads,
                   const Results* sublayers, const Results* heads, int layer_base) {
  const bool is_measured = sublayers != nullptr || heads != nullptr;
  HeatmapPanel map;
  map.values = MatrixD::Constant(num_layers, kFirstHeadColumn + num_heads,
                                 is_measured ? std::numeric_limits<double>::quiet_NaN() : 1.0);
  map.is_signed = is_measured;
  map.col_borders = {1, kFirstHeadColumn};
  addEffects(sublayers, map.values);
  addEffects(heads, map.values);
  for (const PartEdit& edit : edits) {
    const bool is_layer = edit.part == DecoderPart::kLayer;
    for (int column = columnOf(edit); column <= (is_layer ? 1 : columnOf(edit)); ++column) {
      if (!is_measured) map.values(edit.layer, column) = edit.scale;
      map.marks.push_back({edit.layer, column, edit.scale == 0.0});
    }
  }
  FigurePanel panel{.title = {}, .x = {}, .y = {.label = "layer"}, .content = {}};
  panel.x.ticks = {{0.0, "attn"}, {1.0, "MLP"}};
  for (int head = 0; head < num_heads; ++head) {
    panel.x.ticks.push_back(
        {static_cast<double>(kFirstHeadColumn + head), std::to_string(head + layer_base)});
  }
  panel.x.label = "part, or head of attention";
  const int step = std::max(1, (num_layers + 11) / 12);
  for (int layer = 0; layer < num_layers; layer += step) {
    panel.y.ticks.push_back({static_cast<double>(layer), std::to_string(layer + layer_base)});
  }
  panel.content = std::move(map);
  Figure figure;
  figure.name = "parts-edited";
  figure.colour_label = is_measured ? "change in loss without it (nats per token)" : "scale";
  if (!is_measured) figure.colour_range = {0.0, 2.0};
  figure.panels.push_back(std::move(panel));
  return figure;
}

std::optional<PartEdit> partOf(const ResultRow& row) {
  const auto part = find_enum<DecoderPart>(row.text(col::kPart));
  if (!part || !row.has(col::kLayer)) return std::nullopt;
  return PartEdit{.part = *part,
                  .layer = static_cast<int>(row.integer(col::kLayer)),
                  .head = row.has(col::kHead) ? static_cast<int>(row.integer(col::kHead)) : 0};
}

const ResultRow* sweptPart(const Results& sweep, const PartEdit& part) {
  const auto found = std::ranges::find_if(sweep.rows, [&](const ResultRow& row) {
    const std::optional<PartEdit> swept = partOf(row);
    return swept && swept->namesSameAs(part);
  });
  return found == sweep.rows.end() ? nullptr : &*found;
}

QString describePart(const ResultRow& row, const PartEdit& part, int layer_base) {
  QString text = u"without %1: loss %2 nats per token"_s.arg(partText(part, layer_base),
                                                             signedNats(row.number(col::kEffect)));
  if (std::isnan(row.number(col::kEffect.low))) return text;
  return text + u" [%1, %2]"_s.arg(signedNats(row.number(col::kEffect.low)),
                                   signedNats(row.number(col::kEffect.high)));
}

}  // namespace lime::explorer
