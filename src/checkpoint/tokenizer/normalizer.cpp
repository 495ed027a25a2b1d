// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <array>
#include <memory>
#include <utility>

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

std::string prepend(std::string_view prefix, std::string_view text, const StageWork& work) {
  if (text.empty()) return "";
  work.take_bytes(prefix.size() + text.size());
  return std::string(prefix) + std::string(text);
}

std::string replace_matches(std::string_view text, const Regex& regex, std::string_view to,
                            const StageWork& work) {
  RegexMatcher matcher(regex);
  work.take_bytes(text.size());
  std::string result;
  std::size_t at = 0;
  while (const auto match = matcher.find(text, at, work)) {
    if (match->end == match->begin) break;
    work.take_bytes(to.size());
    result += text.substr(at, match->begin - at);
    result += to;
    at = match->end;
  }
  return result += text.substr(at);
}

using Run = std::function<std::string(std::string_view, const StageWork&)>;

Run replacement(const JsonFields& fields) {
  const JsonFields pattern(fields.get("pattern"), fields.place("pattern"));
  const std::string to = fields.optional_string("content").value_or("");
  if (const auto literal = pattern.optional_string("String")) {
    if (literal->empty()) throw FormatError("{}.String must not be empty", pattern.where());
    return [from = *literal, to](std::string_view text, const StageWork& work) {
      return replace_all(text, from, to, work);
    };
  }
  auto regex = std::make_shared<const Regex>(pattern.string("Regex"));
  return [regex, to](std::string_view text, const StageWork& work) {
    return replace_matches(text, *regex, to, work);
  };
}

Run strip(bool left, bool right) {
  // The look-behind keeps long runs of spaces inside the text from being tried at each place.
  const std::string at_start = R"(\A\s+)";
  const std::string at_end = R"((?<!\s)\s++\z)";
  const std::string pattern = left && right ? at_start + "|" + at_end : left ? at_start : at_end;
  auto regex = std::make_shared<const Regex>(pattern);
  return [regex](std::string_view text, const StageWork& work) {
    return replace_matches(text, *regex, "", work);
  };
}

}  // namespace

Normalizer::Normalizer(const Json& definition, const std::string& where) {
  if (!definition.is_null()) add(definition, where);
}

void Normalizer::add(const Json& definition, const std::string& where) {
  const JsonFields fields(definition, where);
  const std::string type = fields.string("type");
  const auto add_step = [&](Run run) {
    steps_.push_back({.name = fmt::format("{}: type '{}'", where, type), .run = std::move(run)});
    check_num_stages(steps_.size(), where);
  };
  // Steps that turn each byte into a few at most.
  const auto add_mapping = [&](std::function<std::string(std::string_view)> map) {
    add_step([map = std::move(map)](std::string_view text, const StageWork& work) {
      std::string result = map(text);
      work.take_bytes(result.size());
      return result;
    });
  };
  const auto add_form = [&](UnicodeForm form) {
    add_mapping([form](std::string_view text) { return to_unicode_form(text, form); });
  };
  if (type == "Sequence") {
    for (const Json& part : fields.array("normalizers")) add(part, where);
  } else if (type == "NFC") {
    add_form(UnicodeForm::kNfc);
  } else if (type == "NFD") {
    add_form(UnicodeForm::kNfd);
  } else if (type == "NFKC") {
    add_form(UnicodeForm::kNfkc);
  } else if (type == "NFKD") {
    add_form(UnicodeForm::kNfkd);
  } else if (type == "Lowercase") {
    add_mapping(lowercase);
  } else if (type == "Prepend") {
    add_step([prefix = fields.string("prepend")](std::string_view text, const StageWork& work) {
      return prepend(prefix, text, work);
    });
  } else if (type == "Replace") {
    add_step(replacement(fields));
  } else if (type == "Strip") {
    const bool left = fields.boolean("strip_left", true);
    const bool right = fields.boolean("strip_right", true);
    if (left || right) add_step(strip(left, right));
  } else {
    throw FormatError("{}: type '{}' is not supported", where, type);
  }
}

std::string Normalizer::apply(std::string_view text, WorkBudget& budget) const {
  std::string result(text);
  for (const Step& step : steps_) result = step.run(result, StageWork(budget, step.name));
  return result;
}

}  // namespace lime
