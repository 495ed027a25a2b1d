// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/tensor_sources.h"

#include <algorithm>
#include <set>

#include "core/utf8.h"

namespace lime {
namespace {

constexpr std::string_view kRouter = ".self_attn.lime_router.";
/// Names that the released LIMe code has had for the fused keys and values.
constexpr std::array<std::string_view, 4> kFusedNames = {
    "self_attn.kv_proj_weight", "self_attn.kv_proj.weight", "self_attn.lime_kv_proj",
    "self_attn.lime_kv_proj.weight"};

using StoredTensors = std::map<std::string, TensorSource, std::less<>>;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns true for buffers of older transformers versions that follow from the config.
bool is_derived_buffer(std::string_view name, const TensorNames& names) {
  if (contains(name, ".rotary_emb.")) return true;
  return std::ranges::any_of(names.ignored, [&](const std::string& ending) {
    return name == ending || name.ends_with("." + ending);
  });
}

bool is_fused(std::string_view name) {
  return std::ranges::any_of(kFusedNames,
                             [&](std::string_view fused) { return name.ends_with(fused); });
}

/// Up to five names, and how many there are.
std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text = fmt::format("{} (", names.size());
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(names[i], 120));
  }
  return text + (names.size() > kShown ? ", ...)" : ")");
}

/// The steps of locate_tensors(), which share the tensors not yet accounted for.
class Locator {
 public:
  Locator(ModelConfig& config, std::string_view where, std::string_view described_in)
      : config_(config), where_(where), described_in_(described_in) {}

  void collect(std::span<const TensorView> stored) {
    const TensorNames& names = config_.spec.names;
    for (const TensorView& tensor : stored) {
      std::string name = canonical_tensor_name(tensor.name);
      if (is_derived_buffer(name, names)) continue;
      if (!names.output_alias.empty() && name == names.output_alias + ".weight") {
        name = names.output + ".weight";
      }
      for (const auto& [other, ours] : names.aliases) {
        const std::size_t place = name.find(other);
        if (place != std::string::npos) name.replace(place, other.size(), ours);
      }
      add({.info = {.name = std::move(name),
                    .stored_name = tensor.name,
                    .dtype = tensor.dtype,
                    .shape = tensor.shape},
           .bytes = tensor.bytes,
           .place = {},
           .added = 0.0F});
    }
  }

  /// A base model that was saved alone (LlamaModel) lacks the prefix or its first components.
  void complete_prefixes() {
    const TensorNames& names = config_.spec.names;
    const std::string& prefix = names.prefix;
    std::size_t missing = 0;
    while (!stored_.contains(prefix.substr(missing) + names.embedding + ".weight")) {
      if (missing == prefix.size()) return;
      missing = prefix.find('.', missing) + 1;
    }
    if (missing == 0) return;
    for (auto& [name, source] : std::exchange(stored_, {})) {
      if (name != names.output + ".weight") source.info.name = prefix.substr(0, missing) + name;
      add(std::move(source));
    }
  }

  /// The released code saves a LIMe under a plain LlamaConfig; its tensors tell.
  void recognise_lime() {
    bool is_lime = false;
    for (const auto& [name, source] : stored_) {
      throw_if<FormatError>(
          contains(name, "self_attn.dynamic_proj"),
          "'{}': tensor '{}' belongs to a dynamic LIMe router, which this build does not support",
          where_, printable(name, 120));
      is_lime |= is_fused(name) || contains(name, kRouter);
    }
    if (is_lime && config_.name() == "llama") {
      config_.routing = DepthRouting::kLime;
      config_.lime = LimeConfig{};
    }
  }

  /// So does the paper's baseline with Hyper-Connections.
  void recognise_hyper_connections() {
    if (config_.name() != "llama") return;
    const auto alpha = stored_.find(layer_parameter(config_, 0, "hc_attn.static_alpha"));
    if (alpha == stored_.end() || alpha->second.info.shape.empty()) return;
    config_.routing = DepthRouting::kHyperConnections;
    config_.hyper_connections = {
        .dynamic = stored_.contains(layer_parameter(config_, 0, "hc_attn.dynamic_alpha_fn")),
        .rate = alpha->second.info.shape.front()};
  }

  /// Only one of the two programs of the open implementation of Attention Residuals has a router
  /// before the final norm; its first block's sum starts with the embedding.
  void recognise_attn_res() {
    if (config_.routing != DepthRouting::kAttentionResiduals || config_.attn_res.num_blocks == 0 ||
        config_.attn_res.sources != AttnResSources::kStates) {
      return;
    }
    if (!stored_.contains(config_.spec.names.prefix + "final_res_proj.weight")) return;
    config_.attn_res.sources = AttnResSources::kOutputsFromEmbedding;
  }

