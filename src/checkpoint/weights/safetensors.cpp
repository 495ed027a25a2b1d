// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/safetensors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <utility>

#include "checkpoint/checkpoint_files.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/json.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr std::size_t kAlignment = 8;

void check_tensor(const TensorView& tensor) {
  throw_if(first_invalid_utf8(tensor.name) || tensor.name == "__metadata__",
           "write_safetensors: a tensor name must be valid UTF-8 and not reserved, got '{}'",
           printable(tensor.name));
  std::uint64_t bytes = dtype_size(tensor.dtype);
  bool fits = true;
  for (const std::int64_t size : tensor.shape) {
    fits &= size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  throw_if(!fits || bytes != tensor.bytes.size(),
           "write_safetensors: tensor '{}' is {} {}, but has {} bytes", tensor.name,
           dtype_name(tensor.dtype), shape_text(tensor.shape), tensor.bytes.size());
}

std::vector<const TensorView*> in_file_order(std::span<const TensorView> tensors) {
  std::set<std::string_view> names;
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) {
    check_tensor(tensor);
    throw_if(!names.insert(tensor.name).second, "write_safetensors: tensor '{}' is given twice",
             tensor.name);
    order.push_back(&tensor);
  }
  std::ranges::sort(order, [](const TensorView* a, const TensorView* b) {
    const std::size_t size_a = dtype_size(a->dtype);
    const std::size_t size_b = dtype_size(b->dtype);
    return size_a != size_b ? size_a > size_b : a->name < b->name;
  });
  return order;
}

/// The JSON header, padded with spaces so that the data is aligned.
std::string header_of(const std::vector<const TensorView*>& order,
                      const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const TensorView* tensor : order) {
    const std::size_t end = offset + tensor->bytes.size();
    header[tensor->name] = {{"dtype", dtype_name(tensor->dtype)},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path), file_(path) {
  SafetensorsHeader header = parse_safetensors_header(file_.bytes(), path.string());
  metadata_ = std::move(header.metadata);
  tensors_ = std::move(header.tensors);
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorView*> order = in_file_order(tensors);
  const std::string header = header_of(order, metadata);
  write_file_atomically(path, [&](std::ostream& out) {
    for (std::size_t i = 0; i < sizeof(std::uint64_t); ++i) {
      out.put(static_cast<char>(header.size() >> (8 * i) & 0xFFU));
    }
    out << header;
    for (const TensorView* tensor : order) {
      out.write(reinterpret_cast<const char*>(tensor->bytes.data()),
                static_cast<std::streamsize>(tensor->bytes.size()));
      if (!out) return;  // reported by write_file_atomically() with the disk's reason
    }
  });
}

namespace {

/// Sorted keys: an ordered object would search its keys one by one.
using HeaderJson = nlohmann::json;

constexpr std::size_t kPrefixBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // as the reference implementation
constexpr int kMaxDepth = 4;                            // { tensor: { shape: [ number

std::string name_text(const std::string& name) { return printable(name, 120); }

std::string_view header_text(std::span<const std::byte> file, std::string_view where) {
  throw_if<FormatError>(
      file.size() < kPrefixBytes,
      "'{}': a safetensors file must have at least {} bytes, got {}; the file seems to be "
      "truncated",
      where, kPrefixBytes, file.size());
  const std::uint64_t length = little_endian(file.first(kPrefixBytes));
  throw_if<FormatError>(
      length > kMaxHeaderBytes,
      "'{}': the safetensors header must have at most {} bytes, got the length {}; the file does "
      "not seem to be in safetensors format",
      where, kMaxHeaderBytes, length);
  const std::size_t rest = file.size() - kPrefixBytes;
  throw_if<FormatError>(
      length > rest,
      "'{}': the safetensors header declares {} bytes, but only {} bytes follow; the file seems "
      "to be truncated",
      where, length, rest);
  return {reinterpret_cast<const char*>(file.data()) + kPrefixBytes,
          static_cast<std::size_t>(length)};
}

/// Refuses duplicate keys and deep nesting while the parser runs.
class HeaderGuard {
 public:
  explicit HeaderGuard(std::string_view where) : where_(where) {}

  bool operator()(int depth, HeaderJson::parse_event_t event, HeaderJson& parsed) {
    using Event = HeaderJson::parse_event_t;
    throw_if<FormatError>(depth > kMaxDepth, "'{}': the safetensors header is nested too deeply",
                          where_);
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      throw FormatError("'{}': the safetensors header contains '{}' twice", where_,
                        name_text(parsed.get<std::string>()));
    }
    return true;
  }

 private:
  std::string_view where_;
  std::vector<std::set<std::string>> keys_;
};

HeaderJson parse_header(std::string_view text, std::string_view where) {
  throw_if<FormatError>(text.empty() || text.front() != '{',
                        "'{}': the safetensors header must start with '{{', got '{}'", where,
                        printable(text, 20));
  HeaderGuard guard(where);
  const auto callback = [&](int depth, HeaderJson::parse_event_t event, HeaderJson& parsed) {
    return guard(depth, event, parsed);
  };
  try {
    return HeaderJson::parse(text.begin(), text.end(), callback);
  } catch (const nlohmann::json::exception&) {
    throw FormatError("'{}': the safetensors header is not valid JSON", where);
  }
}

/// One entry of the header, before its offsets are compared with those of the others.
struct Entry {
  TensorView tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::uint64_t read_number(const std::string& place, const char* what, const HeaderJson& json) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() <= kMax) {
    return json.get<std::uint64_t>();
  }
  throw FormatError("{}: {} must contain whole numbers from 0 to 2^63 - 1, got {}", place, what,
                    printable(json.dump()));
}

