// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input_tokens.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "capture/input/input_prefix.h"
#include "core/files/input_file.h"
#include "core/utf8.h"
#include "store/capture_reader.h"

namespace lime {
namespace {

std::vector<std::int32_t> checked_ids(const NpyIntegers& numbers, std::int64_t vocab_size,
                                      const std::string& file) {
  std::vector<std::int32_t> ids(numbers.values.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t value = numbers.values[i];
    if (value >= 0 && value < vocab_size) {
      ids[i] = static_cast<std::int32_t>(value);
      continue;
    }
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t columns = numbers.shape.back();
    const std::string where = numbers.shape.size() == 1
                                  ? fmt::format("[{}]", place)
                                  : fmt::format("[{}, {}]", place / columns, place % columns);
    throw InvalidArgument("'{}': token ids must be in [0, {}), got {} at {}", file, vocab_size,
                          value, where);
  }
  return ids;
}

std::vector<std::int32_t> prepended_ids(const CaptureOptions& options, const ModelConfig& config,
                                        const Tokenizer* tokenizer) {
  if (options.bos != BosPolicy::kAlways && options.packing != Packing::kBosEach) return {};
  if (tokenizer != nullptr && tokenizer->bos_id()) return {*tokenizer->bos_id()};
  if (config.bos_token_id) return {static_cast<std::int32_t>(*config.bos_token_id)};
  throw InvalidArgument(
      OptionName("bos"),
      "neither the tokenizer nor config.json defines a beginning-of-sequence token; omit "
      "--bos and --packing");
}

/// Returns the text of a sequence, or none if the tokenizer does not match the ids.
std::string text_of(std::span<const std::int32_t> ids, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return "";
  const std::int32_t size = tokenizer->vocab_size();
  if (std::ranges::any_of(ids, [&](std::int32_t id) { return id >= size; })) return "";
  try {
    return tokenizer->decode(ids);
  } catch (const InvalidArgument&) {
    return "";  // an unused id in the vocabulary
  }
}

/// Cuts a 1-D file into sequences of equal length.
void cut_stream(std::vector<std::int32_t> ids, const CaptureOptions& options,
                const Tokenizer* tokenizer, CaptureInput& input) {
  const std::vector<std::int32_t>& prefix = input.prepended_ids;
  input.packing =
      options.packing.value_or(prefix.empty() ? Packing::kEosBetween : Packing::kBosEach);
  const bool is_each = input.packing == Packing::kBosEach;
  if (is_each) {
    const auto spelled = spelled_tokens(ids, prefix, options.bos);
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(spelled));
  } else {
    ids.insert(ids.begin(), prefix.begin(), prefix.end());
  }
  const std::int64_t before_each = is_each ? std::ssize(prefix) : 0;
  throw_if(*options.seq_len <= before_each, OptionName("seq_len"),
           "must be > {} with --packing bos-each, got {}", before_each, *options.seq_len);
  throw_if<FormatError>(ids.empty(), "'{}': contains only the beginning-of-sequence token",
                        options.tokens.string());
  const std::int64_t total = std::ssize(ids);
  const std::int64_t length = std::min(*options.seq_len - before_each, total);
  const std::int64_t count =
      std::min(total / length, options.max_sequences.value_or(total / length));
  for (std::int64_t s = 0; s < count; ++s) {
    const auto own =
        std::span(std::as_const(ids))
            .subspan(static_cast<std::size_t>(s * length), static_cast<std::size_t>(length));
    const std::size_t at_start = !is_each && s == 0 ? prefix.size() : 0;
    Sequence about;
    about.text = text_of(own, tokenizer);
    input.add(is_each ? std::span(prefix) : own.first(at_start), own.subspan(at_start),
              std::move(about));
  }
  input.dropped_tokens = total % length;
}

}  // namespace

namespace {

bool is_hdf5(const std::filesystem::path& path) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  return MappedFile(path).text().starts_with(kSignature);
}

