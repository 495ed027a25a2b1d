// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/decoder_edits.h"

#include <set>

#include "checkpoint/edit_text.h"
#include "core/layer_selection.h"
#include "store/embeddings_file.h"

namespace lime::explorer {
namespace {

constexpr const char* kHeadSite = "attn.hook_z";
constexpr const char* kAttentionSite = "hook_attn_out";
constexpr const char* kMlpSite = "hook_mlp_out";

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

/// Returns the only number of a list; no value if the edit lacks the key.
std::optional<std::int64_t> onlyNumberOf(const EditWords& words, const char* key) {
  const std::string* const list = words.find(key);
  if (list == nullptr) return std::nullopt;
  const std::vector<int> numbers = numbersOf(*list);
  throw_if<FormatError>(numbers.size() != 1, "edit: expected one number in {}={}", key,
                        printable(*list));
  return numbers.front();
}

/// Returns the scale of `skip`, `zero` or `scale=F`, 1 of `patch`; no value of other operations.
std::optional<double> scaleIn(const EditWords& words) {
  switch (words.operation) {
    case EditOperation::kSkip:
    case EditOperation::kZero: return 0.0;
    case EditOperation::kPatch: return 1.0;
    case EditOperation::kScale: break;
    default: return std::nullopt;
  }
  bool is_number = false;
  const double scale = toQString(words.value).toDouble(&is_number);
  return is_number ? std::optional(scale) : std::nullopt;
}

std::optional<DecoderPart> partIn(const EditWords& words) {
  if (words.operation == EditOperation::kSkip && words.site.empty()) return DecoderPart::kLayer;
  if (words.site == "attention" || words.site == kAttentionSite) return DecoderPart::kAttention;
  if (words.site == "mlp" || words.site == kMlpSite) return DecoderPart::kMlp;
  if (words.site == "head" || words.site == kHeadSite) return DecoderPart::kHead;
  return std::nullopt;
}

void addEdit(const std::string& text, DecoderEdits& edits) {
  const EditWords words = parse_edit_words(text);
  const bool is_patched = words.operation == EditOperation::kPatch;
  const std::optional<double> scale = scaleIn(words);
  if (scale && words.site == "route" && !is_patched) {
    edits.routes.push_back({.layer = onlyNumberOf(words, "layers"),
                            .head = onlyNumberOf(words, "heads"),
                            .source = onlyNumberOf(words, "sources"),
                            .source_head = onlyNumberOf(words, "source_heads"),
                            .scale = *scale});
    return;
  }
  const std::optional<DecoderPart> part = partIn(words);
  const bool has_more = std::ranges::any_of(
      words.keys, [](const auto& key) { return key.first != "layers" && key.first != "heads"; });
  const bool is_head = part == DecoderPart::kHead;
  throw_if<FormatError>(
      !scale || !part || has_more || words.find("layers") == nullptr ||
          (words.find("heads") != nullptr) != is_head,
      "edit '{}': the explorer edits whole layers, attention, MLPs, heads and routes; run other "
      "edits with lime-capture --edit",
      printable(text));
  for (const int layer : numbersOf(*words.find("layers"))) {
    const std::vector<int> heads = is_head ? numbersOf(*words.find("heads")) : std::vector{0};
    for (const int head : heads) {
      edits.parts.push_back({*part, layer, head, *scale, is_patched});
    }
  }
}

/// The sites that an edit of a part replaces.
std::vector<std::string> editedSites(DecoderPart part) {
  switch (part) {
    case DecoderPart::kAttention: return {kAttentionSite};
    case DecoderPart::kMlp: return {kMlpSite};
    case DecoderPart::kLayer: return {kAttentionSite, kMlpSite};
    case DecoderPart::kHead: break;
  }
  return {kHeadSite};
}

std::vector<EditWords> wordsOfPart(const PartEdit& edit, const QString& patch_file) {
  EditWords words{.keys = {{"layers", std::to_string(edit.layer)}}};
  const bool is_head = edit.part == DecoderPart::kHead;
  if (is_head) words.keys.emplace_back("heads", std::to_string(edit.head));
  const bool is_off = !edit.is_patched && edit.scale == 0.0;
  if (is_off && !is_head) {
    words.operation = EditOperation::kSkip;
    if (edit.part != DecoderPart::kLayer) words.site = enum_name(edit.part);
    return {words};
  }
  if (edit.is_patched) {
    words.operation = EditOperation::kPatch;
    words.value = patch_file.toStdString();
  } else if (!is_off) {
    words.operation = EditOperation::kScale;
    words.value = QString::number(edit.scale, 'g', 17).toStdString();
  }
  std::vector<EditWords> list;
  for (const std::string& site : editedSites(edit.part)) list.emplace_back(words).site = site;
  return list;
}

EditWords wordsOfRoutes(const RouterEdit& routes) {
  EditWords words{.operation = EditOperation::kScale,
                  .value = QString::number(routes.scale, 'g', 17).toStdString(),
                  .site = "route"};
  const auto add = [&](const char* key, const std::optional<std::int64_t>& number) {
    if (number) words.keys.emplace_back(key, std::to_string(*number));
  };
  add("layers", routes.layer);
  add("heads", routes.head);
  add("sources", routes.source);
  add("source_heads", routes.source_head);
  return words;
}

}  // namespace

QStringList editTexts(const DecoderEdits& edits, const QString& patch_file) {
  QStringList texts;
  for (const RouterEdit& routes : edits.routes)
    texts << toQString(edit_text(wordsOfRoutes(routes)));
  for (const PartEdit& part : edits.parts) {
    for (const EditWords& words : wordsOfPart(part, patch_file)) {
      texts << toQString(edit_text(words));
    }
  }
  return texts;
}

std::string editsFile(const DecoderEdits& edits, const QString& patch_file) {
  if (edits.parts.empty()) return router_edits_to_json(edits.routes).dump(1) + "\n";
  std::vector<std::string> texts;
  for (const QString& text : editTexts(edits, patch_file)) texts.push_back(text.toStdString());
  return edit_file_text(texts);
}

DecoderEdits readEditsFile(const std::filesystem::path& path) {
  EditFile file = read_edit_file(path);
  DecoderEdits edits{.routes = std::move(file.routes)};
  for (const std::string& text : file.texts) {
    try {
      addEdit(text, edits);
    } catch (const InvalidArgument& error) {
      throw FormatError("'{}': edit '{}': {}", path.string(), printable(text), error.what());
    }
  }
  return edits;
}

void checkEdits(const DecoderEdits& edits, const ModelConfig& config) {
  check_router_edits(edits.routes, config);
  for (const PartEdit& edit : edits.parts) {
    throw_if(edit.layer < 0 || edit.layer >= config.num_hidden_layers,
             "edit: the model has layers 0 to {}, got {}", config.num_hidden_layers - 1,
             edit.layer);
    throw_if(edit.head < 0 || edit.head >= config.num_attention_heads,
             "edit: the model has heads 0 to {}, got {}", config.num_attention_heads - 1,
             edit.head);
  }
}

QStringList patchedSites(const DecoderEdits& edits) {
  std::set<std::string> sites;
  std::set<int> layers;
  for (const PartEdit& edit : edits.parts) {
    if (!edit.is_patched) continue;
    layers.insert(edit.layer);
    for (const std::string& site : editedSites(edit.part)) sites.insert(site);
  }
  QStringList names;
  for (const std::string& site : sites) names << toQString(site);
  return {u"--sites"_s, names.join(u','), u"--layers"_s,
          toQString(layers_to_string({layers.begin(), layers.end()}))};
}

}  // namespace lime::explorer