Dtype read_dtype(const std::string& place, const HeaderJson& json) {
  if (json.is_string()) {
    if (const auto dtype = find_dtype(json.get_ref<const std::string&>())) return *dtype;
  }
  throw FormatError("{} has the unknown dtype {} (supported: F64, F32, F16, BF16 and integers)",
                    place, printable(json.dump()));
}

Shape read_shape(const std::string& place, const HeaderJson& json) {
  if (!json.is_array()) {
    throw FormatError("{}: shape must be a list, got {}", place, printable(json.dump()));
  }
  Shape shape;
  for (const HeaderJson& size : json) {
    shape.push_back(static_cast<std::int64_t>(read_number(place, "shape", size)));
  }
  return shape;
}

void check_size(const std::string& place, const Entry& entry) {
  std::uint64_t bytes = dtype_size(entry.tensor.dtype);
  bool overflow = false;
  for (const std::int64_t size : entry.tensor.shape) {
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  // A zero after an overflow would hide it, so an overflow is refused in any case.
  throw_if<FormatError>(overflow, "{}: the shape {} is too large for memory", place,
                        shape_text(entry.tensor.shape));
  throw_if<FormatError>(bytes != entry.end - entry.begin,
                        "{}: {} {} needs {} bytes, but data_offsets [{}, {}] span {}", place,
                        dtype_name(entry.tensor.dtype), shape_text(entry.tensor.shape), bytes,
                        entry.begin, entry.end, entry.end - entry.begin);
}

void read_offsets(const std::string& place, const HeaderJson& json, std::uint64_t data_size,
                  Entry& entry) {
  if (!json.is_array() || json.size() != 2) {
    throw FormatError("{}: data_offsets must be two numbers, got {}", place,
                      printable(json.dump()));
  }
  entry.begin = read_number(place, "data_offsets", json[0]);
  entry.end = read_number(place, "data_offsets", json[1]);
  throw_if<FormatError>(entry.begin > entry.end,
                        "{}: data_offsets must be in ascending order, got [{}, {}]", place,
                        entry.begin, entry.end);
  throw_if<FormatError>(
      entry.end > data_size,
      "{}: data_offsets [{}, {}] exceed the {} bytes of data; the file seems to be truncated",
      place, entry.begin, entry.end, data_size);
  check_size(place, entry);
}

Entry read_entry(const std::string& name, const HeaderJson& json, std::span<const std::byte> data,
                 std::string_view where) {
  const std::string place = fmt::format("'{}': tensor '{}'", where, name_text(name));
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    throw FormatError("{} must have dtype, shape and data_offsets, got {}", place,
                      printable(json.dump()));
  }
  Entry entry;
  entry.tensor.name = name;
  entry.tensor.dtype = read_dtype(place, json.at("dtype"));
  entry.tensor.shape = read_shape(place, json.at("shape"));
  read_offsets(place, json.at("data_offsets"), data.size(), entry);
  entry.tensor.bytes = data.subspan(static_cast<std::size_t>(entry.begin),
                                    static_cast<std::size_t>(entry.end - entry.begin));
  return entry;
}

/// The tensors, in order of their offsets, must tile the data.
void check_tiling(const std::vector<Entry>& entries, std::uint64_t data_size,
                  std::string_view where) {
  std::uint64_t covered = 0;
  const Entry* previous = nullptr;
  for (const Entry& entry : entries) {
    if (entry.begin < covered) {
      throw FormatError("'{}': the data of the tensors '{}' and '{}' overlap", where,
                        name_text(previous->tensor.name), name_text(entry.tensor.name));
    }
    if (entry.begin > covered) {
      throw FormatError("'{}': {} bytes before the data of tensor '{}' belong to no tensor", where,
                        entry.begin - covered, name_text(entry.tensor.name));
    }
    covered = entry.end;
    previous = &entry;
  }
  throw_if<FormatError>(covered != data_size,
                        "'{}': {} bytes at the end of the file belong to no tensor", where,
                        data_size - covered);
}

std::map<std::string, std::string> read_metadata(const HeaderJson& json, std::string_view where) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object()) {
    throw FormatError("'{}': __metadata__ must be an object of strings, got {}", where,
                      printable(json.dump()));
  }
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      throw FormatError("'{}': __metadata__ must contain strings only, got {} for '{}'", where,
                        printable(value.dump()), name_text(key));
    }
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file,
                                           std::string_view where) {
  refuse_lfs_pointer({reinterpret_cast<const char*>(file.data()), file.size()}, where);
  const std::string_view text = header_text(file, where);
  const std::span<const std::byte> data = file.subspan(kPrefixBytes + text.size());
  const HeaderJson json = parse_header(text, where);

  SafetensorsHeader header;
  std::vector<Entry> entries;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      header.metadata = read_metadata(value, where);
    } else {
      entries.push_back(read_entry(name, value, data, where));
    }
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_tiling(entries, data.size(), where);
  for (Entry& entry : entries) header.tensors.push_back(std::move(entry.tensor));
  return header;
}

}  // namespace lime
