// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/errors.h"
#include "core/options.h"

namespace lime {

/// Sequences per forward pass, `--batch-size`: a number, or as many as fit into memory.
struct BatchSize {
  std::int64_t sequences = 0;
  bool is_automatic = false;  ///< if true, `sequences` is ignored

  // NOLINTNEXTLINE(google-explicit-constructor): a number is a batch size.
  BatchSize(std::int64_t count) : sequences(count) {}
  static BatchSize automatic() {
    BatchSize size(0);
    size.is_automatic = true;
    return size;
  }

  friend bool operator==(const BatchSize&, const BatchSize&) = default;
};

template <>
struct OptionCodec<BatchSize> {
  static std::string type() { return "INT|auto"; }
  static BatchSize parse(const std::string& text, const std::string& name) {
    if (text == "auto") return BatchSize::automatic();
    try {
      return {OptionCodec<std::int64_t>::parse(text, name)};
    } catch (const InvalidArgument&) {
      throw InvalidArgument("{}: expected a whole number or auto, got '{}'", name, text);
    }
  }
  static Json to_json(const BatchSize& value) {
    return value.is_automatic ? Json("auto") : Json(value.sequences);
  }
};

}  // namespace lime
