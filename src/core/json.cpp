// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/files/input_file.h"

namespace lime {
namespace {

constexpr int kMaxDepth = 512;

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t line_start = before.rfind('\n');
  const std::size_t column =
      line_start == std::string_view::npos ? before.size() : before.size() - line_start - 1;
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
}

/// Builds a value from the parser's events in linear time. nlohmann's own builder looks for each
/// key among all earlier ones, and with a callback walks through a container after each element.
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  JsonBuilder(std::string_view text, std::string_view where, const JsonFilter& keep)
      : text_(text), where_(where), keep_(keep) {}

  Json take_root() { return std::move(root_); }

  bool null() override { return add_value(nullptr); }
  bool boolean(bool value) override { return add_value(value); }
  bool number_integer(number_integer_t value) override { return add_value(value); }
  bool number_unsigned(number_unsigned_t value) override { return add_value(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add_value(value);
  }
  bool string(string_t& value) override { return add_value(std::move(value)); }
  bool binary(binary_t& value) override { return add_value(std::move(value)); }
  bool start_object(std::size_t /*size*/) override {
    return open(Event::object_start, Json::object());
  }
  bool start_array(std::size_t /*size*/) override {
    return open(Event::array_start, Json::array());
  }
  bool key(string_t& name) override {
    Container& object = open_.back();
    object.key = name;
    Json value = std::move(name);
    object.keeps_member = keeps(Event::key, value);
    return true;
  }
  bool end_object() override {
    collect_members(open_.back());
    return close(Event::object_end);
  }
  bool end_array() override { return close(Event::array_end); }

  bool parse_error(std::size_t byte, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    constexpr int kFirstIdOfOthers = 200;  // 1xx: a parse_error
    throw_if<FormatError>(error.id >= kFirstIdOfOthers, "{}: is not usable JSON: {}", where_,
                          error.what());
    if (text_.empty()) throw FormatError("{}: is empty, expected JSON", where_);
    throw FormatError("{}: is not valid JSON at {}{}", where_, line_and_column(text_, byte),
                      byte >= text_.size() ? "; the file seems to be truncated" : "");
  }

 private:
  using Event = Json::parse_event_t;

  struct Container {
    Json value;
    bool is_kept = true;
    std::vector<std::pair<std::string, Json>> members = {};  // of an object
    std::string key = {};
    bool keeps_member = true;
  };

  bool keeps(Event event, Json& value) {
    const auto depth = static_cast<int>(open_.size());
    throw_if<FormatError>(depth > kMaxDepth, "{}: JSON is nested deeper than {} levels", where_,
                          kMaxDepth);
    return !keep_ || keep_(depth, event, value);
  }

  bool add_value(Json value) {
    if (keeps(Event::value, value)) place(std::move(value));
    return true;
  }

  bool open(Event event, Json value) {
    const bool is_kept = keeps(event, value);
    open_.push_back({.value = std::move(value), .is_kept = is_kept});
    return true;
  }

  bool close(Event event) {
    Json value = std::move(open_.back().value);
    const bool is_kept = open_.back().is_kept;
    open_.pop_back();
    if (keeps(event, value) && is_kept) place(std::move(value));
    return true;
  }

  void place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Container& parent = open_.back(); parent.value.is_array()) {
      parent.value.push_back(std::move(value));
    } else if (parent.keeps_member) {
      parent.members.emplace_back(std::move(parent.key), std::move(value));
    }
  }

  /// For equal keys, keeps the last value at the position of the first.
  static void collect_members(Container& container) {
    auto& object = container.value.get_ref<Json::object_t&>();
    object.reserve(container.members.size());
    std::unordered_map<std::string_view, std::size_t> places;
    for (auto& [key, value] : container.members) {
      const auto [place, is_new] = places.try_emplace(key, object.size());
      if (is_new) {
        object.emplace_back(key, std::move(value));
      } else {
        object.begin()[static_cast<std::ptrdiff_t>(place->second)].second = std::move(value);
      }
    }
  }

  std::string_view text_;
  std::string_view where_;
  const JsonFilter& keep_;
  std::vector<Container> open_;
  Json root_;
};

}  // namespace

Json read_json_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_json(file.text(), "'" + path.string() + "'");
}

Json parse_json(std::string_view text, std::string_view where, const JsonFilter& keep) {
  JsonBuilder builder(text, where, keep);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take_root();
}

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
  if (before.is_object() && now.is_object()) return difference_of_objects(before, now, path, order);
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
  std::string text = dump_json(value);
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
