// SPDX-License-Identifier: Apache-2.0
// A text of --edit, then after a NUL a file of edits or a direction, which the text names as FILE.
#include <string>

#include "capture/edits.h"
#include "fuzz/fuzz_target.h"
#include "support/tiny_checkpoint.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ModelConfig kConfigs[] = {testing::tiny_config(), testing::tiny_config("lime")};
  const auto [text, content] = fuzz::split_at_nul(fuzz::text_of(data, size));
  const std::string file = fuzz::scratch_file("edit.json", content).string();
  std::string spec(text);
  if (const std::size_t at = spec.find("FILE"); at != spec.npos) spec.replace(at, 4, file);
  for (const std::string& one : {spec, file}) {
    const bool names_another = one.find('/') != one.npos && one.find(file) == one.npos;
    for (const ModelConfig& config : kConfigs) {
      if (names_another) continue;
      fuzz::reads_or_refuses([&] {
        const ModelEdits edits = read_edits({one});
        fuzz::require(!edits.activations.empty() || !edits.routes.empty(), "an edit edits");
        check_edits(edits, config, /*generates=*/&config == kConfigs);
      });
    }
  }
  return 0;
}
