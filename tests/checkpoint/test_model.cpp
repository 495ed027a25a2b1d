// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/test_model.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "checkpoint/families/family.h"
#include "checkpoint/parameters.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/weights/safetensors.h"
#include "core/half.h"
#include "core/random.h"
#include "support/test_data.h"

namespace lime::testing {

TensorView TestTensor::view() const {
  return {name, Dtype::kF32, shape, std::as_bytes(std::span(values))};
}

TestTensor& TestModel::at(const std::string& name) {
  for (TestTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::out_of_range(name);
}

void TestModel::remove(const std::string& name) {
  std::erase_if(tensors, [&](const TestTensor& tensor) { return tensor.name == name; });
}

std::vector<TensorView> TestModel::views() const {
  std::vector<TensorView> views;
  for (const TestTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

void TestModel::write(const std::filesystem::path& folder) const {
  write_text(folder / "config.json", config.dump(2));
  write_safetensors(folder / "model.safetensors", views());
}

Json small_config(const std::string& model_type) {
  Json json = {{"model_type", model_type},    {"vocab_size", 11},       {"hidden_size", 16},
               {"intermediate_size", 24},     {"num_hidden_layers", 3}, {"num_attention_heads", 4},
               {"num_key_value_heads", 2},    {"hidden_act", "silu"},   {"rms_norm_eps", 1e-5},
               {"tie_word_embeddings", false}};
  if (model_type == "stablelm") json["partial_rotary_factor"] = 0.5;  // its own is 1 of 4
  const Family* const family = find_family(model_type);
  if (family != nullptr && family->num_experts_key != nullptr) {
    json.update({{"num_experts", 4},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 12},
                 {"shared_expert_intermediate_size", 20}});
  }
  return json;
}

TestModel random_model(const Json& config, std::uint64_t seed) {
  TestModel model{.config = config, .tensors = {}};
  Random random(seed);
  for (ParameterSpec& spec : parameter_specs(parse_model_config(config, "test"))) {
    TestTensor tensor{.name = spec.name, .shape = spec.shape, .values = {}};
    tensor.values.resize(static_cast<std::size_t>(element_count(spec.shape)));
    for (float& value : tensor.values) value = static_cast<float>(random.normal());
    model.tensors.push_back(std::move(tensor));
  }
  return model;
}

TestModel official_layout(const TestModel& lime) {
  TestModel official = lime;
  official.config["model_type"] = "llama";
  official.config.erase("lime");
  const ModelConfig config = parse_model_config(lime.config, "test");
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string keys = layer_parameter(config, layer, "self_attn.k_proj.weight");
    const std::string values = layer_parameter(config, layer, "self_attn.v_proj.weight");
    const std::vector<float> k = official.at(keys).values;
    const std::vector<float> v = official.at(values).values;
    TestTensor fused{
        .name = layer_parameter(config, layer, "self_attn.kv_proj_weight"),
        .shape = {2 * config.num_key_value_heads * config.head_dim, config.hidden_size},
        .values = {}};
    // Row c * heads + h is dimension c of head h, the keys' dimensions first.
    for (const std::vector<float>* part : {&k, &v}) {
      for (std::int64_t c = 0; c < config.head_dim; ++c) {
        for (std::int64_t h = 0; h < config.num_key_value_heads; ++h) {
          const auto row = part->begin() + (h * config.head_dim + c) * config.hidden_size;
          fused.values.insert(fused.values.end(), row, row + config.hidden_size);
        }
      }
    }
    official.remove(keys);
    official.remove(values);
    official.tensors.push_back(std::move(fused));
  }
  return official;
}

std::vector<std::byte> encode_weights(Dtype dtype, const std::vector<float>& values) {
  const auto bytes_of = [](const auto& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  if (dtype == Dtype::kF32) return bytes_of(values);
  if (dtype == Dtype::kF64) return bytes_of(std::vector<double>(values.begin(), values.end()));
  std::vector<std::uint16_t> halves(values.size());
  if (dtype == Dtype::kF16) float_to_half(values, halves);
  if (dtype == Dtype::kBF16) {
    std::transform(values.begin(), values.end(), halves.begin(), [](float value) {
      return static_cast<BFloat16Bits>(std::bit_cast<std::uint32_t>(value) >> 16U);
    });
  }
  return bytes_of(halves);
}

std::string length_prefix(std::uint64_t length) {
  std::string prefix(sizeof(length), '\0');
  std::memcpy(prefix.data(), &length, sizeof(length));
  return prefix;
}

std::string raw_safetensors(const std::string& header, std::size_t data_bytes) {
  return length_prefix(header.size()) + header + std::string(data_bytes, '\0');
}

}  // namespace lime::testing
