// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::size_t kMaxDimensions = 4;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxAlignment = 1U << 20U;
/// Keys and names of tensors; the format allows 65,535 and 64.
constexpr std::uint64_t kMaxNameBytes = 65535;
/// Models have about 50; the JSON object that keeps them searches them one by one.
constexpr std::uint64_t kMaxEntries = 4096;

/// A type of ggml's tensors; those without a Dtype cannot be read.
struct TensorType {
  std::uint64_t id;
  std::string_view name;
  std::optional<Dtype> dtype = std::nullopt;
};

/// `enum ggml_type` in ggml.h; ids of types that no longer exist are missing.
constexpr std::array<TensorType, 34> kTensorTypes = {{{0, "F32", Dtype::kF32},
                                                      {1, "F16", Dtype::kF16},
                                                      {2, "Q4_0", Dtype::kQ4_0},
                                                      {3, "Q4_1", Dtype::kQ4_1},
                                                      {6, "Q5_0", Dtype::kQ5_0},
                                                      {7, "Q5_1", Dtype::kQ5_1},
                                                      {8, "Q8_0", Dtype::kQ8_0},
                                                      {9, "Q8_1"},
                                                      {10, "Q2_K", Dtype::kQ2_K},
                                                      {11, "Q3_K", Dtype::kQ3_K},
                                                      {12, "Q4_K", Dtype::kQ4_K},
                                                      {13, "Q5_K", Dtype::kQ5_K},
                                                      {14, "Q6_K", Dtype::kQ6_K},
                                                      {15, "Q8_K"},
                                                      {16, "IQ2_XXS"},
                                                      {17, "IQ2_XS"},
                                                      {18, "IQ3_XXS"},
                                                      {19, "IQ1_S"},
                                                      {20, "IQ4_NL", Dtype::kIQ4_NL},
                                                      {21, "IQ3_S"},
                                                      {22, "IQ2_S"},
                                                      {23, "IQ4_XS", Dtype::kIQ4_XS},
                                                      {24, "I8", Dtype::kI8},
                                                      {25, "I16", Dtype::kI16},
                                                      {26, "I32", Dtype::kI32},
                                                      {27, "I64", Dtype::kI64},
                                                      {28, "F64", Dtype::kF64},
                                                      {29, "IQ1_M"},
                                                      {30, "BF16", Dtype::kBF16},
                                                      {34, "TQ1_0"},
                                                      {35, "TQ2_0"},
                                                      {39, "MXFP4", Dtype::kMXFP4},
                                                      {40, "NVFP4"},
                                                      {41, "Q1_0"}}};

/// Returns the bytes of a value; nothing for strings, lists and unknown types.
std::optional<std::size_t> size_of(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kBool: return 1;
    case GgufType::kUint16:
    case GgufType::kInt16: return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kFloat32: return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
    case GgufType::kFloat64: return 8;
    case GgufType::kString:
    case GgufType::kArray: break;
  }
  return std::nullopt;
}