  /// Finds the experts of packed tensors, where the family has a tensor for each, and of quantised
  /// ones.
  void split_experts() {
    if (!config_.spec.experts) return;
    const ExpertLayout own = config_.spec.experts->layout;
    const ExpertLayout packed = own == ExpertLayout::kSeparate ? ExpertLayout::kPacked : own;
    std::set<std::string> used;
    for (const ParameterSpec& spec : parameter_specs(config_)) {
      if (!is_expert(spec.part)) continue;
      const StoredPlace place = packed_place(config_, spec, packed);
      const auto whole = stored_.find(place.name);
      if (own == ExpertLayout::kSeparate && whole != stored_.end()) {
        check_shape(whole->second, place.shape);
        add_part(whole->second, spec, place);
        used.insert(place.name);
      } else if (own == ExpertLayout::kInterleaved && spec.index == 0) {
        add_quantized(spec, place, used);
      }
    }
    for (const std::string& name : used) stored_.erase(name);
  }

  void split_fused() {
    std::vector<std::string> fused;
    for (const auto& [name, source] : stored_) {
      if (is_fused(name)) fused.push_back(name);
    }
    if (fused.empty()) return;
    has_fused_values_ = true;
    for (const std::string& name : fused) {
      const auto node = stored_.extract(name);
      constexpr std::string_view kModule = "self_attn.";
      split(node.mapped(), name.substr(0, name.rfind(kModule) + kModule.size()));
    }
  }

  void resolve_head() {
    const TensorNames& names = config_.spec.names;
    const auto output = stored_.find(names.output + ".weight");
    if (output == stored_.end()) {
      if (config_.tie_word_embeddings) return;
      config_.has_head = false;
      warnings_.push_back(fmt::format(
          "'{}': a base model without '{}.weight': activations are available, logits are not",
          where_, names.output));
      return;
    }
    if (!config_.tie_word_embeddings) return;
    const std::string embedding_name = names.prefix + names.embedding + ".weight";
    const auto embedding = stored_.find(embedding_name);
    if (embedding == stored_.end()) {
      TensorSource source = output->second;
      source.info.name = embedding_name;
      stored_.erase(output);
      add(std::move(source));
      return;
    }
    const TensorSource& a = embedding->second;
    const TensorSource& b = output->second;
    if (a.info.dtype == b.info.dtype && std::ranges::equal(a.bytes, b.bytes)) {
      stored_.erase(output);
    } else {
      config_.tie_word_embeddings = false;
      warnings_.push_back(fmt::format(
          "'{}': {} is used as stored, as transformers 5 does, although config.json ties it to "
          "another embedding (transformers 4 uses the embedding); set tie_word_embeddings to false "
          "to keep it, or remove {} to use the embedding",
          where_, b.info.stored_name, b.info.stored_name));
    }
  }

  TensorSources match() && {
    TensorSources found;
    found.has_fused_values = has_fused_values_;
    found.warnings = std::move(warnings_);
    std::vector<std::string> missing;
    std::set<std::string> used;
    for (const ParameterSpec& spec : parameter_specs(config_)) {
      if (const auto quantized = quantized_.find(spec.name); quantized != quantized_.end()) {
        found.by_name.insert(*quantized);
        continue;
      }
      const auto place = stored_.find(spec.stored.name);
      if (place == stored_.end()) {
        if (used.insert(spec.stored.name).second) missing.push_back(spec.stored.name);
        continue;
      }
      used.insert(spec.stored.name);
      TensorSource source = place->second;
      check_shape(source, spec.stored.shape);
      throw_if<FormatError>(!is_weight_dtype(source.info.dtype),
                            "'{}': tensor '{}' must be F64, F32, F16 or BF16, got {}", where_,
                            source.info.stored_name, dtype_name(source.info.dtype));
      if (source.place.name.empty()) source.place = spec.stored;
      source.info.name = spec.name;
      source.info.shape = spec.shape;
      found.by_name.emplace(spec.name, std::move(source));
    }
    for (const std::string& name : used) stored_.erase(name);
    std::vector<std::string> unexpected;
    for (const auto& [name, source] : stored_) unexpected.push_back(source.info.stored_name);
    if (missing.empty() && unexpected.empty()) return found;
    throw FormatError("'{}': the tensors must be those of {}, got{}{}{}", where_, described_in_,
                      missing.empty() ? "" : " missing " + list_names(missing),
                      missing.empty() || unexpected.empty() ? "" : " and",
                      unexpected.empty() ? "" : " unexpected " + list_names(unexpected));
  }

 private:
  void add(TensorSource source) {
    const std::string name = source.info.name;
    const std::string stored_name = source.info.stored_name;
    const auto [place, is_new] = stored_.emplace(name, std::move(source));
    if (is_new) return;
    throw FormatError("'{}': the tensors '{}' and '{}' both map to '{}'", where_,
                      printable(place->second.info.stored_name, 120), printable(stored_name, 120),
                      printable(name, 120));
  }

  /// Adds a parameter that is part of a stored tensor.
  void add_part(TensorSource whole, const ParameterSpec& spec, const StoredPlace& place) {
    whole.info.name = spec.stored.name;
    whole.info.shape = spec.stored.shape;
    whole.place = place;
    add(std::move(whole));
  }

