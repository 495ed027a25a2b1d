// SPDX-License-Identifier: Apache-2.0
// config.json, then after a NUL model.safetensors.index.json: opened as a checkpoint with the
// weights of a small LLaMA.
#include <span>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/parameters.h"
#include "fuzz/fuzz_target.h"
#include "support/tiny_checkpoint.h"

using namespace lime;

namespace {

namespace fs = std::filesystem;

/// Writes the weights once, first under the name that an index may refer to.
void write_weights() {
  static const bool written = [] {
    const fs::path& folder = fuzz::scratch_folder();
    lime::testing::write_tiny_checkpoint(folder);
    fs::copy_file(folder / "model.safetensors", folder / "part.safetensors");
    return true;
  }();
  static_cast<void>(written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  write_weights();
  const auto [config, index] = fuzz::split_at_nul(fuzz::text_of(data, size));
  const fs::path folder = fuzz::scratch_file("config.json", config).parent_path();
  fuzz::scratch_file("generation_config.json", config);
  fuzz::reads_or_refuses([&] {
    const Checkpoint checkpoint = Checkpoint::open(folder);
    const auto tensors = parameter_specs(checkpoint.config());
    fuzz::require(!tensors.empty(), "a decoder has parameters");
    stop_token_ids(checkpoint);
  });
  if (index.empty()) return 0;
  fs::rename(folder / "model.safetensors", folder / "kept");
  fuzz::scratch_file("model.safetensors.index.json", index);
  fuzz::reads_or_refuses([&] { open_weight_files(folder); });
  fs::rename(folder / "kept", folder / "model.safetensors");
  return 0;
}
