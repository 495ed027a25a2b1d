// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"

namespace lime::jinja {

class Value;

/// Longest text of a template, also of all texts in a list or dict together.
inline constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

/// What a value holds: bounds the time and the stack that printing, comparing and destroying it
/// take.
struct Extent {
  std::size_t bytes = 0;       ///< of everything in it, as often as it is in it
  int depth = 0;               ///< of lists and dicts in lists and dicts
  bool has_namespace = false;  ///< a namespace is in it, or is the value

  /// Adds an item of a list or dict. @throws FormatError  if they are nested too deep or too large
  void add(const Extent& item);
};

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
  Extent extent;
};

/// A dict with text as keys, in their order. Templates cannot change one.
struct Dict {
  std::vector<std::pair<std::string, Value>> items;
  Extent extent;

  const Value* find(std::string_view key) const;
};

/// What `namespace()` returns: the only object whose attributes a template may set.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;

  /// @throws FormatError  if a namespace is in the value: it could then hold itself
  void set(std::string_view name, Value value);
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// Returns the argument at `place`, or the one called `name`; no value if neither was passed.
  std::optional<Value> find(std::size_t place, std::string_view name) const;
};

/// A function of the template's variables: a macro, a method bound to its object, or a global.
struct Function {
  std::function<Value(const Arguments&)> call;
  Extent extent;  ///< of the object that it is bound to

  Value operator()(const Arguments& arguments) const;
};

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
  static Value function(std::function<Value(const Arguments&)> call, Extent extent = {});
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

  Extent extent() const;
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
