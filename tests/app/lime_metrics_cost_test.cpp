// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "app/lime_metrics_fixture.h"
#include "checkpoint/parameters.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/test_model.h"
#include "support/efficiency_table.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::kEfficiencyTable;
using testing::LimeMetricsTest;
using testing::official_layout;
using testing::PaperRow;
using testing::ProgramRun;
using testing::random_model;
using testing::read_text;
using testing::small_config;
using testing::write_text;

class CostCommandTest : public LimeMetricsTest {
 protected:
  /// The base model of the paper's efficiency table.
  static Json paper_config(const std::string& model_type, std::int64_t key_value_heads) {
    return {{"model_type", model_type},
            {"vocab_size", 50257},
            {"hidden_size", 2048},
            {"intermediate_size", 8192},
            {"num_hidden_layers", 16},
            {"num_attention_heads", 32},
            {"num_key_value_heads", key_value_heads},
            {"tie_word_embeddings", true}};
  }
  void write_config(const std::string& name, const Json& config) const {
    write_text(folder_ / name, config.dump(1));
  }
};

TEST_F(CostCommandTest, ReproducesTheEfficiencyTableFromOneConfigPerRow) {
  std::string names;
  for (const PaperRow& row : kEfficiencyTable) {
    const std::string name = std::string(row.decoder) + std::to_string(row.key_value_heads);
    write_config(name + ".json", paper_config(row.decoder, row.key_value_heads));
    names += " " + name + ".json";
  }
  const Json table = rows("cost" + names);
  ASSERT_EQ(table.size(), std::size(kEfficiencyTable));
  for (std::size_t i = 0; i < table.size(); ++i) {
    const PaperRow& paper = kEfficiencyTable[i];
    EXPECT_EQ(table[i].at("decoder"), paper.decoder);
    EXPECT_EQ(table[i].at("sequence_length"), 2048);
    EXPECT_EQ(std::round(table[i].at("parameters").get<double>() / 1e4) / 1e5,
              paper.billion_parameters)
        << paper.decoder << paper.key_value_heads;
    EXPECT_NEAR(table[i].at("multiply_accumulates").get<double>() / 1e12 / paper.tera_operations,
                1.0, 1e-3)
        << paper.decoder << paper.key_value_heads;
  }
}

TEST_F(CostCommandTest, CountsTheParametersOfReleasedModelsToTheLastDigit) {
  const Json models =
      parse_json(read_text(testing::golden_file("published_sizes.json")), "").at("models");
  std::string names;
  for (const Json& model : models) {
    const std::string name = fmt::format("model{}.json", names.size());
    write_config(name, model.at("config"));
    names += " " + name;
  }
  const Json table = rows("cost --sequence-length 512" + names);
  ASSERT_EQ(table.size(), models.size());
  ASSERT_GE(table.size(), 15u);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(table[i].at("parameters"), models[i].at("parameters")) << models[i].at("repository");
  }
}

TEST_F(CostCommandTest, CountsOneConfigAsSeveralDecoders) {
  write_config("base.json", paper_config("llama", 32));
  const Json table = rows("cost base.json --decoder llama,lime --num-key-value-heads 8,32");
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table[2].at("decoder"), "lime");
  EXPECT_EQ(table[2].at("num_key_value_heads"), 8);
  EXPECT_EQ(table[2].at("router_parameters"), 8640);
  EXPECT_EQ(table[3].at("router_parameters"), 138240);
  EXPECT_NEAR(table[3].at("router_share").get<double>(), 138240 / 1.17687e9, 1e-9);
}

TEST_F(CostCommandTest, CountsTheCacheInTheNumberTypeAndLengthAskedFor) {
  write_config("base.json", paper_config("llama", 8));
  const Json table =
      rows("cost base.json --sequence-length 512,2048 --dtype bfloat16 --decoder llama,lime");
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table[0].at("cache_bytes"), 2 * 16 * 8 * 64 * 512 * 2);
  EXPECT_EQ(table[1].at("cache_bytes_per_token"), 2.0 * 16 * 8 * 64 * 2);
  EXPECT_EQ(table[2].at("cache_bytes"), table[0].at("cache_bytes"));
  EXPECT_EQ(table[0].at("per_token").get<double>() * 512,
            table[0].at("multiply_accumulates").get<double>());
}

TEST_F(CostCommandTest, CachesOfSlidingWindowsEndAtTheWindow) {
  Json config = paper_config("mistral", 8);
  config["sliding_window"] = 1024;
  config["torch_dtype"] = "float16";
  write_config("m.json", config);
  const Json row = rows("cost m.json").at(0);
  EXPECT_EQ(row.at("decoder"), "mistral");
  EXPECT_EQ(row.at("dtype"), "float16");
  EXPECT_EQ(row.at("cache_bytes"), 2 * 16 * 8 * 64 * 1024 * 2);
}

