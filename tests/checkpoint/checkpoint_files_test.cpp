// SPDX-License-Identifier: Apache-2.0
// Locations of the files of a checkpoint, and errors for other folders.
#include "checkpoint/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/tokenizer.h"
#include "checkpoint/weights/safetensors.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using testing::official_layout;
using testing::random_model;
using testing::refusal_of;
using testing::small_config;
using testing::TestModel;
using testing::with;
using testing::write_text;

class CheckpointFilesTest : public testing::CheckpointTest {
 protected:
  /// A LLaMA in the folder.
  void write_llama() const { random_model(small_config("llama")).write(path()); }
  /// The folder as train.py of the released code leaves it, its tokenizer in SAVE/tokenizer.
  void write_released() const {
    testing::write_tiny_checkpoint(path());
    testing::move_to_released_layout(path());
  }
  std::string refusal(const std::string& name) const {
    return refusal_of([&] { Checkpoint::open(name); });
  }
};

TEST_F(CheckpointFilesTest, ReadsWhatTheReleasedTrainingSaves) {
  const TestModel model =
      random_model(with(with(small_config("lime"), "num_key_value_heads", 4), "eos_token_id", 2));
  const TestModel official = official_layout(model);
  fs::create_directories(file("config"));
  fs::create_directories(file("final"));
  write_text(file("config/config.json"), official.config.dump());
  write_safetensors(file("final/model.safetensors"), official.views());
  const std::string digest = Checkpoint::open(path()).sha256();
  for (const fs::path& place : {path(), file("final"), file("final/"), file("config")}) {
    const Checkpoint checkpoint = Checkpoint::open(place);
    EXPECT_EQ(checkpoint.config().name(), "lime") << place;
    EXPECT_EQ(checkpoint.path(), place);
    EXPECT_EQ(checkpoint.sha256(), digest) << place;
    EXPECT_EQ(stop_token_ids(checkpoint), std::vector<std::int64_t>{2}) << place;
    testing::expect_holds(checkpoint, model);
  }
}

TEST_F(CheckpointFilesTest, FindsTheTokenizerOfTheReleasedTraining) {
  write_released();
  fs::path last = file("tokenizer");
  for (const fs::path& place : {file("tokenizer"), file("config"), file("final"), path()}) {
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
      if (last != place) fs::rename(last / name, place / name);
    }
    last = place;
    for (const fs::path& given : {path(), file("final"), file("config")}) {
      const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(given);
      EXPECT_EQ(tokenizer->kind(), "byte-level-bpe") << given << place;
      EXPECT_EQ(tokenizer->bos_id(), 256) << given << place;
    }
  }
  fs::remove(file("tokenizer.json"));
  EXPECT_THAT(refusal_of<IoError>([&] { load_tokenizer(file("final")); }),
              HasSubstr("/final' must contain tokenizer.json, tokenizer.model, or vocab.json"));
}

TEST_F(CheckpointFilesTest, NamesAModelAfterTheFolderAboveOneThatSaysNothing) {
  for (const char* const folder : {"lime-300m/hf", "lime-300m/final/hf", "out/hf", "runs/final"}) {
    fs::create_directories(file(folder));
  }
  EXPECT_EQ(checkpoint_label(file("lime-300m/hf")), "lime-300m");
  EXPECT_EQ(checkpoint_label(file("lime-300m/final/hf/")), "lime-300m");
  EXPECT_EQ(checkpoint_label(file("lime-300m")), "lime-300m");
  EXPECT_EQ(checkpoint_label(file("runs/final")), "final") << "nothing says more";
  std::ofstream(file("out/hf") / "config.json") << R"({"_name_or_path": "org/SmolLM2-135M"})";
  EXPECT_EQ(checkpoint_label(file("out/hf")), "SmolLM2-135M");
}

TEST_F(CheckpointFilesTest, ReadsTheSnapshotOfACache) {
  const fs::path root = file("models--org--name");
  fs::create_directories(root / "snapshots/abc");
  testing::write_tiny_checkpoint(root / "snapshots/abc");
  EXPECT_EQ(Checkpoint::open(root).config().vocab_size, 280);
  EXPECT_EQ(load_tokenizer(root)->bos_id(), 256);
  fs::create_directories(root / "snapshots/def");
  EXPECT_EQ(
      refusal(root.string()),
      fmt::format("'{0}': is a Hugging Face Hub cache with 2 snapshots and no refs/main; pass "
                  "one of them: '{0}/snapshots/abc', '{0}/snapshots/def'",
                  root.string()));
  EXPECT_EQ(checkpoint_label(root), "org/name");
  EXPECT_EQ(checkpoint_label(root / "snapshots/abc/"), "org/name");
  EXPECT_EQ(checkpoint_label(root / "snapshots/abc", true), "org/name@abc");
  EXPECT_EQ(checkpoint_label(root / "refs", true), "refs");
  EXPECT_THAT(refusal(root.parent_path().string()),
              HasSubstr("; it contains models--org--name: it is a Hugging Face Hub cache, pass the "
                        "folder of a model: " +
                        root.string()));
  fs::create_directories(root / "refs");
  for (const char* const other : {"def/..", "..", "gone", ""}) {
    write_text(root / "refs/main", other);
    EXPECT_THAT(refusal(root.string()), HasSubstr("2 snapshots")) << other;
  }
  write_text(root / "refs/main", "abc");
  EXPECT_EQ(Checkpoint::open(root).config().vocab_size, 280);
  EXPECT_EQ(load_tokenizer(root)->bos_id(), 256);
}

