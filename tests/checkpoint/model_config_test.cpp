// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/families/family.h"
#include "checkpoint/families/transformers_names.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/test_model.h"
#include "core/errors.h"
#include "core/program/suggest.h"
#include "core/random.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::refusal_of;
using testing::small_config;
using testing::TemporaryFolder;
using testing::write_text;

ModelConfig parse(const Json& json) { return parse_model_config(json, "'config.json'"); }

std::string error_of(const Json& json) {
  return refusal_of<FormatError>([&] { parse(json); });
}

Json changed(Json json, const std::string& key, const Json& value) {
  json[key] = value;
  return json;
}

Json changed_llama(const std::string& key, const Json& value) {
  return changed(small_config("llama"), key, value);
}

TEST(ModelConfigTest, ReadsSizesAndFillsInTheDefaultsOfTransformers) {
  const ModelConfig config = parse(small_config("llama"));
  EXPECT_EQ(config.name(), "llama");
  EXPECT_EQ(config.vocab_size, 11);
  EXPECT_EQ(config.hidden_size, 16);
  EXPECT_EQ(config.intermediate_size, 24);
  EXPECT_EQ(config.num_hidden_layers, 3);
  EXPECT_EQ(config.num_attention_heads, 4);
  EXPECT_EQ(config.num_key_value_heads, 2);
  EXPECT_EQ(config.head_dim, 4);
  EXPECT_EQ(config.max_position_embeddings, 2048);
  EXPECT_EQ(config.spec.ropes[0].theta, 10000.0);
  EXPECT_EQ(config.spec.ropes[0].kind, RopeKind::kDefault);
  EXPECT_FALSE(config.spec.layer(0).window);
  EXPECT_FALSE(config.bos_token_id);
  EXPECT_TRUE(config.eos_token_ids.empty());
  EXPECT_EQ(config.raw, small_config("llama"));
}

TEST(ModelConfigTest, TakesNullForNotGiven) {
  Json json = small_config("llama");
  for (const char* key : {"num_key_value_heads", "head_dim", "rope_scaling", "is_causal",
                          "text_config", "bos_token_id", "eos_token_id", "sliding_window"}) {
    json[key] = nullptr;
  }
  const ModelConfig config = parse(json);
  EXPECT_EQ(config.num_key_value_heads, 4);
  EXPECT_EQ(config.head_dim, 4);
  EXPECT_EQ(config.spec.ropes[0].theta, 10000.0);
}

TEST(ModelConfigTest, TakesTheHeadSizeThatIsGiven) {
  EXPECT_EQ(parse(changed_llama("head_dim", 32)).head_dim, 32);
}

TEST(ModelConfigTest, ReadsOneEndOfTextOrSeveral) {
  EXPECT_EQ(parse(changed_llama("eos_token_id", 2)).eos_token_ids, std::vector<std::int64_t>{2});
  EXPECT_EQ(parse(changed_llama("eos_token_id", {2, 5})).eos_token_ids,
            (std::vector<std::int64_t>{2, 5}));
}

TEST(ModelConfigTest, KnowsTheBiasesOfEachDecoder) {
  const ModelConfig llama = parse(changed_llama("attention_bias", true));
  EXPECT_TRUE(llama.spec.qkv_bias && llama.spec.o_bias);
  EXPECT_TRUE(parse(changed_llama("mlp_bias", true)).spec.mlp_bias);
  const ModelConfig qwen2 = parse(small_config("qwen2"));
  EXPECT_TRUE(qwen2.spec.qkv_bias);
  EXPECT_FALSE(qwen2.spec.o_bias || qwen2.spec.mlp_bias);
  const ModelConfig mistral = parse(changed(small_config("mistral"), "attention_bias", true));
  EXPECT_FALSE(mistral.spec.qkv_bias || mistral.spec.o_bias);
}

