// SPDX-License-Identifier: Apache-2.0
#include "capture/sweep.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "capture/capture_sizes.h"
#include "capture/scores.h"
#include "model/passes/forward_pass.h"
#include "model/passes/output_head.h"

namespace lime {
namespace {

/// Creates the intervention of the edit `texts` on a component of a layer.
SweepItem component(const char* part, int layer, const std::vector<std::string>& texts,
                    const ModelConfig& config) {
  SweepItem item{read_edits(texts), {{col::kPart, part}, {col::kLayer, layer}}, layer};
  check_edits(item.edits, config);
  if (item.edits.routes.empty())
    item.key.set(col::kEdit, fmt::format("{}", fmt::join(texts, "; ")));
  return item;
}

/// Adds the weights with which a layer reads other layers.
void add_depth_weights(const std::string& operation, const ModelConfig& config, int layer,
                       std::vector<SweepItem>& items) {
  const auto add_route = [&](const char* site, const std::vector<std::int64_t>& sources) {
    for (std::size_t i = 0; layer > 0 && sources.size() > 1 && i < sources.size(); ++i) {
      const std::string text =
          fmt::format("{} {} layers={} sources={}", operation, site, layer, sources[i]);
      items.push_back(component("route", layer, {text}, config));
      items.back().key.set(col::kSource, sources[i]);
    }
  };
  switch (config.routing) {
    case DepthRouting::kLime:
      if (config.lime.router == RouterKind::kNone) break;
      return add_route(has_static_router(config, 1) ? "route" : "attn.hook_route",
                       router_sources(config.lime, layer));
    case DepthRouting::kDepthAttention:
      return add_route("attn.hook_route", depth_attention_sources(config, layer));
    case DepthRouting::kResFormer:
      // SVFormer reads the values of layer 0 only.
      return add_route("attn.hook_route", {0, layer});
    default: break;
  }
  for (const std::string_view read : depth_reads(config, layer)) {
    const std::int64_t sources = num_sources_read(config, read, layer);
    for (std::int64_t source = 0; source < sources; ++source) {
      const std::string text = fmt::format("{} hook_depth_weights layers={} reads={} sources={}",
                                           operation, layer, read, source);
      items.push_back(component("depth-weight", layer, {text}, config));
      items.back().key.add({{col::kRead, std::string(read)}, {col::kSource, source}});
    }
  }
}

void add_experts(const std::string& operation, const ModelConfig& config, int layer,
                 std::vector<SweepItem>& items) {
  const ExpertsSpec* const spec = config.spec.experts_of(layer);
  const char* const site =
      operation == "mask" ? "mlp.hook_router_logits" : "mlp.hook_expert_weights";
  for (std::int64_t expert = 0; spec != nullptr && expert < spec->num_experts; ++expert) {
    const std::string text =
        fmt::format("{} {} layers={} experts={}", operation, site, layer, expert);
    items.push_back(component("expert", layer, {text}, config));
    items.back().key.set(col::kExpert, expert);
  }
}

/// Adds the ablation of each stream, of all others, which leaves it alone, and of all.
void add_streams(const std::string& operation, const ModelConfig& config, int layer,
                 std::vector<SweepItem>& items) {
  const auto count = static_cast<int>(num_streams(config));
  const std::string edit = fmt::format("{} hook_streams layers={}", operation, layer);
  for (int stream = 0; stream < count; ++stream) {
    items.push_back(
        component("stream", layer, {fmt::format("{} streams={}", edit, stream)}, config));
    items.back().key.set(col::kStream, stream);
  }
  for (int stream = 0; stream < count; ++stream) {
    std::vector<int> others;
    for (int other = 0; other < count; ++other) {
      if (other != stream) others.push_back(other);
    }
    items.push_back(component(
        "rescue", layer, {fmt::format("{} streams={}", edit, fmt::join(others, ","))}, config));
    items.back().key.set(col::kStream, stream);
  }
  items.push_back(component("streams", layer, {edit}, config));
}

/// Adds the interventions on the components of a layer.
void add_layer(SweepOver over, const std::string& operation, const ModelConfig& config,
               std::int64_t positions, int layer, std::vector<SweepItem>& items) {
  using enum SweepOver;
  if (over == kDepthWeights) add_depth_weights(operation, config, layer, items);
  if (over == kExperts) add_experts(operation, config, layer, items);
  if (over == kStreams) add_streams(operation, config, layer, items);
  const auto add = [&](const char* part, const std::vector<std::string>& sites,
                       const std::string& rest = "") -> ResultRow& {
    std::vector<std::string> texts;
    for (const std::string& site : sites) {
      texts.push_back(fmt::format("{} {} layers={}{}", operation, site, layer, rest));
    }
    return items.emplace_back(component(part, layer, texts, config)).key;
  };
  if (over == kLayers) add("layer", {"hook_attn_out", "hook_mlp_out"});
  if (over == kSublayers) add("attention", {"hook_attn_out"});
  if (over == kSublayers) add("mlp", {"hook_mlp_out"});
  for (int h = 0; over == kHeads && h < config.num_attention_heads; ++h) {
    add("head", {"attn.hook_z"}, fmt::format(" heads={}", h)).set(col::kHead, h);
  }
  for (int p = 0; over == kPositions && p < positions; ++p) {
    add("position", {"hook_resid_pre"}, fmt::format(" positions={}", p)).set(col::kPosition, p);
  }
  if ((over != kRoutes && over != kHeadRoutes) || layer == 0) return;
  const std::int64_t heads = over == kHeadRoutes ? config.num_key_value_heads : 1;
  for (const std::int64_t source : router_sources(config.lime, layer)) {
    for (std::int64_t route = 0; route < heads * heads; ++route) {
      const std::int64_t head = route / heads;
      const std::int64_t other = route % heads;
      if (over == kRoutes) {
        add("route", {"route"}, fmt::format(" sources={}", source)).set(col::kSource, source);
      } else if (config.lime.head_mixing || head == other) {
        add("route", {"route"},
            fmt::format(" sources={} heads={} source_heads={}", source, head, other))
            .add({{col::kSource, source}, {col::kHead, head}, {col::kSourceHead, other}});
      }
    }
  }
}

SweepItem item_of(const ModelEdits& edits, const ModelConfig& config) {
  check_edits(edits, config);
  SweepItem item{edits, {{col::kPart, "edits"}}, static_cast<int>(config.num_hidden_layers)};
  const auto begin_at = [&](std::int64_t layer) {
    item.first_layer = std::min(item.first_layer, static_cast<int>(layer));
  };
  const EditHooks hooks(edits.activations, config);
  std::string texts;
  for (const ActivationEdit& edit : hooks.edits()) {
    texts += (texts.empty() ? "" : "; ") + edit.text;
    for (const HookPoint& point : hooks.points_of(edit)) {
      begin_at(is_per_layer(point.kind) ? point.layer : config.num_hidden_layers - 1);
    }
  }
  if (!texts.empty()) item.key.set(col::kEdit, texts);
  for (const RouterEdit& edit : edits.routes) begin_at(edit.layer.value_or(1));
  return item;
}

/// Scales routers, and restores their weights at the end.
class ScopedRoutes {
 public:
  ScopedRoutes(const std::vector<RouterEdit>& edits, const std::vector<at::Tensor>& routers,
               const Decoder& decoder)
      : routers_(routers) {
    if (edits.empty()) return;
    for (const at::Tensor& router : routers_) originals_.push_back(router.clone());
    apply_router_edits(edits, decoder);
  }
  ~ScopedRoutes() {
    for (std::size_t i = 0; i < originals_.size(); ++i) routers_[i].copy_(originals_[i]);
  }
  ScopedRoutes(const ScopedRoutes&) = delete;
  ScopedRoutes& operator=(const ScopedRoutes&) = delete;

