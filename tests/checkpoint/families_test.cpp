// SPDX-License-Identifier: Apache-2.0
// What the readers of checkpoint/families accept and refuse. Their numbers are compared with
// transformers in tests/model/family_golden_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/families/family.h"
#include "checkpoint/model_config.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/test_model.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::refusal_of;
using testing::small_config;

/// Returns a config.json of a family with other values of some keys.
Json family_config(const std::string& family, const Json& changes = Json::object()) {
  Json json = small_config(family);
  // Under the names of the family, where it has its own.
  const SizeKeys usual;
  const Family* const known = find_family(family);
  for (const char* SizeKeys::*const size :
       {&SizeKeys::hidden_size, &SizeKeys::num_hidden_layers, &SizeKeys::num_attention_heads,
        &SizeKeys::num_key_value_heads, &SizeKeys::intermediate_size, &SizeKeys::activation}) {
    if (known == nullptr || known->keys.*size == nullptr) {
      json.erase(usual.*size);
    } else if (std::string_view(known->keys.*size) != usual.*size) {
      if (size != &SizeKeys::activation && size != &SizeKeys::intermediate_size) {
        json[known->keys.*size] = json[usual.*size];
      }
      json.erase(usual.*size);
    }
  }
  if (family.starts_with("mudd")) {
    json = {{"model_type", family},
            {"vocab_size", 11},
            {"dim", 16},
            {"n_layer", 3},
            {"n_head", 2},
            {"n_local_heads", 2},
            {"block_size", 32},
            {"intermediate_size", 320},
            {"expand_last", true}};
  }
  if (family == "opt") json["ffn_dim"] = 24;
  if (family == "gpt_neox") json["rotary_pct"] = 0.5;
  json.update(changes);
  return json;
}

ModelConfig parse(const std::string& family, const Json& changes = Json::object()) {
  return parse_model_config(family_config(family, changes), "'config.json'");
}

std::string error_of(const std::string& family, const Json& changes) {
  return refusal_of<FormatError>([&] { parse(family, changes); });
}

/// Returns the layers with a window, as text: "SFS" for layers 0 and 2 of three.
std::string windows_of(const ModelConfig& config) {
  std::string text;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    text += config.spec.layer(layer).window ? 'S' : 'F';
  }
  return text;
}

TEST(FamiliesTest, HaveTheDefaultsOfTransformers) {
  EXPECT_EQ(parse("qwen3").head_dim, 128);
  EXPECT_EQ(parse("gemma2", {{"num_key_value_heads", 4}}).head_dim, 256);
  EXPECT_TRUE(parse("gemma", {{"tie_word_embeddings", nullptr}}).tie_word_embeddings);
  EXPECT_FALSE(parse("olmo2", {{"tie_word_embeddings", nullptr}}).tie_word_embeddings);
  EXPECT_EQ(parse("olmo2").spec.norm.eps, 1e-5);
  EXPECT_EQ(parse("smollm3").spec.ropes.front().theta, 2000000.0);
  EXPECT_EQ(parse("gpt2").intermediate_size, 64);
  EXPECT_EQ(parse("gpt2").max_position_embeddings, 1024);
  EXPECT_EQ(parse("gpt_neox").spec.rotary_dim, 2);
  EXPECT_EQ(parse("granite").spec.layer(0).attention_scale, 1.0);
}

TEST(FamiliesTest, ReadLlamaUnderOtherNames) {
  const ModelConfig intern = parse("internlm3", {{"qkv_bias", true}, {"bias", true}});
  EXPECT_TRUE(intern.spec.qkv_bias && intern.spec.o_bias && intern.spec.mlp_bias);
  EXPECT_EQ(intern.head_dim, 128);
  EXPECT_EQ(intern.spec.norm.eps, 1e-5);
  EXPECT_EQ(parse("internlm3", {{"head_dim", nullptr}}).head_dim, 4);
  EXPECT_EQ(error_of("internlm3", {{"qkv_bias", true}}),
            "'config.json': 'mlp_bias' must be true, as the bias of attention, got false");
  EXPECT_EQ(error_of("internlm3", {{"qkv_bias", true}, {"attention_bias", false}}),
            "'config.json': 'qkv_bias' must be false, as 'attention_bias', got true");
  EXPECT_TRUE(parse("iquestcoder", {{"mlp_bias", true}}).spec.mlp_bias);
  EXPECT_EQ(error_of("iquestcoder", {{"clip_qkv", 8.0}}),
            "'config.json': 'clip_qkv' must be null, as in the released models, got 8.0");
  EXPECT_EQ(error_of("iquestcoder", {{"use_sliding_window", true}}),
            "'config.json': 'use_sliding_window' must be false, as in the released models, got "
            "true");
}