TEST(ModelConfigTest, ReadsLlama3ScalingAsTransformers4WritesIt) {
  Json json = changed_llama("rope_scaling", {{"factor", 32.0},
                                             {"high_freq_factor", 4.0},
                                             {"low_freq_factor", 1.0},
                                             {"original_max_position_embeddings", 8192},
                                             {"rope_type", "llama3"}});
  json["rope_theta"] = 500000.0;
  const ModelConfig config = parse(json);
  EXPECT_EQ(config.spec.ropes[0].theta, 500000.0);
  EXPECT_EQ(config.spec.ropes[0].kind, RopeKind::kLlama3);
  EXPECT_EQ(config.spec.ropes[0].factor, 32.0);
  EXPECT_EQ(config.spec.ropes[0].low_freq_factor, 1.0);
  EXPECT_EQ(config.spec.ropes[0].high_freq_factor, 4.0);
  EXPECT_EQ(config.spec.ropes[0].original_max_position_embeddings, 8192);
}

TEST(ModelConfigTest, ReadsRopeParametersAsTransformers5WritesThem) {
  const ModelConfig config =
      parse(changed_llama("rope_parameters", {{"factor", 8.0},
                                              {"high_freq_factor", 4.0},
                                              {"low_freq_factor", 1.0},
                                              {"original_max_position_embeddings", 64},
                                              {"rope_theta", 500000.0},
                                              {"rope_type", "llama3"}}));
  EXPECT_EQ(config.spec.ropes[0].theta, 500000.0);
  EXPECT_EQ(config.spec.ropes[0].kind, RopeKind::kLlama3);
  EXPECT_EQ(config.spec.ropes[0].original_max_position_embeddings, 64);
  const ModelConfig plain = parse(
      changed_llama("rope_parameters", {{"rope_theta", 1000000.0}, {"rope_type", "default"}}));
  EXPECT_EQ(plain.spec.ropes[0].theta, 1000000.0);
  EXPECT_EQ(plain.spec.ropes[0].kind, RopeKind::kDefault);
}

TEST(ModelConfigTest, ReadsLinearScalingUnderItsOldKey) {
  const ModelConfig config =
      parse(changed_llama("rope_scaling", {{"type", "linear"}, {"factor", 2.5}}));
  EXPECT_EQ(config.spec.ropes[0].kind, RopeKind::kLinear);
  EXPECT_EQ(config.spec.ropes[0].factor, 2.5);
}

TEST(ModelConfigTest, RefusesADynamicFactorThatLosesItsDifferenceToOne) {
  const auto with = [](double factor) {
    return changed_llama("rope_scaling", {{"rope_type", "dynamic"}, {"factor", factor}});
  };
  EXPECT_EQ(parse(with(9007199254740992.0)).spec.ropes[0].factor, 9007199254740992.0);
  for (const double factor : {1e308, 18014398509481984.0}) {
    EXPECT_THAT(error_of(with(factor)),
                ::testing::HasSubstr("'factor' must be at most 9007199254740992 for type dynamic"));
  }
}

TEST(ModelConfigTest, SlidesEveryLayerOfMistral) {
  Json json = small_config("mistral");
  EXPECT_EQ(parse(json).spec.layer(2).window, 4096) << "MistralConfig's default";
  json["sliding_window"] = 7;
  EXPECT_EQ(parse(json).spec.layer(0).window, 7);
  json["sliding_window"] = nullptr;
  EXPECT_EQ(parse(json).spec.layer(0).window, std::nullopt);
}

TEST(ModelConfigTest, SlidesTheLayersOfMistralThatLayerTypesNames) {
  Json json = changed(small_config("mistral"), "sliding_window", 7);
  json["layer_types"] = nullptr;
  EXPECT_EQ(parse(json).spec.layer(0).window, 7);
  json["layer_types"] = {"full_attention", "sliding_attention", "full_attention"};
  EXPECT_EQ(parse(json).spec.layer(0).window, std::nullopt);
  EXPECT_EQ(parse(json).spec.layer(1).window, 7);
  json["layer_types"] = Json::array();
  EXPECT_EQ(error_of(json),
            "'config.json': 'layer_types' must be a list with one entry per layer, got []");
  json["layer_types"] = {"chunked_attention", "full_attention", "full_attention"};
  EXPECT_EQ(error_of(json),
            "'config.json': 'layer_types' must be a list of full_attention and sliding_attention, "
            "got \"chunked_attention\"");
}

