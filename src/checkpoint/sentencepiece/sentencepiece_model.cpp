// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/sentencepiece/sentencepiece_model.h"

#include <dlfcn.h>

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "core/errors.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

using ParseFunction = SentencePieceModel* (*)(const char* data, std::size_t size);

// The sanitizers' runtimes do not allow RTLD_DEEPBIND.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLoadFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kLoadFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

/// `../lib/lime` seen from the running program, in the build folder and when installed.
fs::path plugin_path() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "lime" / "liblime_sentencepiece.so";
}

ParseFunction load_plugin() {
  const fs::path path = plugin_path();
  void* const library = ::dlopen(path.c_str(), kLoadFlags);
  void* const symbol =
      library == nullptr ? nullptr : ::dlsym(library, "lime_parse_sentencepiece_model");
  if (symbol == nullptr) {
    throw IoError("tokenizer: the SentencePiece plug-in must be loadable: {}; build or install it",
                  ::dlerror());
  }
  return reinterpret_cast<ParseFunction>(symbol);
}

}  // namespace

std::unique_ptr<SentencePieceModel> parse_sentencepiece_model(std::string_view serialized) {
  static const ParseFunction parse = load_plugin();  // stays loaded until the process ends
  return std::unique_ptr<SentencePieceModel>(parse(serialized.data(), serialized.size()));
}

}  // namespace lime
