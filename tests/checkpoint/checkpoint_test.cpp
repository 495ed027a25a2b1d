// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>

#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/parameters.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/weights/safetensors.h"
#include "core/files/sha256.h"

namespace lime {
namespace {

using testing::CheckpointTest;
using testing::expect_holds;
using testing::official_layout;
using testing::random_model;
using testing::read;
using testing::refusal_of;
using testing::small_config;
using testing::TestModel;
using testing::TestTensor;
using testing::with;
using testing::write_text;

TEST_F(CheckpointTest, ReadsEveryDecoder) {
  for (const char* type : {"llama", "mistral", "qwen2", "lime"}) {
    const TestModel model = random_model(small_config(type));
    const Checkpoint checkpoint = open(model);
    EXPECT_EQ(checkpoint.config().name(), type);
    expect_holds(checkpoint, model);
  }
}

TEST_F(CheckpointTest, ReadsBiasesAndGivenHeadSizes) {
  Json config = with(small_config("llama"), "attention_bias", true);
  config["mlp_bias"] = true;
  config["head_dim"] = 6;
  const TestModel model = random_model(config);
  const Checkpoint checkpoint = open(model);
  EXPECT_EQ(checkpoint.tensor("model.layers.1.self_attn.q_proj.weight").shape, (Shape{24, 16}));
  EXPECT_EQ(checkpoint.tensor("model.layers.1.self_attn.o_proj.bias").shape, (Shape{16}));
  EXPECT_EQ(checkpoint.tensor("model.layers.1.mlp.up_proj.bias").shape, (Shape{24}));
  expect_holds(checkpoint, model);
  EXPECT_FALSE(
      open(random_model(small_config("qwen2"))).has("model.layers.0.self_attn.o_proj.bias"));
}

/// Rounds to small integers, which every weight dtype represents exactly.
TestModel rounded(TestModel model) {
  for (TestTensor& tensor : model.tensors) {
    for (float& value : tensor.values) value = std::round(8.0F * value);
  }
  return model;
}

TEST_F(CheckpointTest, ReadsHalfPrecisionAndDoubles) {
  const TestModel model = rounded(random_model(small_config("lime")));
  const TestModel official = official_layout(model);
  write_text(file("config.json"), official.config.dump());
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF16, Dtype::kBF16}) {
    std::vector<TensorView> views = official.views();
    std::vector<std::vector<std::byte>> encoded(views.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
      encoded[i] = testing::encode_weights(dtype, official.tensors[i].values);
      views[i].dtype = dtype;
      views[i].bytes = encoded[i];
    }
    write_safetensors(file("model.safetensors"), views);
    const Checkpoint checkpoint = Checkpoint::open(path());
    EXPECT_EQ(checkpoint.tensor("model.norm.weight").dtype, dtype);
    expect_holds(checkpoint, model);
    std::vector<double> norm(16);
    checkpoint.read("model.norm.weight", norm);
    const std::vector<float> expected = read(checkpoint, "model.norm.weight");
    EXPECT_EQ(norm, std::vector<double>(expected.begin(), expected.end()));
  }
}

TEST_F(CheckpointTest, DropsPrefixesInAnyOrder) {
  EXPECT_EQ(canonical_tensor_name("_orig_mod.module._orig_mod.model.norm.weight"),
            "model.norm.weight");
  EXPECT_EQ(canonical_tensor_name("module.model.layers.3._orig_mod.mlp.up_proj.weight"),
            "model.layers.3.mlp.up_proj.weight");
  EXPECT_EQ(canonical_tensor_name("model.module.weight"), "model.module.weight");
  const TestModel model = random_model(small_config("llama"));
  for (const char* prefix : {"_orig_mod.", "module.", "module._orig_mod.", "_orig_mod.module."}) {
    TestModel prefixed = model;
    for (TestTensor& tensor : prefixed.tensors) tensor.name = prefix + tensor.name;
    const Checkpoint checkpoint = open(prefixed);
    expect_holds(checkpoint, model);
    EXPECT_EQ(checkpoint.tensor("model.norm.weight").stored_name,
              std::string(prefix) + "model.norm.weight");
  }
}

TEST_F(CheckpointTest, RefusesTwoTensorsOfOneName) {
  TestModel model = random_model(small_config("llama"));
  model.tensors.push_back(model.at("model.norm.weight"));
  model.tensors.back().name = "module.model.norm.weight";
  EXPECT_EQ(error_of(model),
            "the tensors 'model.norm.weight' and 'module.model.norm.weight' both map to "
            "'model.norm.weight'");
}

