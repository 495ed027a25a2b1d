// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input_tokens.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/files/input_file.h"
#include "core/utf8.h"

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

std::vector<std::int32_t> prepended_ids(const InputContext& context, BosPolicy bos) {
  if (bos != BosPolicy::kAlways) return {};
  if (context.tokenizer != nullptr && context.tokenizer->bos_id()) {
    return {*context.tokenizer->bos_id()};
  }
  if (context.bos_token_id) return {*context.bos_token_id};
  throw InvalidArgument(
      "bos: neither the tokenizer nor config.json defines a beginning-of-sequence token; use auto "
      "or never");
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

}  // namespace

CaptureInput read_token_input(const std::filesystem::path& file, const InputContext& context,
                              const InputShape& shape) {
  const std::string name = file.string();
  const NpyIntegers numbers = read_npy_integers(file);
  if (numbers.values.empty()) throw FormatError("'{}': contains no token ids", name);
  std::vector<std::int32_t> ids = checked_ids(numbers, context.vocab_size, name);

  CaptureInput input;
  input.prepended_ids = prepended_ids(context, shape.bos);
  const bool is_flat = numbers.shape.size() == 1;
  if (is_flat) ids.insert(ids.begin(), input.prepended_ids.begin(), input.prepended_ids.end());
  const auto total = static_cast<std::int64_t>(ids.size());
  const std::int64_t length = is_flat ? std::min(shape.seq_len, total) : numbers.shape[1];
  const std::int64_t count = std::min(total / length, shape.max_sequences.value_or(total / length));
  std::vector<std::int32_t> sequence;
  for (std::int64_t s = 0; s < count; ++s) {
    const auto part = std::span(ids).subspan(static_cast<std::size_t>(s * length),
                                             static_cast<std::size_t>(length));
    sequence.clear();
    if (!is_flat) sequence = input.prepended_ids;
    const bool starts_with_prepended = !is_flat || s == 0;
    sequence.insert(sequence.end(), part.begin(), part.end());
    Sequence about;
    about.text = text_of(part, context.tokenizer);
    input.add(sequence, starts_with_prepended ? input.prepended_ids.size() : 0, std::move(about));
  }
  input.dropped_tokens = total % length;
  return input;
}

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPreamble = 10;      // magic, version, length of version 1
constexpr std::size_t kMaxHeader = 65536;  // maximum of version 1; a shape needs 100 bytes

struct Header {
  std::string_view descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Parses the header: a Python dictionary of two strings, a bool and a tuple of numbers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    std::array<bool, 3> seen{};
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !seen[0]) {
        seen[0] = true;
        header.descr = peek() == '[' ? skip_structure() : quoted();
      } else if (key == "fortran_order" && !seen[1]) {
        seen[1] = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !seen[2]) {
        seen[2] = true;
        header.shape = tuple();
      } else {
        refuse();
      }
      if (!take(',') && peek() != '}') refuse();
    }
    if (peek() != '\0' || seen != std::array{true, true, true}) refuse();
    return header;
  }

 private:
  [[noreturn]] void refuse() const {
    throw FormatError("'{}': the .npy header is malformed: '{}'", file_, printable(text_, 100));
  }

  char peek() {
    position_ = std::min(text_.find_first_not_of(" \n", position_), text_.size());
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool take(char letter) {
    if (peek() != letter || position_ == text_.size()) return false;
    ++position_;
    return true;
  }

  void expect(char letter) {
    if (!take(letter)) refuse();
  }

  bool take_word(std::string_view word) {
    peek();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse();
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) refuse();
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return content;
  }

  /// Skips the fields of a structured array; only their presence matters.
  std::string_view skip_structure() {
    const std::size_t start = position_;
    const std::size_t end = text_.find("]", start);
    if (end == std::string_view::npos) refuse();
    position_ = end + 1;
    return text_.substr(start, end + 1 - start);
  }

  bool boolean() {
    if (take_word("True")) return true;
    if (!take_word("False")) refuse();
    return false;
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!take(')')) {
      peek();
      std::int64_t size = 0;
      const char* const begin = text_.data() + position_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) refuse();
      position_ += static_cast<std::size_t>(end - begin);
      shape.push_back(size);
      if (!take(',') && peek() != ')') refuse();
    }
    return shape;
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t position_ = 0;
};

struct IntegerType {
  bool big_endian = false;
  bool is_signed = true;
  std::size_t size = 0;
};

IntegerType integer_type(std::string_view descr, std::string_view file) {
  const bool is_integer = descr.size() == 3 && (descr[1] == 'i' || descr[1] == 'u') &&
                          std::string_view("1248").find(descr[2]) != std::string_view::npos &&
                          std::string_view("<>|").find(descr[0]) != std::string_view::npos;
  if (!is_integer) {
    throw FormatError(
        "'{}': token ids must be whole numbers, got type '{}'; save "
        "ids.astype('int32')",
        file, printable(descr, 40));
  }
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
std::size_t checked_count(const Header& header, std::size_t item_size, std::size_t num_bytes,
                          std::string_view file) {
  throw_if<FormatError>(header.shape.empty() || header.shape.size() > 2,
                        "'{}': token ids must have 1 or 2 dimensions, got {}", file,
                        header.shape.size());
  throw_if<FormatError>(header.fortran_order && header.shape.size() == 2,
                        "'{}': must be in C order, got Fortran order; save "
                        "numpy.ascontiguousarray(ids)",
                        file);
  std::size_t count = 1;
  bool fits = true;
  for (const std::int64_t size : header.shape) {
    fits = fits && !__builtin_mul_overflow(count, static_cast<std::size_t>(size), &count);
  }
  std::size_t expected = 0;
  fits = fits && !__builtin_mul_overflow(count, item_size, &expected);
  if (!fits || expected != num_bytes) {
    throw FormatError("'{}': contains {} bytes of numbers, but its shape ({}) requires {}", file,
                      num_bytes, fmt::join(header.shape, ", "),
                      fits ? std::to_string(expected) : "more than 2^64");
  }
  return count;
}

}  // namespace

NpyIntegers read_npy_integers(const std::filesystem::path& path) {
  const std::string file = path.string();
  const MappedFile mapped(path);
  const auto [text, data] = split(mapped, file);
  const Header header = HeaderParser(text, file).parse();
  const IntegerType type = integer_type(header.descr, file);
  const std::size_t count = checked_count(header, type.size, data.size(), file);
  NpyIntegers result;
  result.shape = header.shape;
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