TEST(FamiliesTest, ReadTheKeysOfTheirAuthors) {
  const Json authors = {{"num_layers", 2},
                        {"layer_norm_epsilon", 0.5},
                        {"activation_function", "gelu"},
                        {"num_hidden_layers", 2}};
  const ModelConfig config = parse("exaone", authors);
  EXPECT_EQ(config.num_hidden_layers, 2);
  EXPECT_EQ(config.spec.norm.eps, 1e-5);  // rms_norm_eps, which is there too
  EXPECT_EQ(config.spec.activation, Activation::kSilu);
  Json json = family_config("exaone", {{"num_layers", 4}, {"layer_norm_epsilon", 0.5}});
  for (const char* const key : {"num_hidden_layers", "rms_norm_eps"}) json.erase(key);
  const ModelConfig own = parse_model_config(json, "'config.json'");
  EXPECT_EQ(own.num_hidden_layers, 4);
  EXPECT_EQ(own.spec.norm.eps, 0.5);
  EXPECT_EQ(parse_model_config(model_config_to_json(own), "written"), own);
}

TEST(FamiliesTest, HaveTheWindowsOfTransformers) {
  EXPECT_EQ(windows_of(parse("cwm", {{"num_hidden_layers", 5}})), "FSSSF");
  EXPECT_EQ(windows_of(parse("exaone4", {{"num_hidden_layers", 5}})), "SSSFS");
  EXPECT_EQ(windows_of(parse("exaone4", {{"sliding_window", nullptr}})), "FFF");
  EXPECT_EQ(error_of("exaone4", {{"sliding_window_pattern", "LLG"}}),
            "'config.json': 'layer_types' must be given if sliding_window_pattern is not a number "
            "of layers, got null");
  const ModelConfig cohere = parse("cohere2", {{"num_hidden_layers", 4}});
  EXPECT_EQ(windows_of(cohere), "SSSF");
  EXPECT_TRUE(cohere.spec.layer(2).rope.has_value());
  EXPECT_FALSE(cohere.spec.layer(3).rope.has_value());
  EXPECT_EQ(windows_of(parse("gpt_neo",
                             {{"attention_types", {{{"global", "local"}, 1}, {{"local"}, 1}}}})),
            "FSS");
  EXPECT_EQ(
      error_of("gpt_neo", {{"attention_types", {{{"global", "local"}, 1}}}}),
      "'config.json': 'attention_types' must be of 3 layers, got [[[\"global\",\"local\"],1]]");
  EXPECT_EQ(error_of("gpt_neo", {{"attention_types", {{{"global", "none"}, 1}}}}),
            "'config.json': 'attention_types' must be a list such as [[[\"global\", \"local\"], "
            "12]], got [[[\"global\",\"none\"],1]]");
}

