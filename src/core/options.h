// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/json.h"

namespace lime {

/// What a field decides.
enum class OptionRole {
  kContent,    ///< the numbers that a program writes
  kInput,      ///< which files are read: their content decides, not their names
  kOutput,     ///< which files are written
  kExecution,  ///< how the work is done: threads, memory, messages
};

/// Describes a field of an options struct for the command line, forms and results files.
struct OptionField {
  std::string name;      ///< snake_case as in the struct; `--max-per-class` on the command line
  std::string help;      ///< meaning, unit and range in one sentence
  std::string type;      ///< "NUMBER", "INT", "TEXT", "PATH", or the choices "full|average"
  bool is_flag = false;  ///< given without a value
  bool is_list = false;  ///< takes several values, e.g. comma-separated
  bool takes_several = false;  ///< a list that also takes the arguments that follow it
  OptionRole role = OptionRole::kContent;
  bool splits_commas = true;         ///< a list whose values are cut at commas
  char short_name = '\0';            ///< 'o' for `-o`; every field called `output` has it
  std::string group;                 ///< heading in the help; empty for the first group
  std::vector<std::string> choices;  ///< empty unless an enumeration
  std::function<void(const std::vector<std::string>&)> assign;  ///< throws InvalidArgument
  std::function<Json()> value;                                  ///< the present value
};

/// @throws InvalidArgument  "name: must be `range`, got `value`" unless it `holds`.
template <typename T>
void check_option(bool holds, std::string_view name, std::string_view range, const T& value) {
  if (!holds) throw InvalidArgument(OptionName(name), "must be {}, got {}", range, value);
}

/// Returns a table of enumerators and their names. An option's enumeration has such a function next
/// to it:
///
///   constexpr auto names_of(Rows) {
///     using enum Rows;
///     return enum_table<Rows>({{kTokens, "tokens"}, {kMean, "mean"}, {kLast, "last"}});
///   }
template <typename Enum, std::size_t kCount>
constexpr auto enum_table(const std::pair<Enum, std::string_view> (&names)[kCount]) {
  return std::to_array(names);
}

/// Contains names_of() of an enumeration.
template <typename Enum> struct EnumNames;

template <typename Enum>
requires requires(Enum value) { names_of(value); }
struct EnumNames<Enum> {
  static constexpr auto kNames = names_of(Enum{});
};

template <typename T>
concept NamedEnum = std::is_enum_v<T> && requires {
  EnumNames<T>::kNames;
};

/// Returns the name of an enumerator as the command line and the files spell it.
template <NamedEnum Enum> std::string_view enum_name(Enum value) {
  for (const auto& [enumerator, name] : EnumNames<Enum>::kNames) {
    if (enumerator == value) return name;
  }
  return "unknown";
}

/// Returns the names of all enumerators.
template <NamedEnum Enum> std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& [enumerator, name] : EnumNames<Enum>::kNames) names.emplace_back(name);
  return names;
}

/// Returns the enumerator called `name`, if there is one.
template <NamedEnum Enum> std::optional<Enum> find_enum(std::string_view name) {
  for (const auto& [enumerator, spelled] : EnumNames<Enum>::kNames) {
    if (spelled == name) return enumerator;
  }
  return std::nullopt;
}

/// Returns the enumerator called `name`.
/// @throws InvalidArgument  about `option`, that lists the names.
template <NamedEnum Enum> Enum enum_value(std::string_view name, std::string_view option) {
  if (const std::optional<Enum> found = find_enum<Enum>(name)) return *found;
  throw InvalidArgument(OptionName(option), "expected one of {}, got '{}'",
                        fmt::join(enum_names<Enum>(), ", "), name);
}

/// Reads a type from text, writes it to JSON and names it in the help.
template <typename T> struct OptionCodec;

template <typename T>
requires std::is_arithmetic_v<T> &&(!std::same_as<T, bool>)struct OptionCodec<T> {
  static std::string type() { return std::is_integral_v<T> ? "INT" : "NUMBER"; }
  static T parse(const std::string& text, const std::string& name) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    throw_if(result.ec != std::errc() || result.ptr != end, OptionName(name),
             "expected {}, got '{}'", std::is_integral_v<T> ? "a whole number" : "a number", text);
    return value;
  }
  static Json to_json(const T& value) {
    // JSON has no infinity; alpha = inf is written as the word that the command line takes.
    if constexpr (std::is_floating_point_v<T>) {
      if (value - value != T{0}) return fmt::format("{}", value);
    }
    return value;
  }
};

