// SPDX-License-Identifier: Apache-2.0
#include "capture/edit_hooks.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "checkpoint/router_layout.h"
#include "core/random.h"

namespace lime {

std::vector<HookPoint> EditHooks::points_of(const ActivationEdit& edit) const {
  std::vector<HookPoint> points;
  for (int layer = 0; layer < config_.num_hidden_layers; ++layer) {
    const bool is_last = layer + 1 == config_.num_hidden_layers;
    for (const HookKind kind : edit.kinds) {
      if (!edit.layers.contains(layer) || !has_hook(config_, {kind, layer})) continue;
      // The final norm reads once, after the last layer.
      if (is_per_layer(kind)) points.push_back({kind, layer});
      if (!is_per_layer(kind) && is_last) points.push_back({kind, 0});
    }
  }
  return points;
}

std::vector<ScopedHook> EditHooks::attach(HookSet& hooks) {
  hooks.on_begin([this](const at::Tensor& ids, std::int64_t cached) { begin_pass(ids, cached); });
  std::vector<ScopedHook> registered;
  for (const ActivationEdit& edit : edits_) {
    for (const HookPoint& point : points_of(edit)) {
      if (point.kind == HookKind::kExpertWeights) {
        registered.push_back(hooks.read(
            {HookKind::kExpertIndices, point.layer},
            [this](const HookPoint& place, const at::Tensor& x) { set_choice(place.layer, x); }));
      }
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

at::Tensor EditHooks::mask_of(const ActivationEdit& edit, const HookPoint& point,
                              const at::Tensor& x) const {
  const bool is_pattern = point.kind == HookKind::kPattern;  // [batch, heads, queries, keys]
  at::Tensor mask = mask_of(edit.positions, edit.tokens).unsqueeze(is_pattern ? 1 : 2);
  if (x.dim() == 4) mask = mask.unsqueeze(3);
  // Keeps the numbers whose place along a dimension is selected.
  const auto select = [&](std::int64_t dim, const auto& is_selected) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
    sizes[static_cast<std::size_t>(dim)] = x.size(dim);
    const at::Tensor places = at::zeros(sizes, at::kBool);
    for (int i = 0; i < x.size(dim); ++i) places.data_ptr<bool>()[i] = is_selected(i);
    mask = mask.logical_and(places);
  };
  const auto select_in = [&](std::int64_t dim, const LayerSelection& selection) {
    if (!selection.is_all()) select(dim, [&](int i) { return selection.contains(i); });
  };
  select_in(is_pattern ? 1 : 2, edit.heads);
  if (point.kind == HookKind::kStreams) select_in(2, edit.streams);
  if (point.kind == HookKind::kRouterLogits) select_in(2, edit.experts);
  if (is_part_of_depth_weights(point.kind)) select_in(3, edit.sources);
  if (point.kind == HookKind::kAttnDepthWeights && !edit.reads.empty()) {
    const std::vector<std::string_view> reads = depth_reads(config_, point.layer);
    select(2, [&](int i) {
      return std::ranges::find(edit.reads, reads[static_cast<std::size_t>(i)]) != edit.reads.end();
    });
  }
  if (point.kind == HookKind::kRoute) {
    const auto heads = static_cast<int>(x.size(3) / (point.layer + 1));
    select(3, [&](int i) {
      return edit.sources.contains(i / heads) && edit.source_heads.contains(i % heads);
    });
  }
  if (point.kind == HookKind::kExpertWeights && !edit.experts.is_all()) {
    const at::Tensor indices = choices_.at(point.layer).to(at::kCPU, at::kLong).contiguous();
    const at::Tensor selected = at::zeros(indices.sizes(), at::kBool);
    for (std::int64_t i = 0; i < indices.numel(); ++i) {
      selected.data_ptr<bool>()[i] =
          edit.experts.contains(static_cast<int>(indices.data_ptr<std::int64_t>()[i]));
    }
    mask = mask.logical_and(selected);
  }
  return mask;
}

at::Tensor EditHooks::edited(const ActivationEdit& edit, const HookPoint& point,
                             const at::Tensor& x) {
  const at::Tensor mask = mask_of(edit, point, x);
  const at::Tensor result = at::where(
      mask.to(x.device()), replacement(edit, point, x).to(x.device(), x.scalar_type()), x);
  if (edit.operation != EditOperation::kMask) return result;
  const std::int64_t needed = config_.spec.experts->num_experts_per_tok;
  const auto left = result.isfinite().sum(-1).min().item<std::int64_t>();
  throw_if(left < needed,
           "edit '{}': leaves {} of {} experts to a token in layer {}, but each token selects {}; "
           "mask fewer, or zero mlp.hook_expert_weights",
           edit.text, left, x.size(-1), point.layer, needed);
  return result;
}

at::Tensor EditHooks::replacement(const ActivationEdit& edit, const HookPoint& point,
                                  const at::Tensor& x) {
  switch (edit.operation) {
    case EditOperation::kScale: return x * edit.factor;
    case EditOperation::kMask:
      return at::scalar_tensor(-std::numeric_limits<double>::infinity(), x.options());
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
                      .fork(random_stream(point))
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
  const bool generates = lengths_.empty();
  if (generates && cached_ >= prompt_) return x;
  const CaptureReader& from = capture(edit);
  at::Tensor patch = generates ? x.to(at::kCPU, at::kDouble).contiguous().clone()
                               : at::zeros(x.sizes(), at::kDouble);
  for (std::int64_t s = 0; s < x.size(0); ++s) {
    const std::int64_t sequence = sequences_[static_cast<std::size_t>(s)];
    const std::int64_t tokens = generates ? prompt_ : length(s);
    MatrixF rows;
    if (sequence < from.num_sequences()) {
      rows = from.read_sequence(edit.site, point.layer, sequence);
    }
    const std::int64_t count = std::min(tokens - cached_, length(s));
    const at::Tensor own = patch[s].narrow(0, 0, count);
    if (rows.rows() != tokens || rows.cols() != own.numel() / count) {
      throw InvalidArgument(
          "edit '{}': sequence {} has {} tokens of {} values, '{}' contains {} of {}; capture all "
          "tokens of texts of the same lengths with this model",
          edit.text, sequence, tokens, own.numel() / count, edit.from.string(), rows.rows(),
          rows.cols());
    }
    std::copy_n(rows.data() + cached_ * rows.cols(), count * rows.cols(), own.data_ptr<double>());
  }
  return patch;
}

}  // namespace lime