TEST(FamiliesTest, FailWhereTransformersDoes) {
  EXPECT_EQ(error_of("falcon", {{"new_decoder_architecture", true}, {"parallel_attn", false}}),
            "'config.json': 'parallel_attn' must be true with new_decoder_architecture, got false");
  EXPECT_EQ(error_of("falcon", {{"num_ln_in_parallel_attn", 2}}),
            "'config.json': 'num_ln_in_parallel_attn' must be 1 without new_decoder_architecture, "
            "got 2");
  EXPECT_EQ(error_of("falcon", {{"multi_query", false}, {"num_kv_heads", 2}}),
            "'config.json': 'num_kv_heads' must be num_attention_heads = 4 without multi_query and "
            "new_decoder_architecture, got 2");
  EXPECT_EQ(error_of("gptj", {{"rotary_dim", 3}}),
            "'config.json': 'rotary_dim' must be an even number from 2 to the 4 dimensions of a "
            "head, got 3");
  EXPECT_EQ(error_of("codegen", {{"n_embd", 18}, {"n_head", 1}}),
            "'config.json': the hidden size must be a multiple of 4, the number of parts of the "
            "projections, got 18");
  EXPECT_EQ(error_of("helium", {{"head_dim", 6}}),
            "'config.json': 'hidden_size' must be num_attention_heads * head_dim = 24, got 16");
  EXPECT_EQ(error_of("stablelm", {{"partial_rotary_factor", 0.25}}),
            "'config.json': 'partial_rotary_factor' must give an even number of dimensions of 4 to "
            "rotate, got 1");
}

TEST(FamiliesTest, NameTheRecorderWhereAVariantIsNotSupported) {
  EXPECT_EQ(error_of("falcon", {{"alibi", true}}),
            "'config.json': 'alibi' must be false, because biases of distance are not supported "
            "(record the model from Python with lime_toolkit.Recorder and sites={'hidden': "
            "'transformer.h.*'}), got true");
  EXPECT_EQ(error_of("stablelm", {{"qk_layernorm", true}}),
            "'config.json': 'qk_layernorm' must be false, because norms with a tensor per head are "
            "not supported (record the model from Python with lime_toolkit.Recorder and "
            "sites={'hidden': 'model.layers.*'}), got true");
  EXPECT_EQ(error_of("hunyuan_v1_dense", {{"depth_attention", Json::object()}}),
            "'config.json': 'depth_attention' compares keys before their rotation, those of "
            "'hunyuan_v1_dense' have their norm after it");
}

TEST(FamiliesTest, RaiseTheBaseOfHunYuanByItsAlpha) {
  const Json rope = {{"type", "dynamic"}, {"alpha", 16.0}, {"factor", 1.0}, {"mscale", 1.0}};
  const ModelConfig config = parse("hunyuan_v1_dense", {{"rope_scaling", rope}});
  EXPECT_EQ(config.spec.ropes.front().kind, RopeKind::kDefault);
  EXPECT_NEAR(config.spec.ropes.front().theta, 10000.0 * std::pow(16.0, 4.0 / 2.0), 1e-6);
  EXPECT_TRUE(config.warnings.empty()) << config.warnings.front();
}

TEST(FamiliesTest, NameKeysAsTheFileDoes) {
  const auto wrong_rope = [](const char* key, const Json& changes) {
    Json rope = {{"rope_type", "linear"}, {"factor", -2}};
    rope.update(changes);
    return error_of("llama", {{key, rope}});
  };
  EXPECT_EQ(wrong_rope("rope_parameters", Json::object()),
            "'config.json': 'rope_parameters': 'factor' must be a positive number, got -2");
  EXPECT_EQ(wrong_rope("rope_scaling", Json::object()),
            "'config.json': 'rope_scaling': 'factor' must be a positive number, got -2");
  EXPECT_EQ(wrong_rope("rope_parameters", {{"rope_theta", 0}}),
            "'config.json': 'rope_parameters': 'rope_theta' must be a positive number, got 0");
  const Json linear = {{"rope_type", "linear"}, {"factor", 0.0}};
  EXPECT_EQ(error_of("gemma3_text", {{"rope_parameters", {{"sliding_attention", linear}}}}),
            "'config.json': 'rope_parameters': 'sliding_attention': 'factor' must be a positive "
            "number, got 0");
  EXPECT_EQ(error_of("gemma3_text", {{"rope_scaling", {{"rope_type", "linear"}}}}),
            "'config.json': 'rope_scaling': 'factor' is missing");
  EXPECT_EQ(error_of("gpt_neox", {{"rotary_emb_base", -1}}),
            "'config.json': 'rotary_emb_base' must be a positive number, got -1");
  EXPECT_EQ(error_of("gpt2", {{"n_layer", 0}}),
            "'config.json': 'n_layer' must be from 1 to 10000, got 0");
  EXPECT_EQ(error_of("gpt2", {{"n_head", 3}}),
            "'config.json': 'n_embd' must be a multiple of n_head = 3, got 16");
  EXPECT_EQ(error_of("gpt2", {{"layer_norm_epsilon", -1.0}}),
            "'config.json': 'layer_norm_epsilon' must be at least 0, got -1.0");
  EXPECT_EQ(error_of("opt", {{"ffn_dim", 0}}),
            "'config.json': 'ffn_dim' must be from 1 to 2147483647, got 0");
  EXPECT_EQ(error_of("granite", {{"attention_multiplier", 0.0}}),
            "'config.json': 'attention_multiplier' must be a positive number, got 0.0");
}

