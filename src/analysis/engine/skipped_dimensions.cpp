// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/skipped_dimensions.h"

#include <algorithm>

namespace lime {

SkippedDimensions SkippedDimensions::parse(const std::string& text, const std::string& option) {
  SkippedDimensions dimensions;
  const bool is_number = !text.empty() && std::ranges::all_of(text, [](char letter) {
    return letter >= '0' && letter <= '9';
  });
  if (is_number) {
    dimensions.count_ = OptionCodec<std::int64_t>::parse(text, option);
    return dimensions;
  }
  dimensions.list_ = LayerSelection::parse(text, option);
  throw_if(dimensions.list_.is_all(), OptionName(option),
           "expected a number of dimensions or a list, e.g. 3 or 138,378, got '{}'", text);
  return dimensions;
}

std::string SkippedDimensions::to_string() const {
  return is_list() ? list_.to_string() : std::to_string(count_);
}

}  // namespace lime
