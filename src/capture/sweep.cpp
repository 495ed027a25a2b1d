// SPDX-License-Identifier: Apache-2.0
#include "capture/sweep.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "capture/capture_sizes.h"
#include "capture/log_likelihood.h"
#include "checkpoint/parameters.h"
#include "checkpoint/router_layout.h"
#include "core/errors.h"
#include "model/passes/forward_pass.h"
#include "model/passes/output_head.h"

namespace lime {
namespace {

/// Returns every route, or every pair of layers that is connected by routes.
std::vector<SweepItem> route_items(const ModelConfig& config, bool each_head) {
  check_router_edits({RouterEdit{}}, config);
  const std::int64_t heads = config.num_key_value_heads;
  std::vector<SweepItem> items;
  for (std::int64_t layer = 1; layer < config.num_hidden_layers; ++layer) {
    for (const std::int64_t source : router_sources(config.lime, layer)) {
      for (std::int64_t route = 0; route < (each_head ? heads * heads : 1); ++route) {
        const std::int64_t head = route / heads;
        const std::int64_t other = route % heads;
        if (each_head && !config.lime.head_mixing && head != other) continue;
        SweepItem& item = items.emplace_back();
        RouterEdit& edit = item.edits.routes.emplace_back();
        edit.layer = layer;
        edit.source = source;
        item.key = {{col::kPart, "route"}, {col::kLayer, layer}, {col::kSource, source}};
        item.first_layer = static_cast<int>(layer);
        if (!each_head) continue;
        edit.head = head;
        edit.source_head = other;
        item.key.add({{col::kHead, head}, {col::kSourceHead, other}});
      }
    }
  }
  return items;
}

void add_layer(SweepOver over, const std::string& operation, const ModelConfig& config,
               std::int64_t positions, int layer, std::vector<SweepItem>& items) {
  const auto add = [&](const char* part, const std::vector<std::string>& sites,
                       const std::string& rest = "") -> ResultRow& {
    std::vector<std::string> texts;
    for (const std::string& site : sites) {
      texts.push_back(fmt::format("{} {} layers={}{}", operation, site, layer, rest));
    }
    SweepItem& item = items.emplace_back();
    item.edits = read_edits(texts);
    check_edits(item.edits, config);
    item.first_layer = layer;
    return item.key = {{col::kPart, part},
                       {col::kLayer, layer},
                       {col::kEdit, fmt::format("{}", fmt::join(texts, "; "))}};
  };
  if (over == SweepOver::kLayers) add("layer", {"hook_attn_out", "hook_mlp_out"});
  if (over == SweepOver::kSublayers) add("attention", {"hook_attn_out"});
  if (over == SweepOver::kSublayers) add("mlp", {"hook_mlp_out"});
  for (int h = 0; over == SweepOver::kHeads && h < config.num_attention_heads; ++h) {
    add("head", {"attn.hook_z"}, fmt::format(" heads={}", h)).set(col::kHead, h);
  }
  for (int p = 0; over == SweepOver::kPositions && p < positions; ++p) {
    add("position", {"hook_resid_pre"}, fmt::format(" positions={}", p)).set(col::kPosition, p);
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
    for (const HookPoint& point : hooks.points_of(edit)) begin_at(point.layer);
  }
  if (!texts.empty()) item.key.set(col::kEdit, texts);
  for (const RouterEdit& edit : edits.routes) begin_at(edit.layer.value_or(1));
  return item;
}

/// Scales routers, and restores their weights at the end.
class ScopedRoutes {
 public:
  using Routers = std::vector<std::pair<std::int64_t, at::Tensor>>;

  ScopedRoutes(const std::vector<RouterEdit>& edits, const Routers& routers, const Decoder& decoder)
      : routers_(routers) {
    if (edits.empty()) return;
    for (const auto& router : routers_) originals_.push_back(router.second.clone());
    apply_router_edits(edits, decoder);
  }
  ~ScopedRoutes() {
    for (std::size_t i = 0; i < originals_.size(); ++i) routers_[i].second.copy_(originals_[i]);
  }
  ScopedRoutes(const ScopedRoutes&) = delete;
  ScopedRoutes& operator=(const ScopedRoutes&) = delete;

  /// Returns the sum of change times gradient.
  double change_along(const std::vector<at::Tensor>& gradients) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < originals_.size(); ++i) {
      if (!gradients[i].defined()) continue;
      sum += ((routers_[i].second - originals_[i]) * gradients[i]).sum().item<double>();
    }
    return sum;
  }

