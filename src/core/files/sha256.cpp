// SPDX-License-Identifier: Apache-2.0
#include "core/files/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <new>
#include <vector>

#include "core/errors.h"
#include "core/files/input_file.h"

namespace lime {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  if (context_ == nullptr) throw std::bad_alloc();
  throw_if<Error>(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1,
                  "sha256: the OpenSSL library offers no SHA-256");
}

void Sha256::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

void Sha256::update(std::string_view text) {
  EVP_DigestUpdate(context_.get(), text.data(), text.size());
}

std::string Sha256::hex_digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex_digest();
}

std::string sha256_of_file(const std::filesystem::path& path,
                           const std::function<void(std::int64_t)>& on_read) {
  // Reads in blocks: the pages of a mapping would count as memory of this process.
  InputFile file(path);
  Sha256 hash;
  std::vector<char> block(std::size_t{1} << 20);
  while (const std::size_t count = file.read(block)) {
    hash.update(std::string_view(block.data(), count));
    if (on_read) on_read(static_cast<std::int64_t>(count));
  }
  return hash.hex_digest();
}

}  // namespace lime
