// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <array>
#include <memory>

#include "checkpoint/tokenizer/json_fields.h"
#include "checkpoint/tokenizer/oniguruma_pattern.h"
#include "checkpoint/tokenizer/regex.h"
#include "checkpoint/tokenizer/unicode_form.h"
#include "core/errors.h"

namespace lime {
namespace {

/// Unicode's lower case of each character by itself; U+0130 alone becomes two characters.
std::string lowercase(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::int32_t code = 0;
    const auto length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    if (code == 0x130) {
      result += "i\u0307";
    } else {
      std::array<utf8proc_uint8_t, 4> bytes{};
      const auto written = utf8proc_encode_char(utf8proc_tolower(code), bytes.data());
      result.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(written));
    }
    at += static_cast<std::size_t>(length);
  }
  return result;
}

std::string prepend(std::string_view prefix, std::string_view text) {
  return text.empty() ? std::string() : std::string(prefix) + std::string(text);
}

std::string replace_literal(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  result.reserve(text.size());
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != std::string_view::npos;
       found = text.find(from, at)) {
    result += text.substr(at, found - at);
    result += to;
    at = found + from.size();
  }
  return result += text.substr(at);
}

std::string replace_matches(std::string_view text, const Regex& regex, std::string_view to) {
  RegexMatcher matcher(regex);
  std::string result;
  std::size_t at = 0;
  while (const auto match = matcher.find(text, at)) {
    if (match->end == match->begin) break;
    result += text.substr(at, match->begin - at);
    result += to;
    at = match->end;
  }
  return result += text.substr(at);
}

std::function<std::string(std::string_view)> replacement(const JsonFields& fields) {
  const JsonFields pattern(fields.get("pattern"), fields.place("pattern"));
  const std::string to = fields.optional_string("content").value_or("");
  if (const auto literal = pattern.optional_string("String")) {
    if (literal->empty()) throw FormatError("{}.String must not be empty", pattern.where());
    return [from = *literal, to](std::string_view text) { return replace_literal(text, from, to); };
  }
  auto regex = std::make_shared<const Regex>(pattern.string("Regex"));
  return [regex, to](std::string_view text) { return replace_matches(text, *regex, to); };
}

std::function<std::string(std::string_view)> strip(bool left, bool right) {
  // The look-behind keeps long runs of spaces inside the text from being tried at each place.
  const std::string at_start = R"(\A\s+)";
  const std::string at_end = R"((?<!\s)\s++\z)";
  const std::string pattern = left && right ? at_start + "|" + at_end : left ? at_start : at_end;
  auto regex = std::make_shared<const Regex>(pattern);
  return [regex](std::string_view text) { return replace_matches(text, *regex, ""); };
}

}  // namespace

Normalizer::Normalizer(const Json& definition, const std::string& where) {
  if (!definition.is_null()) add(definition, where);
}

void Normalizer::add(const Json& definition, const std::string& where) {
  const JsonFields fields(definition, where);
  const std::string type = fields.string("type");
  const auto form = [](UnicodeForm to) {
    return [to](std::string_view text) { return to_unicode_form(text, to); };
  };
  if (type == "Sequence") {
    for (const Json& part : fields.array("normalizers")) add(part, where);
  } else if (type == "NFC") {
    steps_.emplace_back(form(UnicodeForm::kNfc));
  } else if (type == "NFD") {
    steps_.emplace_back(form(UnicodeForm::kNfd));
  } else if (type == "NFKC") {
    steps_.emplace_back(form(UnicodeForm::kNfkc));
  } else if (type == "NFKD") {
    steps_.emplace_back(form(UnicodeForm::kNfkd));
  } else if (type == "Lowercase") {
    steps_.emplace_back(lowercase);
  } else if (type == "Prepend") {
    steps_.emplace_back([prefix = fields.string("prepend")](std::string_view text) {
      return prepend(prefix, text);
    });
  } else if (type == "Replace") {
    steps_.emplace_back(replacement(fields));
  } else if (type == "Strip") {
    const bool left = fields.boolean("strip_left", true);
    const bool right = fields.boolean("strip_right", true);
    if (left || right) steps_.emplace_back(strip(left, right));
  } else {
    throw FormatError("{}: type '{}' is not supported", where, type);
  }
}

std::string Normalizer::apply(std::string_view text) const {
  std::string result(text);
  for (const Step& step : steps_) result = step(result);
  return result;
}

}  // namespace lime