TEST(FamiliesTest, SlideInTheLayersOfTransformers) {
  const Json four = {{"num_hidden_layers", 4}};
  EXPECT_EQ(windows_of(parse("gemma2", four)), "SFSF");
  EXPECT_EQ(windows_of(parse("olmo3", four)), "SSSF");
  EXPECT_EQ(windows_of(parse("gemma3_text", {{"num_hidden_layers", 7}})), "SSSSSFS");
  EXPECT_EQ(windows_of(parse("gemma3_text", {{"sliding_window_pattern", 2}})), "SFS");
  EXPECT_EQ(windows_of(parse("smollm3", four)), "FFFF");
  EXPECT_EQ(windows_of(parse(
                "smollm3",
                {{"num_hidden_layers", 4}, {"use_sliding_window", true}, {"sliding_window", 7}})),
            "FFFS");
  EXPECT_EQ(windows_of(parse("phi3", {{"sliding_window", 7}})), "SSS");
  EXPECT_EQ(windows_of(parse("qwen3", {{"use_sliding_window", true}, {"max_window_layers", 1}})),
            "FSS");
}

TEST(FamiliesTest, RotateInTheLayersOfSmolLm3) {
  const auto rotates = [](const ModelConfig& config, std::int64_t layer) {
    return config.spec.layer(layer).rope.has_value();
  };
  const ModelConfig listed = parse("smollm3", {{"no_rope_layers", {0, 1, 1}}});
  EXPECT_FALSE(rotates(listed, 0));
  EXPECT_TRUE(rotates(listed, 1));
  EXPECT_FALSE(rotates(parse("smollm3", {{"no_rope_layer_interval", 2}}), 1));
  EXPECT_EQ(error_of("smollm3", {{"no_rope_layers", {0}}}),
            "'config.json': 'no_rope_layers' must have one entry for each of 3 layers, got 1");
  EXPECT_EQ(error_of("smollm3", {{"no_rope_layer_interval", 0}}),
            "'config.json': 'no_rope_layer_interval' must be at least 1, got 0");
}

TEST(FamiliesTest, ReadARopePerLayerType) {
  const ModelConfig four =
      parse("gemma3_text", {{"rope_theta", 5e5},
                            {"rope_local_base_freq", 7.0},
                            {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}});
  ASSERT_EQ(four.spec.ropes.size(), 2u);
  EXPECT_EQ(four.spec.ropes[0].theta, 5e5);
  EXPECT_EQ(four.spec.ropes[0].kind, RopeKind::kLinear);
  EXPECT_EQ(four.spec.ropes[1].theta, 7.0);
  EXPECT_EQ(four.spec.ropes[1].kind, RopeKind::kDefault);
  EXPECT_EQ(four.spec.layer(0).rope, 1u);
  const Json types = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 5e5}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 7.0}}}};
  EXPECT_EQ(parse("gemma3_text", {{"rope_parameters", types}}).spec, four.spec);
  EXPECT_EQ(error_of("olmo3", {{"rope_theta", 10000.0}}),
            "'config.json': 'rope_theta' must be 500000, or be given per layer type in "
            "rope_parameters, got 10000.0");
  EXPECT_EQ(error_of("olmo3", {{"rope_parameters", {{"rope_theta", 1.0}}}}),
            "'config.json': 'rope_parameters': must have the objects full_attention and "
            "sliding_attention, got {\"rope_theta\":1.0}");
}

