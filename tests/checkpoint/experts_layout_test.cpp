// SPDX-License-Identifier: Apache-2.0
// Experts as the files of transformers have them: a tensor for each, packed ones, MXFP4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/weights/safetensors.h"

namespace lime {
namespace {

using testing::CheckpointTest;
using testing::expect_holds;
using testing::random_model;
using testing::small_config;
using testing::TestModel;
using testing::TestTensor;
using testing::with;

/// Replaces a part of each tensor's name.
TestModel renamed(TestModel model, const std::string& from, const std::string& to) {
  for (TestTensor& tensor : model.tensors) {
    const std::size_t place = tensor.name.find(from);
    if (place != std::string::npos) tensor.name.replace(place, from.size(), to);
  }
  return model;
}

/// Returns the model as the parameters of transformers 5 are: experts in `gate_up_proj` [experts, 2
/// width, hidden] and `down_proj` [experts, hidden, width].
TestModel packed(const TestModel& model, const std::array<std::string, 3>& names) {
  TestModel result{.config = model.config, .tensors = {}};
  std::map<std::string, TestTensor> whole;
  for (const TestTensor& tensor : model.tensors) {
    const std::size_t place = tensor.name.find(".experts.");
    if (place == std::string::npos) {
      result.tensors.push_back(tensor);
      continue;
    }
    const bool is_down = tensor.name.ends_with(names[2] + ".weight");
    const std::string name =
        tensor.name.substr(0, place) + (is_down ? ".experts.down_proj" : ".experts.gate_up_proj");
    TestTensor& to = whole[name];
    if (to.name.empty())
      to = {.name = name, .shape = {0, is_down ? 16 : 0, tensor.shape[1]}, .values = {}};
    if (is_down) {
      ++to.shape[0];
    } else if (tensor.name.ends_with(names[0] + ".weight")) {
      ++to.shape[0];
      to.shape[1] = 2 * tensor.shape[0];
    }
    to.values.insert(to.values.end(), tensor.values.begin(), tensor.values.end());
  }
  for (auto& [name, tensor] : whole) result.tensors.push_back(std::move(tensor));
  return result;
}

class ExpertsLayoutTest : public CheckpointTest {};

TEST_F(ExpertsLayoutTest, ReadsExpertsThatShareATensor) {
  for (const auto& [family, names] : {std::pair<std::string, std::array<std::string, 3>>(
                                          "olmoe", {"gate_proj", "up_proj", "down_proj"}),
                                      {"qwen2_moe", {"gate_proj", "up_proj", "down_proj"}},
                                      {"qwen3_moe", {"gate_proj", "up_proj", "down_proj"}},
                                      {"mixtral", {"w1", "w3", "w2"}}}) {
    SCOPED_TRACE(family);
    const TestModel model = random_model(small_config(family));
    expect_holds(open(packed(model, names)), model);
  }
}

TEST_F(ExpertsLayoutTest, ReadsBothNamesOfTheLayersOfMixtralAndGranite) {
  const TestModel mixtral = random_model(small_config("mixtral"));
  expect_holds(open(renamed(mixtral, "block_sparse_moe.", "mlp.")), mixtral);
  const TestModel granite = random_model(small_config("granitemoe"));
  const TestModel stored = packed(granite, {"gate_proj", "up_proj", "down_proj"});
  const TestModel in_memory = renamed(stored, ".router.layer.", ".router.");
  expect_holds(open(in_memory), granite);
  TestModel saved = renamed(stored, ".experts.gate_up_proj", ".input_linear.weight");
  saved = renamed(saved, ".experts.down_proj", ".output_linear.weight");
  expect_holds(open(saved), granite);
}

TEST_F(ExpertsLayoutTest, RefusesMissingRoutersAndUnknownExperts) {
  TestModel model = random_model(small_config("olmoe"));
  model.remove("model.layers.1.mlp.gate.weight");
  EXPECT_THAT(error_of(model),
              ::testing::HasSubstr("got missing 1 ('model.layers.1.mlp.gate.weight')"));
  TestModel more = random_model(with(small_config("olmoe"), "num_experts", 5));
  more.config["num_experts"] = 4;
  EXPECT_THAT(error_of(more), ::testing::HasSubstr("must have the shape [4, 16] according to"));
  TestModel fewer = random_model(small_config("olmoe"));
  fewer.tensors.push_back({.name = "model.layers.0.mlp.experts.4.up_proj.weight",
                           .shape = {24, 16},
                           .values = std::vector<float>(24 * 16)});
  EXPECT_THAT(error_of(fewer),
              ::testing::HasSubstr("unexpected 1 ('model.layers.0.mlp.experts.4.up_proj.weight')"));
}

/// Adds quantised experts of one layer to gpt-oss: `rows` outputs of 32 inputs each, two per byte.
struct Quantized {
  std::vector<std::byte> blocks, scales;
};

Quantized quantized(std::int64_t rows, int seed) {
  Quantized all;
  for (std::int64_t i = 0; i < rows * 16; ++i) {
    all.blocks.push_back(static_cast<std::byte>((i * 7 + seed) % 256));
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    all.scales.push_back(static_cast<std::byte>(120 + (i + seed) % 9));
  }
  return all;
}

/// Returns the element of a row, as the OCP's Microscaling Formats 1.0 define it.
float element(const Quantized& all, std::int64_t row, std::int64_t column) {
  constexpr std::array<float, 8> kValues = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
  const auto pair = std::to_integer<unsigned>(all.blocks[row * 16 + column / 2]);
  const unsigned bits = column % 2 == 0 ? pair & 15U : pair >> 4U;
  const float value = kValues[bits & 7U] * (bits >= 8U ? -1.0F : 1.0F);
  return std::ldexp(value, std::to_integer<int>(all.scales[row]) - 127);
}

TEST_F(ExpertsLayoutTest, ReadsTheQuantisedExpertsOfGptOss) {
  constexpr std::int64_t kExperts = 2;
  Json config = small_config("gpt_oss");
  config.update({{"hidden_size", 32},
                 {"intermediate_size", 32},
                 {"num_hidden_layers", 1},
                 {"head_dim", 4},
                 {"num_experts", kExperts},
                 {"quantization_config", {{"quant_method", "mxfp4"}}}});
  const TestModel model = random_model(config);
  std::vector<TensorView> views;
  std::vector<float> biases(static_cast<std::size_t>(kExperts * 64), 0.25F);
  const std::string prefix = "model.layers.0.mlp.experts.";
  for (const TestTensor& tensor : model.tensors) {
    if (!tensor.name.starts_with(prefix)) views.push_back(tensor.view());
  }
  const Quantized gate_up = quantized(kExperts * 64, 1);
  const Quantized down = quantized(kExperts * 32, 5);
  views.push_back(
      {prefix + "gate_up_proj_blocks", Dtype::kU8, {kExperts, 64, 1, 16}, gate_up.blocks});
  views.push_back({prefix + "gate_up_proj_scales", Dtype::kU8, {kExperts, 64, 1}, gate_up.scales});
  views.push_back({prefix + "down_proj_blocks", Dtype::kU8, {kExperts, 32, 1, 16}, down.blocks});
  views.push_back({prefix + "down_proj_scales", Dtype::kU8, {kExperts, 32, 1}, down.scales});
  views.push_back({prefix + "gate_up_proj_bias",
                   Dtype::kF32,
                   {kExperts, 64},
                   std::as_bytes(std::span(biases))});
  views.push_back({prefix + "down_proj_bias",
                   Dtype::kF32,
                   {kExperts, 32},
                   std::as_bytes(std::span(biases)).first(kExperts * 32 * 4)});
  testing::write_text(file("config.json"), config.dump());
  write_safetensors(file("model.safetensors"), views);
  const Checkpoint checkpoint = Checkpoint::open(path());
  for (std::int64_t expert = 0; expert < kExperts; ++expert) {
    const std::string name = prefix + std::to_string(expert) + ".";
    const MatrixF gate = checkpoint.read_matrix(name + "gate_proj.weight");
    const MatrixF up = checkpoint.read_matrix(name + "up_proj.weight");
    const MatrixF out = checkpoint.read_matrix(name + "down_proj.weight");
    for (std::int64_t row = 0; row < 32; ++row) {
      for (std::int64_t column = 0; column < 32; ++column) {
        EXPECT_EQ(gate(row, column), element(gate_up, expert * 64 + 2 * row, column));
        EXPECT_EQ(up(row, column), element(gate_up, expert * 64 + 2 * row + 1, column));
        EXPECT_EQ(out(row, column), element(down, expert * 32 + row, column));
      }
    }
  }
}

}  // namespace
}  // namespace lime
