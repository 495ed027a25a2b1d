// SPDX-License-Identifier: Apache-2.0
#include "capture/edits.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>

#include "capture/sites.h"
#include "core/files/sha256.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

using Key = std::pair<const char*, LayerSelection ActivationEdit::*>;
constexpr Key kKeys[] = {
    {"layers", &ActivationEdit::layers},       {"heads", &ActivationEdit::heads},
    {"positions", &ActivationEdit::positions}, {"tokens", &ActivationEdit::tokens},
    {"sources", &ActivationEdit::sources},     {"source_heads", &ActivationEdit::source_heads},
    {"experts", &ActivationEdit::experts},     {"streams", &ActivationEdit::streams}};

std::vector<double> read_direction(const std::filesystem::path& path) {
  const Json json = read_json_file(path);
  std::vector<double> direction;
  double square = 0.0;
  for (const Json& entry : json) {
    direction.push_back(entry.is_number() ? entry.get<double>() : NAN);
    square += direction.back() * direction.back();
  }
  if (json.is_array() && square > 0.0 && std::isfinite(square)) return direction;
  throw FormatError("'{}': a direction must be a list of finite numbers that are not all 0",
                    path.string());
}

void set_value(ActivationEdit& edit, const std::string& value) {
  using enum EditOperation;
  const bool has_none =
      edit.operation == kZero || edit.operation == kSkip || edit.operation == kMask;
  const bool may_lack = has_none || edit.operation == kMean || edit.operation == kResample;
  throw_if(value.empty() ? !may_lack : has_none, "{} {}", enum_name(edit.operation),
           has_none ? "has no value"
                    : "needs a value: patch=CAPTURE.h5, scale=FACTOR or "
                      "project=DIRECTION.json");
  if (edit.operation == kScale) {
    edit.factor = OptionCodec<double>::parse(value, "scale");
    check_option(std::isfinite(edit.factor), "scale", "finite", value);
  } else if (edit.operation == kResample) {
    edit.resamples_sequences = value == "sequences";
    check_option(value.empty() || value == "tokens" || edit.resamples_sequences, "resample",
                 "tokens or sequences", value);
  } else {
    edit.from = value;
    if (edit.operation == kProject) edit.direction = read_direction(value);
  }
}

bool is_depth_weights(const ActivationEdit& edit) {
  return !edit.kinds.empty() && is_part_of_depth_weights(edit.kinds.front());
}

/// Sets the parts of hook_depth_weights whose reads are edited.
void set_parts(ActivationEdit& edit) {
  const auto add = [&](std::initializer_list<const char*> reads, HookKind kind) {
    const bool is_edited = edit.reads.empty() || std::ranges::any_of(reads, [&](const char* read) {
                             return std::ranges::find(edit.reads, read) != edit.reads.end();
                           });
    if (is_edited) edit.kinds.push_back(kind);
  };
  add({"attn", "q", "k", "v"}, HookKind::kAttnDepthWeights);
  add({"mlp"}, HookKind::kMlpDepthWeights);
  add({"final"}, HookKind::kFinalDepthWeights);
}

void check_operation(const ActivationEdit& edit) {
  using enum HookKind;
  const HookKind kind = edit.kinds.front();
  if (edit.operation == EditOperation::kMask) {
    throw_if(kind != kRouterLogits,
             "mask removes experts from the selection: expected the site mlp.hook_router_logits, "
             "got '{}'",
             edit.site);
    throw_if(edit.experts.is_all(), "mask needs experts, e.g. experts=3");
    return;
  }
  const bool is_weight = kind == kPattern || kind == kRoute || kind == kExpertWeights ||
                         is_part_of_depth_weights(kind);
  throw_if(is_weight && edit.operation != EditOperation::kZero &&
               edit.operation != EditOperation::kScale,
           "'{}' can be edited by zero and scale only", edit.site);
}

