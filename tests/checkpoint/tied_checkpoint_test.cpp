// SPDX-License-Identifier: Apache-2.0
// Embeddings tied to the output projection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_fixture.h"

namespace lime {
namespace {

using testing::CheckpointTest;
using testing::expect_holds;
using testing::random_model;
using testing::read;
using testing::small_config;
using testing::TestModel;

class TiedCheckpointTest : public CheckpointTest {
 protected:
  /// A tied config with both an embedding and an output projection.
  TestModel model_ = [] {
    TestModel model = random_model(small_config("llama"));
    model.config["tie_word_embeddings"] = true;
    return model;
  }();
};

TEST_F(TiedCheckpointTest, NeedsNoOutputProjection) {
  model_.remove("lm_head.weight");
  const Checkpoint checkpoint = open(model_);
  EXPECT_TRUE(checkpoint.config().tie_word_embeddings);
  EXPECT_FALSE(checkpoint.has("lm_head.weight"));
  expect_holds(checkpoint, model_);
}

TEST_F(TiedCheckpointTest, WarnsOfAnOutputProjectionThatDiffers) {
  EXPECT_THAT(
      open(model_).warnings(),
      ::testing::ElementsAre(
          "'" + path().string() +
          "': lm_head.weight is used as stored, as transformers 5 does, although "
          "config.json ties it to another embedding (transformers 4 uses the embedding); "
          "set tie_word_embeddings to false to keep it, or remove lm_head.weight to use the "
          "embedding"));
  model_.at("lm_head.weight").values = model_.at("model.embed_tokens.weight").values;
  EXPECT_THAT(open(model_).warnings(), ::testing::IsEmpty());
}

TEST_F(TiedCheckpointTest, DropsAnEqualOutputProjection) {
  model_.at("lm_head.weight").values = model_.at("model.embed_tokens.weight").values;
  const Checkpoint checkpoint = open(model_);
  EXPECT_TRUE(checkpoint.config().tie_word_embeddings);
  EXPECT_FALSE(checkpoint.has("lm_head.weight"));
}

TEST_F(TiedCheckpointTest, KeepsAnOutputProjectionThatDiffersAsTransformersDoes) {
  const Checkpoint checkpoint = open(model_);
  EXPECT_FALSE(checkpoint.config().tie_word_embeddings);
  expect_holds(checkpoint, model_);
}

TEST_F(TiedCheckpointTest, TakesTheOutputProjectionForAMissingEmbedding) {
  const std::vector<float> values = model_.at("lm_head.weight").values;
  model_.remove("model.embed_tokens.weight");
  const Checkpoint checkpoint = open(model_);
  EXPECT_EQ(read(checkpoint, "model.embed_tokens.weight"), values);
  EXPECT_FALSE(checkpoint.has("lm_head.weight"));
}

TEST_F(TiedCheckpointTest, TheHeadOfATiedModelIsItsEmbedding) {
  model_.remove("lm_head.weight");
  EXPECT_TRUE(open(model_).config().has_head);
  model_.config["tie_word_embeddings"] = false;
  EXPECT_FALSE(open(model_).config().has_head);
}

}  // namespace
}  // namespace lime