TEST(ModelConfigTest, RefusesSlidingLayersWithoutAWindow) {
  const std::string refusal =
      "'config.json': 'layer_types' must be full_attention in every layer if no sliding_window is "
      "used, got \"sliding_attention\"";
  const Json types = {"full_attention", "sliding_attention", "full_attention"};
  for (const char* decoder : {"mistral", "qwen2"}) {
    Json json = changed(small_config(decoder), "layer_types", types);
    json["sliding_window"] = nullptr;
    json["use_sliding_window"] = true;
    EXPECT_EQ(error_of(json), refusal) << decoder;
    json["layer_types"] = {"full_attention", "full_attention", "full_attention"};
    EXPECT_EQ(parse(json).spec.layer(1).window, std::nullopt) << decoder;
  }
  Json unused = changed(small_config("qwen2"), "layer_types", types);
  unused["sliding_window"] = 7;
  EXPECT_EQ(error_of(unused), refusal);
}

TEST(ModelConfigTest, RefusesANullBaseOfTheRotaryEmbedding) {
  const std::string refusal =
      "'rope_theta' must be a positive number, or be absent for 10000, got null";
  EXPECT_EQ(error_of(changed_llama("rope_theta", nullptr)), "'config.json': " + refusal);
  Json json = changed_llama("rope_parameters", {{"rope_type", "default"}, {"rope_theta", nullptr}});
  EXPECT_EQ(error_of(json), "'config.json': 'rope_parameters': " + refusal);
  json["rope_parameters"]["rope_theta"] = 500.0;
  json["rope_theta"] = nullptr;
  EXPECT_EQ(parse(json).spec.ropes[0].theta, 500.0);
}

TEST(ModelConfigTest, SlidesTheUpperLayersOfQwen2OnlyWhereAsked) {
  Json json = changed(small_config("qwen2"), "sliding_window", 7);
  json["max_window_layers"] = 1;
  EXPECT_EQ(parse(json).spec.layer(2).window, std::nullopt);
  json["use_sliding_window"] = true;
  EXPECT_EQ(parse(json).spec.layer(0).window, std::nullopt);
  EXPECT_EQ(parse(json).spec.layer(1).window, 7);
  json["layer_types"] = {"sliding_attention", "full_attention", "full_attention"};
  EXPECT_EQ(parse(json).spec.layer(0).window, 7);
  EXPECT_EQ(parse(json).spec.layer(1).window, std::nullopt);
  json["layer_types"] = {"sliding_attention"};
  EXPECT_EQ(error_of(json),
            "'config.json': 'layer_types' must have one entry for each of 3 layers, got 1");
}

TEST(ModelConfigTest, ReadsTheRouterOfLime) {
  EXPECT_EQ(parse(small_config("lime")).lime.router, RouterKind::kFull);
  const ModelConfig config = parse(
      changed(small_config("lime"), "lime",
              {{"router", "dilated"}, {"j", 2}, {"dynamic", true}, {"initializer_scale", 0.5}}));
  EXPECT_EQ(config.lime.initializer_scale, 0.5);
  EXPECT_EQ(config.lime.router, RouterKind::kDilated);
  EXPECT_EQ(config.lime.j, 2);
  EXPECT_TRUE(config.lime.dynamic);
  EXPECT_TRUE(config.lime.head_mixing);
  EXPECT_EQ(error_of(changed(small_config("lime"), "lime", {{"router", "best"}})),
            "'config.json': 'lime': unknown router 'best' (supported: full, average, last, first, "
            "first-and-previous, dilated, none)");
}

TEST(ModelConfigTest, ReadsTheObjectOfEachDecoder) {
  EXPECT_EQ(parse(small_config("denseformer")).denseformer.period, 1);
  const ModelConfig dense =
      parse(changed(small_config("denseformer"), "denseformer", {{"dilation", 2}, {"period", 3}}));
  EXPECT_EQ(dense.denseformer.dilation, 2);
  EXPECT_EQ(dense.denseformer.period, 3);
  EXPECT_EQ(parse(small_config("hyper_connections")).hyper_connections.rate, 4);
  EXPECT_TRUE(parse(small_config("hyper_connections")).hyper_connections.dynamic);
  const ModelConfig hyper = parse(changed(small_config("hyper_connections"), "hyper_connections",
                                          {{"rate", 2}, {"dynamic", false}}));
  EXPECT_EQ(hyper.hyper_connections.rate, 2);
  EXPECT_FALSE(hyper.hyper_connections.dynamic);
  EXPECT_FALSE(parse(small_config("resformer")).first_layer_values_only);
  EXPECT_TRUE(parse(changed(small_config("resformer"), "resformer", {{"first_layer_only", true}}))
                  .first_layer_values_only);
}