TEST(FamiliesTest, ResolveTheAttentionFactorOfRope) {
  const auto factor = [](const Json& scaling) {
    return parse("llama", {{"max_position_embeddings", 64}, {"rope_scaling", scaling}})
        .spec.ropes.front()
        .attention_factor;
  };
  Json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 16}};
  EXPECT_DOUBLE_EQ(factor(yarn), 0.1 * std::log(4.0) + 1.0);
  yarn["mscale"] = 2.0;
  yarn["mscale_all_dim"] = 1.0;
  EXPECT_DOUBLE_EQ(factor(yarn), (0.2 * std::log(4.0) + 1.0) / (0.1 * std::log(4.0) + 1.0));
  yarn["attention_factor"] = 1.5;
  EXPECT_DOUBLE_EQ(factor(yarn), 1.5);
  Json longrope = {{"rope_type", "longrope"},
                   {"short_factor", {1.0, 2.0}},
                   {"long_factor", {3.0, 4.0}},
                   {"original_max_position_embeddings", 16}};
  EXPECT_DOUBLE_EQ(factor(longrope), std::sqrt(1.0 + std::log(4.0) / std::log(16.0)));
  longrope["factor"] = 1.0;
  EXPECT_DOUBLE_EQ(factor(longrope), 1.0);
  longrope["short_factor"] = {1.0};
  EXPECT_EQ(error_of("llama", {{"rope_scaling", longrope}}),
            "'config.json': 'rope_scaling': 'short_factor' must have one number for each of 2 "
            "rotated pairs, got 1");
}

TEST(FamiliesTest, RefuseKeysThatTransformersReadsDifferentlyOrNotAtAll) {
  EXPECT_EQ(error_of("gemma", {{"hidden_act", "gelu"}, {"hidden_activation", "silu"}}),
            "'config.json': 'hidden_activation' must be absent or the activation that hidden_act "
            "stands for, gelu_pytorch_tanh, got \"silu\"");
  EXPECT_EQ(error_of("gemma3_text", {{"attn_logit_softcapping", 50.0}}),
            "'config.json': 'attn_logit_softcapping' must be null, because transformers does not "
            "apply it, got 50.0");
  EXPECT_EQ(error_of("gpt_neox", {{"rope_theta", 500.0}}),
            "'config.json': 'rope_theta' must be 10000, as 'rotary_emb_base', got 500.0");
  EXPECT_EQ(error_of("gpt_neox", {{"rotary_pct", 0.75}}),
            "'config.json': 'rotary_pct' must give an even number of dimensions of 4 to rotate, "
            "got 3");
  EXPECT_EQ(error_of("phi3", {{"attention_bias", true}}),
            "'config.json': 'attention_bias' must be false, because the blocks of phi3 have no "
            "biases, got true");
  EXPECT_EQ(error_of("gemma2", {{"sliding_window", nullptr}}),
            "'config.json': 'sliding_window' must be a number, or be absent for 4096, got null");
}

TEST(FamiliesTest, RefuseWhatNoFamilyComputes) {
  EXPECT_EQ(error_of("gemma2", {{"use_bidirectional_attention", true}}),
            "'config.json': 'use_bidirectional_attention' must be false, because bidirectional "
            "attention is not supported; capture it with transformers, got true");
  EXPECT_EQ(error_of("gpt2", {{"add_cross_attention", true}}),
            "'config.json': 'add_cross_attention' must be false, because cross-attention is not "
            "supported, got true");
  EXPECT_THAT(error_of("gpt2", {{"pruned_heads", {{"0", {1}}}}}),
              ::testing::HasSubstr("'pruned_heads' must be empty"));
  EXPECT_THAT(error_of("gpt2", {{"activation_function", "quick_gelu"}}),
              ::testing::HasSubstr("'activation_function' must be one of silu, gelu"));
  EXPECT_THAT(error_of("qwen3", {{"quantization_config", {{"bits", 4}}}}),
              ::testing::HasSubstr("use the unquantised checkpoint"));
}