Json value_of(GgufType type, std::span<const std::byte> bytes) {
  const std::uint64_t bits = little_endian(bytes);
  switch (type) {
    case GgufType::kInt8: return static_cast<std::int8_t>(bits);
    case GgufType::kInt16: return static_cast<std::int16_t>(bits);
    case GgufType::kInt32: return static_cast<std::int32_t>(bits);
    case GgufType::kInt64: return static_cast<std::int64_t>(bits);
    case GgufType::kFloat32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case GgufType::kFloat64: return std::bit_cast<double>(bits);
    case GgufType::kBool: return bits != 0;
    default: return bits;
  }
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string shown(std::string_view name) { return printable(name, 120); }

/// Reads the fields of the header one after the other.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, std::string_view where)
      : rest_(file), size_(file.size()), where_(where) {}

  std::size_t position() const { return size_ - rest_.size(); }

  std::span<const std::byte> take(std::uint64_t count) {
    throw_if<FormatError>(count > rest_.size(),
                          "'{}': the GGUF header needs {} bytes at offset {}, but {} follow; the "
                          "file seems to be truncated, download it again",
                          where_, count, position(), rest_.size());
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  std::uint64_t integer(std::size_t width) { return little_endian(take(width)); }

  std::string_view text(std::uint64_t max_bytes) {
    const std::uint64_t length = integer(8);
    throw_if<FormatError>(length > max_bytes && length <= rest_.size(),
                          "'{}': a name in the GGUF header must have at most {} bytes, got {}",
                          where_, max_bytes, length);
    return as_text(take(length));
  }

  std::string_view text() { return text(std::numeric_limits<std::uint64_t>::max()); }

  GgufType type(std::string_view key) {
    const std::uint64_t id = integer(4);
    throw_if<FormatError>(id > static_cast<std::uint64_t>(GgufType::kFloat64),
                          "'{}': metadata '{}' has the unknown type {}, expected 0 to 12", where_,
                          shown(key), id);
    return static_cast<GgufType>(id);
  }

  GgufArray array(std::string_view key) {
    GgufArray array;
    array.type = type(key);
    throw_if<FormatError>(array.type == GgufType::kArray,
                          "'{}': metadata '{}' is a list of lists, which is not supported", where_,
                          shown(key));
    const std::uint64_t count = integer(8);
    const std::size_t width = size_of(array.type).value_or(8);  // at least, for strings
    throw_if<FormatError>(count > rest_.size() / width,
                          "'{}': metadata '{}' declares {} elements, but only {} bytes follow; the "
                          "file seems to be truncated, download it again",
                          where_, shown(key), count, rest_.size());
    array.count = static_cast<std::size_t>(count);
    const auto begin = rest_;
    if (array.type == GgufType::kString) {
      for (std::size_t i = 0; i < array.count; ++i) text();
    } else {
      take(count * width);
    }
    array.bytes = begin.first(begin.size() - rest_.size());
    return array;
  }

 private:
  std::span<const std::byte> rest_;
  std::size_t size_;
  std::string_view where_;
};

void read_entry(HeaderReader& reader, std::string_view where, GgufHeader& header) {
  const std::string_view key = reader.text(kMaxNameBytes);
  throw_if<FormatError>(header.metadata.contains(key) || header.arrays.contains(key),
                        "'{}': metadata '{}' is given twice", where, shown(key));
  const GgufType type = reader.type(key);
  if (type == GgufType::kArray) {
    header.arrays.emplace(std::string(key), reader.array(key));
  } else if (type == GgufType::kString) {
    header.metadata[std::string(key)] = std::string(reader.text());
  } else {
    header.metadata[std::string(key)] = value_of(type, reader.take(*size_of(type)));
  }
}

/// A tensor before its data is located.
struct Entry {
  TensorView tensor;
  std::uint64_t offset = 0;  ///< from the start of the data
  std::uint64_t bytes = 0;
};

Dtype read_tensor_type(HeaderReader& reader, const std::string& place) {
  const std::uint64_t id = reader.integer(4);
  const auto found = std::ranges::find(kTensorTypes, id, &TensorType::id);
  if (found != kTensorTypes.end() && found->dtype) return *found->dtype;
  std::string supported;
  for (const TensorType& type : kTensorTypes) {
    if (type.dtype && is_weight_dtype(*type.dtype)) {
      supported += fmt::format("{}{}", supported.empty() ? "" : ", ", type.name);
    }
  }
  throw FormatError(
      "{} has the type {}, which is not supported (supported: {}); use another "
      "quantisation of the model",
      place, found == kTensorTypes.end() ? std::to_string(id) : std::string(found->name),
      supported);
}

Entry read_tensor(HeaderReader& reader, std::string_view where) {
  Entry entry;
  entry.tensor.name = std::string(reader.text(kMaxNameBytes));
  const std::string place = fmt::format("'{}': tensor '{}'", where, shown(entry.tensor.name));
  const std::uint64_t dimensions = reader.integer(4);
  throw_if<FormatError>(dimensions > kMaxDimensions, "{} must have at most {} dimensions, got {}",
                        place, kMaxDimensions, dimensions);
  std::uint64_t elements = 1;
  bool fits = true;
  for (std::uint64_t i = 0; i < dimensions; ++i) {
    const std::uint64_t size = reader.integer(8);
    fits &= !__builtin_mul_overflow(elements, size, &elements) &&
            size <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    entry.tensor.shape.push_back(static_cast<std::int64_t>(size));
  }
  std::ranges::reverse(entry.tensor.shape);  // the file lists the innermost size first
  entry.tensor.dtype = read_tensor_type(reader, place);
  const std::uint64_t block = block_elements(entry.tensor.dtype);
  const std::uint64_t width = dtype_size(entry.tensor.dtype);
  throw_if<FormatError>(
      !fits || elements / block > std::numeric_limits<std::uint64_t>::max() / width,
      "{}: the shape {} is too large for memory", place, shape_text(entry.tensor.shape));
  const std::int64_t row = entry.tensor.shape.empty() ? 1 : entry.tensor.shape.back();
  throw_if<FormatError>(static_cast<std::uint64_t>(row) % block != 0,
                        "{}: the rows of {} {} must be multiples of {}", place,
                        dtype_name(entry.tensor.dtype), shape_text(entry.tensor.shape), block);
  entry.bytes = elements / block * width;
  entry.offset = reader.integer(8);
  return entry;
}

/// Gives each tensor its bytes; they must be inside the data and may not overlap.
void locate_data(std::vector<Entry>& entries, std::span<const std::byte> data,
                 std::string_view where) {
  for (Entry& entry : entries) {
    const std::uint64_t rest = data.size() - std::min<std::uint64_t>(entry.offset, data.size());
    throw_if<FormatError>(entry.bytes > rest,
                          "'{}': tensor '{}' needs {} bytes at offset {} of the data, which has "
                          "{}; the file seems to "
                          "be truncated, download it again",
                          where, shown(entry.tensor.name), entry.bytes, entry.offset, data.size());
    entry.tensor.bytes =
        data.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(entry.offset, data.size())),
                     static_cast<std::size_t>(entry.bytes));
  }
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) {
    if (entry.bytes > 0) order.push_back(&entry);
  }
  std::ranges::sort(order, {}, &Entry::offset);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->offset + order[i - 1]->bytes <= order[i]->offset) continue;
    throw FormatError("'{}': the data of the tensors '{}' and '{}' overlap", where,
                      shown(order[i - 1]->tensor.name), shown(order[i]->tensor.name));
  }
}