template <> struct OptionCodec<bool> {
  static std::string type() { return "true|false"; }
  static bool parse(const std::string& text, const std::string& name) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    throw InvalidArgument(OptionName(name), "expected true or false, got '{}'", text);
  }
  static Json to_json(bool value) { return value; }
};

template <> struct OptionCodec<std::string> {
  static std::string type() { return "TEXT"; }
  static std::string parse(const std::string& text, const std::string&) { return text; }
  static Json to_json(const std::string& value) { return value; }
};

template <> struct OptionCodec<std::filesystem::path> {
  static std::string type() { return "PATH"; }
  static std::filesystem::path parse(const std::string& text, const std::string&) { return text; }
  static Json to_json(const std::filesystem::path& value) { return value.string(); }
};

template <NamedEnum T> struct OptionCodec<T> {
  static std::string type() { return fmt::format("{}", fmt::join(enum_names<T>(), "|")); }
  static T parse(const std::string& text, const std::string& name) {
    return enum_value<T>(text, name);
  }
  static Json to_json(const T& value) { return std::string(enum_name(value)); }
};

template <typename T> struct OptionCodec<std::optional<T>> {
  static std::string type() { return OptionCodec<T>::type(); }
  static std::optional<T> parse(const std::string& text, const std::string& name) {
    return OptionCodec<T>::parse(text, name);
  }
  static Json to_json(const std::optional<T>& value) {
    return value ? OptionCodec<T>::to_json(*value) : Json(nullptr);
  }
};

/// Collects the fields of an options struct. The struct offers
///
///   void describe(OptionList& list) { list.add("alpha", alpha, "order of the entropy, > 0"); }
///
/// and that one description serves the command line, forms and results files.
class OptionList {
 public:
  /// Starts a group: the help lists the following fields under this heading, e.g. "Output".
  void group(std::string title) { group_ = std::move(title); }

  /// Adds one field and returns it, so that it can be refined:
  ///   list.add("label", labels, "names of the captures").takes_several = true;
  template <typename T> OptionField& add(std::string name, T& target, std::string help) {
    OptionField field;
    field.help = std::move(help);
    field.type = OptionCodec<T>::type();
    field.is_flag = std::same_as<T, bool>;
    if constexpr (NamedEnum<T>) {
      field.choices = enum_names<T>();
    }
    field.assign = [&target, name](const std::vector<std::string>& texts) {
      target = OptionCodec<T>::parse(texts.empty() ? "true" : texts.back(), name);
    };
    field.value = [&target] { return OptionCodec<T>::to_json(target); };
    return push_back(std::move(field), std::move(name));
  }

  template <typename T>
  OptionField& add(std::string name, std::vector<T>& target, std::string help) {
    OptionField field;
    field.help = std::move(help);
    field.type = OptionCodec<T>::type();
    field.is_list = true;
    field.assign = [&target, name](const std::vector<std::string>& texts) {
      target.clear();
      for (const std::string& text : texts) target.push_back(OptionCodec<T>::parse(text, name));
    };
    field.value = [&target] {
      Json values = Json::array();
      for (const T& value : target) values.push_back(OptionCodec<T>::to_json(value));
      return values;
    };
    return push_back(std::move(field), std::move(name));
  }

  const std::vector<OptionField>& fields() const { return fields_; }

 private:
  OptionField& push_back(OptionField field, std::string name) {
    if (name == "output") field.short_name = 'o';
    field.name = std::move(name);
    field.group = group_;
    fields_.push_back(std::move(field));
    return fields_.back();
  }

  std::vector<OptionField> fields_;
  std::string group_;
};

template <typename T>
concept DescribedOptions = requires(T options, OptionList list) {
  options.describe(list);
};

/// Returns the fields of `options`; they refer to it and must not outlive it.
template <DescribedOptions T> std::vector<OptionField> option_fields(T& options) {
  OptionList list;
  options.describe(list);
  return list.fields();
}

/// Returns all fields as one JSON object, as results and captures store them.
template <DescribedOptions T> Json options_to_json(T options) {
  Json object = Json::object();
  for (const OptionField& field : option_fields(options)) object[field.name] = field.value();
  return object;
}

}  // namespace lime
