// SPDX-License-Identifier: Apache-2.0
#include "train/tokenizer_files.h"

#include "checkpoint/checkpoint_files.h"
#include "core/mapped_file.h"

namespace lime {

std::map<std::string, std::string> tokenizer_files(const std::filesystem::path& folder) {
  const std::filesystem::path place = find_tokenizer(folder).folder;
  std::map<std::string, std::string> files;
  for (const char* const name :
       {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json"}) {
    if (std::filesystem::is_regular_file(place / name)) {
      files[name] = std::string(MappedFile(place / name).text());
    }
  }
  return files;
}

}  // namespace lime
