// SPDX-License-Identifier: Apache-2.0
// Rescaling a head without changing the model: properties of the function are invariant, |R| is
// not.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>

#include "metrics/router/head_scales.h"
#include "metrics/router/router_maps.h"
#include "metrics/router/routers.h"
#include "model/decoders/decoder.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using testing::activations;
using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::small_config;
using testing::some_ids;

constexpr int kLayers = 3;
constexpr std::int64_t kHeads = 2;

std::string name_of(int layer, const std::string& part) {
  return "model.layers." + std::to_string(layer) + ".self_attn." + part;
}

Routers routers_of(const Decoder& decoder) {
  Routers routers = Routers::identity(kLayers, kHeads);
  for (int layer = 1; layer < kLayers; ++layer) {
    const at::Tensor weights =
        decoder.parameter(name_of(layer, "lime_router.static_weights")).contiguous();
    routers.weights[static_cast<std::size_t>(layer)] =
        Eigen::Map<const MatrixD>(weights.data_ptr<double>(), weights.size(0), weights.size(1));
  }
  return routers;
}

/// Returns the root mean square of each head's `hook` ("hook_k" or "hook_v") over all tokens.
HeadScales scales_of(const Decoder& decoder, const at::Tensor& ids, const std::string& hook) {
  HeadScales scales(kLayers, kHeads);
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string name = "blocks." + std::to_string(layer) + ".attn." + hook;
    const at::Tensor heads =
        activations(decoder, ids, {name}).at(name).reshape({-1, kHeads, decoder.config().head_dim});
    const at::Tensor rms = heads.square().mean(at::IntArrayRef{0, 2}).sqrt().contiguous();
    for (std::int64_t head = 0; head < kHeads; ++head) {
      scales(layer, head) = rms.data_ptr<double>()[head];
    }
  }
  return scales;
}

/// Multiplies W_K and W_V of one buffered head by `factor` and divides its router columns by it.
void rescale_head(Decoder& decoder, int layer, std::int64_t head, double factor) {
  const torch::NoGradGuard no_grad;
  const std::int64_t dim = decoder.config().head_dim;
  for (const char* projection : {"k_proj.weight", "v_proj.weight"}) {
    at::Tensor weight = decoder.parameter(name_of(layer, projection));
    weight.narrow(0, head * dim, dim).mul_(factor);
  }
  for (int reader = std::max(layer, 1); reader < kLayers; ++reader) {
    at::Tensor router = decoder.parameter(name_of(reader, "lime_router.static_weights"));
    router.narrow(1, layer * kHeads + head, 1).div_(factor);
  }
}

double largest_move(const MatrixD& a, const MatrixD& b) { return (a - b).cwiseAbs().maxCoeff(); }

TEST(RouterGaugeTest, RescaledHeadsMoveOnlyTheMapOfBareWeights) {
  Decoder decoder = lively_decoder(small_config("lime"), in_double());
  const at::Tensor ids = some_ids(2, 17);
  const at::Tensor logits = decoder.forward(ids).logits.clone();
  const Routers routers = routers_of(decoder);
  const HeadScales keys = scales_of(decoder, ids, "hook_k");
  const HeadScales values = scales_of(decoder, ids, "hook_v");

  rescale_head(decoder, 1, 1, 8.0);
  rescale_head(decoder, 2, 0, -0.25);
  EXPECT_LT(max_difference(decoder.forward(ids).logits, logits), 1e-11);

  const Routers rescaled = routers_of(decoder);
  const auto bare = [](const Routers& of) { return router_mean_map(of, unit_scales(of)); };
  EXPECT_GT(largest_move(bare(rescaled), bare(routers)), 0.05);
  EXPECT_LT(largest_move(router_mean_map(rescaled, scales_of(decoder, ids, "hook_k")),
                         router_mean_map(routers, keys)),
            1e-12);
  EXPECT_LT(largest_move(router_mean_map(rescaled, scales_of(decoder, ids, "hook_v")),
                         router_mean_map(routers, values)),
            1e-12);
}

}  // namespace
}  // namespace lime
