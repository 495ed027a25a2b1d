// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_writer.h"

#include <string>
#include <system_error>
#include <utility>

#include "checkpoint/tensor_sources.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/files/folder.h"
#include "core/files/mapped_file.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// The tensors must be the config's under their canonical names, with nothing left to interpret.
void check_tensors(const ModelConfig& config, std::span<const TensorView> tensors) {
  ModelConfig understood = config;
  try {
    const TensorSources found = locate_tensors(tensors, understood, "write_checkpoint");
    const bool plain = found.names.size() == tensors.size() &&
                       found.layout == WeightLayout::kHuggingFace &&
                       understood.decoder == config.decoder &&
                       understood.tie_word_embeddings == config.tie_word_embeddings;
    if (!plain) {
      throw InvalidArgument(
          "write_checkpoint: tensors must be those of the config, under their Hugging Face names");
    }
  } catch (const FormatError& error) {
    throw InvalidArgument(error.what());
  }
}

/// Removes a config of another model, which must never accompany the new weights.
void remove_other_config(const fs::path& file, const std::string& config) {
  std::error_code error;
  if (!fs::exists(file, error)) return;
  if (MappedFile(file).text() == config) return;
  if (!fs::remove(file, error) && error) {
    throw IoError("'{}': cannot be replaced: {}", file.string(), describe_errno(error.value()));
  }
}

}  // namespace

void write_checkpoint(const fs::path& folder, const ModelConfig& config,
                      std::span<const TensorView> tensors,
                      const std::vector<fs::path>& extra_files) {
  const std::string config_text = model_config_to_json(config).dump(2) + "\n";
  check_tensors(config, tensors);
  std::vector<std::pair<fs::path, MappedFile>> copies;
  for (const fs::path& extra : extra_files) {
    const fs::path target = folder / extra.filename();
    std::error_code ignored;
    if (!fs::equivalent(extra, target, ignored)) copies.emplace_back(target, MappedFile(extra));
  }
  make_folder(folder);
  const fs::path config_file = folder / "config.json";
  remove_other_config(config_file, config_text);
  for (const auto& [target, content] : copies) write_file_atomically(target, content.text());
  write_safetensors(folder / "model.safetensors", tensors);
  write_file_atomically(config_file, config_text);
}

}  // namespace lime