TEST(FamiliesTest, KnowEveryKeyThatTransformersWrites) {
  const Json file =
      parse_json(testing::read_text(testing::golden_file("transformers_configs.json")), "golden");
  EXPECT_GE(file.at("configs").size(), 42u);
  for (const auto& [family, config] : file.at("configs").items()) {
    Json json = config;
    for (const Json& key : file.at("generation")) {
      if (!json.contains(key)) json[key.get<std::string>()] = 1;
    }
    EXPECT_THAT(parse_model_config(json, family).warnings, ::testing::IsEmpty()) << family;
  }
}

TEST(FamiliesTest, WarnOfUnknownKeysInOneLine) {
  EXPECT_THAT(parse("llama", {{"use_cache", true}, {"id2label", {}}}).warnings,
              ::testing::IsEmpty());
  EXPECT_THAT(parse("llama", {{"_model_name_or_path", "SmolLM2"},
                              {"unk_token_id", 0},
                              {"min_p", 0.1},
                              {"rope_interleaved", false},
                              {"scale_embeddings", nullptr}})
                  .warnings,
              ::testing::IsEmpty());
  EXPECT_THAT(
      parse("llama", {{"rope_interleaved", true}}).warnings,
      ::testing::ElementsAre("'config.json': unknown keys are ignored: 'rope_interleaved'"));
  EXPECT_THAT(parse("llama", {{"embedding_multiplier", 12.0}, {"alibi", true}}).warnings,
              ::testing::ElementsAre(
                  "'config.json': unknown keys are ignored: 'embedding_multiplier', 'alibi'"));
  EXPECT_THAT(parse("granite", {{"embedding_multiplier", 12.0}}).warnings, ::testing::IsEmpty());
  const Json scaling = {{"rope_type", "linear"}, {"factor", 2.0}, {"mscale", 1.0}};
  EXPECT_THAT(
      parse("llama", {{"rope_scaling", scaling}}).warnings,
      ::testing::ElementsAre("'config.json': 'rope_scaling': unknown keys are ignored: 'mscale'"));
}

TEST(FamiliesTest, ReadTheReleasedModelsOfMudd) {
  const ModelConfig config = parse("muddpythia", {{"round64", true}});
  // Python's round(): 1.25, 2.5 and 3.75 times 128.
  EXPECT_EQ(config.mlp_width(0), 128);
  EXPECT_EQ(config.mlp_width(1), 256);
  EXPECT_EQ(config.mlp_width(2), 512);
  EXPECT_TRUE(config.mudd.round64);
  EXPECT_TRUE(config.spec.parallel_residual);
  EXPECT_EQ(config.spec.rotary_dim, 2);
  EXPECT_EQ(error_of("muddformer", {{"n_layer", 1}}),
            "'config.json': 'n_layer' must be at least 2, got 1");
  EXPECT_EQ(error_of("muddformer", {{"dense_type", "l"}}),
            "'config.json': 'dense_type' must be qkvr, as in the released models, got \"l\"");
  EXPECT_EQ(error_of("muddpythia", {{"expand_last", false}}),
            "'config.json': 'expand_last' must be true, as in the released models, got false");
}

