// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/decoder_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "checkpoint/parse_model_config.h"
#include "core/errors.h"
#include "support/efficiency_table.h"

namespace lime {
namespace {

using testing::kEfficiencyTable;
using testing::PaperRow;

/// Returns the base model of the paper's efficiency table.
ModelConfig paper_config(const std::string& decoder, std::int64_t key_value_heads) {
  return make_model_config(decoder,
                           {{"vocab_size", 50257},
                            {"hidden_size", 2048},
                            {"intermediate_size", 8192},
                            {"num_hidden_layers", 16},
                            {"num_attention_heads", 32},
                            {"num_key_value_heads", key_value_heads},
                            {"head_dim", 64},
                            {"tie_word_embeddings", true}},
                           "test");
}

TEST(DecoderCostTest, ReproducesTheEfficiencyTableOfThePaper) {
  for (const PaperRow& row : kEfficiencyTable) {
    const DecoderCost cost = decoder_cost(paper_config(row.decoder, row.key_value_heads));
    const std::string name = std::string(row.decoder) + " " + std::to_string(row.key_value_heads);
    EXPECT_EQ(std::round(double(cost.parameters) / 1e4) / 1e5, row.billion_parameters) << name;
    EXPECT_NEAR(cost.multiply_accumulates / 1e12 / row.tera_operations, 1.0, 1e-3) << name;
  }
}

TEST(DecoderCostTest, CountsTheRoutersOfThePaper) {
  EXPECT_EQ(decoder_cost(paper_config("lime", 8)).router_parameters, 8640);
  EXPECT_EQ(decoder_cost(paper_config("lime", 32)).router_parameters, 138240);
}

TEST(DecoderCostTest, PartsSumToTheWhole) {
  const DecoderCost cost = decoder_cost(paper_config("lime", 8), 100);
  EXPECT_DOUBLE_EQ(cost.linear + cost.attention + cost.mixing + cost.elementwise,
                   cost.multiply_accumulates);
  EXPECT_DOUBLE_EQ(cost.per_token * 100.0, cost.multiply_accumulates);
}

TEST(DecoderCostTest, CacheOfLimeIsAsLargeAsThatOfLlama) {
  EXPECT_EQ(decoder_cost(paper_config("lime", 8)).cache_elements,
            decoder_cost(paper_config("llama", 8)).cache_elements);
  EXPECT_EQ(decoder_cost(paper_config("llama", 8)).cache_elements,
            std::int64_t{2} * 16 * 8 * 64 * 2048);
}

TEST(DecoderCostTest, SlidingWindowsBoundTheCache) {
  ModelConfig config = paper_config("llama", 8);
  config.spec.layers.resize(16);
  config.spec.layers[3].window = 100;
  EXPECT_EQ(decoder_cost(config).cache_elements, std::int64_t{2} * 8 * 64 * (15 * 2048 + 100));
  config.spec.layers.resize(3);
  EXPECT_THROW(decoder_cost(config), FormatError);
}

/// Mixtral 8x7B: 46.7 billion parameters, of which a token passes 12.9.
TEST(DecoderCostTest, ATokenPassesOnlyItsExperts) {
  const ModelConfig mixtral = make_model_config("mixtral",
                                                {{"vocab_size", 32000},
                                                 {"hidden_size", 4096},
                                                 {"intermediate_size", 14336},
                                                 {"num_hidden_layers", 32},
                                                 {"num_attention_heads", 32},
                                                 {"num_key_value_heads", 8}},
                                                "test");
  const DecoderCost cost = decoder_cost(mixtral, 1);
  EXPECT_EQ(cost.parameters, 46702792704);
  // Without the embedding, which is looked up, and the norms.
  EXPECT_EQ(cost.linear, 12879925248.0 - 32000.0 * 4096.0 - 65.0 * 4096.0);
}

TEST(DecoderCostTest, RoutersOfFewLayersCostLess) {
  ModelConfig config = paper_config("lime", 8);
  config.lime = {.router = RouterKind::kLast, .j = 2};
  EXPECT_EQ(decoder_cost(config).router_parameters, 15 * 8 * 2 * 8);
  config.lime.head_mixing = false;
  EXPECT_EQ(decoder_cost(config).router_parameters, 15 * 8 * 2);
  EXPECT_EQ(decoder_cost(config).mixing, 2048.0 * 15 * 2 * 2 * 8 * 64);
  config.lime.router = RouterKind::kAverage;
  EXPECT_EQ(decoder_cost(config).router_parameters, 0);
}

TEST(DecoderCostTest, NamesTheSizeAtFault) {
  ModelConfig config = paper_config("llama", 8);
  config.num_hidden_layers = 0;
  try {
    decoder_cost(config);
    FAIL() << "expected FormatError";
  } catch (const FormatError& error) {
    EXPECT_STREQ(error.what(), "cost: 'num_hidden_layers' must be from 1 to 10000, got 0");
  }
}

}  // namespace
}  // namespace lime
