// SPDX-License-Identifier: Apache-2.0
#include "model/gauge/gauge_weights.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <map>
#include <string>

namespace lime {

void permute_along(at::Tensor tensor, std::int64_t axis, const at::Tensor& order) {
  if (tensor.defined()) tensor.copy_(tensor.index_select(axis, order));
}

void GaugeProjection::multiply_outputs(const at::Tensor& factors) const {
  for (const at::Tensor& tensor : {weight, bias}) {
    if (!tensor.defined()) continue;
    at::Tensor(tensor).mul_(tensor.dim() == 2 ? factors.unsqueeze(1) : factors);
  }
}

void GaugeProjection::divide_inputs(const at::Tensor& factors) const {
  if (weight.defined()) at::Tensor(weight).div_(factors);
}

void GaugeProjection::permute_outputs(const at::Tensor& order) const {
  permute_along(weight, 0, order);
  permute_along(bias, 0, order);
}

void GaugeProjection::permute_inputs(const at::Tensor& order) const {
  permute_along(weight, 1, order);
}

GaugeWeights::GaugeWeights(const Checkpoint& checkpoint) : config_(checkpoint.config()) {
  for (ParameterSpec& spec : parameter_specs(config_)) {
    const at::Tensor tensor = at::empty(spec.shape, at::TensorOptions(at::kDouble));
    checkpoint.read(spec.name,
                    std::span(tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())));
    entries_.push_back({std::move(spec), tensor});
  }
}

GaugeWeights::GaugeWeights(const Decoder& decoder) : config_(decoder.config()) {
  const at::NoGradGuard no_grad;
  for (ParameterSpec& spec : parameter_specs(config_)) {
    const at::Tensor from = decoder.parameter(spec.name);
    const at::Tensor tensor = at::empty(from.sizes(), at::TensorOptions(at::kDouble));
    tensor.copy_(from);
    entries_.push_back({std::move(spec), tensor});
  }
}

at::Tensor GaugeWeights::find(Part part, std::int64_t layer, int index, std::int64_t expert) const {
  for (const Entry& entry : entries_) {
    const ParameterSpec& spec = entry.spec;
    if (spec.part == part && spec.layer == layer && spec.index == index && spec.expert == expert) {
      return entry.tensor;
    }
  }
  return {};
}

GaugeProjection GaugeWeights::projection(Part part, std::int64_t layer, std::int64_t expert) const {
  return {find(part, layer, 0, expert), find(part, layer, 1, expert)};
}

void GaugeWeights::untie_head() {
  if (!config_.tie_word_embeddings || !config_.has_head) return;
  std::map<std::string, at::Tensor> tensors;
  for (const Entry& entry : entries_) tensors[entry.spec.name] = entry.tensor;
  const at::Tensor head = find(Part::kEmbedding).clone();
  config_.tie_word_embeddings = false;
  entries_.clear();
  for (ParameterSpec& spec : parameter_specs(config_)) {
    const auto found = tensors.find(spec.name);
    const at::Tensor tensor = found != tensors.end() ? found->second : head;
    entries_.push_back({std::move(spec), tensor});
  }
}

Decoder GaugeWeights::decoder() const {
  const at::NoGradGuard no_grad;
  Decoder decoder(config_, 0, {.dtype = ComputeType::kFloat64});
  for (const Entry& entry : entries_) {
    at::Tensor(decoder.parameter(entry.spec.name)).copy_(entry.tensor);
  }
  return decoder;
}

}  // namespace lime
