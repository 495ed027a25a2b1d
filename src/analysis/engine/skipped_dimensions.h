// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/layer_selection.h"
#include "core/options.h"

namespace lime {

/// Dimensions that measurements omit: `3` are the 3 of each layer with the largest mean square,
/// `138,378` or `7-7` these ones.
class SkippedDimensions {
 public:
  SkippedDimensions() = default;
  /// @throws InvalidArgument  about `option` if `text` is neither a number nor a list.
  static SkippedDimensions parse(const std::string& text, const std::string& option);

  bool is_none() const { return count_ == 0 && list_.is_all(); }
  bool is_list() const { return !list_.is_all(); }
  std::int64_t count() const { return count_; }
  const LayerSelection& list() const { return list_; }
  /// Returns the text that parse() reads back; "0": none.
  std::string to_string() const;

 private:
  std::int64_t count_ = 0;
  LayerSelection list_;
};

template <> struct OptionCodec<SkippedDimensions> {
  static std::string type() { return "N|LIST"; }
  static SkippedDimensions parse(const std::string& text, const std::string& name) {
    return SkippedDimensions::parse(text, name);
  }
  static Json to_json(const SkippedDimensions& value) { return value.to_string(); }
};

}  // namespace lime
