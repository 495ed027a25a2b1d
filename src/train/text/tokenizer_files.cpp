// SPDX-License-Identifier: Apache-2.0
#include "train/text/tokenizer_files.h"

#include "checkpoint/checkpoint_files.h"
#include "core/files/mapped_file.h"
#include "core/json.h"

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

std::map<std::string, std::string> files_for_transformers(std::map<std::string, std::string> files,
                                                          const std::string& family) {
  constexpr const char* kConfig = "tokenizer_config.json";
  const auto config = files.find(kConfig);
  if (family != "qwen2" || config == files.end()) return files;
  Json json = parse_json(config->second, kConfig);
  const auto tokenizer_class = json.find("tokenizer_class");
  const bool is_qwen2 = tokenizer_class != json.end() && tokenizer_class->is_string() &&
                        tokenizer_class->get<std::string>().starts_with("Qwen2Tokenizer");
  if (is_qwen2 || tokenizer_class == json.end() || json.contains("auto_map")) return files;
  json["auto_map"] = {{"AutoTokenizer", Json::array({nullptr, nullptr})}};
  config->second = json.dump(2) + "\n";
  return files;
}

}  // namespace lime
