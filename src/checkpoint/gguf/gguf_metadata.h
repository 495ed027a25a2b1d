// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/gguf/gguf_header.h"
#include "core/json.h"

namespace lime {

/// Typed access to the metadata of one architecture and to the tensors of a file. The header must
/// outlive it. Every member throws FormatError that names the key or tensor at fault.
class GgufMetadata {
 public:
  GgufMetadata(const GgufHeader& header, std::string_view where);

  const KeyReader& keys() const { return keys_; }
  const std::string& architecture() const { return architecture_; }
  /// Returns the whole key of a key of the architecture: "llama.block_count" of "block_count".
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }

  std::optional<double> number(std::string_view name) const { return keys_.number(key(name)); }
  std::optional<std::int64_t> integer(std::string_view name) const {
    return keys_.integer(key(name));
  }
  double required_number(std::string_view name) const { return keys_.required_number(key(name)); }

  /// Returns a size that some architectures list per layer; layers of different sizes are refused.
  std::optional<std::int64_t> size(std::string_view name) const;
  std::int64_t required_size(std::string_view name) const;
  /// Returns the size of a head.
  std::int64_t head_dim() const;

  /// Returns the entries of a list, or of one value for all layers; empty if there is none.
  std::vector<double> list(std::string_view name) const;

  const TensorView* tensor(std::string_view name) const;
  bool has(std::string_view name) const { return tensor(name) != nullptr; }
  /// Returns the elements of a small tensor as a list, or null if there is none.
  Json values(std::string_view name) const;

 private:
  const GgufHeader& header_;
  KeyReader keys_;
  std::string architecture_;
};

}  // namespace lime