void set_site(ActivationEdit& edit) {
  if (edit.operation == EditOperation::kSkip) {
    if (edit.site != "mlp") edit.kinds = {HookKind::kAttnOut};
    if (edit.site != "attention") edit.kinds.push_back(HookKind::kMlpOut);
    if (edit.site.empty() || edit.kinds.size() == 1) return;
    reject_edit_word("sublayer", edit.site, {"attention", "mlp"});
  }
  if (edit.site.empty()) throw InvalidArgument("a site is missing, e.g. 'zero attn.hook_z'");
  if (edit.site == "route") return;
  if (edit.site == "head") edit.site = "attn.hook_z";
  const CaptureSite site = find_sites({edit.site}).front();
  edit.site = site.name;
  if (site.kind == HookKind::kDepthWeights) {
    set_parts(edit);
  } else {
    throw_if(hook_kind_info(site.kind).use != HookUse::kReadAndReplace,
             "'{}' can be read, not edited", site.name);
    edit.kinds = {site.kind};
  }
  check_operation(edit);
}

std::vector<std::string> parse_reads(const std::string& list) {
  const std::vector<std::string> known = {"attn", "q", "k", "v", "mlp", "final"};
  std::vector<std::string> reads;
  std::istringstream stream(list);
  for (std::string read; std::getline(stream, read, ',');) {
    if (std::ranges::find(known, read) == known.end()) reject_edit_word("read", read, known);
    reads.push_back(read);
  }
  throw_if(reads.empty(), "reads: expected a list of {}, got none", join_words(known));
  return reads;
}

ActivationEdit parse_edit(const std::string& text) {
  const EditWords words = parse_edit_words(text);
  ActivationEdit edit{.text = text, .operation = words.operation, .site = words.site};
  set_value(edit, words.value);
  std::vector<std::string> known = {"seed", "reads"};
  for (const Key& key : kKeys) known.emplace_back(key.first);
  for (const auto& [key, list] : words.keys) {
    const Key* const found = std::ranges::find(kKeys, key, &Key::first);
    if (key == "seed") {
      throw_if(edit.operation != EditOperation::kResample, "only resample has a seed");
      edit.seed = OptionCodec<std::int64_t>::parse(list, key);
    } else if (key == "reads") {
      edit.reads = parse_reads(list);
    } else if (found != std::end(kKeys)) {
      edit.*found->second = LayerSelection::parse(list, key);
    } else {
      reject_edit_word("key", key, known);
    }
  }
  set_site(edit);
  return edit;
}

