// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <span>
#include <utility>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/tokenizer/byte_alphabet.h"
#include "checkpoint/tokenizer/normalizations.h"
#include "checkpoint/tokenizer/regex.h"
#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"

namespace lime {
namespace {

/// Returns the bytes of a base64 text, or nothing if it is none.
std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned num_bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes += static_cast<char>(bits >> num_bits & 0xFFU);
  }
  return bytes;
}

std::uint32_t read_u32(std::string_view bytes) {
  return static_cast<std::uint32_t>(little_endian(std::as_bytes(std::span(bytes.data(), 4))));
}

// A unit of darts-clone's double array.
bool has_leaf(std::uint32_t unit) { return (unit >> 8U & 1U) == 1; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FFU; }
std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10U << ((unit & 0x200U) >> 6U); }

/// SentencePiece's compiled normalization rules, as tokenizer.json has them (Precompiled).
///
/// Grapheme clusters of less than 6 bytes are looked up as a whole, then characters by themselves;
/// as in `tokenizers`, the shortest rule that a cluster begins with replaces all of it.
/// Immutable and thread-safe.
/// Source: `tokenizers` 0.23 (spm_precompiled 0.1), darts-clone's layout of a double array.
class PrecompiledMap {
 public:
  /// @param base64  `precompiled_charsmap`: a size, the double array, strings that end with NUL.
  PrecompiledMap(std::string_view base64, const std::string& where) {
    const auto bytes = decode_base64(base64);
    if (!bytes) throw FormatError("{}.precompiled_charsmap must be base64", where);
    if (bytes->empty()) return;
    const std::uint32_t size = bytes->size() < 4 ? 1 : read_u32(*bytes);
    throw_if<FormatError>(size % 4 != 0 || size > bytes->size() - 4,
                          "{}.precompiled_charsmap must contain a double array and strings", where);
    for (std::size_t at = 4; at < 4 + std::size_t{size}; at += 4) {
      units_.push_back(read_u32(std::string_view(*bytes).substr(at)));
    }
    strings_ = bytes->substr(4 + std::size_t{size}) + '\0';
  }

  std::string apply(std::string_view text) const {
    std::string result;
    result.reserve(text.size());
    std::int32_t state = 0;
    std::size_t begin = 0;  // of the cluster
    for (std::size_t at = 0; at < text.size();) {
      const auto [code, next] = character_at(text, at);
      const bool ends = next >= text.size() || utf8proc_grapheme_break_stateful(
                                                   code, character_at(text, next).code, &state);
      if (ends) {
        append_cluster(text.substr(begin, next - begin), result);
        begin = next;
      }
      at = next;
    }
    return result;
  }

 private:
  std::optional<std::string_view> find(std::string_view chunk) const {
    if (units_.empty()) return std::nullopt;
    std::uint32_t node = offset_of(units_[0]);
    for (const char c : chunk) {
      const auto byte = static_cast<unsigned char>(c);
      node ^= byte;
      if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
      const std::uint32_t unit = units_[node];
      node ^= offset_of(unit);
      if (!has_leaf(unit)) continue;
      if (node >= units_.size() || value_of(units_[node]) >= strings_.size()) return std::nullopt;
      return std::string_view(strings_.c_str() + value_of(units_[node]));
    }
    return std::nullopt;
  }

  void append_cluster(std::string_view cluster, std::string& result) const {
    constexpr std::size_t kShortCluster = 6;
    if (cluster.size() < kShortCluster) {
      if (const auto found = find(cluster)) {
        result += *found;
        return;
      }
    }
    for (std::size_t at = 0; at < cluster.size();) {
      const std::size_t end = character_end(cluster, at);
      const std::string_view character = cluster.substr(at, end - at);
      result += find(character).value_or(character);
      at = end;
    }
  }

  std::vector<std::uint32_t> units_;
  std::string strings_;
};

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

Run replacement(const KeyReader& fields) {
  const KeyReader pattern = fields.required_object("pattern");
  const std::string to = fields.text("content").value_or("");
  if (const auto literal = pattern.text("String")) {
    if (literal->empty()) throw FormatError("{}.String must not be empty", pattern.where());
    return [from = *literal, to](std::string_view text, const StageWork& work) {
      return replace_all(text, from, to, work);
    };
  }
  return [regex = Regex(pattern.required_text("Regex")), to](std::string_view text,
                                                             const StageWork& work) {
    return replace_matches(text, regex, to, work);
  };
}

Run strip(bool left, bool right) {
  // The look-behind keeps long runs of spaces inside the text from being tried at each place.
  const std::string at_start = R"(\A\s+)";
  const std::string at_end = R"((?<!\s)\s++\z)";
  const std::string pattern = left && right ? at_start + "|" + at_end : left ? at_start : at_end;
  return [regex = Regex(pattern)](std::string_view text, const StageWork& work) {
    return replace_matches(text, regex, "", work);
  };
}

template <UnicodeForm kForm> std::string in_form(std::string_view text) {
  return to_unicode_form(text, kForm);
}

std::string spell_bytes(std::string_view text) {
  std::string result;
  for (const char byte : text) result += spell_byte(static_cast<unsigned char>(byte));
  return result;
}

/// Components without settings.
constexpr std::pair<std::string_view, std::string (*)(std::string_view)> kMaps[] = {
    {"NFC", in_form<UnicodeForm::kNfc>},
    {"NFD", in_form<UnicodeForm::kNfd>},
    {"NFKC", in_form<UnicodeForm::kNfkc>},
    {"NFKD", in_form<UnicodeForm::kNfkd>},
    {"Lowercase", lowercase},
    {"StripAccents", strip_accents},
    {"Nmt", normalize_nmt},
    {"ByteLevel", spell_bytes}};

BertNormalization read_bert(const KeyReader& fields) {
  BertNormalization steps;
  steps.clean_text = fields.boolean("clean_text", true);
  steps.handle_chinese_chars = fields.boolean("handle_chinese_chars", true);
  steps.lowercase = fields.boolean("lowercase", true);
  steps.strip_accents = fields.boolean("strip_accents", steps.lowercase);
  return steps;
}

}  // namespace

Normalizer::Normalizer(const Json& definition, const std::string& where) {
  if (!definition.is_null()) add(definition, where);
}

void Normalizer::add(const Json& definition, const std::string& where) {
  const KeyReader fields(definition, where, KeyStyle::kDotted);
  const std::string type = fields.required_text("type");
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
  for (const auto& [name, map] : kMaps) {
    if (type == name) return add_mapping(map);
  }
  if (type == "Sequence") {
    for (const Json& part : fields.required_array("normalizers")) add(part, where);
  } else if (type == "BertNormalizer") {
    add_mapping(
        [steps = read_bert(fields)](std::string_view text) { return normalize_bert(text, steps); });
  } else if (type == "Precompiled") {
    const auto charsmap = fields.text("precompiled_charsmap").value_or("");
    auto rules = std::make_shared<const PrecompiledMap>(charsmap, fields.where());
    add_mapping([rules](std::string_view text) { return rules->apply(text); });
  } else if (type == "Prepend") {
    add_step(
        [prefix = fields.required_text("prepend")](std::string_view text, const StageWork& work) {
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