 private:
  const Routers& routers_;
  std::vector<at::Tensor> originals_;
};

}  // namespace

std::vector<SweepItem> sweep_items(SweepOver over, const ModelEdits& edits,
                                   const std::string& operation, const ModelConfig& config,
                                   std::int64_t positions) {
  if (over == SweepOver::kEdits) return {item_of(edits, config)};
  const bool each_head = over == SweepOver::kHeadRoutes;
  if (each_head || over == SweepOver::kRoutes) return route_items(config, each_head);
  std::vector<SweepItem> items;
  for (int layer = 0; layer < config.num_hidden_layers; ++layer) {
    add_layer(over, operation, config, positions, layer, items);
  }
  return items;
}

/// State of measure().
struct Sweep::Batch {
  /// An activation and its gradient.
  struct Probe {
    at::Tensor x;
    at::Tensor change;
  };

  std::vector<std::int64_t> sequences;
  std::vector<std::int64_t> lengths;
  std::vector<double> scored;  ///< tokens whose loss is computed
  at::Tensor ids;
  std::map<HookPoint, Probe> probes;
  std::vector<std::vector<at::Tensor>> route_gradients;  ///< of each sequence and router
  SweepResult result;
};

Sweep::Sweep(const Decoder& decoder, const CaptureInput& input, std::vector<SweepItem> items)
    : decoder_(decoder), input_(input), items_(std::move(items)) {
  const ModelConfig& config = decoder.config();
  check_option(decoder.stages().size() == 1, "device", "one device", decoder.stages().size());
  const auto has_routes = [](const SweepItem& item) { return !item.edits.routes.empty(); };
  if (std::ranges::none_of(items_, has_routes)) return;
  for (std::int64_t layer = 1; layer < config.num_hidden_layers; ++layer) {
    const auto name = layer_parameter(config, layer, "self_attn.lime_router.static_weights");
    routers_.emplace_back(layer, decoder.parameter(name));
  }
}

double Sweep::saving() const {
  const auto layers = static_cast<double>(decoder_.config().num_hidden_layers);
  double run = layers;
  for (const SweepItem& item : items_) run += layers - item.first_layer;
  return 1.0 - run / (layers * static_cast<double>(items_.size() + 1));
}

void Sweep::score(const at::Tensor& hidden, Eigen::Index row, Batch& batch) const {
  const auto scores = score_each_token(decoder_, hidden, input_, batch.sequences);
  for (std::size_t s = 0; s < scores.size(); ++s) {
    const auto column = static_cast<Eigen::Index>(s);
    for (const TokenScore& token : scores[s]) {
      batch.result.loss(row, column) -= token.log_probability / batch.scored[s];
      batch.result.logit_difference(row, column) += token.logit_difference / batch.scored[s];
    }
  }
}

void Sweep::run_item(const ForwardPass& state, std::size_t item, Batch& batch) const {
  const SweepItem& own = items_[item];
  const auto row = static_cast<Eigen::Index>(item) + 1;
  const ScopedRoutes routes(own.edits.routes, routers_, decoder_);
  EditHooks edited(own.edits.activations, decoder_.config());
  HookSet hooks;
  const auto registered = edited.attach(hooks);
  edited.begin_batch(batch.sequences, batch.lengths);
  edited.begin_pass(batch.ids, 0);
  attribute(row, edited, batch);
  for (std::size_t s = 0; s < batch.route_gradients.size(); ++s) {
    batch.result.attribution(row, static_cast<Eigen::Index>(s)) +=
        routes.change_along(batch.route_gradients[s]) / batch.scored[s];
  }
  const auto pass = state.fork(&hooks);
  pass->run_layers(
      {own.first_layer, static_cast<int>(decoder_.config().num_hidden_layers) - own.first_layer});
  score(pass->end().hidden, row, batch);
}

