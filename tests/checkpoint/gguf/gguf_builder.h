// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files with any content, right or wrong.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "checkpoint/gguf/gguf_header.h"

namespace lime::testing {

class GgufBuilder {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;

  GgufBuilder& add(const std::string& key, const std::string& value) {
    return entry(key, GgufType::kString, text(value));
  }
  GgufBuilder& add(const std::string& key, const char* value) {
    return add(key, std::string(value));
  }
  GgufBuilder& add(const std::string& key, std::uint32_t value) {
    return entry(key, GgufType::kUint32, bytes_of(value));
  }
  GgufBuilder& add(const std::string& key, float value) {
    return entry(key, GgufType::kFloat32, bytes_of(value));
  }
  GgufBuilder& add(const std::string& key, bool value) {
    return entry(key, GgufType::kBool, std::string(1, value ? '\1' : '\0'));
  }
  GgufBuilder& add(const std::string& key, const std::vector<std::string>& values) {
    std::string content;
    for (const std::string& value : values) content += text(value);
    return list(key, GgufType::kString, values.size(), content);
  }
  GgufBuilder& add(const std::string& key, const std::vector<std::int32_t>& values) {
    std::string content;
    for (const std::int32_t value : values) content += bytes_of(value);
    return list(key, GgufType::kInt32, values.size(), content);
  }
  GgufBuilder& add(const std::string& key, const std::vector<float>& values) {
    std::string content;
    for (const float value : values) content += bytes_of(value);
    return list(key, GgufType::kFloat32, values.size(), content);
  }
  /// Adds an entry with these bytes.
  GgufBuilder& entry(const std::string& key, GgufType type, const std::string& content) {
    entries_ += text(key) + bytes_of(static_cast<std::uint32_t>(type)) + content;
    ++num_entries_;
    return *this;
  }

  /// Adds a tensor. @param type  of ggml. @param shape  innermost size first.
  GgufBuilder& tensor(const std::string& name, std::uint32_t type,
                      const std::vector<std::uint64_t>& shape, const std::string& data) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    tensor_at(name, type, shape, data_.size());
    data_ += data;
    return *this;
  }
  GgufBuilder& tensor_at(const std::string& name, std::uint32_t type,
                         const std::vector<std::uint64_t>& shape, std::uint64_t offset) {
    tensors_ += text(name) + bytes_of(static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t size : shape) tensors_ += bytes_of(size);
    tensors_ += bytes_of(type) + bytes_of(offset);
    ++num_tensors_;
    return *this;
  }

  std::string build() const {
    std::string file = "GGUF" + bytes_of(version) + bytes_of(num_tensors_) +
                       bytes_of(num_entries_) + entries_ + tensors_;
    file.resize((file.size() + alignment - 1) / alignment * alignment, '\0');
    return file + data_;
  }

  template <typename T> static std::string bytes_of(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }
  static std::string text(const std::string& value) {
    return bytes_of(static_cast<std::uint64_t>(value.size())) + value;
  }

 private:
  GgufBuilder& list(const std::string& key, GgufType type, std::size_t count,
                    const std::string& content) {
    return entry(key, GgufType::kArray,
                 bytes_of(static_cast<std::uint32_t>(type)) +
                     bytes_of(static_cast<std::uint64_t>(count)) + content);
  }

  std::string entries_;
  std::string tensors_;
  std::string data_;
  std::uint64_t num_entries_ = 0;
  std::uint64_t num_tensors_ = 0;
};

}  // namespace lime::testing
