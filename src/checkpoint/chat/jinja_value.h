// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"

namespace lime::jinja {

class Value;

/// A name or attribute that does not exist. It prints as nothing; most operations refuse it.
struct Undefined {
  std::string name;
};

/// Python's None.
struct None {};

/// A list, or a tuple, which only prints differently. Templates cannot change one.
struct List {
  std::vector<Value> items;
  bool is_tuple = false;
};

/// A dict with text as keys, in their order. Templates cannot change one.
struct Dict {
  std::vector<std::pair<std::string, Value>> items;

  const Value* find(std::string_view key) const;
};

/// What `namespace()` returns: the only object whose attributes a template may set.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;

  Value& at(std::string_view name);
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// Returns the argument at `place`, or the one called `name`; no value if neither was passed.
  std::optional<Value> find(std::size_t place, std::string_view name) const;
};

/// A function of the template's variables: a macro, a method bound to its object, or a global.
using Function = std::function<Value(const Arguments&)>;

/// A value of a template, with the semantics of Python. Copies share lists and dicts.
class Value {
 public:
  using Content = std::variant<Undefined, None, bool, std::int64_t, double, std::string,
                               std::shared_ptr<const List>, std::shared_ptr<const Dict>,
                               std::shared_ptr<Namespace>, std::shared_ptr<const Function>>;

  Value() : content_(Undefined{}) {}
  template <typename T>
  requires std::constructible_from<Content, T> &&
      (!std::same_as<std::remove_cvref_t<T>, Value>)Value(T&& content)
      : content_(std::forward<T>(content)) {}               // NOLINT: every content is a value
  Value(const char* text) : content_(std::string(text)) {}  // NOLINT: likewise

  static Value list(std::vector<Value> items, bool is_tuple = false);
  static Value dict(std::vector<std::pair<std::string, Value>> items);
  static Value function(Function function);
  static Value of_json(const Json& json);

  template <typename T> const T* get_if() const { return std::get_if<T>(&content_); }
  template <typename T> bool is() const { return std::holds_alternative<T>(content_); }

  const List* list() const;
  const Dict* dict() const;
  const std::string* text() const { return get_if<std::string>(); }
  Namespace* name_space() const;
  const Function* function() const;
  /// Returns an integer, also of True and False.
  std::optional<std::int64_t> integer() const;
  /// Returns a number of any type, also of True and False.
  std::optional<double> number() const;

  /// Returns `bool(value)`.
  bool truth() const;
  /// Returns `str(value)`: "True", "None", "1.0", "['a', 1]".
  std::string str() const;
  /// Returns the name of the type, for errors: "a list".
  std::string_view type() const;

  bool operator==(const Value& other) const;

 private:
  Content content_;
};

/// Returns `json.dumps(value, ensure_ascii=False)`. @param indent  as there; nothing: one line
/// @throws FormatError  for an undefined value, a function or a namespace
std::string to_json(const Value& value, std::optional<std::int64_t> indent = std::nullopt,
                    bool sorts_keys = false);

/// Returns the items that `for` visits: of a list, the keys of a dict, the characters of a text;
/// none of an undefined value. @throws FormatError  if it cannot be iterated
std::vector<Value> iterated(const Value& value);

}  // namespace lime::jinja
