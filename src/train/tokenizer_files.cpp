// SPDX-License-Identifier: Apache-2.0
#include "train/tokenizer_files.h"

#include "core/mapped_file.h"

namespace lime {

std::map<std::string, std::string> tokenizer_files(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const char* const name :
       {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json"}) {
    if (std::filesystem::is_regular_file(folder / name)) {
      files[name] = std::string(MappedFile(folder / name).text());
    }
  }
  return files;
}

}  // namespace lime
