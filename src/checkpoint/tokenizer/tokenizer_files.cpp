// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/tokenizer_files.h"

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/gguf/gguf_files.h"
#include "checkpoint/gguf/gguf_tokenizer.h"

namespace lime {

std::map<std::string, std::string> tokenizer_files(const std::filesystem::path& folder) {
  const std::filesystem::path place = find_tokenizer(folder).folder;
  if (is_gguf_file(place)) return gguf_tokenizer_files(open_gguf(place).header, place.string());
  std::map<std::string, std::string> files;
  for (const char* const name :
       {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}) {
    if (std::filesystem::is_regular_file(place / name)) {
      files[name] = std::string(MappedFile(place / name).text());
    }
  }
  return files;
}

}  // namespace lime