std::vector<int> up_to(std::int64_t count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Returns an edit of every combination of the selected parts of routes.
std::vector<RouterEdit> route_edits(const ActivationEdit& edit) {
  throw_if(edit.operation != EditOperation::kZero && edit.operation != EditOperation::kScale,
           "routes can be edited by zero and scale only");
  throw_if(!edit.positions.is_all() || !edit.tokens.is_all(),
           "route has no positions and no tokens: its weights are those of all tokens");
  constexpr std::size_t kMax = 1'000'000;
  std::vector<RouterEdit> edits(1);
  edits.front().scale = edit.factor;
  const auto split = [&](const LayerSelection& selection, auto part, const char* name) {
    if (selection.is_all()) return;
    std::vector<RouterEdit> all;
    const std::vector<int> items = selection.choose_from(up_to(1024), OptionName(name));
    throw_if(edits.size() * items.size() > kMax,
             "selects {} routes or more, expected at most {}; omit lists that select everything",
             edits.size() * items.size(), kMax);
    for (const RouterEdit& router_edit : edits) {
      for (const int item : items) all.emplace_back(router_edit).*part = item;
    }
    edits = std::move(all);
  };
  split(edit.layers, &RouterEdit::layer, "layers");
  split(edit.heads, &RouterEdit::head, "heads");
  split(edit.sources, &RouterEdit::source, "sources");
  split(edit.source_heads, &RouterEdit::source_head, "source_heads");
  return edits;
}

/// Adds the name of an edit to the errors of `run`.
template <typename Run> void naming(const std::string& text, const Run& run) {
  try {
    run();
  } catch (const InvalidArgument& error) {
    // The site of an edit is not that of the option --sites.
    const std::string_view what = error.option() == "sites" ? error.problem() : error.what();
    throw InvalidArgument("edit '{}': {}", printable(text), what);
  }
}

void add_edit(const std::string& text, ModelEdits& edits) {
  naming(text, [&] {
    const ActivationEdit edit = parse_edit(text);
    if (edit.site == "route") {
      std::ranges::move(route_edits(edit), std::back_inserter(edits.routes));
    } else {
      edits.activations.push_back(edit);
    }
  });
}

/// Returns the heads of an editable site; 0 if it has none.
std::int64_t num_heads(HookKind kind, const ModelConfig& config) {
  switch (kind) {
    case HookKind::kRoute: return config.num_key_value_heads;
    case HookKind::kPattern: return site_dim(kind, config, 0);
    case HookKind::kQ:
    case HookKind::kK:
    case HookKind::kV:
    case HookKind::kRoutedK:
    case HookKind::kRoutedV:
    case HookKind::kRotQ:
    case HookKind::kRotK:
    case HookKind::kZ: return site_dim(kind, config, 0) / config.head_dim;
    default: return 0;
  }
}

/// Checks the weights over depth of the residual stream.
void check_depth_weights(const ActivationEdit& edit, const ModelConfig& config) {
  throw_if(config.spec.norm_placement == NormPlacement::kAfterSum,
           "'{}' normalises the sum in the stream, which has no weights of single outputs",
           config.family);
  const int last = static_cast<int>(config.num_hidden_layers) - 1;
  const std::vector<std::string_view> reads = depth_reads(config, last);
  for (const std::string& read : edit.reads) {
    throw_if(std::ranges::find(reads, read) == reads.end(),
             "'{}' does not read '{}' (its reads: {})", config.name(), read,
             fmt::join(reads, ", "));
    throw_if(read == "final" && !edit.layers.contains(last),
             "the final norm reads after the last layer: write layers={}", last);
  }
}

/// Checks the weights of layers in keys and values.
void check_route(const ActivationEdit& edit, const ModelConfig& config) {
  const bool is_lime = config.routing == DepthRouting::kLime;
  const bool is_routed = config.routing == DepthRouting::kResFormer ||
                         config.routing == DepthRouting::kDepthAttention ||
                         (is_lime && config.lime.router != RouterKind::kNone);
  throw_if(!is_routed, "'{}' has no router of keys and values; edit hook_depth_weights",
           config.name());
  throw_if(is_lime && config.lime.per_dimension,
           "routers of '{}' have a weight per dimension; use route", config.name());
  throw_if(!is_lime && !edit.source_heads.is_all(),
           "routers of '{}' do not mix heads; omit source_heads", config.name());
}

/// One of the keys that belong to some sites, and how many items it may name; 0: not this site.
struct SiteKey {
  const char* name;
  LayerSelection ActivationEdit::*selection;
  std::int64_t count;
  const char* sites;
};

void check_edit(const ActivationEdit& edit, const ModelConfig& config) {
  using enum HookKind;
  const HookKind kind = edit.kinds.front();
  const bool is_depth = is_depth_weights(edit);
  plan_activations({{edit.site, is_depth ? kDepthWeights : kind}}, edit.layers, config);
  edit.tokens.choose_from(up_to(config.vocab_size), OptionName("tokens"));
  if (is_depth) check_depth_weights(edit, config);
  if (kind == kRoute) check_route(edit, config);
  throw_if(!is_depth && !edit.reads.empty(), "only hook_depth_weights has reads");
  const std::int64_t layers = config.num_hidden_layers;
  const std::int64_t heads = num_heads(kind, config);
  const bool has_experts = kind == kRouterLogits || kind == kExpertWeights;
  for (const SiteKey& key : std::initializer_list<SiteKey>{
           {"heads", &ActivationEdit::heads, heads, "route, q, k, v, z and pattern have heads"},
           {"sources", &ActivationEdit::sources,
            is_depth         ? num_depth_sources(config, layers - 1)
            : kind == kRoute ? layers
                             : 0,
            "route, attn.hook_route and hook_depth_weights have sources"},
           {"source_heads", &ActivationEdit::source_heads, kind == kRoute ? heads : 0,
            "route and attn.hook_route have source_heads"},
           {"experts", &ActivationEdit::experts, has_experts ? config.spec.experts->num_experts : 0,
            "mlp.hook_router_logits and mlp.hook_expert_weights have experts"},
           {"streams", &ActivationEdit::streams, kind == kStreams ? num_streams(config) : 0,
            "hook_streams has streams"}}) {
    const LayerSelection& selection = edit.*key.selection;
    throw_if(key.count == 0 && !selection.is_all(), "only {}", key.sites);
    if (key.count > 0) selection.choose_from(up_to(key.count), OptionName(key.name));
  }
  const std::int64_t size = std::ssize(edit.direction);
  if (size == 0) return;
  const std::int64_t row = site_dim(kind, config, 0);
  std::int64_t part = heads > 0 ? config.head_dim : 0;
  if (kind == kStreams) part = config.hidden_size;
  if (size == row || size == part) return;
  throw InvalidArgument(
      "'{}' must have {}{} numbers, got {}", edit.from.string(), row,
      part == 0 ? "" : fmt::format(" or, per {}, {}", kind == kStreams ? "stream" : "head", part),
      size);
}

/// Checks that every token can select as many experts as it needs, of those that no edit masks.
void check_masks(const std::vector<ActivationEdit>& edits, const ModelConfig& config) {
  for (int layer = 0; layer < config.num_hidden_layers; ++layer) {
    const ExpertsSpec* const spec = config.spec.experts_of(layer);
    std::set<int> masked;
    for (const ActivationEdit& edit : edits) {
      const bool is_mask = edit.operation == EditOperation::kMask && spec != nullptr &&
                           edit.layers.contains(layer) && edit.positions.is_all() &&
                           edit.tokens.is_all();
      if (!is_mask) continue;
      for (const int expert :
           edit.experts.choose_from(up_to(spec->num_experts), OptionName("experts"))) {
        masked.insert(expert);
      }
      const std::int64_t left = spec->num_experts - std::ssize(masked);
      throw_if(left < spec->num_experts_per_tok,
               "edit '{}': leaves {} of {} experts in layer {}, but each token selects {}; mask "
               "fewer, or zero mlp.hook_expert_weights",
               printable(edit.text), left, spec->num_experts, layer, spec->num_experts_per_tok);
    }
  }
}

}  // namespace