SweepResult Sweep::measure(const std::vector<std::int64_t>& sequences,
                           const std::function<void()>& on_item) const {
  Batch batch;
  batch.sequences = sequences;
  batch.ids = batch_ids(input_, sequences);
  for (const std::int64_t s : sequences) {
    batch.lengths.push_back(input_.length(s));
    const auto is_prepended = input_.is_prepended_of(s).subspan(1);
    batch.scored.push_back(static_cast<double>(std::ranges::count(is_prepended, 0)));
    if (batch.scored.back() > 0.0) continue;
    throw InvalidArgument("sweep: sequence {} has no token with a predecessor to score", s);
  }
  const MatrixD zero = MatrixD::Zero(std::ssize(items_) + 1, std::ssize(sequences));
  batch.result = {zero, zero, zero};
  collect_gradients(batch);
  const at::NoGradGuard no_grad;
  Workspace workspace;
  auto state =
      decoder_.begin_pass(batch.ids, {.logits = LogitsFor::kNone, .workspace = &workspace});
  std::size_t item = 0;
  for (int layer = 0; layer < decoder_.config().num_hidden_layers; ++layer) {
    state = state->fork(nullptr);
    for (; item < items_.size() && items_[item].first_layer == layer; ++item) {
      run_item(*state, item, batch);
      on_item();
    }
    state->run_layers({layer, 1});
  }
  score(state->end().hidden, 0, batch);
  return std::move(batch.result);
}

void Sweep::run_backward(std::span<const std::int64_t> sequences, const HookSet* hooks) const {
  const at::Tensor ids = batch_ids(input_, sequences);
  const at::Tensor targets = at::full(ids.sizes(), kIgnoredTarget, at::kLong);
  auto* target = targets.data_ptr<std::int64_t>();
  for (const std::int64_t s : sequences) {
    for (std::int64_t t = 1; t < input_.length(s); ++t) {
      const auto place = static_cast<std::size_t>(t);
      if (input_.is_prepended_of(s)[place] == 0) target[t - 1] = input_.ids_of(s)[place];
    }
    target += ids.size(1);
  }
  decoder_.forward(ids, {.hooks = hooks, .logits = LogitsFor::kNone, .targets = targets})
      .loss.backward();
}

void Sweep::collect_gradients(Batch& batch) const {
  HookSet hooks;
  std::vector<ScopedHook> registered;
  for (const SweepItem& item : items_) {
    const EditHooks own(item.edits.activations, decoder_.config());
    for (const ActivationEdit& edit : own.edits()) {
      for (const HookPoint& point : own.points_of(edit)) {
        if (!batch.probes.try_emplace(point).second) continue;
        registered.push_back(hooks.edit(point, [&](const HookPoint& at, const at::Tensor& x) {
          Batch::Probe& probe = batch.probes.at(at);
          probe = {x.detach(), at::zeros(x.sizes(), x.options()).requires_grad_()};
          return x + probe.change;
        }));
      }
    }
  }
  if (!batch.probes.empty()) {
    // A pass has a graph if a parameter requires gradients: the smallest one.
    const auto size = [](const NamedTensor& parameter) { return parameter.tensor.numel(); };
    const at::Tensor any = std::ranges::min_element(decoder_.parameters(), {}, size)->tensor;
    any.set_requires_grad(true);
    run_backward(batch.sequences, &hooks);
    any.set_requires_grad(false);
    any.mutable_grad() = at::Tensor();
  }
  for (std::size_t s = 0; !routers_.empty() && s < batch.sequences.size(); ++s) {
    for (const auto& [layer, router] : routers_) router.set_requires_grad(true);
    run_backward(std::span(batch.sequences).subspan(s, 1), nullptr);
    std::vector<at::Tensor>& gradients = batch.route_gradients.emplace_back();
    for (const auto& [layer, router] : routers_) {
      gradients.push_back(router.grad());
      router.set_requires_grad(false);
      router.mutable_grad() = at::Tensor();
    }
  }
}

void Sweep::attribute(Eigen::Index row, EditHooks& edited, Batch& batch) const {
  for (const ActivationEdit& edit : edited.edits()) {
    for (const HookPoint& point : edited.points_of(edit)) {
      const Batch::Probe& probe = batch.probes.at(point);
      if (!probe.change.defined() || !probe.change.grad().defined()) continue;
      const at::Tensor change = (edited.edited(edit, point, probe.x) - probe.x).to(at::kDouble);
      const at::Tensor sums = (change * probe.change.grad()).flatten(1).sum(1).to(at::kCPU);
      for (std::size_t s = 0; s < batch.scored.size(); ++s) {
        batch.result.attribution(row, static_cast<Eigen::Index>(s)) +=
            sums.data_ptr<double>()[s] / batch.scored[s];
      }
    }
  }
}

}  // namespace lime
