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
    {"sources", &ActivationEdit::sources},     {"source_heads", &ActivationEdit::source_heads}};

[[noreturn]] void refuse_word(const char* what, const std::string& word,
                              const std::vector<std::string>& known) {
  const std::string closest = closest_word(word, known);
  throw InvalidArgument("unknown {} '{}'{}", what, printable(word),
                        closest.empty() ? " (supported: " + join_words(known) + ")"
                                        : "; did you mean '" + closest + "'?");
}

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
  const bool has_none = edit.operation == kZero || edit.operation == kSkip;
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

void set_site(ActivationEdit& edit) {
  if (edit.operation == EditOperation::kSkip) {
    if (edit.site != "mlp") edit.kinds = {HookKind::kAttnOut};
    if (edit.site != "attention") edit.kinds.push_back(HookKind::kMlpOut);
    if (edit.site.empty() || edit.kinds.size() == 1) return;
    refuse_word("sublayer", edit.site, {"attention", "mlp"});
  }
  if (edit.site.empty()) throw InvalidArgument("a site is missing, e.g. 'zero attn.hook_z'");
  if (edit.site == "route") return;
  if (edit.site == "head") edit.site = "attn.hook_z";
  const CaptureSite site = find_sites({edit.site}).front();
  throw_if(hook_kind_info(site.kind).use != HookUse::kReadAndReplace,
           "'{}' can be read, not edited{}", site.name,
           site.kind == HookKind::kRoute ? "; use route" : "");
  throw_if(site.kind == HookKind::kPattern && edit.operation != EditOperation::kZero &&
               edit.operation != EditOperation::kScale,
           "'{}' can be edited by zero and scale only", site.name);
  edit.site = site.name;
  edit.kinds = {site.kind};
}

ActivationEdit parse_edit(const std::string& text) {
  ActivationEdit edit{.text = text};
  std::istringstream stream(text);
  std::string word;
  stream >> word;
  const auto split = [&] {
    const std::size_t equal = std::min(word.find('='), word.size());
    return std::pair(word.substr(0, equal), word.substr(std::min(equal + 1, word.size())));
  };
  const auto [name, value] = split();
  const auto operation = find_enum<EditOperation>(name);
  if (!operation) refuse_word("operation", name, enum_names<EditOperation>());
  edit.operation = *operation;
  set_value(edit, value);
  std::vector<std::string> known = {"seed"};
  for (const Key& key : kKeys) known.emplace_back(key.first);
  std::set<std::string> given;
  while (stream >> word) {
    const auto [key, list] = split();
    const Key* const found = std::ranges::find(kKeys, key, &Key::first);
    if (word.find('=') == std::string::npos) {
      if (!edit.site.empty())
        throw InvalidArgument("got two sites, '{}' and '{}'", printable(edit.site),
                              printable(word));
      edit.site = word;
    } else if (!given.insert(key).second) {
      throw InvalidArgument("{} is given twice; give one list, such as layers=1,3", printable(key));
    } else if (key == "seed") {
      throw_if(edit.operation != EditOperation::kResample, "only resample has a seed");
      edit.seed = OptionCodec<std::int64_t>::parse(list, key);
    } else if (found != std::end(kKeys)) {
      edit.*found->second = LayerSelection::parse(list, key);
    } else {
      refuse_word("key", key, known);
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
  if (kind < HookKind::kQ || kind > HookKind::kZ) return 0;
  return site_dim(kind, config, 0) / (kind == HookKind::kPattern ? 1 : config.head_dim);
}

void check_edit(const ActivationEdit& edit, const ModelConfig& config) {
  const HookKind kind = edit.kinds.front();
  plan_activations({{edit.site, kind}}, edit.layers, config);
  edit.tokens.choose_from(up_to(config.vocab_size), OptionName("tokens"));
  const std::int64_t heads = num_heads(kind, config);
  if (heads > 0) edit.heads.choose_from(up_to(heads), OptionName("heads"));
  throw_if(
      !(edit.sources.is_all() && edit.source_heads.is_all() && (heads > 0 || edit.heads.is_all())),
      "only route has sources, and only q, k, v, z and pattern have heads");
  const std::int64_t row = site_dim(kind, config, 0);
  const std::int64_t size = std::ssize(edit.direction);
  if (size == 0 || size == row || (heads > 0 && size == config.head_dim)) return;
  throw InvalidArgument("'{}' must have {}{} numbers, got {}", edit.from.string(), row,
                        heads > 0 ? fmt::format(" or, per head, {}", config.head_dim) : "", size);
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
    const Json json = read_json_file(spec);
    if (!json.is_object() || json.value("format", Json()) != "lime-edit/1") {
      std::ranges::move(parse_router_edits(json, "'" + spec + "'"),
                        std::back_inserter(edits.routes));
      continue;
    }
    const Json list = json.value("edits", Json());
    for (const Json& entry : list) {
      if (entry.is_string()) add_edit(entry.get<std::string>(), edits);
    }
    if (list.is_array() && !list.empty() && std::ranges::all_of(list, &Json::is_string)) continue;
    throw FormatError("'{}': edits must be a non-empty list of texts, e.g. \"zero hidden\"", spec);
  }
  return edits;
}

void check_edits(const ModelEdits& edits, const ModelConfig& config, bool generates) {
  check_router_edits(edits.routes, config);
  for (const ActivationEdit& edit : edits.activations) {
    naming(edit.text, [&] { check_edit(edit, config); });
    if (!generates || !edit.needs_whole_texts()) continue;
    throw InvalidArgument(
        "edit '{}': {} needs all tokens of a text; use lime-capture, or zero, scale, project, skip "
        "or mean=CAPTURE.h5",
        edit.text, enum_name(edit.operation));
  }
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