/// Reads the sequences of a capture: the tokens that its model read, prepended ones included.
CaptureInput read_captured_tokens(const CaptureOptions& options, const Tokenizer* tokenizer) {
  const std::string name = options.tokens.string();
  throw_if(options.bos == BosPolicy::kAlways || options.packing == Packing::kBosEach,
           OptionName("bos"),
           "'{}' is a capture, which contains the first tokens of each sequence; omit --bos and "
           "--packing",
           name);
  const CaptureReader capture(options.tokens);
  throw_if(capture.info().rows != RowKind::kTokens || !capture.info().class_names.empty(),
           OptionName("tokens"),
           "'{}' contains only some tokens of its sequences; use a capture with a row per token",
           name);
  const std::vector<std::int32_t>& ids = capture.rows().token;
  throw_if(ids.empty() || std::ranges::any_of(ids, [](std::int32_t id) { return id < 0; }),
           OptionName("tokens"), "'{}' has no token ids; use a capture with tokens", name);
  CaptureInput input;
  const std::int64_t count =
      std::min(capture.num_sequences(), options.max_sequences.value_or(capture.num_sequences()));
  for (std::int64_t s = 0; s < count; ++s) {
    const auto first = static_cast<std::size_t>(capture.offsets()[static_cast<std::size_t>(s)]);
    const auto end = static_cast<std::size_t>(capture.offsets()[static_cast<std::size_t>(s) + 1]);
    const auto own = std::span(ids).subspan(first, end - first);
    input.add({}, own, {.text = text_of(own, tokenizer)});
  }
  return input;
}

}  // namespace

CaptureInput read_token_input(const CaptureOptions& options, const ModelConfig& config,
                              const Tokenizer* tokenizer) {
  if (is_hdf5(options.tokens)) return read_captured_tokens(options, tokenizer);
  const std::string name = options.tokens.string();
  const NpyIntegers numbers = read_npy_integers(options.tokens);
  throw_if<FormatError>(numbers.values.empty(), "'{}': contains no token ids", name);
  const std::vector<std::int32_t> ids = checked_ids(numbers, config.vocab_size, name);

  CaptureInput input;
  input.prepended_ids = prepended_ids(options, config, tokenizer);
  if (numbers.shape.size() == 1) {
    cut_stream(ids, options, tokenizer, input);
    return input;
  }
  throw_if(options.packing == Packing::kBosEach, OptionName("packing"),
           "bos-each needs a 1-D file, '{}' has rows; pass --bos always instead", name);
  const std::int64_t length = numbers.shape[1];
  const std::int64_t count =
      std::min(numbers.shape[0], options.max_sequences.value_or(numbers.shape[0]));
  for (std::int64_t s = 0; s < count; ++s) {
    const auto own = std::span(ids).subspan(static_cast<std::size_t>(s * length),
                                            static_cast<std::size_t>(length));
    input.add(input.prepended_ids, own, {.text = text_of(own, tokenizer)});
  }
  return input;
}

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPreamble = 10;      // magic, version, length of version 1
constexpr std::size_t kMaxHeader = 65536;  // maximum of version 1; a shape needs 100 bytes

/// Parses the header, a Python dictionary of a type, a bool and a tuple, as JSON.
Json parse_header(std::string_view text, std::string_view file) {
  std::string json;
  for (const char letter : text) {
    // Python allows a comma before the end of a dictionary or tuple.
    if (letter == '}' || letter == ')') json.erase(json.find_last_not_of(", \n") + 1);
    // Only True and False begin with the letters T and F.
    constexpr std::string_view kPython = "()'TF";
    const std::size_t place = kPython.find(letter);
    json += place == kPython.npos ? letter : std::string_view("[]\"tf")[place];
  }
  int num_keys = 0;
  const auto count_keys = [&](int, Json::parse_event_t event, const Json&) {
    num_keys += event == Json::parse_event_t::key ? 1 : 0;
    return true;
  };
  Json header = Json::parse(json, count_keys, /*allow_exceptions=*/false);
  const auto is_size = [](const Json& size) {
    return size.is_number_unsigned() && size.get<std::uint64_t>() <= INT64_MAX;
  };
  const bool is_valid = header.is_object() && num_keys == 3 && header.contains("descr") &&
                        header.value("fortran_order", Json()).is_boolean() &&
                        header.value("shape", Json()).is_array() &&
                        std::ranges::all_of(header["shape"], is_size);
  throw_if<FormatError>(!is_valid, "'{}': the .npy header is malformed: '{}'", file,
                        printable(text, 100));
  return header;
}

