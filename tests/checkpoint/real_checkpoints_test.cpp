// SPDX-License-Identifier: Apache-2.0
// The checkpoints of the test data: a trained LLaMA and the paper's released layout of LIMe.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "checkpoint/checkpoint.h"
#include "checkpoint/parameters.h"
#include "checkpoint/weights/safetensors.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::skip_reason;
using testing::test_data;

float stored_value(const TensorView& tensor, std::int64_t row, std::int64_t column) {
  float value = 0.0F;
  const auto index = static_cast<std::size_t>(row * tensor.shape[1] + column);
  std::memcpy(&value, tensor.bytes.data() + index * sizeof(float), sizeof(float));
  return value;
}

TEST(RealCheckpointTest, ReadsATrainedLlama) {
  const auto folder = test_data("checkpoints/stories260k");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const ModelConfig& config = checkpoint.config();
  EXPECT_EQ(config.name(), "llama");
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.bos_token_id, 1);
  EXPECT_EQ(config.eos_token_ids, std::vector<std::int64_t>{2});
  EXPECT_EQ(config.torch_dtype, "float32");
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(parameter_count(config), 260'032);
  for (const ParameterSpec& spec : parameter_specs(config)) {
    std::vector<float> values(static_cast<std::size_t>(element_count(spec.shape)));
    EXPECT_NO_THROW(checkpoint.read(spec.name, values)) << spec.name;
  }
}

/// W_K[h][c] is row c * heads + h of the fused tensor, W_V[h][c] row (head_dim + c) * heads + h.
void expect_deinterleaved(const Checkpoint& checkpoint, const std::string& prefix) {
  const SafetensorsFile file(checkpoint.path() / "model.safetensors");
  const std::int64_t heads = checkpoint.config().num_key_value_heads;
  const std::int64_t head_dim = checkpoint.config().head_dim;
  for (std::int64_t layer = 0; layer < checkpoint.config().num_hidden_layers; ++layer) {
    const TensorView* const fused =
        file.find(prefix + layer_parameter(checkpoint.config(), layer, "self_attn.kv_proj_weight"));
    ASSERT_NE(fused, nullptr);
    const MatrixF keys = checkpoint.read_matrix(
        layer_parameter(checkpoint.config(), layer, "self_attn.k_proj.weight"));
    const MatrixF values = checkpoint.read_matrix(
        layer_parameter(checkpoint.config(), layer, "self_attn.v_proj.weight"));
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t c = 0; c < head_dim; ++c) {
        for (std::int64_t i = 0; i < keys.cols(); ++i) {
          ASSERT_EQ(keys(h * head_dim + c, i), stored_value(*fused, c * heads + h, i));
          ASSERT_EQ(values(h * head_dim + c, i),
                    stored_value(*fused, (head_dim + c) * heads + h, i));
        }
      }
    }
  }
}

TEST(RealCheckpointTest, ReadsTheReleasedLayoutWithGroupedQueries) {
  const auto folder = test_data("checkpoints/lime-random-gqa");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder);
  EXPECT_EQ(checkpoint.config().name(), "lime");
  EXPECT_TRUE(checkpoint.has("lm_head.weight"));
  EXPECT_EQ(checkpoint.tensor("model.layers.3.self_attn.lime_router.static_weights").shape,
            (Shape{2, 8}));
  expect_deinterleaved(checkpoint, "");
}

TEST(RealCheckpointTest, ReadsTheReleasedLayoutTiedAndCompiled) {
  const auto folder = test_data("checkpoints/lime-random-full");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder);
  EXPECT_EQ(checkpoint.config().name(), "lime");
  EXPECT_TRUE(checkpoint.config().tie_word_embeddings);
  EXPECT_FALSE(checkpoint.has("lm_head.weight"));
  EXPECT_EQ(checkpoint.tensor("model.norm.weight").stored_name, "_orig_mod.model.norm.weight");
  expect_deinterleaved(checkpoint, "_orig_mod.");
}

}  // namespace
}  // namespace lime
