// SPDX-License-Identifier: Apache-2.0
#include "capture/edits.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "capture/sites.h"
#include "core/files/sha256.h"
#include "core/program/suggest.h"
#include "core/random.h"
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
  const CaptureSite site = find_sites({edit.site}).front();
  throw_if(site.kind == HookKind::kRoute || site.kind == HookKind::kAttnProfile ||
               site.kind == HookKind::kDepthWeights || site.kind == HookKind::kLogitLens,
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
  while (stream >> word) {
    const auto [key, list] = split();
    const Key* const found = std::ranges::find(kKeys, key, &Key::first);
    if (word.find('=') == std::string::npos) {
      if (!edit.site.empty())
        throw InvalidArgument("got two sites, '{}' and '{}'", edit.site, word);
      edit.site = word;
    } else if (key == "seed") {
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
  std::vector<RouterEdit> edits(1);
  edits.front().scale = edit.factor;
  const auto split = [&](const LayerSelection& selection, auto part, const char* name) {
    if (selection.is_all()) return;
    std::vector<RouterEdit> all;
    for (const RouterEdit& one : edits) {
      for (const int item : selection.choose_from(up_to(1024), name)) {
        all.emplace_back(one).*part = item;
      }
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
    std::string_view what = error.what();
    if (what.starts_with("sites: ")) what.remove_prefix(what.find(' ') + 1);
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
  edit.tokens.choose_from(up_to(config.vocab_size), "tokens");
  const std::int64_t heads = num_heads(kind, config);
  if (heads > 0) edit.heads.choose_from(up_to(heads), "heads");
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
  constexpr std::int64_t kMost = std::int64_t{1} << 24;  // a list of them takes 64 MiB
  const std::int64_t count = std::min(std::max(config.max_position_embeddings, longest), kMost);
  for (const ActivationEdit& edit : edits.activations) {
    naming(edit.text, [&] { edit.positions.choose_from(up_to(count), "positions"); });
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

std::vector<HookPoint> EditHooks::points_of(const ActivationEdit& edit) const {
  std::vector<HookPoint> points;
  for (int layer = 0; layer < config_.num_hidden_layers; ++layer) {
    for (const HookKind kind : edit.kinds) {
      if (edit.layers.contains(layer)) points.push_back({kind, layer});
    }
  }
  return points;
}

std::vector<ScopedHook> EditHooks::attach(HookSet& hooks) {
  hooks.on_begin([this](const at::Tensor& ids, std::int64_t cached) { begin_pass(ids, cached); });
  std::vector<ScopedHook> registered;
  for (const ActivationEdit& edit : edits_) {
    for (const HookPoint& point : points_of(edit)) {
      registered.push_back(
          hooks.edit(point, [this, &edit](const HookPoint& place, const at::Tensor& x) {
            return edited(edit, place, x);
          }));
    }
  }
  return registered;
}

at::Tensor EditHooks::mask_of(const LayerSelection& positions, const LayerSelection& tokens) const {
  at::Tensor mask = at::zeros(ids_.sizes(), at::kBool);
  const auto* id = ids_.data_ptr<std::int64_t>();
  auto* selected = mask.data_ptr<bool>();
  for (std::int64_t s = 0; s < ids_.size(0); ++s) {
    for (std::int64_t t = 0; t < ids_.size(1); ++t, ++id, ++selected) {
      *selected = t < length(s) && positions.contains(static_cast<int>(cached_ + t)) &&
                  tokens.contains(static_cast<int>(*id));
    }
  }
  return mask;
}

at::Tensor EditHooks::edited(const ActivationEdit& edit, const HookPoint& point,
                             const at::Tensor& x) {
  const bool is_pattern = point.kind == HookKind::kPattern;  // [batch, heads, queries, keys]
  at::Tensor mask = mask_of(edit.positions, edit.tokens).unsqueeze(is_pattern ? 1 : 2);
  if (x.dim() == 4) mask = mask.unsqueeze(3);
  if (!edit.heads.is_all()) {
    at::Tensor heads = at::zeros({x.size(is_pattern ? 1 : 2), 1}, at::kBool);
    for (int h = 0; h < heads.size(0); ++h) heads.data_ptr<bool>()[h] = edit.heads.contains(h);
    mask = mask.logical_and(is_pattern ? heads.unsqueeze(1) : heads);
  }
  return at::where(mask.to(x.device()), replacement(edit, point, x).to(x.device(), x.scalar_type()),
                   x);
}

at::Tensor EditHooks::replacement(const ActivationEdit& edit, const HookPoint& point,
                                  const at::Tensor& x) {
  switch (edit.operation) {
    case EditOperation::kScale: return x * edit.factor;
    case EditOperation::kMean: {
      if (edit.from.empty()) {
        const at::Tensor all = mask_of({}, {}).flatten().nonzero().flatten().to(x.device());
        return x.flatten(0, 1).index_select(0, all).to(at::kDouble).mean(0);
      }
      const VectorD mean = capture(edit).statistics(edit.site, point.layer).mean;
      return at::tensor(std::vector<double>(mean.begin(), mean.end()), at::kDouble)
          .view(x.sizes().slice(2));
    }
    case EditOperation::kResample: return resampled(edit, point, x);
    case EditOperation::kPatch: return patched(edit, point, x);
    case EditOperation::kProject: {
      const at::Tensor d = at::tensor(edit.direction, at::kDouble).to(x.device());
      const at::Tensor wide = x.to(at::kDouble).reshape({x.size(0), x.size(1), -1, d.size(0)});
      const at::Tensor along = at::matmul(wide, d.unsqueeze(1)) / d.square().sum();
      return (wide - along * d).reshape(x.sizes());
    }
    default: return at::scalar_tensor(0.0, x.options());
  }
}

at::Tensor EditHooks::resampled(const ActivationEdit& edit, const HookPoint& point,
                                const at::Tensor& x) {
  Random random = Random(static_cast<std::uint64_t>(edit.seed))
                      .fork(static_cast<std::uint64_t>(point.layer * kNumHookKinds) +
                            static_cast<std::uint64_t>(point.kind))
                      .fork(static_cast<std::uint64_t>(sequences_.front()));
  const std::int64_t seq = x.size(1);
  std::vector<std::int64_t> from(static_cast<std::size_t>(x.size(0) * seq));
  std::iota(from.begin(), from.end(), 0);
  std::vector<std::int64_t> items;  // sequences, or tokens of all sequences
  for (std::int64_t i = 0; i < (edit.resamples_sequences ? x.size(0) : x.size(0) * seq); ++i) {
    if (edit.resamples_sequences || i % seq < length(i / seq)) items.push_back(i);
  }
  std::vector<std::int64_t> others = items;
  random.shuffle(std::span(others));
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!edit.resamples_sequences) from[static_cast<std::size_t>(items[i])] = others[i];
    for (std::int64_t t = 0; edit.resamples_sequences && t < length(others[i]); ++t) {
      from[static_cast<std::size_t>(items[i] * seq + t)] = others[i] * seq + t;
    }
  }
  return x.flatten(0, 1)
      .index_select(0, at::tensor(from, at::kLong).to(x.device()))
      .view(x.sizes());
}

at::Tensor EditHooks::patched(const ActivationEdit& edit, const HookPoint& point,
                              const at::Tensor& x) {
  const CaptureReader& from = capture(edit);
  at::Tensor patch = at::zeros(x.sizes(), at::kFloat);
  for (std::int64_t s = 0; s < x.size(0); ++s) {
    const std::int64_t sequence = sequences_[static_cast<std::size_t>(s)];
    MatrixF rows;
    if (sequence < from.num_sequences()) {
      rows = from.read_sequence(edit.site, point.layer, sequence);
    }
    const at::Tensor own = patch[s].narrow(0, 0, length(s));
    if (rows.rows() != length(s) || rows.size() != own.numel()) {
      throw InvalidArgument(
          "edit '{}': sequence {} has {} tokens of {} values, '{}' contains {} of {}; capture all "
          "tokens of texts of the same lengths with this model",
          edit.text, sequence, length(s), own.numel() / length(s), edit.from.string(), rows.rows(),
          rows.cols());
    }
    std::copy_n(rows.data(), rows.size(), own.data_ptr<float>());
  }
  return patch;
}

}  // namespace lime
