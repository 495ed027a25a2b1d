// SPDX-License-Identifier: Apache-2.0
#include "metrics/cost/decoder_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/errors.h"

namespace lime {
namespace {

/// The base model of the paper's efficiency table.
DecoderShape paper_shape(CostedDecoder decoder, std::int64_t key_value_heads) {
  DecoderShape shape;
  shape.decoder = decoder;
  shape.vocab_size = 50257;
  shape.hidden_size = 2048;
  shape.intermediate_size = 8192;
  shape.num_hidden_layers = 16;
  shape.num_attention_heads = 32;
  shape.num_key_value_heads = key_value_heads;
  shape.head_dim = 64;
  return shape;
}

struct PaperRow {
  CostedDecoder decoder;
  std::int64_t key_value_heads;
  double billion_parameters;
  double tera_operations;
};

// The efficiency table of "You Do Not Fully Utilize Transformer's Representation Capacity".
constexpr PaperRow kEfficiencyTable[] = {
    {CostedDecoder::kLlama, 8, 1.07607, 2.7615},
    {CostedDecoder::kLlama, 32, 1.17674, 2.9679},
    {CostedDecoder::kLime, 8, 1.07608, 2.7638},
    {CostedDecoder::kLime, 32, 1.17687, 3.0041},
    {CostedDecoder::kDenseFormer, 8, 1.07607, 2.7622},
    {CostedDecoder::kDenseFormer, 32, 1.17674, 2.9685},
    {CostedDecoder::kHyperConnections, 8, 1.07640, 2.7701},
    {CostedDecoder::kHyperConnections, 32, 1.17706, 2.9764},
};

TEST(DecoderCostTest, ReproducesTheEfficiencyTableOfThePaper) {
  for (const PaperRow& row : kEfficiencyTable) {
    const DecoderCost cost = decoder_cost(paper_shape(row.decoder, row.key_value_heads));
    const std::string name =
        std::string(enum_name(row.decoder)) + " " + std::to_string(row.key_value_heads);
    EXPECT_EQ(std::round(double(cost.parameters) / 1e4) / 1e5, row.billion_parameters) << name;
    EXPECT_NEAR(cost.multiply_accumulates / 1e12 / row.tera_operations, 1.0, 1e-3) << name;
  }
}

TEST(DecoderCostTest, CountsTheRoutersOfThePaper) {
  EXPECT_EQ(decoder_cost(paper_shape(CostedDecoder::kLime, 8)).router_parameters, 8640);
  EXPECT_EQ(decoder_cost(paper_shape(CostedDecoder::kLime, 32)).router_parameters, 138240);
}

TEST(DecoderCostTest, PartsSumToTheWhole) {
  const DecoderCost cost = decoder_cost(paper_shape(CostedDecoder::kLime, 8), 100);
  EXPECT_DOUBLE_EQ(cost.linear + cost.attention + cost.mixing + cost.elementwise,
                   cost.multiply_accumulates);
  EXPECT_DOUBLE_EQ(cost.per_token * 100.0, cost.multiply_accumulates);
}

TEST(DecoderCostTest, CacheOfLimeIsAsLargeAsThatOfLlama) {
  EXPECT_EQ(decoder_cost(paper_shape(CostedDecoder::kLime, 8)).cache_elements,
            decoder_cost(paper_shape(CostedDecoder::kLlama, 8)).cache_elements);
  EXPECT_EQ(decoder_cost(paper_shape(CostedDecoder::kLlama, 8)).cache_elements,
            std::int64_t{2} * 16 * 8 * 64 * 2048);
}

TEST(DecoderCostTest, SlidingWindowsBoundTheCache) {
  DecoderShape shape = paper_shape(CostedDecoder::kLlama, 8);
  shape.cached_positions.assign(16, 0);
  shape.cached_positions[3] = 100;
  EXPECT_EQ(decoder_cost(shape).cache_elements, std::int64_t{2} * 8 * 64 * (15 * 2048 + 100));
  shape.cached_positions.resize(3);
  EXPECT_THROW(decoder_cost(shape), InvalidArgument);
}

TEST(DecoderCostTest, RoutersOfFewLayersCostLess) {
  DecoderShape shape = paper_shape(CostedDecoder::kLime, 8);
  shape.router.layers_read.assign(16, 2);
  EXPECT_EQ(decoder_cost(shape).router_parameters, 15 * 8 * 2 * 8);
  shape.router.head_mixing = false;
  EXPECT_EQ(decoder_cost(shape).router_parameters, 15 * 8 * 2);
  EXPECT_EQ(decoder_cost(shape).mixing, 2048.0 * 15 * 2 * 2 * 8 * 64);
  shape.router.has_parameters = false;
  EXPECT_EQ(decoder_cost(shape).router_parameters, 0);
}

TEST(DecoderCostTest, NamesTheSizeAtFault) {
  DecoderShape shape = paper_shape(CostedDecoder::kLlama, 8);
  shape.num_hidden_layers = 0;
  try {
    decoder_cost(shape);
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "cost: num_hidden_layers must be >= 1, got 0");
  }
}

}  // namespace
}  // namespace lime