struct IntegerType {
  bool big_endian = false;
  bool is_signed = true;
  std::size_t size = 0;
};

IntegerType integer_type(const Json& type, std::string_view file) {
  const std::string descr = type.is_string() ? type.get<std::string>() : type.dump();
  const bool is_integer = descr.size() == 3 && (descr[1] == 'i' || descr[1] == 'u') &&
                          std::string_view("1248").find(descr[2]) != std::string_view::npos &&
                          std::string_view("<>|").find(descr[0]) != std::string_view::npos;
  throw_if<FormatError>(!is_integer,
                        "'{}': token ids must be whole numbers, got type '{}'; save "
                        "ids.astype('int32')",
                        file, printable(descr, 40));
  return {.big_endian = descr[0] == '>',
          .is_signed = descr[1] == 'i',
          .size = static_cast<std::size_t>(descr[2] - '0')};
}

std::int64_t load(const std::byte* bytes, const IntegerType& type) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < type.size; ++i) {
    const std::size_t place = type.big_endian ? i : type.size - 1 - i;
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[place]);
  }
  if (type.is_signed && type.size < 8) {
    const std::uint64_t sign = std::uint64_t{1} << (8 * type.size - 1);
    value = (value ^ sign) - sign;
  }
  return static_cast<std::int64_t>(value);
}

std::pair<std::string_view, std::span<const std::byte>> split(const MappedFile& mapped,
                                                              std::string_view file) {
  const std::string_view text = mapped.text();
  throw_if<FormatError>(!text.starts_with(kMagic),
                        "'{}': is not a .npy file; save the ids with numpy.save", file);
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::size_t>(static_cast<unsigned char>(text[i])) : 0;
  };
  const std::size_t version = byte(6);
  throw_if<FormatError>(version < 1 || version > 3, "'{}': .npy version must be 1 to 3, got {}",
                        file, version);
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  const std::size_t start = version == 1 ? kPreamble : kPreamble + 2;
  throw_if<FormatError>(length > kMaxHeader || start > text.size() || length > text.size() - start,
                        "'{}': is truncated, or its .npy header misstates its length of {} bytes",
                        file, length);
  return {text.substr(start, length), mapped.bytes().subspan(start + length)};
}

/// Returns the number of elements implied by the shape, checked against the data.
std::size_t checked_count(const std::vector<std::int64_t>& shape, bool fortran_order,
                          std::size_t item_size, std::size_t num_bytes, std::string_view file) {
  throw_if<FormatError>(shape.empty() || shape.size() > 2,
                        "'{}': token ids must have 1 or 2 dimensions, got {}", file, shape.size());
  throw_if<FormatError>(fortran_order && shape.size() == 2,
                        "'{}': must be in C order, got Fortran order; save "
                        "numpy.ascontiguousarray(ids)",
                        file);
  std::size_t count = 1;
  bool fits = true;
  for (const std::int64_t size : shape) {
    fits = fits && !__builtin_mul_overflow(count, static_cast<std::size_t>(size), &count);
  }
  std::size_t expected = 0;
  fits = fits && !__builtin_mul_overflow(count, item_size, &expected);
  if (!fits || expected != num_bytes) {
    throw FormatError("'{}': contains {} bytes of numbers, but its shape ({}) requires {}", file,
                      num_bytes, fmt::join(shape, ", "),
                      fits ? std::to_string(expected) : "more than 2^64");
  }
  return count;
}

}  // namespace

NpyIntegers read_npy_integers(const std::filesystem::path& path) {
  const std::string file = path.string();
  const MappedFile mapped(path);
  const auto [text, data] = split(mapped, file);
  const Json header = parse_header(text, file);
  const IntegerType type = integer_type(header["descr"], file);
  NpyIntegers result;
  result.shape = header["shape"].get<std::vector<std::int64_t>>();
  const std::size_t count =
      checked_count(result.shape, header["fortran_order"], type.size, data.size(), file);
  result.values.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    result.values[i] = load(data.data() + i * type.size, type);
    if (!type.is_signed && type.size == 8 && result.values[i] < 0) {
      throw FormatError("'{}': token ids must be below 2^63, got {} at element {}", file,
                        static_cast<std::uint64_t>(result.values[i]), i);
    }
  }
  return result;
}

}  // namespace lime
