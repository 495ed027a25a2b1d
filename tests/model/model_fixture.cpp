// SPDX-License-Identifier: Apache-2.0
#include "model/model_fixture.h"

#include <torch/torch.h>

#include <limits>

#include "core/random.h"
#include "store/hdf5_file.h"

namespace lime::testing {

ModelConfig small_config(DecoderKind kind) {
  ModelConfig config;
  config.decoder = kind;
  config.vocab_size = 31;
  config.hidden_size = 24;
  config.intermediate_size = 40;
  config.num_hidden_layers = 3;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 6;
  if (kind == DecoderKind::kMistral) config.sliding_window = 5;
  if (kind == DecoderKind::kQwen2) config.qkv_bias = true;
  return config;
}

Decoder lively_decoder(const ModelConfig& config, const DecoderOptions& options) {
  Decoder decoder(config, 7, options);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : decoder.parameters()) {
    if (name.find("lime_router") != std::string::npos) continue;
    if (tensor.dim() == 2) tensor.mul_(10.0);
    if (tensor.dim() == 1) {
      tensor.add_(torch::linspace(-0.4, 0.4, tensor.numel(), tensor.options()));
    }
  }
  return decoder;
}

DecoderOptions in_double() { return {.dtype = ComputeType::kFloat64}; }

at::Tensor some_ids(std::int64_t batch, std::int64_t seq, std::int64_t vocab) {
  Random random(3);
  at::Tensor ids = torch::empty({batch, seq}, torch::kLong);
  std::int64_t* const data = ids.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    data[i] = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(vocab)));
  }
  return ids;
}

at::Tensor golden_tensor(const std::filesystem::path& file, const std::string& dataset) {
  const Hdf5File h5(file);
  const std::vector<std::int64_t> shape = h5.shape(dataset);
  if (!h5.is_float(dataset)) {
    std::vector<std::int64_t> values = h5.read<std::int64_t>(dataset);
    return torch::from_blob(values.data(), shape, torch::kLong).clone();
  }
  std::vector<double> values = h5.read<double>(dataset);
  return torch::from_blob(values.data(), shape, torch::kDouble).clone();
}

double max_difference(const at::Tensor& a, const at::Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.sizes() != b.sizes()) return kInfinity;
  const at::Tensor difference = (a.to(torch::kDouble) - b.to(torch::kDouble)).abs();
  if (!difference.isfinite().all().item<bool>()) return kInfinity;
  return difference.numel() == 0 ? 0.0 : difference.max().item<double>();
}

std::map<std::string, at::Tensor> activations(const Decoder& decoder, const at::Tensor& ids,
                                              const std::vector<std::string>& patterns,
                                              ForwardOptions options) {
  std::map<std::string, at::Tensor> found;
  HookSet hooks;
  std::vector<ScopedHook> readers;
  const auto num_layers = static_cast<int>(decoder.config().num_hidden_layers);
  for (const std::string& pattern : patterns) {
    for (const HookPoint& point : match_hook_points(pattern, num_layers)) {
      readers.push_back(hooks.read(point, [&](const HookPoint& at, const at::Tensor& activation) {
        found[hook_name(at)] = activation.clone();
      }));
    }
  }
  options.hooks = &hooks;
  decoder.forward(ids, options);
  return found;
}

}  // namespace lime::testing
