// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer_files.h"

#include <gtest/gtest.h>

#include "core/errors.h"

namespace lime::testing {

Json golden_tokenizer_json(const std::string& kind) {
  return read_json_file(golden_file("tokenizers/" + kind + ".json")).at("tokenizer");
}

std::unique_ptr<Tokenizer> load_tokenizer_json(const Json& json) {
  return load_tokenizer_text(json.dump());
}

std::unique_ptr<Tokenizer> load_tokenizer_text(const std::string& content) {
  const TemporaryFolder folder;
  write_text(folder / "tokenizer.json", content);
  return load_tokenizer(folder.path());
}

std::string error_of(const std::string& content) {
  try {
    load_tokenizer_text(content);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    const std::size_t name = message.find("tokenizer.json'");
    EXPECT_NE(name, std::string::npos) << message;
    return name == std::string::npos ? message : message.substr(name);
  }
  ADD_FAILURE() << "no error for " << content.substr(0, 300);
  return {};
}

}  // namespace lime::testing