TEST_F(CheckpointTest, IgnoresRotaryBuffers) {
  TestModel model = random_model(small_config("llama"));
  TestModel with_buffer = model;
  with_buffer.tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {2}, {1, 2}});
  expect_holds(open(with_buffer), model);
}

TEST_F(CheckpointTest, NamesAShapeAtOddsWithTheConfig) {
  TestModel model = random_model(small_config("llama"));
  model.config["vocab_size"] = 12;
  EXPECT_EQ(error_of(model),
            "tensor 'model.embed_tokens.weight' must have the shape [12, 16] according to "
            "config.json, got [11, 16]");
  TestModel lime = random_model(small_config("lime"));
  TestTensor& router = lime.at("model.layers.2.self_attn.lime_router.static_weights");
  router.shape = {6, 2};
  EXPECT_EQ(error_of(lime),
            "tensor 'model.layers.2.self_attn.lime_router.static_weights' must have the shape [2, "
            "6] according to config.json, got [6, 2]");
}

TEST_F(CheckpointTest, NamesMissingAndUnexpectedTensors) {
  TestModel model = random_model(small_config("llama"));
  model.remove("model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(error_of(model),
            "the tensors must be those of config.json, got missing 1 "
            "('model.layers.1.mlp.up_proj.weight')");
  model.tensors.push_back({"model.layers.1.mlp.extra", {1}, {0}});
  EXPECT_EQ(error_of(model),
            "the tensors must be those of config.json, got missing 1 "
            "('model.layers.1.mlp.up_proj.weight') and unexpected 1 ('model.layers.1.mlp.extra')");
  TestModel shallow = random_model(small_config("llama"));
  shallow.config["num_hidden_layers"] = 2;
  EXPECT_EQ(error_of(shallow),
            "the tensors must be those of config.json, got unexpected 9 "
            "('model.layers.2.input_layernorm.weight', 'model.layers.2.mlp.down_proj.weight', "
            "'model.layers.2.mlp.gate_proj.weight', 'model.layers.2.mlp.up_proj.weight', "
            "'model.layers.2.post_attention_layernorm.weight', ...)");
}

TEST_F(CheckpointTest, ReadsABaseModelWithoutItsHead) {
  TestModel base = random_model(small_config("llama"));
  base.remove("lm_head.weight");
  const TestModel prefixed = base;
  for (TestTensor& tensor : base.tensors) tensor.name = tensor.name.substr(6);
  const Checkpoint checkpoint = open(base);
  expect_holds(checkpoint, prefixed);
  EXPECT_FALSE(checkpoint.config().has_head);
  EXPECT_FALSE(checkpoint.has("lm_head.weight"));
  ASSERT_EQ(checkpoint.warnings().size(), 1U);
  EXPECT_EQ(without_path(checkpoint.warnings()[0]),
            "a base model without 'lm_head.weight': activations are available, logits are not");
  EXPECT_EQ(refusal_of<InvalidArgument>([&] { checkpoint.config().require_head("generate"); }),
            "generate: logits require the output projection 'lm_head.weight', which this base "
            "model was saved without; load the whole model with AutoModelForCausalLM and save it "
            "with save_pretrained()");
}

TEST_F(CheckpointTest, IgnoresBuffersOfOlderVersions) {
  Json config = {{"model_type", "opt"},         {"vocab_size", 7},          {"hidden_size", 8},
                 {"num_hidden_layers", 1},      {"num_attention_heads", 2}, {"ffn_dim", 12},
                 {"max_position_embeddings", 6}};
  TestModel model = random_model(config);
  for (const char* const name : {"decoder.version", "model.decoder.version"}) {
    TestModel older = model;
    older.tensors.push_back({name, {1}, {3.0F}});
    expect_holds(open(older), model);
  }
}

TEST_F(CheckpointTest, RefusesWeightsThatAreIntegers) {
  const TestModel model = random_model(small_config("llama"));
  std::vector<TensorView> views = model.views();
  views[0].dtype = Dtype::kI32;
  write_text(file("config.json"), model.config.dump());
  write_safetensors(file("model.safetensors"), views);
  EXPECT_EQ(error_of_folder(),
            "tensor 'model.embed_tokens.weight' must be F64, F32, F16 or BF16, got I32");
}

