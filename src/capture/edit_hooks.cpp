// SPDX-License-Identifier: Apache-2.0
#include "capture/edit_hooks.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <numeric>

#include "core/random.h"

namespace lime {

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