TEST_F(CheckpointFilesTest, NamesLinksWithoutTargets) {
  fs::create_symlink("../../blobs/gone", file("model.safetensors"));
  EXPECT_EQ(error_of_folder<IoError>(),
            "the folder contains no config.json, expected a Hugging Face checkpoint; it contains "
            "model.safetensors: it is a link to a file that does not exist; copy the blobs too");
}

TEST_F(CheckpointFilesTest, RefusesAdapters) {
  write_text(file("adapter_config.json"), "{}");
  EXPECT_EQ(error_of_folder(),
            "is a LoRA adapter without the weights of its base model; merge the adapter (peft: "
            "model.merge_and_unload(), then save_pretrained() into another folder)");
  write_llama();
  EXPECT_EQ(error_of_folder(),
            "contains adapter_config.json, and transformers loads the adapter on top of the "
            "weights; merge the adapter (peft: model.merge_and_unload(), then save_pretrained() "
            "into another folder), or remove adapter_config.json to use the weights without it");
}

TEST_F(CheckpointFilesTest, SaysWhatToDoWithOtherFormats) {
  const std::vector<std::pair<std::string, std::string>> remedies = {
      {"consolidated.safetensors",
       "download config.json and model*.safetensors of the same model in Hugging Face format"},
      {"model-q4.gguf", "it is not a complete GGUF file, download it again"},
      {"model.fp16.safetensors", "rename it to model.safetensors"},
      {"model.safetensors.index.fp16.json", "rename it to model.safetensors.index.json"}};
  write_text(file("model.fp16-00001-of-00002.safetensors"), "");
  for (const auto& [name, remedy] : remedies) {
    const std::string hint = "; it contains " + name + ": " + remedy;
    write_text(file(name), "");
    EXPECT_TRUE(seems_checkpoint(path()));
    EXPECT_EQ(error_of_folder<IoError>(),
              "the folder contains no config.json, expected a Hugging Face checkpoint" + hint);
    write_text(file("config.json"), small_config("llama").dump());
    EXPECT_EQ(
        error_of_folder<IoError>(),
        "the folder contains no weights, expected model.safetensors, model.safetensors.index.json, "
        "pytorch_model.bin or pytorch_model.bin.index.json" +
            hint);
    fs::remove(file(name));
    fs::remove(file("config.json"));
  }
  EXPECT_FALSE(seems_checkpoint(path())) << "a shard alone";
  write_text(file("model.gguf"), "PK");
  EXPECT_EQ(
      refusal(file("model.gguf").string()),
      "'" + file("model.gguf").string() + "': is a file, expected a checkpoint folder or GGUF");
}

TEST_F(CheckpointFilesTest, AsksForTheConfigOfWeights) {
  write_llama();
  fs::remove(file("config.json"));
  EXPECT_EQ(error_of_folder<IoError>(),
            "the folder contains no config.json, expected a Hugging Face checkpoint; put the "
            "config.json of the checkpoint next to the weights");
}

TEST_F(CheckpointFilesTest, NamesPointersOfGitLfs) {
  write_llama();
  write_text(file("model.safetensors"),
             "version https://git-lfs.github.com/spec/v1\noid sha256:4f3c\nsize 976000000\n");
  EXPECT_EQ(refusal(path().string()), "'" + file("model.safetensors").string() +
                                          "': is a Git LFS pointer, and the file itself was not "
                                          "downloaded; run 'git lfs pull' in its folder");
}

TEST_F(CheckpointFilesTest, SaysHowToDownloadAModelOfTheHub) {
  const std::string hint =
      "; if it is a model on the Hugging Face Hub, download it first: hf download "
      "Qwen/Qwen2.5-0.5B --local-dir Qwen2.5-0.5B";
  EXPECT_EQ(refusal("Qwen/Qwen2.5-0.5B"),
            "'Qwen/Qwen2.5-0.5B': the checkpoint folder does not exist" + hint);
  EXPECT_EQ(refusal_of<IoError>([] { load_tokenizer("Qwen/Qwen2.5-0.5B"); }),
            "tokenizer: 'Qwen/Qwen2.5-0.5B' must be a folder or a GGUF file" + hint);
  for (const char* path : {"/a/b", "./b", "../b", "~/b", "a/", "a/b/c", "a", "a/config.json"}) {
    EXPECT_EQ(hub_hint(path), "") << path;
  }
}

}  // namespace
}  // namespace lime