TEST_F(CheckpointTest, NamesWeightsThatAreNotFinite) {
  TestModel model = official_layout(random_model(small_config("lime")));
  model.at("model.norm.weight").values[3] = std::numeric_limits<float>::quiet_NaN();
  // Row 1 of the fused tensor is dimension 0 of head 1: row 4 of k_proj.
  model.at("model.layers.1.self_attn.kv_proj_weight").values[16 + 5] =
      -std::numeric_limits<float>::infinity();
  const Checkpoint checkpoint = open(model);
  EXPECT_EQ(without_path(refusal_of<FormatError>([&] { read(checkpoint, "model.norm.weight"); })),
            "tensor 'model.norm.weight' must contain finite weights only, got nan at [3]; pass "
            "--allow-nan to read them unchanged");
  EXPECT_EQ(without_path(refusal_of<FormatError>(
                [&] { read(checkpoint, "model.layers.1.self_attn.k_proj.weight"); })),
            "tensor 'model.layers.1.self_attn.k_proj.weight' must contain finite weights only, got "
            "-inf at [4, 5]; pass --allow-nan to read them unchanged");
  EXPECT_NO_THROW(read(checkpoint, "model.layers.1.self_attn.v_proj.weight"));
  const Checkpoint allowed = open(model, {.allow_nan = true});
  EXPECT_TRUE(std::isnan(read(allowed, "model.norm.weight")[3]));
}

TEST_F(CheckpointTest, RefusesATensorOrARoomThatDoesNotFit) {
  const Checkpoint checkpoint = open(random_model(small_config("llama")));
  EXPECT_EQ(without_path(refusal_of<InvalidArgument>([&] { checkpoint.tensor("lm_head"); })),
            "the checkpoint has no tensor 'lm_head'");
  std::vector<float> room(15);
  EXPECT_EQ(without_path(
                refusal_of<InvalidArgument>([&] { checkpoint.read("model.norm.weight", room); })),
            "tensor 'model.norm.weight' [16] has 16 elements, got a buffer of 15");
  EXPECT_EQ(without_path(
                refusal_of<InvalidArgument>([&] { checkpoint.read_matrix("model.norm.weight"); })),
            "tensor 'model.norm.weight' must have two dimensions, got [16]");
}

TEST_F(CheckpointTest, NamesWhatTheFolderLacks) {
  EXPECT_EQ(refusal_of<IoError>([&] { Checkpoint::open(file("nowhere")); }),
            "'" + file("nowhere").string() + "': the checkpoint folder does not exist");
  write_text(file("config.json"), small_config("llama").dump());
  EXPECT_EQ(
      refusal_of<IoError>([&] { Checkpoint::open(file("config.json")); }),
      "'" + file("config.json").string() + "': is a file, expected a checkpoint folder or GGUF");
  EXPECT_EQ(error_of_folder<IoError>(),
            "the folder contains no weights, expected model.safetensors, "
            "model.safetensors.index.json, pytorch_model.bin or pytorch_model.bin.index.json");
}

TEST_F(CheckpointTest, HasTheDigestThatSha256sumPrints) {
  const Checkpoint checkpoint = open(random_model(small_config("llama")));
  const std::string lines = sha256_of_file(file("config.json")) + "  config.json\n" +
                            sha256_of_file(file("model.safetensors")) + "  model.safetensors\n";
  EXPECT_EQ(checkpoint.sha256(), sha256_of(lines));
}

TEST_F(CheckpointTest, StaysValidWhenMoved) {
  const TestModel model = random_model(small_config("lime"));
  Checkpoint first = open(model);
  const Checkpoint second = std::move(first);
  expect_holds(second, model);
}

/// Writes the header of `specs` as float32, with the data as a hole in a sparse file.
void write_sparse(const std::filesystem::path& path, const std::vector<ParameterSpec>& specs) {
  Json header = Json::object();
  std::int64_t offset = 0;
  for (const ParameterSpec& spec : specs) {
    const std::int64_t end = offset + 4 * element_count(spec.shape);
    header[spec.name] = {{"dtype", "F32"}, {"shape", spec.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  const std::string text = header.dump();
  write_text(path, testing::length_prefix(text.size()) + text);
  std::filesystem::resize_file(path, 8 + text.size() + static_cast<std::uintmax_t>(offset));
}

TEST_F(CheckpointTest, TouchesNoWeightsThatNobodyAsksFor) {
  Json config = small_config("lime");
  config["hidden_size"] = 1024;
  config["intermediate_size"] = 4096;
  config["num_hidden_layers"] = 128;
  write_text(file("config.json"), config.dump());
  write_sparse(file("model.safetensors"), parameter_specs(parse_model_config(config, "test")));
  ASSERT_GT(std::filesystem::file_size(file("model.safetensors")), 5'000'000'000U);

  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  const Checkpoint checkpoint = Checkpoint::open(path());
  const MatrixF router =
      checkpoint.read_matrix("model.layers.127.self_attn.lime_router.static_weights");
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(router.cols(), 256);
  // Reading everything would cause at least 80,000 faults even at 64 KiB per fault.
  EXPECT_LT(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt, 10000);
}

}  // namespace
}  // namespace lime
