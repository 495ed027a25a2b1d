// SPDX-License-Identifier: Apache-2.0
// Differences between kinds of decoders: initialisation, and the cache while decoding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "model/decoders/decoder.h"
#include "model/decoders/lime_router.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::small_config;
using testing::some_ids;

/// Copies to `to` the parameters that it shares with `from`.
void copy_shared_weights(const Decoder& from, const Decoder& to) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : to.parameters()) {
    for (const auto& [other, source] : from.parameters()) {
      if (name == other && tensor.sizes() == source.sizes()) at::Tensor(tensor).copy_(source);
    }
  }
}

TEST(FirstWeightsTest, DenseFormerStartsAsALlama) {
  const Decoder llama = lively_decoder(small_config(), in_double());
  ModelConfig config = small_config("denseformer");
  config.denseformer.dilation = 2;
  const Decoder dense(config, 1, in_double());
  copy_shared_weights(llama, dense);
  const at::Tensor ids = some_ids(2, 7);
  EXPECT_LT(max_difference(dense.forward(ids).logits, llama.forward(ids).logits), 1e-12);
}

/// All streams are equal initially, so neither their number matters, nor whether their weights may
/// depend on the token.
TEST(FirstWeightsTest, HyperConnectionsStartAsOneStream) {
  ModelConfig config = small_config("hyper_connections");
  config.spec.norm.eps = 0.0;  // otherwise the norm of the sum of n streams differs slightly
  config.hyper_connections = {.dynamic = false, .rate = 1};
  const Decoder one(config, 3, in_double());
  const at::Tensor ids = some_ids(2, 7);
  const at::Tensor expected = one.forward(ids).logits;
  for (const bool dynamic : {false, true}) {
    config.hyper_connections = {.dynamic = dynamic, .rate = 4};
    const Decoder four(config, 3, in_double());
    copy_shared_weights(one, four);
    EXPECT_LT(max_difference(four.forward(ids).logits, expected), 1e-12);
  }
}

TEST(FirstWeightsTest, ARouterIsTheIdentityOnItsOwnLayerAndUniformElsewhere) {
  ModelConfig config = small_config("lime");
  config.num_attention_heads = config.num_key_value_heads = 8;
  constexpr std::int64_t kHeads = 8;
  constexpr std::int64_t kLayers = 40;
  const at::Tensor router = torch::empty({kHeads, kLayers * kHeads}, torch::kDouble);
  Random random(1);
  initialize_router(router, config, random);
  EXPECT_TRUE(torch::equal(router.narrow(1, (kLayers - 1) * kHeads, kHeads),
                           torch::eye(kHeads, torch::kDouble)));
  const at::Tensor others = router.narrow(1, 0, (kLayers - 1) * kHeads);
  const double bound = std::sqrt(3.0 / (kLayers * kHeads));
  EXPECT_LE(others.abs().max().item<double>(), bound);
  EXPECT_GT(others.abs().max().item<double>(), 0.99 * bound);
  // uniform(-b, b) has variance b^2 / 3; the sample's is within 4 standard errors of it.
  EXPECT_NEAR(others.square().mean().item<double>(), bound * bound / 3.0,
              0.08 * bound * bound / 3.0);
}

TEST(FirstWeightsTest, ARouterWithoutRandomStartReadsWhatALlamaReads) {
  ModelConfig config = small_config("lime");
  const at::Tensor router = torch::empty({2, 3 * 2}, torch::kDouble);
  const auto others = [&](double scale) {
    config.lime.initializer_scale = scale;
    Random random(1);
    initialize_router(router, config, random);
    EXPECT_TRUE(torch::equal(router.narrow(1, 4, 2), torch::eye(2, torch::kDouble)));
    return router.narrow(1, 0, 4).clone();
  };
  EXPECT_TRUE(torch::equal(others(0.0), torch::zeros({2, 4}, torch::kDouble)));
  EXPECT_TRUE(torch::allclose(others(0.5), 0.5 * others(1.0), 1e-15, 0.0));

  config.lime.initializer_scale = 0.0;
  const Decoder lime(config, 3, in_double());
  config.routing = DepthRouting::kNone;
  const Decoder llama(config, 4, in_double());
  copy_shared_weights(lime, llama);
  const at::Tensor ids = some_ids(2, 7);
  EXPECT_LT(max_difference(lime.forward(ids).logits, llama.forward(ids).logits), 1e-12);
}

