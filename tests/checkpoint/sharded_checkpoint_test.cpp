// SPDX-License-Identifier: Apache-2.0
// Checkpoints with weights in several files.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/test_model.h"
#include "checkpoint/weights/safetensors.h"
#include "core/errors.h"
#include "core/files/sha256.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::random_model;
using testing::refusal_of;
using testing::small_config;
using testing::TemporaryFolder;
using testing::TestModel;
using testing::write_text;

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

class ShardedCheckpointTest : public ::testing::Test {
 protected:
  ShardedCheckpointTest() {
    model_ = random_model(small_config("llama"));
    const std::vector<TensorView> views = model_.views();
    const std::size_t half = views.size() / 2;
    write_text(file("config.json"), model_.config.dump());
    write_safetensors(file(kFirst), std::span(views).first(half));
    write_safetensors(file(kSecond), std::span(views).subspan(half));
    index_["metadata"]["total_size"] = 1;
    for (std::size_t i = 0; i < views.size(); ++i) {
      index_["weight_map"][views[i].name] = i < half ? kFirst : kSecond;
    }
    write_index();
  }

  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  void write_index() const { write_text(file(kIndex), index_.dump()); }
  Checkpoint open() const { return Checkpoint::open(folder_.path()); }
  std::string quoted(const std::string& name) const { return "'" + file(name).string() + "'"; }

  TemporaryFolder folder_;
  TestModel model_;
  Json index_;
};

TEST_F(ShardedCheckpointTest, ReadsTensorsFromTheirShards) {
  const Checkpoint checkpoint = open();
  for (const auto& tensor : model_.tensors) {
    std::vector<float> values(tensor.values.size());
    checkpoint.read(tensor.name, values);
    EXPECT_EQ(values, tensor.values) << tensor.name;
  }
}

TEST_F(ShardedCheckpointTest, HashesConfigIndexAndShards) {
  std::string lines;
  for (const char* name : {"config.json", kIndex, kFirst, kSecond}) {
    lines += sha256_of_file(file(name)) + "  " + name + "\n";
  }
  EXPECT_EQ(open().sha256(), sha256_of(lines));
}

TEST_F(ShardedCheckpointTest, PrefersASingleFileAsTransformersDoes) {
  TestModel other = random_model(small_config("llama"), 2);
  write_safetensors(file("model.safetensors"), other.views());
  std::vector<float> norm(16);
  open().read("model.norm.weight", norm);
  EXPECT_EQ(norm, other.at("model.norm.weight").values);
}

TEST_F(ShardedCheckpointTest, NamesAMissingShard) {
  std::filesystem::remove(file(kSecond));
  EXPECT_EQ(refusal_of<IoError>([&] { open(); }),
            "'" + folder_.path().string() +
                "': the shard 'model-00002-of-00002.safetensors' named by "
                "model.safetensors.index.json is missing; copy it into the folder");
}

TEST_F(ShardedCheckpointTest, RefusesShardsOutsideTheFolder) {
  for (const char* name : {"../model.safetensors", "/etc/passwd", "..", "a\\b", ""}) {
    index_["weight_map"]["model.norm.weight"] = name;
    write_index();
    EXPECT_EQ(
        refusal_of<FormatError>([&] { open(); }),
        quoted(kIndex) +
            ": the shard of tensor 'model.norm.weight' must be a file next to the index, got " +
            Json(name).dump());
  }
}

TEST_F(ShardedCheckpointTest, RefusesShardsThatAreLinksOutOfTheFolder) {
  const TemporaryFolder elsewhere;
  const std::filesystem::path target = elsewhere / "weights";
  std::filesystem::rename(file(kSecond), target);
  std::filesystem::create_symlink(target, file(kSecond));
  EXPECT_EQ(
      refusal_of<FormatError>([&] { open(); }),
      "'" + folder_.path().string() +
          "': the shard 'model-00002-of-00002.safetensors' named by model.safetensors.index.json "
          "is a link to a file outside the folder; copy the file into it");
}

TEST_F(ShardedCheckpointTest, ReadsTheLinksOfHuggingFacesCache) {
  const TemporaryFolder repository;
  std::filesystem::create_directories(repository / "snapshots");
  std::filesystem::create_directories(repository / "blobs");
  const std::filesystem::path snapshot = repository / "snapshots/c0ffee";
  std::filesystem::copy(folder_.path(), snapshot);
  for (const char* const shard : {kFirst, kSecond}) {
    std::filesystem::rename(snapshot / shard, repository.path() / "blobs" / shard);
    std::filesystem::create_symlink(std::filesystem::path("../../blobs") / shard, snapshot / shard);
  }
  EXPECT_EQ(Checkpoint::open(snapshot).config().num_hidden_layers,
            open().config().num_hidden_layers);
}

TEST_F(ShardedCheckpointTest, RefusesAnIndexWithoutAMap) {
  write_text(file(kIndex), "{\"weight_map\": 3}");
  EXPECT_EQ(refusal_of<FormatError>([&] { open(); }),
            quoted(kIndex) + ": must have an object 'weight_map' that maps tensors to shards");
  write_text(file(kIndex), "[]");
  EXPECT_EQ(refusal_of<FormatError>([&] { open(); }),
            quoted(kIndex) + ": must have an object 'weight_map' that maps tensors to shards");
}

TEST_F(ShardedCheckpointTest, NamesATensorThatAShardLacks) {
  index_["weight_map"]["model.norm.weight"] = kFirst;
  write_index();
  EXPECT_EQ(refusal_of<FormatError>([&] { open(); }),
            quoted(kFirst) +
                ": must contain tensor 'model.norm.weight' according to "
                "model.safetensors.index.json, but does not");
}

TEST_F(ShardedCheckpointTest, NamesATensorThatTheIndexForgot) {
  index_["weight_map"].erase("model.norm.weight");
  write_index();
  EXPECT_EQ(refusal_of<FormatError>([&] { open(); }),
            "'" + folder_.path().string() +
                "': the tensors must be those of config.json, got missing 1 "
                "('model.norm.weight')");
}

}  // namespace
}  // namespace lime