TEST(FamiliesTest, HaveTheExpertsOfTransformers) {
  const Json silent = {{"num_experts", nullptr}, {"num_experts_per_tok", nullptr}};
  const auto experts_of = [&](const std::string& family) {
    const ExpertsSpec experts = *parse(family, silent).spec.experts;
    return std::pair(experts.num_experts, experts.num_experts_per_tok);
  };
  EXPECT_EQ(experts_of("mixtral"), std::pair(std::int64_t{8}, std::int64_t{2}));
  EXPECT_EQ(experts_of("olmoe"), std::pair(std::int64_t{64}, std::int64_t{8}));
  EXPECT_EQ(experts_of("qwen2_moe"), std::pair(std::int64_t{60}, std::int64_t{4}));
  EXPECT_EQ(experts_of("qwen3_moe"), std::pair(std::int64_t{128}, std::int64_t{8}));
  EXPECT_EQ(experts_of("granitemoe"), std::pair(std::int64_t{8}, std::int64_t{2}));
  EXPECT_EQ(experts_of("gpt_oss"), std::pair(std::int64_t{128}, std::int64_t{4}));
  EXPECT_TRUE(parse("mixtral").spec.experts->normalizes_weights);
  EXPECT_FALSE(parse("olmoe").spec.experts->normalizes_weights);
  EXPECT_EQ(parse("olmoe").spec.experts->aux_loss_coef, 0.0);
  EXPECT_EQ(parse("olmoe", {{"output_router_logits", true}}).spec.experts->aux_loss_coef, 0.01);
  EXPECT_EQ(parse("qwen3_moe").mlp_width(0), 12);
  EXPECT_FALSE(parse("qwen3_moe", {{"num_experts", 0}}).spec.experts.has_value());
  EXPECT_EQ(windows_of(parse("gpt_oss")), "SFS");
  EXPECT_EQ(parse("gpt_oss").spec.ropes.front().kind, RopeKind::kYarn);
}

/// Returns the layers with experts, as text: "DED" for layer 1 of three.
std::string experts_of(const ModelConfig& config) {
  std::string text;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    text += config.spec.experts_of(layer) != nullptr ? 'E' : 'D';
  }
  return text;
}

TEST(FamiliesTest, HaveExpertsInTheSparseLayers) {
  EXPECT_EQ(experts_of(parse("qwen3_moe")), "EEE");
  EXPECT_EQ(experts_of(parse("qwen3_moe", {{"decoder_sparse_step", 2}})), "DED");
  EXPECT_EQ(experts_of(parse("qwen2_moe", {{"mlp_only_layers", {0}}})), "DEE");
  EXPECT_EQ(parse("qwen2_moe", {{"mlp_only_layers", {0}}}).mlp_width(0), 24);
  EXPECT_EQ(error_of("qwen2_moe", {{"decoder_sparse_step", 0}}),
            "'config.json': 'decoder_sparse_step' must be at least 1, got 0");
  EXPECT_EQ(
      error_of("olmoe", {{"num_experts_per_tok", 5}}),
      "'config.json': 'num_experts_per_tok' must be from 1 to the number of experts, 4, got 5");
  EXPECT_EQ(error_of("mixtral", {{"num_experts", 5000}}),
            "'config.json': 'num_experts' must be from 1 to 4096, got 5000");
  EXPECT_EQ(error_of("mixtral", {{"num_hidden_layers", 100}, {"num_local_experts", 4000}}),
            "'config.json': 'num_experts' times the number of layers must be at most 131072, got "
            "4000 times 100");
}

TEST(FamiliesTest, AreReadQuantisedOnlyIfTheirExpertsAre) {
  const Json quantised = {{"quantization_config", {{"quant_method", "mxfp4"}}}};
  EXPECT_TRUE(parse("gpt_oss", quantised).spec.attention_sinks);
  EXPECT_FALSE(model_config_to_json(parse("gpt_oss", quantised)).contains("quantization_config"));
  for (const auto& [family, config] :
       {std::pair<std::string, Json>("llama", quantised),
        {"gpt_oss", {{"quantization_config", {{"quant_method", "gptq"}}}}}}) {
    EXPECT_EQ(error_of(family, config),
              "'config.json': 'quantization_config' must be absent, got quantised weights; use the "
              "unquantised checkpoint");
  }
}

TEST(FamiliesTest, AreWrittenAsTheyWereRead) {
  for (const Family* family : all_families()) {
    const ModelConfig config = parse(std::string(family->model_type));
    const Json written = model_config_to_json(config);
    EXPECT_TRUE(parse_model_config(written, "written") == config) << family->model_type;
  }
}

}  // namespace
}  // namespace lime