TEST(ModelConfigTest, RefusesImpossibleMixing) {
  const auto lime = [](const Json& router) {
    return error_of(changed(small_config("lime"), "lime", router));
  };
  EXPECT_EQ(lime({{"router", "last"}}), "'config.json': 'lime': 'j' must be from 1 to 3, got 0");
  EXPECT_EQ(lime({{"router", "first"}, {"j", 4}}),
            "'config.json': 'lime': 'j' must be from 1 to 3, got 4");
  EXPECT_EQ(lime({{"router", "average"}, {"dynamic", true}}),
            "'config.json': 'lime': the router 'average' has no weights, so 'per_dimension' and "
            "'dynamic' must be false");
  EXPECT_EQ(lime({{"per_dimension", true}, {"dynamic", true}}),
            "'config.json': 'lime': 'per_dimension' and 'dynamic' must not both be true");
  const auto own = [](const std::string& decoder, const Json& object) {
    return error_of(changed(small_config(decoder), decoder, object));
  };
  EXPECT_EQ(own("hyper_connections", {{"rate", 0}}),
            "'config.json': 'hyper_connections': 'rate' must be from 1 to 1024, got 0");
  EXPECT_EQ(own("denseformer", {{"dilation", 0}}),
            "'config.json': 'denseformer': 'dilation' must be from 1 to 3, got 0");
  EXPECT_EQ(own("denseformer", {{"period", 4}}),
            "'config.json': 'denseformer': 'period' must be from 1 to 3, got 4");
}

TEST(ModelConfigTest, WritesWhatItReadsBack) {
  Json lime = changed(small_config("lime"), "lime", {{"router", "none"}});
  lime["eos_token_id"] = {1, 2};
  lime["attention_bias"] = true;
  lime["torch_dtype"] = "bfloat16";
  Json qwen2 = changed(small_config("qwen2"), "use_sliding_window", true);
  qwen2["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention"};
  Json mistral = changed(small_config("mistral"), "sliding_window", 7);
  mistral["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention"};
  const Json llama3 = changed_llama("rope_scaling", {{"rope_type", "llama3"},
                                                     {"factor", 32.0},
                                                     {"low_freq_factor", 1.5},
                                                     {"high_freq_factor", 4.0},
                                                     {"original_max_position_embeddings", 8192}});
  const Json dense =
      changed(small_config("denseformer"), "denseformer", {{"dilation", 2}, {"period", 3}});
  const Json hyper = changed(small_config("hyper_connections"), "hyper_connections",
                             {{"dynamic", false}, {"rate", 2}});
  const Json res = changed(small_config("resformer"), "resformer", {{"first_layer_only", true}});
  const Json started = changed(changed_llama("initializer_range", 0.1), "model_type", "lime");
  for (const Json& json : {small_config("llama"), small_config("mistral"), small_config("qwen2"),
                           lime, qwen2, mistral, llama3, dense, hyper, res, started}) {
    const Json written = model_config_to_json(parse(json));
    EXPECT_EQ(model_config_to_json(parse(written)), written);
    for (const auto& [key, value] : json.items()) {
      if (key == "lime") continue;
      EXPECT_EQ(written.at(key), value) << key;
    }
  }
}

TEST(ModelConfigTest, AddsARoutingToTheBlocksOfAFamily) {
  Json json = changed(small_config("qwen2"), "lime", {{"router", "last"}, {"j", 2}});
  const ModelConfig config = parse(json);
  EXPECT_EQ(config.name(), "qwen2 + lime");
  EXPECT_TRUE(config.spec.qkv_bias);
  EXPECT_EQ(config.lime.router, RouterKind::kLast);
  EXPECT_EQ(parse(model_config_to_json(config)), config);
  json["denseformer"] = Json::object();
  EXPECT_EQ(error_of(json), "'config.json': must have one routing, got 'lime' and 'denseformer'");
  EXPECT_EQ(error_of(changed(small_config("mhc"), "lime", Json::object())),
            "'config.json': must have one routing, got 'mhc' and 'lime'");
}

