// SPDX-License-Identifier: Apache-2.0
// One model per architecture, and one of LLaMA's with experts (Mixtral), by
// tests/golden/gguf/make_gguf.py, as GGUF and as a Hugging Face folder.
#include "checkpoint/gguf/gguf_model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/gguf/gguf_builder.h"
#include "checkpoint/parse_model_config.h"
#include "core/files/sha256.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::GgufBuilder;
using testing::golden_file;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::refusal_of;

class GgufGoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GgufGoldenTest, IsTheModelOfTheFolder) {
  const Checkpoint folder = Checkpoint::open(golden_file("gguf/" + GetParam()));
  const Checkpoint file = Checkpoint::open(golden_file("gguf/" + GetParam() + ".gguf"));
  EXPECT_TRUE(file.warnings().empty());

  ModelConfig config = file.config();
  EXPECT_EQ(parse_model_config(model_config_to_json(config), "'config.json'"), config);
  // GGUF stores the epsilon in float32 and does not say in which type the model was saved.
  EXPECT_NEAR(config.spec.norm.eps, folder.config().spec.norm.eps, 1e-12);
  config.spec.norm.eps = folder.config().spec.norm.eps;
  config.torch_dtype = folder.config().torch_dtype;
  EXPECT_TRUE(config == folder.config()) << model_config_to_json(config) << "\n"
                                         << model_config_to_json(folder.config());

  for (const ParameterSpec& spec : parameter_specs(folder.config())) {
    ASSERT_TRUE(file.has(spec.name)) << spec.name;
    EXPECT_EQ(file.tensor(spec.name).shape, spec.shape) << spec.name;
    EXPECT_EQ(testing::read(file, spec.name), testing::read(folder, spec.name)) << spec.name;
  }
}

std::vector<std::string> golden_models() {
  std::vector<std::string> names = gguf_architectures();
  names.emplace_back("mixtral");  // of the architecture llama
  return names;
}

