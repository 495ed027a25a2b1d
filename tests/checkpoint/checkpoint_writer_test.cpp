// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/test_model.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::official_layout;
using testing::random_model;
using testing::read_text;
using testing::refusal_of;
using testing::small_config;
using testing::TemporaryFolder;
using testing::TestModel;
using testing::write_text;

void write(const std::filesystem::path& folder, const TestModel& model,
           const std::vector<std::filesystem::path>& extra_files = {}) {
  write_checkpoint(folder, parse_model_config(model.config, "test"), model.views(), extra_files);
}

TEST(CheckpointWriterTest, WritesWhatOpensAgain) {
  const TemporaryFolder folder;
  for (const std::string& type : decoder_names()) {
    Json sizes = small_config(type);
    sizes.erase("model_type");
    const TestModel model = random_model(make_model_config(type, sizes, "test").raw);
    write(folder / type, model);
    const Checkpoint checkpoint = Checkpoint::open(folder / type);
    EXPECT_EQ(checkpoint.config().name(), type);
    for (const auto& tensor : model.tensors) {
      std::vector<float> values(tensor.values.size());
      checkpoint.read(tensor.name, values);
      EXPECT_EQ(values, tensor.values) << tensor.name;
    }
  }
}

TEST(CheckpointWriterTest, CopiesTheTokenizerAndLeavesOtherFilesAlone) {
  const TemporaryFolder source;
  const TemporaryFolder target;
  write_text(source / "tokenizer.json", "{}");
  write_text(target / "training.log", "loss");
  const TestModel model = random_model(small_config("llama"));
  write(target.path(), model, {source / "tokenizer.json"});
  write(target.path(), model, {target / "tokenizer.json"});
  EXPECT_EQ(read_text(target / "tokenizer.json"), "{}");
  EXPECT_EQ(read_text(target / "training.log"), "loss");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(target.path()),
                          std::filesystem::directory_iterator()),
            4);
}

TEST(CheckpointWriterTest, ReplacesAnotherModel) {
  const TemporaryFolder folder;
  write(folder.path(), random_model(small_config("llama")));
  write(folder.path(), random_model(small_config("lime")));
  EXPECT_EQ(Checkpoint::open(folder.path()).config().name(), "lime");
}

TEST(CheckpointWriterTest, RefusesTensorsThatAreNotTheConfigs) {
  const TemporaryFolder folder;
  TestModel model = random_model(small_config("llama"));
  model.remove("model.norm.weight");
  EXPECT_EQ(refusal_of<InvalidArgument>([&] { write(folder / "new", model); }),
            "'write_checkpoint': the tensors must be those of config.json, got missing 1 "
            "('model.norm.weight')");
  EXPECT_EQ(
      refusal_of<InvalidArgument>([&] {
        TestModel official = official_layout(random_model(small_config("lime")));
        write(folder / "new", official);
      }),
      "write_checkpoint: tensors must be those of the config, under their Hugging Face names");
  EXPECT_FALSE(exists(folder / "new"));
}

TEST(CheckpointWriterTest, NeedsTheParentFolder) {
  const TemporaryFolder folder;
  const std::filesystem::path deep = folder / "no" / "such";
  EXPECT_EQ(refusal_of<IoError>([&] { write(deep, random_model(small_config("llama"))); }),
            "'" + deep.string() + "': the folder cannot be created: No such file or directory");
}

TEST(CheckpointWriterTest, SaysWhereItMayNotWrite) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const TemporaryFolder folder;
  permissions(folder.path(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(refusal_of<IoError>([&] { write(folder.path(), random_model(small_config("llama"))); }),
            "'" + (folder / "model.safetensors").string() +
                "': cannot be written: Permission denied; use a location that you may write to");
}

}  // namespace
}  // namespace lime