  /// Returns the sum of change times gradient.
  double change_along(const std::vector<at::Tensor>& gradients) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < originals_.size(); ++i) {
      if (!gradients[i].defined()) continue;
      sum += ((routers_[i] - originals_[i]) * gradients[i]).sum().item<double>();
    }
    return sum;
  }

 private:
  const std::vector<at::Tensor>& routers_;
  std::vector<at::Tensor> originals_;
};

}  // namespace

bool SweepItem::has_estimate() const {
  return std::ranges::none_of(edits.activations, [](const ActivationEdit& edit) {
    return edit.operation == EditOperation::kMask;
  });
}

std::vector<SweepItem> sweep_items(SweepOver over, const ModelEdits& edits,
                                   const std::string& operation, const ModelConfig& config,
                                   std::int64_t positions) {
  if (over == SweepOver::kEdits) return {item_of(edits, config)};
  const bool is_routes = over == SweepOver::kRoutes || over == SweepOver::kHeadRoutes;
  if (is_routes) check_router_edits({RouterEdit{}}, config);
  throw_if(over == SweepOver::kExperts && !config.spec.experts, OptionName("over"),
           "'{}' has no mixture of experts; sweep over layers or sublayers", config.name());
  throw_if(over == SweepOver::kStreams && num_streams(config) == 0, OptionName("over"),
           "'{}' has one residual stream; only hyper_connections and mhc have several",
           config.name());
  std::vector<SweepItem> items;
  for (int layer = 0; layer < config.num_hidden_layers; ++layer) {
    add_layer(over, is_routes ? "zero" : operation, config, positions, layer, items);
  }
  return items;
}

