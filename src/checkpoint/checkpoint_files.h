// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/weights/tensor_view.h"
#include "core/files/input_file.h"

namespace lime {

/// Contains the paths of a checkpoint's files.
struct CheckpointFiles {
  std::filesystem::path config;   ///< config.json, or a GGUF file, which contains everything
  std::filesystem::path weights;  ///< folder of model.safetensors or its shards, or the same file
};

/// Finds config.json and the weights of the checkpoint that `folder` names:
///
///   folder                                           config.json       weights
///   a GGUF file, or a part of one                    the first part    the first part
///   a folder with one GGUF file, no config.json      that file         that file
///   a Hugging Face folder                            in it             in it
///   SAVE of the released LIMe code's train.py,       in SAVE/config    in SAVE/final
///     or SAVE/final, or SAVE/config
///   a root of Hugging Face's cache, models--ORG--NAME,
///     with refs/main or with one snapshot            in the snapshot   in the snapshot
///
/// Opens only refs/main.
/// @throws IoError      if there is no such folder, or it contains no config.json or several GGUF
///                      files; names what it contains instead, and the remedy.
/// @throws FormatError  if it contains a LoRA adapter, which transformers would load.
CheckpointFiles find_checkpoint(const std::filesystem::path& folder);

/// Returns true if find_checkpoint() finds a checkpoint, an adapter or GGUF in `folder`.
bool seems_checkpoint(const std::filesystem::path& folder);

/// Returns the name of a checkpoint: the last component of `folder`, or ORG/NAME in a Hub cache.
/// A folder whose name says nothing, as "hf" or "final", has the name of the folder above it, or
/// that in its config.json. That of a GGUF file has no extension.
/// @param with_revision  append `@COMMIT`, seven digits, to the name of a snapshot.
std::string checkpoint_label(const std::filesystem::path& folder, bool with_revision = false);

/// Contains the paths of a tokenizer's files.
struct TokenizerFiles {
  std::filesystem::path folder;  ///< of tokenizer.json, tokenizer_config.json, ...; or a GGUF file
  std::filesystem::path config;  ///< config.json of the checkpoint; it need not exist
};

/// Finds the tokenizer of the checkpoint in `folder`: in `folder` itself, or else in the folder of
/// the config.json that find_checkpoint() finds, or for a SAVE of train.py in SAVE/final,
/// SAVE/tokenizer or SAVE. Its folder is `folder` if none of them has one. Opens no file.
TokenizerFiles find_tokenizer(const std::filesystem::path& folder);

/// Returns the remedy for a folder without readable files: "; it contains X: what to do" for
/// weights in an unsupported format, or for weights without config.json; else an empty string.
std::string other_weights_hint(const std::filesystem::path& folder);

/// Returns how to download a missing `path` that may be a Hub id, ORG/NAME; else an empty string.
std::string hub_hint(const std::filesystem::path& path);

/// @throws FormatError  if `text`, the content of the file `path`, is a pointer of Git LFS.
void refuse_lfs_pointer(std::string_view text, std::string_view path);

/// A mapped file of weights. The tensors' bytes are read from disk when they are first touched.
struct WeightFile {
  std::filesystem::path path;
  MappedFile file;
  std::vector<TensorView> tensors;
};

/// Contains the mapped weight files of a checkpoint folder.
struct WeightFiles {
  std::vector<WeightFile> files;    ///< by name
  std::vector<TensorView> tensors;  ///< what they contain, under the names in the files
  std::optional<std::filesystem::path> index;
  bool is_gguf = false;
};

/// Returns true if `folder` contains files that open_weight_files() opens.
bool has_weights(const std::filesystem::path& folder);

/// Opens a GGUF file, or in a folder the first of these that exists: `model.safetensors`, the
/// shards of its index, `pytorch_model.bin`, the shards of its index. Of a shard only the tensors
/// that the index assigns to it count.
/// @throws IoError, FormatError  if there are no weights, a file is broken, a shard is missing or
/// outside the folder, or lacks a tensor of the index.
WeightFiles open_weight_files(const std::filesystem::path& folder);

}  // namespace lime