INSTANTIATE_TEST_SUITE_P(Architectures, GgufGoldenTest, ::testing::ValuesIn(golden_models()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// A LLaMA of one layer: 8 dimensions, 2 heads, 5 tokens.
GgufBuilder tiny_llama(const std::string& architecture = "llama", std::uint32_t context = 16) {
  const std::string a = architecture + ".";
  GgufBuilder file;
  file.add("general.architecture", architecture)
      .add(a + "block_count", 1U)
      .add(a + "embedding_length", 8U)
      .add(a + "feed_forward_length", 6U)
      .add(a + "attention.head_count", 2U)
      .add(a + "context_length", context)
      .add(a + "attention.layer_norm_rms_epsilon", 1e-5F);
  return file;
}

std::string zero_floats(std::size_t count) { return std::string(count * sizeof(float), '\0'); }

void add_llama_tensors(GgufBuilder& file) {
  file.tensor("token_embd.weight", 0, {8, 5}, zero_floats(40))
      .tensor("output_norm.weight", 0, {8}, zero_floats(8));
  for (const char* const name : {"attn_norm", "ffn_norm"}) {
    file.tensor(fmt::format("blk.0.{}.weight", name), 0, {8}, zero_floats(8));
  }
  for (const char* const name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    file.tensor(fmt::format("blk.0.{}.weight", name), 0, {8, 8}, zero_floats(64));
  }
  file.tensor("blk.0.ffn_gate.weight", 0, {8, 6}, zero_floats(48))
      .tensor("blk.0.ffn_up.weight", 0, {8, 6}, zero_floats(48))
      .tensor("blk.0.ffn_down.weight", 0, {6, 8}, zero_floats(48));
}

class GgufModelTest : public testing::CheckpointTest {
 protected:
  fs::path write(const std::string& name, const GgufBuilder& builder) const {
    testing::write_text(file(name), builder.build());
    return file(name);
  }
  std::string error_of(const GgufBuilder& builder) const {
    const fs::path path = write("m.gguf", builder);
    const std::string error = refusal_of<FormatError>([&] { Checkpoint::open(path); });
    return error.substr(error.find("': ") + 3);
  }
};

TEST_F(GgufModelTest, IsFoundByPathAndInItsFolder) {
  GgufBuilder builder = tiny_llama();
  add_llama_tensors(builder);
  const fs::path path = write("tiny-Q8.gguf", builder);
  const Checkpoint checkpoint = Checkpoint::open(path);
  EXPECT_TRUE(checkpoint.config().tie_word_embeddings);
  EXPECT_EQ(checkpoint.config().vocab_size, 5);
  EXPECT_EQ(checkpoint.sha256(),
            sha256_of(fmt::format("{}  tiny-Q8.gguf\n", sha256_of_file(path))));
  EXPECT_EQ(Checkpoint::open(this->path()).sha256(), checkpoint.sha256());
  EXPECT_EQ(checkpoint_label(path), "tiny-Q8");
  EXPECT_TRUE(seems_checkpoint(this->path()));
  EXPECT_EQ(read_model_config(path), checkpoint.config());

  write("mmproj-tiny.gguf", builder);
  EXPECT_EQ(Checkpoint::open(this->path()).sha256(), checkpoint.sha256()) << "an image encoder";
  write("tiny-Q4.gguf", builder);
  EXPECT_THAT(error_of_folder<IoError>(),
              HasSubstr("contains 2 GGUF models, pass one of them: tiny-Q4.gguf, tiny-Q8.gguf"));
}

TEST_F(GgufModelTest, WarnsOfAWindowThatIsNotStored) {
  const auto warnings = [&](std::uint32_t context) {
    GgufBuilder builder = tiny_llama("starcoder2", context);
    builder.add("starcoder2.attention.layer_norm_epsilon", 1e-5F)
        .tensor("token_embd.weight", 0, {8, 5}, zero_floats(40));
    return read_model_config(write("m.gguf", builder)).warnings;
  };
  EXPECT_THAT(warnings(16384), ElementsAre(HasSubstr("GGUF does not store the sliding window, "
                                                     "4096 tokens in released models")));
  EXPECT_THAT(warnings(4096), IsEmpty());
}

TEST_F(GgufModelTest, OpensAllPartsOfASplitFile) {
  GgufBuilder whole = tiny_llama();
  add_llama_tensors(whole);
  GgufBuilder first = tiny_llama();
  first.add("split.count", 2U).add("split.tensors.count", 11U);
  first.tensor("token_embd.weight", 0, {8, 5}, zero_floats(40));
  GgufBuilder second;
  second.add("split.count", 2U);
  second.tensor("output_norm.weight", 0, {8}, zero_floats(8));
  for (const char* const name : {"attn_norm", "ffn_norm"}) {
    second.tensor(fmt::format("blk.0.{}.weight", name), 0, {8}, zero_floats(8));
  }
  for (const char* const name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    second.tensor(fmt::format("blk.0.{}.weight", name), 0, {8, 8}, zero_floats(64));
  }
  second.tensor("blk.0.ffn_gate.weight", 0, {8, 6}, zero_floats(48))
      .tensor("blk.0.ffn_up.weight", 0, {8, 6}, zero_floats(48))
      .tensor("blk.0.ffn_down.weight", 0, {6, 8}, zero_floats(48));
  const fs::path one = write("m-00001-of-00002.gguf", first);
  EXPECT_THAT(refusal_of<IoError>([&] { Checkpoint::open(one); }),
              HasSubstr("is one of 2 parts, but 'm-00002-of-00002.gguf' is missing; put all parts "
                        "into one folder"));
  const fs::path two = write("m-00002-of-00002.gguf", second);
  EXPECT_EQ(Checkpoint::open(one).config(), Checkpoint::open(two).config());
  EXPECT_EQ(Checkpoint::open(path()).files().config, one) << "its folder";
  write("m-00001-of-00002.gguf", first.tensor("extra.weight", 0, {1}, zero_floats(1)));
  EXPECT_THAT(refusal_of<FormatError>([&] { Checkpoint::open(one); }),
              HasSubstr("its 2 parts must have 11 tensors together, got 12"));
  fs::rename(one, file("renamed.gguf"));
  EXPECT_THAT(refusal_of<FormatError>([&] { Checkpoint::open(file("renamed.gguf")); }),
              HasSubstr("whose names must end in -00001-of-00002.gguf"));
}

TEST_F(GgufModelTest, NamesWhatIsNotSupported) {
  EXPECT_THAT(error_of(tiny_llama("lama")),
              HasSubstr("the architecture 'lama' is not supported (supported: llama, qwen2,"));
  EXPECT_THAT(error_of(tiny_llama("lama")), HasSubstr("; the nearest is 'llama'"));
  EXPECT_THAT(error_of(tiny_llama("mamba")), Not(HasSubstr("nearest")));
  EXPECT_THAT(error_of(GgufBuilder()), HasSubstr("'general.architecture' is missing"));
  EXPECT_EQ(error_of(tiny_llama()),
            "must have a tensor 'token_embd.weight' with two dimensions; the file contains no "
            "language model");
  GgufBuilder experts = tiny_llama();
  add_llama_tensors(experts);
  experts.tensor("blk.0.ffn_gate_exps.weight", 0, {8, 6, 4}, zero_floats(192));
  EXPECT_EQ(error_of(experts),
            "the tensors must be those of its metadata, got unexpected 1 "
            "('blk.0.ffn_gate_exps.weight')");
  GgufBuilder sizes;
  sizes.add("general.architecture", "llama")
      .add("llama.embedding_length", 8U)
      .add("llama.feed_forward_length", std::vector<std::int32_t>{6, 8});
  sizes.tensor("token_embd.weight", 0, {8, 5}, zero_floats(40));
  EXPECT_THAT(error_of(sizes), HasSubstr("'llama.feed_forward_length' must be the same for all "
                                         "layers"));
}

TEST(GgufExpertsTest, AreReadOneByOneFromBlocks) {
  const auto dtype = [](const char* model, const char* expert) {
    const Checkpoint file = Checkpoint::open(golden_file(fmt::format("gguf/{}.gguf", model)));
    const TensorInfo& info =
        file.tensor(fmt::format("model.layers.1.mlp.{}.down_proj.weight", expert));
    EXPECT_EQ(info.shape.size(), 2U);
    EXPECT_EQ(info.stored_name.substr(0, 14), "blk.1.ffn_down");
    return info.dtype;
  };
  EXPECT_EQ(dtype("qwen2moe", "experts.3"), Dtype::kQ8_0);
  EXPECT_EQ(dtype("qwen2moe", "shared_expert"), Dtype::kQ8_0);
  EXPECT_EQ(dtype("gpt-oss", "experts.3"), Dtype::kMXFP4);
  EXPECT_EQ(dtype("olmoe", "experts.3"), Dtype::kF16);
}

/// The metadata of tiny_llama() with four experts.
GgufBuilder tiny_experts(const std::string& architecture) {
  GgufBuilder file = tiny_llama(architecture);
  file.add(architecture + ".attention.head_count_kv", 2U)
      .add(architecture + ".expert_count", 4U)
      .add(architecture + ".expert_used_count", 3U);
  return file.tensor("token_embd.weight", 0, {8, 5}, zero_floats(40));
}

TEST_F(GgufModelTest, ReadsExpertsOfFilesWithoutTheirWidths) {
  const GgufBuilder builder = tiny_experts("qwen2moe");
  const auto experts = read_model_config(write("m.gguf", builder)).spec.experts;
  ASSERT_TRUE(experts);
  EXPECT_EQ(experts->num_experts, 4);
  EXPECT_EQ(experts->num_experts_per_tok, 3);
  EXPECT_EQ(experts->intermediate_size, 2);
  EXPECT_EQ(experts->shared_intermediate_size, 6);
  EXPECT_FALSE(experts->normalizes_weights);
}

TEST_F(GgufModelTest, ReadsTheWindowsAndTheRotationOfGptOss) {
  GgufBuilder builder = tiny_experts("gpt-oss");
  const DecoderSpec silent = read_model_config(write("m.gguf", builder)).spec;
  EXPECT_EQ(silent.ropes.front().theta, 150000.0);
  EXPECT_EQ(silent.layer(0).window, 128);
  builder.add("gpt-oss.attention.sliding_window", 4U)
      .add("gpt-oss.rope.scaling.type", std::string("yarn"))
      .add("gpt-oss.rope.scaling.factor", 32.0F)
      .add("gpt-oss.rope.scaling.yarn_beta_fast", 16.0F);
  const ModelConfig config = read_model_config(write("m.gguf", builder));
  EXPECT_EQ(config.spec.layer(0).window, 4);
  EXPECT_FALSE(config.spec.ropes.front().truncate);
  EXPECT_EQ(config.spec.ropes.front().beta_fast, 16.0);
  builder.add("gpt-oss.attention.sliding_window_pattern", std::vector<std::int32_t>{0});
  EXPECT_FALSE(read_model_config(write("m.gguf", builder)).spec.layer(0).window);
}

TEST_F(GgufModelTest, RefusesBlocksWithPartsOfRows) {
  constexpr std::uint32_t kQ8Type = 8;
  GgufBuilder file;
  file.add("general.architecture", "llama")
      .add("llama.block_count", 1U)
      .add("llama.embedding_length", 32U)
      .add("llama.feed_forward_length", 1U)
      .add("llama.attention.head_count", 2U)
      .add("llama.context_length", 16U)
      .add("llama.attention.layer_norm_rms_epsilon", 1e-5F)
      .tensor("token_embd.weight", 0, {32, 1}, zero_floats(32));
  for (const char* const name : {"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"}) {
    file.tensor(fmt::format("{}.weight", name), 0, {32}, zero_floats(32));
  }
  for (const char* const name : {"q", "k", "v", "output"}) {
    file.tensor(fmt::format("blk.0.attn_{}.weight", name), 0, {32, 32}, zero_floats(1024));
    file.tensor(fmt::format("blk.0.attn_{}.bias", name), kQ8Type, {32}, std::string(34, '\0'));
  }
  file.tensor("blk.0.ffn_gate.weight", 0, {32, 1}, zero_floats(32))
      .tensor("blk.0.ffn_up.weight", 0, {32, 1}, zero_floats(32))
      .tensor("blk.0.ffn_down.weight", 0, {1, 32}, zero_floats(32));
  EXPECT_EQ(error_of(file),
            "tensor 'blk.0.attn_q.bias' must be F32, F16 or BF16, got Q8_0, whose blocks contain "
            "parts of several rows; use a file with unquantised biases");
}

TEST_F(GgufModelTest, NamesWhatIsNotSupportedOfExperts) {
  GgufBuilder old = tiny_experts("llama");
  old.tensor("blk.0.ffn_gate.0.weight", 0, {8, 6}, zero_floats(48));
  EXPECT_EQ(error_of(old),
            "must have the experts of a layer in one tensor, but 'blk.0.ffn_gate.0.weight' is that "
            "of one expert, as in files before 2024-04; use a newer file, or the Hugging Face "
            "folder");
  EXPECT_THAT(error_of(tiny_experts("olmoe")),
              AllOf(HasSubstr("missing 13 ("), HasSubstr("'blk.0.attn_q_norm.weight'")));
  EXPECT_THAT(error_of(tiny_llama("olmoe").tensor("token_embd.weight", 0, {8, 5}, zero_floats(40))),
              HasSubstr("'olmoe.expert_count' is missing"));
  GgufBuilder shared = tiny_experts("granitemoe");
  shared.add("granitemoe.expert_shared_feed_forward_length", 6U);
  EXPECT_EQ(error_of(shared),
            "'granitemoe.expert_shared_feed_forward_length' must be 0, got 6; shared experts "
            "are not supported in Granite (granitemoeshared), record the model from its Hugging "
            "Face folder with lime_toolkit.Recorder in Python");
  GgufBuilder still = tiny_llama("granite");
  still.add("granite.rope.scaling.finetuned", false)
      .tensor("token_embd.weight", 0, {8, 5}, zero_floats(40));
  EXPECT_THAT(error_of(still), HasSubstr("'granite.rope.scaling.finetuned' must be true, got "
                                         "false; Granite without a rotary embedding"));
}

TEST_F(GgufModelTest, AcceptsSizesPerLayerThatAreEqual) {
  GgufBuilder builder = tiny_llama();
  builder.add("llama.attention.head_count_kv", std::vector<std::int32_t>{2});
  add_llama_tensors(builder);
  EXPECT_EQ(Checkpoint::open(write("m.gguf", builder)).config().num_key_value_heads, 2);
}

TEST_F(GgufModelTest, ReadsTheRescaledFrequenciesOfLlama3) {
  GgufBuilder builder = tiny_llama();
  add_llama_tensors(builder);
  builder.tensor("rope_freqs.weight", 0, {2},
                 GgufBuilder::bytes_of(1.0F) + GgufBuilder::bytes_of(8.0F));
  const RopeSpec rope = Checkpoint::open(write("m.gguf", builder)).config().spec.ropes.front();
  EXPECT_EQ(rope.kind, RopeKind::kLongRope);
  EXPECT_EQ(rope.short_factor, (std::vector<double>{1.0, 8.0}));
  EXPECT_EQ(rope.long_factor, rope.short_factor);
  EXPECT_EQ(rope.attention_factor, 1.0);
}

}  // namespace
}  // namespace lime