double saved_passes(const std::vector<SweepItem>& items, const ModelConfig& config) {
  std::int64_t saved = 0;
  for (const SweepItem& item : items) saved += item.first_layer;
  return static_cast<double>(saved) /
         static_cast<double>(config.num_hidden_layers * (std::ssize(items) + 1));
}

namespace {

/// What attention and MLP of each layer write to the residual stream, in double.
class WrittenByLayers {
 public:
  /// Registers readers of the layers [first, count); `this` must outlive them.
  std::vector<ScopedHook> attach(HookSet& hooks, int first, int count) {
    layers_.resize(static_cast<std::size_t>(count));
    std::vector<ScopedHook> readers;
    for (int layer = first; layer < count; ++layer) {
      for (const HookKind kind : {HookKind::kAttnOut, HookKind::kMlpOut}) {
        readers.push_back(
            hooks.read({kind, layer}, [this](const HookPoint& point, const at::Tensor& x) {
              at::Tensor& sum = layers_[static_cast<std::size_t>(point.layer)];
              const at::Tensor wide = x.to(at::kDouble, false, /*copy=*/true);
              sum = sum.defined() ? sum + wide : wide;
            }));
      }
    }
    return readers;
  }
  const at::Tensor& of(int layer) const { return layers_[static_cast<std::size_t>(layer)]; }

 private:
  std::vector<at::Tensor> layers_;  // [batch, seq, hidden]
};

/// A pass of some sequences, its gradients and the results.
class SweepBatch {
 public:
  SweepBatch(const Decoder& decoder, const CaptureInput& input, const std::vector<SweepItem>& items,
             const std::vector<std::int64_t>& sequences, bool measures_later)
      : decoder_(decoder),
        input_(input),
        items_(items),
        sequences_(sequences),
        measures_later_(measures_later),
        ids_(batch_ids(input, sequences)) {
    check_option(decoder.stages().size() == 1, "device", "one device", decoder.stages().size());
    for (const std::int64_t s : sequences) {
      lengths_.push_back(input.length(s));
      scored_.push_back(static_cast<double>(input.scored_of(s).size()));
      if (scored_.back() > 0.0) continue;
      throw InvalidArgument("sweep: sequence {} has no token with a predecessor to score", s);
    }
    const MatrixD zero = MatrixD::Zero(std::ssize(items) + 1, std::ssize(sequences));
    result_ = {zero, zero, zero, {}};
    const auto has_routes = [](const SweepItem& item) { return !item.edits.routes.empty(); };
    const ModelConfig& config = decoder.config();
    for (std::int64_t layer = 1;
         std::ranges::any_of(items, has_routes) && layer < config.num_hidden_layers; ++layer) {
      routers_.push_back(decoder.parameter(
          layer_parameter(config, layer, "self_attn.lime_router.static_weights")));
    }
  }

