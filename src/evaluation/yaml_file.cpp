// SPDX-License-Identifier: Apache-2.0
#include "evaluation/yaml_file.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/files/input_file.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// That of yaml-cpp's parser, which aliases could exceed.
constexpr int kMaxDepth = 500;
constexpr std::size_t kMaxCopiedBytes = std::size_t{16} << 20;

/// A value and what bounds copies of it.
struct YamlValue {
  Json json;
  std::size_t bytes = sizeof(Json);
  int height = 0;  ///< levels of lists and maps below it
};

/// Builds a value from the parser's events.
class YamlBuilder : public YAML::EventHandler {
 public:
  explicit YamlBuilder(std::string where) : where_(std::move(where)) {}

  Json take_root() { return std::move(root_); }

  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view what) const {
    throw FormatError("{} line {}: {}", where_, mark.line + 1, what);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "a second document begins, expected one; split the file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add({}, mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) fail(mark, "an alias refers to the value that contains it");
    copy(found->second, mark);
    add(found->second, mark, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool is_plain = tag == "?";
    check_tag(mark, tag, is_plain || tag == "!" || tag == "tag:yaml.org,2002:str");
    const bool is_key = expects_key();
    if (is_plain && is_key && text == "<<") {
      fail(mark, "merge keys (<<) are not supported; write the fields out");
    }
    YamlValue value{text, sizeof(Json) + text.size()};
    if (is_plain && !is_key && Json::accept(text)) value.json = Json::parse(text);
    add(std::move(value), mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    check_tag(mark, tag, tag.empty() || tag == "?" || tag == "tag:yaml.org,2002:seq");
    open(Json::array(), mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    check_tag(mark, tag, tag.empty() || tag == "?" || tag == "tag:yaml.org,2002:map");
    open(Json::object(), mark, anchor);
  }
  void OnMapEnd() override {
    Container& map = open_.back();
    auto& object = map.value.json.get_ref<Json::object_t&>();
    object.reserve(map.members.size());
    for (auto& [key, value] : map.members) object.emplace_back(key, std::move(value));
    close();
  }

 private:
  struct Container {
    YamlValue value;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    std::vector<std::pair<std::string, Json>> members = {};  // of a map
    std::unordered_set<std::string> keys = {};
    bool has_key = false;  // the last of `members` lacks its value
  };

  bool expects_key() const {
    return !open_.empty() && open_.back().value.json.is_object() && !open_.back().has_key;
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag, bool is_known) const {
    if (is_known) return;
    fail(mark, fmt::format("the tag '{}' is not supported; write plain values", printable(tag)));
  }

  /// Counts a copy of `value`, also at one place within another.
  void copy(const YamlValue& value, const YAML::Mark& mark) {
    copied_ += value.bytes;
    if (copied_ > kMaxCopiedBytes) {
      fail(mark,
           fmt::format("anchors and aliases must expand to at most {} MiB; write large values "
                       "as JSON Lines",
                       kMaxCopiedBytes >> 20));
    }
  }

  void add(YamlValue value, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (static_cast<int>(open_.size()) + value.height > kMaxDepth) {
      fail(mark, fmt::format("YAML must be nested at most {} levels deep", kMaxDepth));
    }
    if (anchor != 0) {
      copy(value, mark);
      anchored_[anchor] = value;
    }
    if (open_.empty()) {
      root_ = std::move(value.json);
      return;
    }
    Container& parent = open_.back();
    parent.value.bytes += value.bytes;
    parent.value.height = std::max(parent.value.height, value.height + 1);
    if (parent.value.json.is_array()) {
      parent.value.json.push_back(std::move(value.json));
    } else if (parent.has_key) {
      parent.members.back().second = std::move(value.json);
      parent.has_key = false;
    } else {
      add_key(value.json, mark);
    }
  }

  void add_key(const Json& key, const YAML::Mark& mark) {
    if (!key.is_string()) fail(mark, "a key must be a string");
    Container& parent = open_.back();
    const auto& text = key.get_ref<const std::string&>();
    if (!parent.keys.insert(text).second) {
      fail(mark, fmt::format("the key '{}' is given twice", printable(text)));
    }
    parent.members.emplace_back(text, nullptr);
    parent.has_key = true;
  }

  void open(Json json, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (expects_key()) fail(mark, "a key must be a string");
    open_.push_back({.value = {std::move(json)}, .mark = mark, .anchor = anchor});
  }

  void close() {
    Container container = std::move(open_.back());
    open_.pop_back();
    add(std::move(container.value), container.mark, container.anchor);
  }

  std::string where_;
  std::vector<Container> open_;
  std::unordered_map<YAML::anchor_t, YamlValue> anchored_;
  std::size_t copied_ = 0;
  int documents_ = 0;
  Json root_;
};

}  // namespace

Json read_yaml_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  require_utf8(file, mapped.text());
  std::istringstream stream{std::string(mapped.text())};
  YamlBuilder builder("'" + file.string() + "'");
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::DeepRecursion& error) {
    builder.fail(error.mark, fmt::format("YAML must be nested at most {} levels deep", kMaxDepth));
  } catch (const YAML::Exception& error) {
    builder.fail(error.mark, printable(error.msg, 200));
  }
  return builder.take_root();
}

bool is_yaml(const std::filesystem::path& file) {
  return file.extension() == ".yaml" || file.extension() == ".yml";
}

}  // namespace lime