TEST(FirstWeightsTest, MatricesHaveTheSpreadThatIsAskedFor) {
  ModelConfig config = small_config("llama");
  const at::Tensor usual = Decoder(config, 3, in_double()).parameters().front().tensor.clone();
  config.initializer_range *= 3.0;
  const at::Tensor wide = Decoder(config, 3, in_double()).parameters().front().tensor;
  EXPECT_LT(max_difference(wide, 3.0 * usual), 1e-12);
}

TEST(FirstWeightsTest, ARouterPerDimensionIsTheIdentityOnItsOwnLayer) {
  ModelConfig config = small_config("lime");
  config.lime.per_dimension = true;
  Random random(1);
  const at::Tensor router = torch::empty({2, 3 * 2 * 6}, torch::kDouble);
  initialize_router(router, config, random);
  const at::Tensor own = router.view({2, 3, 2, 6}).select(1, 2);
  const at::Tensor identity = torch::eye(2, torch::kDouble).unsqueeze(2).expand({2, 2, 6});
  EXPECT_TRUE(torch::equal(own, identity));
  config.lime.head_mixing = false;
  const at::Tensor apart = torch::empty({2, 3 * 6}, torch::kDouble);
  initialize_router(apart, config, random);
  EXPECT_TRUE(
      torch::equal(apart.view({2, 3, 6}).select(1, 2), torch::ones({2, 6}, torch::kDouble)));
}

/// Returns the cached elements after one pass over 9 tokens.
std::int64_t cached_numbers(const ModelConfig& config) {
  KeyValueCache cache;
  Decoder(config, 1).forward(some_ids(1, 9), {.cache = &cache});
  return cache.num_elements();
}

TEST(CacheSizeTest, OfLimeIsThatOfLlama) {
  const std::int64_t of_llama = cached_numbers(small_config());
  EXPECT_EQ(of_llama, 2 * 3 * 9 * 2 * 6);
  ModelConfig lime = small_config("lime");
  EXPECT_EQ(cached_numbers(lime), of_llama);
  lime.lime.per_dimension = true;
  EXPECT_EQ(cached_numbers(lime), of_llama);
}

TEST(CacheSizeTest, OfSvFormerHoldsTheValuesOfOneLayer) {
  ModelConfig config = small_config("resformer");
  config.first_layer_values_only = true;
  EXPECT_EQ(cached_numbers(config), (3 + 1) * 9 * 2 * 6);
}

/// Values that a hook replaced in one layer only must stay its own while decoding.
TEST(SvFormerTest, ReplacedValuesAreCachedForTheirLayer) {
  ModelConfig config = small_config("resformer");
  config.first_layer_values_only = true;
  const Decoder decoder = lively_decoder(config, in_double());
  const at::Tensor ids = some_ids(2, 8);
  HookSet hooks;
  const ScopedHook doubled =
      hooks.edit({HookKind::kV, 1}, [](const HookPoint&, const at::Tensor& v) { return v * 2.0; });
  const at::Tensor whole = decoder.forward(ids, {.hooks = &hooks}).logits;
  KeyValueCache cache;
  std::vector<at::Tensor> parts;
  for (std::int64_t i = 0; i < 8; ++i) {
    parts.push_back(
        decoder.forward(ids.narrow(1, i, 1), {.hooks = &hooks, .cache = &cache}).logits);
  }
  EXPECT_LT(max_difference(torch::cat(parts, 1), whole), 1e-12);
}

TEST(SvFormerTest, ValuesReplacedFromTheMiddleOnLeaveWhatWasSeen) {
  ModelConfig config = small_config("resformer");
  config.first_layer_values_only = true;
  const Decoder decoder = lively_decoder(config, in_double());
  const at::Tensor ids = some_ids(2, 8);
  HookSet hooks;
  const ScopedHook doubled =
      hooks.edit({HookKind::kV, 1}, [](const HookPoint&, const at::Tensor& v) {
        at::Tensor edited = v.clone();
        edited.narrow(1, v.size(1) - 3, 3).mul_(2.0);
        return edited;
      });
  const at::Tensor whole = decoder.forward(ids, {.hooks = &hooks}).logits;
  KeyValueCache cache;
  decoder.forward(ids.narrow(1, 0, 5), {.cache = &cache});
  const at::Tensor rest =
      decoder.forward(ids.narrow(1, 5, 3), {.hooks = &hooks, .cache = &cache}).logits;
  EXPECT_LT(max_difference(rest, whole.narrow(1, 5, 3)), 1e-12);
}

}  // namespace
}  // namespace lime