TEST(ModelConfigTest, NamesADecoderThatItDoesNotKnow) {
  EXPECT_EQ(error_of(small_config("bert")),
            "'config.json': unsupported decoder 'bert' in model_type (supported: " +
                join_words(decoder_names()) +
                "); record other models from Python with lime_toolkit.Recorder");
  EXPECT_THAT(error_of(small_config("lllama")),
              ::testing::AllOf(::testing::HasSubstr("unknown decoder 'lllama'"),
                               ::testing::HasSubstr(", mudd); did you mean 'llama'?; record")));
  Json json = small_config("llama");
  json.erase("model_type");
  EXPECT_EQ(error_of(json), "'config.json': 'model_type' is missing, expected one of " +
                                join_words(decoder_names()));
}

TEST(ModelConfigTest, SuggestsNoOtherArchitecture) {
  for (const char* const name :
       {"minimax",     "mpt",      "granitemoehybrid", "granite_swa", "gemma3n_text", "phimoe",
        "olmo_hybrid", "bloom",    "mllama",           "mistral3",    "molmo2",       "reformer",
        "llava",       "qwen3_5",  "mistral5",         "llama5",      "cohere3",      "exaone_moe",
        "falcon_h1",   "glm4_moe", "ernie4_5_moe"}) {
    EXPECT_THAT(error_of(small_config(name)),
                ::testing::HasSubstr(", mudd); record other models from Python"))
        << name;
  }
  EXPECT_THAT(error_of(small_config("gptneox")), ::testing::HasSubstr("did you mean 'gpt_neox'?"));
  EXPECT_THAT(error_of(small_config("gemma3text")),
              ::testing::HasSubstr("did you mean 'gemma3_text'?"));
  EXPECT_THAT(error_of(small_config("starcode2")),
              ::testing::HasSubstr("did you mean 'starcoder2'?"));
  EXPECT_THAT(error_of(small_config("seedoss")), ::testing::HasSubstr("did you mean 'seed_oss'?"));
  EXPECT_THAT(error_of(small_config("falcn")), ::testing::HasSubstr("did you mean 'falcon'?"));
}

TEST(ModelConfigTest, KnowsTheFamiliesOfTransformersByName) {
  for (const Family* const family : all_families()) {
    EXPECT_EQ(is_transformers_name(family->model_type), !family->model_type.starts_with("mudd"))
        << family->model_type;
  }
}

TEST(ModelConfigTest, NamesTheFirstKeyAtFault) {
  Json json = small_config("llama");
  json.erase("hidden_size");
  EXPECT_EQ(error_of(json), "'config.json': 'hidden_size' is missing");
  EXPECT_EQ(error_of(changed_llama("hidden_size", "16")),
            "'config.json': 'hidden_size' must be a whole number below 2^63, got \"16\"");
  EXPECT_EQ(error_of(changed_llama("vocab_size", 9223372036854775808ULL)),
            "'config.json': 'vocab_size' must be a whole number below 2^63, got "
            "9223372036854775808");
  EXPECT_EQ(error_of(changed_llama("vocab_size", -1)),
            "'config.json': 'vocab_size' must be from 1 to 2147483647, got -1");
  EXPECT_EQ(error_of(changed_llama("num_hidden_layers", 1000000)),
            "'config.json': 'num_hidden_layers' must be from 1 to 10000, got 1000000");
  EXPECT_EQ(error_of(changed_llama("num_attention_heads", 0)),
            "'config.json': 'num_attention_heads' must be from 1 to 65536, got 0");
  EXPECT_EQ(error_of(changed_llama("num_attention_heads", 3)),
            "'config.json': 'hidden_size' must be a multiple of num_attention_heads = 3 if "
            "head_dim is absent, got 16");
  EXPECT_EQ(error_of(changed_llama("num_key_value_heads", 3)),
            "'config.json': 'num_attention_heads' must be a multiple of num_key_value_heads = 3, "
            "got 4");
  EXPECT_EQ(error_of(changed_llama("head_dim", 5)),
            "'config.json': 'head_dim' must be even for rotary embeddings, got 5");
  EXPECT_EQ(error_of(changed_llama("tie_word_embeddings", 1)),
            "'config.json': 'tie_word_embeddings' must be true or false, got 1");
  EXPECT_EQ(error_of(changed_llama("rope_theta", 0)),
            "'config.json': 'rope_theta' must be a positive number, got 0");
  EXPECT_EQ(error_of(Json::array()), "'config.json': must be a JSON object, got []");
}