  /// Adds an expert of gpt-oss from `_blocks` [E, rows, columns / 32, 16] and `_scales`, whose rows
  /// are the columns of the unquantised tensor.
  void add_quantized(const ParameterSpec& spec, const StoredPlace& place,
                     std::set<std::string>& used) {
    const auto blocks = stored_.find(place.name + "_blocks");
    const auto scales = stored_.find(place.name + "_scales");
    if (blocks == stored_.end() || scales == stored_.end()) return;
    constexpr std::int64_t kBlock = 32;
    const std::int64_t columns = spec.shape.back();
    throw_if<FormatError>(columns % kBlock != 0,
                          "'{}': tensor '{}' must have rows of whole blocks of {} elements, got {}",
                          where_, printable(blocks->second.info.stored_name, 120), kBlock, columns);
    const Shape groups = {place.shape[0], place.shape[2], columns / kBlock};
    check_bytes(scales->second, groups);
    check_bytes(blocks->second, {groups[0], groups[1], groups[2], kBlock / 2});
    used.insert({blocks->first, scales->first});
    TensorSource source = blocks->second;
    source.exponents = scales->second.bytes;
    source.info.dtype = Dtype::kMXFP4;
    source.info.name = spec.name;
    source.info.shape = spec.shape;
    source.place = {.name = place.name,
                    .shape = spec.shape,
                    .offset = spec.expert * place.shape[2] * columns +
                              (spec.part == Part::kExpertUp ? columns : 0),
                    .row_stride = place.row_stride * columns};
    quantized_.emplace(spec.name, std::move(source));
  }

  void check_bytes(const TensorSource& source, const Shape& expected) const {
    check_shape(source, expected);
    throw_if<FormatError>(source.info.dtype != Dtype::kU8, "'{}': tensor '{}' must be U8, got {}",
                          where_, printable(source.info.stored_name, 120),
                          dtype_name(source.info.dtype));
  }

  /// The first half of the rows are keys, the second values; in each half the head runs fastest.
  void split(const TensorSource& fused, const std::string& prefix) {
    const std::int64_t rows = config_.num_key_value_heads * config_.head_dim;
    check_shape(fused, {2 * rows, config_.hidden_size});
    TensorSource part = fused;
    part.info.shape = {rows, config_.hidden_size};
    part.place = {.name = fused.info.stored_name,
                  .shape = fused.info.shape,
                  .heads = config_.num_key_value_heads,
                  .head_stride = config_.hidden_size,
                  .row_stride = config_.num_key_value_heads * config_.hidden_size};
    part.info.name = prefix + "k_proj.weight";
    add(part);
    part.info.name = prefix + "v_proj.weight";
    part.place.offset = rows * config_.hidden_size;
    add(part);
  }

  void check_shape(const TensorSource& source, const Shape& expected) const {
    if (source.info.shape == expected) return;
    throw FormatError("'{}': tensor '{}' must have the shape {} according to {}, got {}{}", where_,
                      printable(source.info.stored_name, 120), shape_text(expected), described_in_,
                      shape_text(source.info.shape), head_hint(source));
  }

  /// For a tensor whose rows depend on num_key_value_heads: which number its shape would fit. The
  /// released train.py trains with as many key-value heads as heads, whatever the config is.
  std::string head_hint(const TensorSource& source) const {
    const std::string& name = source.info.name;
    const Shape& shape = source.info.shape;
    if (shape.size() != 2 || shape.back() != config_.hidden_size) return "";
    const bool separate = name.ends_with("k_proj.weight") || name.ends_with("v_proj.weight");
    if (!separate && !is_fused(name)) return "";
    const std::int64_t per_head = (is_fused(name) ? 2 : 1) * config_.head_dim;
    if (shape.front() % per_head != 0) return "";
    return fmt::format("; it would fit num_key_value_heads = {}, {} has {}",
                       shape.front() / per_head, described_in_, config_.num_key_value_heads);
  }

  ModelConfig& config_;
  std::string_view where_;
  std::string_view described_in_;
  StoredTensors stored_;
  StoredTensors quantized_;  // experts, by the name of the parameter
  bool has_fused_values_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace

std::string canonical_tensor_name(std::string_view stored_name) {
  constexpr std::string_view kCompiled = "_orig_mod.";
  constexpr std::string_view kParallel = "module.";
  std::string name;
  for (std::string_view rest = stored_name; !rest.empty();) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot == rest.npos ? dot : dot + 1);
    rest.remove_prefix(part.size());
    const bool dropped = part == kCompiled || (part == kParallel && name.empty());
    if (!dropped) name += part;
  }
  return name;
}

TensorSources locate_tensors(std::span<const TensorView> stored, ModelConfig& config,
                             std::string_view where, std::string_view described_in) {
  Locator locator(config, where, described_in);
  locator.collect(stored);
  locator.complete_prefixes();
  locator.recognise_lime();
  locator.recognise_hyper_connections();
  locator.recognise_attn_res();
  locator.split_fused();
  locator.split_experts();
  locator.resolve_head();
  return std::move(locator).match();
}

}  // namespace lime