  SweepResult run(const std::function<void()>& on_item) {
    collect_gradients();
    const at::NoGradGuard no_grad;
    Workspace workspace;
    if (measures_later_) measure_original();
    auto state = decoder_.begin_pass(
        ids_,
        {.logits = LogitsFor::kNone, .keeps_sources = edits_sources(), .workspace = &workspace});
    Eigen::Index row = 0;
    for (int layer = 0; layer < decoder_.config().num_hidden_layers; ++layer) {
      state = state->fork(nullptr);
      for (; row < std::ssize(items_) && item(row).first_layer == layer; ++row) {
        run_item(*state, item(row), row + 1);
        on_item();
      }
      state->run_layers({layer, 1});
    }
    score(state->end().hidden, 0);
    return std::move(result_);
  }

 private:
  const SweepItem& item(Eigen::Index row) const { return items_[static_cast<std::size_t>(row)]; }

  void score(const at::Tensor& hidden, Eigen::Index row) {
    const auto scores = score_each_token(decoder_, hidden, input_, sequences_);
    for (std::size_t s = 0; s < scores.size(); ++s) {
      const auto column = static_cast<Eigen::Index>(s);
      for (const TokenScore& token : scores[s]) {
        result_.loss(row, column) -= token.log_probability / scored_[s];
        result_.logit_difference(row, column) += token.logit_difference / scored_[s];
      }
    }
  }

  void run_item(const ForwardPass& state, const SweepItem& own, Eigen::Index row) {
    const ScopedRoutes routes(own.edits.routes, routers_, decoder_);
    EditHooks edited(own.edits.activations, decoder_.config());
    HookSet hooks;
    const auto registered = edited.attach(hooks);
    edited.begin_batch(sequences_, lengths_);
    edited.begin_pass(ids_, 0);
    for (const auto& [layer, choice] : choices_) edited.set_choice(layer, choice);
    attribute(edited, row);
    if (!own.has_estimate()) result_.attribution.row(row).setZero();
    WrittenByLayers written;
    const auto readers = measures_later_ ? written.attach(hooks, own.first_layer, num_layers())
                                         : std::vector<ScopedHook>{};
    for (std::size_t s = 0; s < route_gradients_.size(); ++s) {
      result_.attribution(row, static_cast<Eigen::Index>(s)) +=
          routes.change_along(route_gradients_[s]) / scored_[s];
    }
    const auto pass = state.fork(&hooks);
    const auto layers = static_cast<int>(decoder_.config().num_hidden_layers);
    pass->run_layers({own.first_layer, layers - own.first_layer});
    score(pass->end().hidden, row);
    if (measures_later_) compare_later(written, own.first_layer, row - 1);
  }

  int num_layers() const { return static_cast<int>(decoder_.config().num_hidden_layers); }

  /// Returns true if an intervention replaces weights over depth.
  bool edits_sources() const {
    return std::ranges::any_of(items_, [](const SweepItem& item) {
      return std::ranges::any_of(item.edits.activations, [](const ActivationEdit& edit) {
        const HookKind kind = edit.kinds.front();
        return kind == HookKind::kRoute || is_part_of_depth_weights(kind);
      });
    });
  }

  void measure_original() {
    HookSet hooks;
    const auto readers = original_.attach(hooks, 0, num_layers());
    decoder_.forward(ids_, {.hooks = &hooks, .logits = LogitsFor::kNone});
    result_.later = MatrixD::Zero(std::ssize(items_) * num_layers(), std::ssize(sequences_));
  }

  void compare_later(const WrittenByLayers& written, int first, Eigen::Index item) {
    for (int layer = first; layer < num_layers(); ++layer) {
      const at::Tensor& before = original_.of(layer);
      const at::Tensor change =
          (written.of(layer) - before).norm(2, {2}) / before.norm(2, {2}).clamp_min(1e-30);
      for (std::size_t s = 0; s < lengths_.size(); ++s) {
        result_.later(item * num_layers() + layer, static_cast<Eigen::Index>(s)) =
            change[static_cast<std::int64_t>(s)].narrow(0, 0, lengths_[s]).mean().item<double>();
      }
    }
  }

  /// Runs a backward pass of the summed loss.
  void run_backward(std::span<const std::int64_t> sequences, const HookSet* hooks) const {
    const at::Tensor ids = batch_ids(input_, sequences);
    const at::Tensor targets = at::full(ids.sizes(), kIgnoredTarget, at::kLong);
    auto* target = targets.data_ptr<std::int64_t>();
    for (const std::int64_t s : sequences) {
      for (const std::size_t t : input_.scored_of(s)) target[t - 1] = input_.ids_of(s)[t];
      target += ids.size(1);
    }
    decoder_.forward(ids, {.hooks = hooks, .logits = LogitsFor::kNone, .targets = targets})
        .loss.backward();
  }