TEST(ModelConfigTest, RefusesWhatThisBuildCannotCompute) {
  EXPECT_EQ(error_of(changed_llama("hidden_act", "mish")),
            "'config.json': 'hidden_act' must be one of silu, gelu, gelu_pytorch_tanh, relu, "
            "relu2, got \"mish\"");
  EXPECT_EQ(error_of(changed_llama("rope_scaling", {{"rope_type", "ntk"}, {"factor", 4.0}})),
            "'config.json': 'rope_scaling': unknown RoPE type 'ntk' (supported: default, linear, "
            "dynamic, llama3, yarn, longrope)");
  EXPECT_EQ(error_of(changed_llama("rope_scaling", {{"rope_type", "linear"}})),
            "'config.json': 'rope_scaling': 'factor' is missing");
  EXPECT_EQ(error_of(changed_llama("rope_scaling", {{"rope_type", "linear"}, {"factor", -2}})),
            "'config.json': 'rope_scaling': 'factor' must be a positive number, got -2");
  EXPECT_EQ(error_of(changed_llama("partial_rotary_factor", 0.5)),
            "'config.json': 'partial_rotary_factor' must be 1, got 0.5");
  EXPECT_EQ(error_of(changed_llama("is_causal", false)),
            "'config.json': 'is_causal' must be true, because bidirectional attention is not "
            "supported, got false");
  EXPECT_EQ(error_of(changed_llama("text_config", small_config("llama"))),
            "'config.json': 'text_config' must be absent, got the config of a multimodal model; "
            "save its language model alone, with the keys of text_config at the top level");
  EXPECT_EQ(error_of(changed_llama("quantization_config", {{"bits", 4}})),
            "'config.json': 'quantization_config' must be absent, got quantised weights; use the "
            "unquantised checkpoint");
}

TEST(ModelConfigTest, ReadsOrRefusesDamagedFiles) {
  Json json = small_config("qwen2");
  json["use_sliding_window"] = true;
  json["layer_types"] = {"sliding_attention", "full_attention", "full_attention"};
  json["rope_scaling"] = {
      {"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}, {"high_freq_factor", 4}};
  const std::string original = json.dump();
  Random random(99);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string mutant = original;
    const std::size_t place = random.below(mutant.size());
    mutant[place] = static_cast<char>(mutant[place] ^ (1 << random.below(8)));
    try {
      parse_model_config(parse_json(mutant, "mutant"), "mutant");
    } catch (const Error& error) {
      ++refused;
      EXPECT_TRUE(std::string_view(error.what()).starts_with("mutant: ")) << error.what();
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(ModelConfigTest, ReadsAFolderOrItsFile) {
  const TemporaryFolder folder;
  write_text(folder / "config.json", small_config("llama").dump());
  EXPECT_EQ(read_model_config(folder.path()).vocab_size, 11);
  EXPECT_EQ(read_model_config(folder / "config.json").vocab_size, 11);
}

TEST(ModelConfigTest, NamesTheFileThatIsMissingOrCutShort) {
  const TemporaryFolder folder;
  const std::string file = (folder / "config.json").string();
  EXPECT_EQ(refusal_of<IoError>([&] { read_model_config(folder / "nowhere"); }),
            "'" + (folder / "nowhere").string() + "': the checkpoint folder does not exist");
  EXPECT_EQ(refusal_of<IoError>([&] { read_model_config(folder.path()); }),
            "'" + folder.path().string() +
                "': the folder contains no config.json, expected a Hugging Face checkpoint");
  const std::string text = small_config("llama").dump();
  write_text(file, text.substr(0, text.size() / 2));
  EXPECT_EQ(refusal_of<FormatError>([&] { read_model_config(folder.path()); }),
            "'" + file + "': is not valid JSON at line 1, column " +
                std::to_string(text.size() / 2) + "; the file seems to be truncated");
}

}  // namespace
}  // namespace lime