void check_version(HeaderReader& reader, std::string_view where) {
  const std::uint64_t version = reader.integer(4);
  if (version == 2 || version == 3) return;
  throw_if<FormatError>((version & 0xFFFFU) == 0 && version != 0,
                        "'{}': is a big-endian GGUF file, which is not supported; use the "
                        "little-endian file of the model",
                        where);
  throw FormatError(
      "'{}': has GGUF version {}, expected 2 or 3; convert the model again with a "
      "current llama.cpp",
      where, version);
}

std::uint64_t read_alignment(const Json& metadata, std::string_view where) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return kDefaultAlignment;
  const std::uint64_t value = found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  if (std::has_single_bit(value) && value <= kMaxAlignment) return value;
  throw FormatError("'{}': 'general.alignment' must be a power of two up to {}, got {}", where,
                    kMaxAlignment, printable(dump_json(*found)));
}

}  // namespace

std::vector<std::string_view> GgufArray::strings() const {
  std::vector<std::string_view> strings;
  if (type != GgufType::kString) return strings;
  strings.reserve(count);
  for (auto rest = bytes; !rest.empty();) {
    const auto length = static_cast<std::size_t>(little_endian(rest.first(8)));
    strings.push_back(as_text(rest.subspan(8, length)));
    rest = rest.subspan(8 + length);
  }
  return strings;
}

std::vector<double> GgufArray::numbers() const {
  std::vector<double> numbers;
  const auto width = size_of(type);
  if (!width) return numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Json value = value_of(type, bytes.subspan(i * *width, *width));
    numbers.push_back(value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>());
  }
  return numbers;
}

const GgufArray* GgufHeader::find_array(std::string_view key) const {
  const auto found = arrays.find(key);
  return found == arrays.end() ? nullptr : &found->second;
}

bool is_gguf(std::string_view content) { return content.starts_with(kMagic); }

GgufHeader parse_gguf(std::span<const std::byte> file, std::string_view where) {
  throw_if<FormatError>(!is_gguf(as_text(file)), "'{}': a GGUF file must begin with '{}', got '{}'",
                        where, kMagic, printable(as_text(file).substr(0, kMagic.size())));
  HeaderReader reader(file, where);
  reader.take(kMagic.size());
  check_version(reader, where);
  const std::uint64_t num_tensors = reader.integer(8);
  const std::uint64_t num_entries = reader.integer(8);
  throw_if<FormatError>(num_entries > kMaxEntries,
                        "'{}': must have at most {} metadata entries, got {}", where, kMaxEntries,
                        num_entries);
  GgufHeader header;
  for (std::uint64_t i = 0; i < num_entries; ++i) read_entry(reader, where, header);
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < num_tensors; ++i) entries.push_back(read_tensor(reader, where));
  const std::uint64_t alignment = read_alignment(header.metadata, where);
  const std::uint64_t begin = (reader.position() + alignment - 1) / alignment * alignment;
  const auto data =
      file.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(begin, file.size())));
  locate_data(entries, data, where);
  for (Entry& entry : entries) header.tensors.push_back(std::move(entry.tensor));
  return header;
}

}  // namespace lime