ModelEdits read_edits(const std::vector<std::string>& specs) {
  ModelEdits edits;
  for (const std::string& spec : specs) {
    const bool is_text = !spec.ends_with(".json") || spec.find_first_of(" =") != std::string::npos;
    std::error_code error;
    if (is_text && !std::filesystem::is_regular_file(spec, error)) {
      add_edit(spec, edits);
      continue;
    }
    const EditFile file = read_edit_file(spec);
    std::ranges::copy(file.routes, std::back_inserter(edits.routes));
    for (const std::string& text : file.texts) add_edit(text, edits);
  }
  return edits;
}

void check_edits(const ModelEdits& edits, const ModelConfig& config, bool generates) {
  check_router_edits(edits.routes, config);
  for (const ActivationEdit& edit : edits.activations) {
    naming(edit.text, [&] { check_edit(edit, config); });
    if (!generates || !edit.needs_whole_texts() || edit.operation == EditOperation::kPatch)
      continue;
    throw InvalidArgument(
        "edit '{}': {} needs all tokens of a text; use lime-capture, or zero, scale, project, skip "
        "or mean=CAPTURE.h5",
        edit.text, enum_name(edit.operation));
  }
  check_masks(edits.activations, config);
}

void check_edited_positions(const ModelEdits& edits, const ModelConfig& config,
                            std::int64_t longest) {
  constexpr std::int64_t kMax = std::int64_t{1} << 24;  // a list of them takes 64 MiB
  const std::int64_t count = std::min(std::max(config.max_position_embeddings, longest), kMax);
  for (const ActivationEdit& edit : edits.activations) {
    naming(edit.text, [&] { edit.positions.choose_from(up_to(count), OptionName("positions")); });
  }
}

Json edits_to_json(const ModelEdits& edits) {
  Json list = Json::array();
  for (const ActivationEdit& edit : edits.activations) {
    Json& json = list.emplace_back(Json{{"edit", edit.text}});
    if (!edit.from.empty()) json["sha256"] = sha256_of_file(edit.from);
  }
  if (edits.routes.empty()) return list;
  for (const Json& route : router_edits_to_json(edits.routes).at("edits")) list.push_back(route);
  return list;
}

}  // namespace lime