  void collect_gradients() {
    HookSet hooks;
    std::vector<ScopedHook> registered;
    for (const SweepItem& item : items_) {
      const EditHooks own(item.edits.activations, decoder_.config());
      for (const ActivationEdit& edit : own.edits()) {
        for (const HookPoint& point : own.points_of(edit)) {
          if (edit.operation == EditOperation::kMask) continue;
          if (!probes_.try_emplace(point).second) continue;
          if (point.kind == HookKind::kExpertWeights) {
            registered.push_back(hooks.read(
                {HookKind::kExpertIndices, point.layer},
                [&](const HookPoint& at, const at::Tensor& x) { choices_[at.layer] = x.clone(); }));
          }
          registered.push_back(hooks.edit(point, [&](const HookPoint& at, const at::Tensor& x) {
            Probe& probe = probes_.at(at);
            probe = {x.detach(), at::zeros(x.sizes(), x.options()).requires_grad_()};
            return x + probe.change;
          }));
        }
      }
    }
    if (!probes_.empty()) {
      // A pass has a graph if a parameter requires gradients: the smallest one.
      const auto size = [](const NamedTensor& parameter) { return parameter.tensor.numel(); };
      const at::Tensor any = std::ranges::min_element(decoder_.parameters(), {}, size)->tensor;
      any.set_requires_grad(true);
      run_backward(sequences_, &hooks);
      any.set_requires_grad(false);
      any.mutable_grad() = at::Tensor();
    }
    for (std::size_t s = 0; !routers_.empty() && s < sequences_.size(); ++s) {
      for (const at::Tensor& router : routers_) router.set_requires_grad(true);
      run_backward(std::span(sequences_).subspan(s, 1), nullptr);
      std::vector<at::Tensor>& gradients = route_gradients_.emplace_back();
      for (const at::Tensor& router : routers_) {
        gradients.push_back(router.grad());
        router.set_requires_grad(false);
        router.mutable_grad() = at::Tensor();
      }
    }
  }

  void attribute(EditHooks& edited, Eigen::Index row) {
    for (const ActivationEdit& edit : edited.edits()) {
      for (const HookPoint& point : edited.points_of(edit)) {
        const auto found = probes_.find(point);
        if (found == probes_.end()) continue;
        const Probe& probe = found->second;
        if (!probe.change.defined() || !probe.change.grad().defined()) continue;
        const at::Tensor change = (edited.edited(edit, point, probe.x) - probe.x).to(at::kDouble);
        const at::Tensor sums = (change * probe.change.grad()).flatten(1).sum(1).to(at::kCPU);
        for (std::size_t s = 0; s < scored_.size(); ++s) {
          result_.attribution(row, static_cast<Eigen::Index>(s)) +=
              sums.data_ptr<double>()[s] / scored_[s];
        }
      }
    }
  }

  struct Probe {
    at::Tensor x;
    at::Tensor change;  ///< 0; its gradient is that of x
  };

  const Decoder& decoder_;
  const CaptureInput& input_;
  const std::vector<SweepItem>& items_;
  const std::vector<std::int64_t>& sequences_;
  const bool measures_later_;
  const at::Tensor ids_;
  std::vector<std::int64_t> lengths_;
  std::vector<double> scored_;  // tokens whose loss is computed
  std::vector<at::Tensor> routers_;
  std::map<HookPoint, Probe> probes_;
  std::map<int, at::Tensor> choices_;  // experts of the original model, by layer
  WrittenByLayers original_;
  std::vector<std::vector<at::Tensor>> route_gradients_;  // of each sequence and router
  SweepResult result_;
};

}  // namespace

SweepResult measure_sweep(const Decoder& decoder, const CaptureInput& input,
                          const std::vector<SweepItem>& items,
                          const std::vector<std::int64_t>& sequences,
                          const std::function<void()>& on_item, bool measures_later) {
  return SweepBatch(decoder, input, items, sequences, measures_later).run(on_item);
}

}  // namespace lime
