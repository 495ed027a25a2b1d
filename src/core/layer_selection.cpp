// SPDX-License-Identifier: Apache-2.0
#include "core/layer_selection.h"

#include <algorithm>

#include "core/utf8.h"

namespace lime {
namespace {

/// More layers than any decoder has, and more tokens than any vocabulary.
constexpr int kMaxLayer = 9'999'999;

std::optional<int> parse_layer(std::string_view text) {
  int layer = -1;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, layer);
  if (result.ec != std::errc() || result.ptr != end || layer < 0 || layer > kMaxLayer) {
    return std::nullopt;
  }
  return layer;
}

/// Returns what `option` selects: "head" for "heads"; "layer" unless it is a plural.
std::string_view item_of(std::string_view option) {
  return option.ends_with('s') ? option.substr(0, option.size() - 1) : "layer";
}

std::string range_to_string(int first, int last) {
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

}  // namespace

LayerSelection LayerSelection::parse(std::string_view text, std::string_view option) {
  LayerSelection selection;
  if (text == "all") return selection;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto first = parse_layer(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_layer(item.substr(dash + 1));
    throw_if(!first || !last, OptionName(option),
             "expected all or a list such as 0,3,8-15, got '{}'", printable(text));
    throw_if(*last < *first, OptionName(option), "a range must be ascending, got '{}'; write {}-{}",
             printable(item), *last, *first);
    selection.ranges_.emplace_back(*first, *last);
    if (comma == std::string_view::npos) return selection;
    rest.remove_prefix(comma + 1);
  }
}

bool LayerSelection::contains(int layer) const {
  return is_all() || std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) {
           return range.first <= layer && layer <= range.second;
         });
}

std::optional<int> LayerSelection::first_missing(const std::vector<int>& available) const {
  for (const auto& [first, last] : ranges_) {
    for (int layer = first; layer <= last; ++layer) {
      if (!std::binary_search(available.begin(), available.end(), layer)) return layer;
    }
  }
  return std::nullopt;
}

std::vector<int> LayerSelection::choose_from(const std::vector<int>& available,
                                             OptionName option) const {
  if (const std::optional<int> missing = first_missing(available)) {
    throw InvalidArgument(option, "{} {} does not exist (available: {})", item_of(option.text),
                          *missing, layers_to_string(available));
  }
  std::vector<int> chosen;
  std::copy_if(available.begin(), available.end(), std::back_inserter(chosen),
               [&](int layer) { return contains(layer); });
  return chosen;
}

std::vector<int> LayerSelection::choose_from(const std::vector<int>& available,
                                             std::string_view where) const {
  if (const std::optional<int> missing = first_missing(available)) {
    throw InvalidArgument("{}: layer {} does not exist (available: {})", where, *missing,
                          layers_to_string(available));
  }
  return choose_from(available, OptionName("layers"));
}

std::string LayerSelection::to_string() const {
  if (is_all()) return "all";
  std::string text;
  for (const auto& [first, last] : ranges_) {
    text += (text.empty() ? "" : ",") + range_to_string(first, last);
  }
  return text;
}

std::string layers_to_string(const std::vector<int>& layers) {
  std::string text;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + range_to_string(layers[i], layers[end - 1]);
    i = end;
  }
  return text.empty() ? "none" : text;
}

}  // namespace lime