// The parameters in a checkpoint are an independent count.
TEST_F(CostCommandTest, ParametersAreThoseOfTheCheckpoint) {
  std::vector<Json> configs = {small_config("llama"),
                               small_config("qwen2"),
                               small_config("lime"),
                               small_config("denseformer"),
                               small_config("hyper_connections"),
                               small_config("resformer"),
                               small_config("attn_res"),
                               small_config("mhc"),
                               small_config("depth_attention"),
                               small_config("mudd")};
  const auto add = [&](const std::string& type, const Json& own) {
    configs.push_back(small_config(type));
    configs.back()[type] = own;
  };
  add("lime", {{"router", "last"}, {"j", 2}});
  add("lime", {{"router", "average"}});
  add("lime", {{"router", "dilated"}, {"j", 2}, {"head_mixing", false}});
  add("lime", {{"router", "full"}, {"per_dimension", true}});
  add("lime", {{"router", "full"}, {"dynamic", true}});
  add("denseformer", {{"dilation", 2}, {"period", 2}});
  add("hyper_connections", {{"rate", 2}, {"dynamic", false}});
  add("resformer", {{"first_layer_only", true}});
  add("attn_res", {{"num_blocks", 3}, {"recency_bias_init", 1.0}});
  for (const Json& config : configs) {
    write_config("config.json", config);
    const Json row = rows("cost config.json").at(0);
    EXPECT_EQ(row.at("parameters").get<std::int64_t>(),
              parameter_count(parse_model_config(config, "test")))
        << config.dump();
  }
}

TEST_F(CostCommandTest, TellsAnOfficialLimeByItsTensors) {
  std::filesystem::create_directory(folder_ / "official");
  official_layout(random_model(small_config("lime"))).write(folder_ / "official");
  for (const std::string path : {"official", "official/config.json"}) {
    const Json row = rows("cost " + path).at(0);
    EXPECT_EQ(row.at("decoder"), "lime") << path;
    EXPECT_EQ(row.at("label"), "official") << path;
  }
}

TEST_F(CostCommandTest, ReadsTheFoldersOfTheReleasedTraining) {
  std::filesystem::create_directory(folder_ / "save");
  official_layout(random_model(small_config("lime"))).write(folder_ / "save");
  testing::move_to_released_layout(folder_ / "save");
  for (const std::string path : {"save", "save/final", "save/config", "save/config/config.json"}) {
    EXPECT_EQ(rows("cost " + path).at(0).at("decoder"), "lime") << path;
  }
}

TEST_F(CostCommandTest, WarnsOfTiedEmbeddingsThatDiffer) {
  std::filesystem::create_directory(folder_ / "tied");
  testing::TestModel model = random_model(small_config("llama"));
  model.config["tie_word_embeddings"] = true;
  model.write(folder_ / "tied");
  const testing::ProgramRun tied = run("cost tied");
  EXPECT_EQ(tied.status, 0);
  EXPECT_THAT(tied.errors, HasSubstr("lime-metrics: warning: 'tied': lm_head.weight is used"));
}

TEST_F(CostCommandTest, PrintsATableAndTheLayoutOfThePaper) {
  write_config("base.json", paper_config("llama", 8));
  const std::string table = run("cost base.json --decoder llama,lime").output;
  EXPECT_THAT(table, HasSubstr("1.07607 G"));
  EXPECT_THAT(table, HasSubstr("2.7638 T"));
  EXPECT_THAT(table, HasSubstr("128 MiB"));
  const std::string latex =
      run("cost base.json --decoder llama,lime,hyper_connections --format latex").output;
  EXPECT_THAT(latex, HasSubstr("Model & KV heads & \\# Parameters (B) & FLOPs (T)"));
  EXPECT_THAT(latex, HasSubstr("LLaMA & 8 & 1.07607 & 2.7615 & 128.0 \\\\"));
  EXPECT_THAT(latex, HasSubstr("LIMe & 8 & 1.07608 & 2.7638 & 128.0 \\\\"));
  EXPECT_THAT(latex, HasSubstr("HC & 8 & 1.07640"));
  EXPECT_THAT(run("cost base.json --format csv").output, HasSubstr("base,llama,8,2048,float32,"));
}

TEST_F(CostCommandTest, ConfigsOfTheDocumentationAreTheEfficiencyTable) {
  const std::string base = testing::source_file("docs/configs/lime-base.json").string();
  const Json table = rows("cost '" + base +
                          "' --decoder llama,lime,denseformer,hyper_connections "
                          "--num-key-value-heads 8,32");
  ASSERT_EQ(table.size(), std::size(kEfficiencyTable));
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(std::round(table[i].at("parameters").get<double>() / 1e4) / 1e5,
              kEfficiencyTable[i].billion_parameters);
  }
}

TEST_F(CostCommandTest, RefusesWhatIsNoConfig) {
  EXPECT_EQ(refusal("cost none.json", 1),
            "lime-metrics: 'none.json': no such file; give a config.json or a checkpoint folder\n");
  EXPECT_EQ(refusal("cost", 2),
            "lime-metrics: configs: expected at least one config.json or checkpoint folder, got "
            "none; see lime-metrics cost --help\n");
  write_text(folder_ / "list.json", "[1]");
  EXPECT_THAT(refusal("cost list.json", 1), HasSubstr("list.json"));
  Json config = paper_config("llama", 8);
  write_config("a.json", config);
  EXPECT_EQ(refusal("cost a.json --num-key-value-heads 5", 1),
            "lime-metrics: 'a.json': cost: 'num_attention_heads' must be a multiple of "
            "num_key_value_heads = 5, got 32\n");
  EXPECT_THAT(refusal("cost a.json --sequence-length 0", 2),
              HasSubstr("--sequence-length: must be from 1 to 2147483647, got 0"));
  EXPECT_THAT(refusal("cost a.json a.json", 2), HasSubstr("configs: values must be unique"));
  EXPECT_THAT(refusal("cost a.json --decoder gpt", 2),
              HasSubstr("expected one of llama, lime, denseformer"));
  config["model_type"] = "bert";
  write_config("g.json", config);
  EXPECT_THAT(refusal("cost g.json", 1), HasSubstr("bert"));
}

}  // namespace
}  // namespace lime
