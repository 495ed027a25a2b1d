// SPDX-License-Identifier: Apache-2.0
#include "core/json_difference.h"

#include <fmt/format.h>

#include <algorithm>

namespace lime {
namespace {

Json keys_of(const Json& object) {
  Json keys = Json::array();
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

std::optional<Json> entry(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : std::optional(*found);
}

std::optional<JsonDifference> difference_in(const Json& before, const Json& now,
                                            const std::string& path, KeyOrder order);

std::optional<JsonDifference> difference_of_objects(const Json& before, const Json& now,
                                                    const std::string& path, KeyOrder order) {
  const auto inner = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  for (const auto& [key, value] : before.items()) {
    const std::optional<Json> other = entry(now, key);
    if (!other) return JsonDifference{inner(key), value, std::nullopt};
    auto found = difference_in(value, *other, inner(key), order);
    if (found) return found;
  }
  for (const auto& [key, value] : now.items()) {
    if (!before.contains(key)) return JsonDifference{inner(key), std::nullopt, value};
  }
  const bool is_same = order == KeyOrder::kIgnored || keys_of(before) == keys_of(now);
  if (is_same) return std::nullopt;
  return JsonDifference{path, keys_of(before), keys_of(now)};
}

std::optional<JsonDifference> difference_in(const Json& before, const Json& now,
                                            const std::string& path, KeyOrder order) {
  if (before == now) return std::nullopt;
  if (before.is_object() && now.is_object()) {
    return difference_of_objects(before, now, path, order);
  }
  const bool may_be_same = before.is_array() && now.is_array() && before.size() == now.size();
  const auto is_same = [&](const Json& a, const Json& b) {
    return !difference_in(a, b, path, order);
  };
  if (may_be_same && std::equal(before.begin(), before.end(), now.begin(), is_same)) {
    return std::nullopt;
  }
  return JsonDifference{path, before, now};
}

std::string text_of(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::replace(text.begin(), text.end(), '"', '\'');
  return text;
}

std::string shortened(const std::string& text) {
  if (text.size() <= 60) return text;
  return text.substr(0, 57) + (text.ends_with('\'') ? "...'" : "...");
}

}  // namespace

std::optional<JsonDifference> first_difference(const Json& before, const Json& now,
                                               KeyOrder order) {
  return difference_in(before, now, "", order);
}

std::string to_text(const JsonDifference& difference) {
  const auto& [path, before, now] = difference;
  if (!before) return fmt::format("{} is new, {}", path, shortened(text_of(*now)));
  if (!now) return fmt::format("{} was {}, now absent", path, shortened(text_of(*before)));
  const std::string old_text = text_of(*before);
  const std::string new_text = text_of(*now);
  if (shortened(old_text) == shortened(new_text)) {
    return fmt::format("{} was {}, now {}", path, old_text, new_text);
  }
  return fmt::format("{} was {}, now {}", path, shortened(old_text), shortened(new_text));
}

}  // namespace lime
