// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.h"

namespace lime {

/// Selects layers as the user writes them, from 0: `all`, or layers and ranges as in `0,3,8-15`.
class LayerSelection {
 public:
  /// Selects all layers.
  LayerSelection() = default;

  /// @throws InvalidArgument  about `option` if `text` is not such a list.
  static LayerSelection parse(std::string_view text, std::string_view option = "layers");

  bool is_all() const { return ranges_.empty(); }
  bool contains(int layer) const;

  /// Returns the selected layers of `available` (ascending), ascending and without duplicates.
  /// @throws InvalidArgument  about `option`, or that begins with `where`, if a selected layer is
  ///         not among them; names it and the others.
  std::vector<int> choose_from(const std::vector<int>& available, OptionName option) const;
  std::vector<int> choose_from(const std::vector<int>& available, std::string_view where) const;

  /// Returns the text that parse() reads back, e.g. "0,3,8-15".
  std::string to_string() const;

 private:
  std::optional<int> first_missing(const std::vector<int>& available) const;

  std::vector<std::pair<int, int>> ranges_;  // first and last layer, as they were written
};

/// Returns the shortest text for ascending layers: {0, 1, 2, 5} -> "0-2,5"; "none" if empty.
std::string layers_to_string(const std::vector<int>& layers);

template <> struct OptionCodec<LayerSelection> {
  static std::string type() { return "LAYERS"; }
  static LayerSelection parse(const std::string& text, const std::string& name) {
    return LayerSelection::parse(text, name);
  }
  static Json to_json(const LayerSelection& value) { return value.to_string(); }
};

}  // namespace lime
