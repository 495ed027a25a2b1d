// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/torch_file.h"

#include <algorithm>
#include <set>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/weights/pickle.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

using Kind = PickleValue::Kind;
/// The bytes of storages by key.
using Storages = std::map<std::string_view, std::span<const std::byte>>;

/// The pickle of torch.serialization.MAGIC_NUMBER, with which files before PyTorch 1.6 begin.
constexpr std::string_view kLegacyMagic("\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.",
                                        15);
constexpr std::string_view kZipMagic = "PK\x03\x04";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file in a ZIP archive; name and content refer to the archive's bytes.
struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> bytes;
};

constexpr std::uint64_t kInZip64 = 0xFFFFFFFF;

/// Lists the files of a ZIP archive whose files are stored without compression, as torch.save
/// writes them. Touches its directory and the header of each file only; checksums are not compared.
/// @throws FormatError  if the archive is broken, or a file is compressed or encrypted.
/// Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3 (Zip64).
class ZipReader {
 public:
  ZipReader(std::span<const std::byte> archive, std::string_view where)
      : archive_(archive), where_(where) {}

  std::vector<ZipEntry> entries() const {
    const auto [count, begin] = directory();
    std::vector<ZipEntry> entries;
    std::uint64_t at = begin;
    for (std::uint64_t i = 0; i < count; ++i) {
      constexpr std::uint64_t kHeader = 46;
      if (number(at, 4) != 0x02014B50) refuse("lacks a file's record in its directory");
      const std::uint64_t name_size = number(at + 28, 2);
      const std::uint64_t extra_size = number(at + 30, 2);
      entries.push_back(
          entry(at, text(at + kHeader, name_size), part(at + kHeader + name_size, extra_size)));
      at += kHeader + name_size + extra_size + number(at + 32, 2);
    }
    return entries;
  }

 private:
  struct Directory {
    std::uint64_t count = 0;
    std::uint64_t begin = 0;
  };

  [[noreturn]] void refuse(std::string_view what) const {
    throw FormatError("'{}': the archive {}; the file seems to be truncated or broken", where_,
                      what);
  }

  std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const {
    if (at > archive_.size() || size > archive_.size() - at)
      refuse("refers to bytes beyond its end");
    return archive_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  }

  std::uint64_t number(std::uint64_t at, std::uint64_t width) const {
    return little_endian(part(at, width));
  }

  std::string_view text(std::uint64_t at, std::uint64_t size) const {
    const auto bytes = part(at, size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// Finds the record at the end of the archive, which a comment of up to 64 KiB may follow.
  Directory directory() const {
    constexpr std::uint64_t kRecord = 22;
    const std::uint64_t size = archive_.size();
    for (std::uint64_t back = kRecord; back <= std::min<std::uint64_t>(size, kRecord + 65535);
         ++back) {
      const std::uint64_t at = size - back;
      if (number(at, 4) != 0x06054B50) continue;
      const Directory found = {number(at + 10, 2), number(at + 16, 4)};
      const bool is_zip64 = found.count == 0xFFFF || found.begin == kInZip64;
      return is_zip64 ? zip64_directory(at) : found;
    }
    refuse("has no directory");
  }

  Directory zip64_directory(std::uint64_t end_record) const {
    constexpr std::uint64_t kLocator = 20;
    if (end_record < kLocator || number(end_record - kLocator, 4) != 0x07064B50) {
      refuse("has no Zip64 directory");
    }
    const std::uint64_t at = number(end_record - kLocator + 8, 8);
    if (at > archive_.size() || number(at, 4) != 0x06064B50) refuse("has no Zip64 directory");
    return {number(at + 32, 8), number(at + 48, 8)};
  }

  /// Replaces the sizes and the offset that the 32-bit fields cannot contain.
  void read_zip64(std::span<const std::byte> extra, std::span<std::uint64_t* const> fields) const {
    while (extra.size() >= 4) {
      const std::uint64_t id = little_endian(extra.first(2));
      const std::uint64_t size = little_endian(extra.subspan(2, 2));
      extra = extra.subspan(4);
      if (size > extra.size()) refuse("has a broken extra field");
      auto values = extra.first(static_cast<std::size_t>(size));
      extra = extra.subspan(static_cast<std::size_t>(size));
      if (id != 1) continue;
      for (std::uint64_t* const field : fields) {
        if (*field != kInZip64) continue;
        if (values.size() < 8) refuse("has a broken Zip64 field");
        *field = little_endian(values.first(8));
        values = values.subspan(8);
      }
    }
  }

  ZipEntry entry(std::uint64_t record, std::string_view name,
                 std::span<const std::byte> extra) const {
    std::uint64_t stored = number(record + 20, 4);
    std::uint64_t size = number(record + 24, 4);
    std::uint64_t local = number(record + 42, 4);
    std::uint64_t* const fields[] = {&size, &stored, &local};
    read_zip64(extra, fields);
    const bool is_encrypted = (number(record + 8, 2) & 1U) != 0;
    throw_if<FormatError>(is_encrypted || number(record + 10, 2) != 0 || stored != size,
                          "'{}': '{}' in the archive must be stored, got it {}; write it with "
                          "torch.save",
                          where_, printable(name, 120), is_encrypted ? "encrypted" : "compressed");
    constexpr std::uint64_t kLocalHeader = 30;
    if (local > archive_.size() || number(local, 4) != 0x04034B50) {
      refuse("lacks a file that its directory names");
    }
    const std::uint64_t begin =
        local + kLocalHeader + number(local + 26, 2) + number(local + 28, 2);
    return {name, part(begin, size)};
  }

  std::span<const std::byte> archive_;
  std::string_view where_;
};

/// Reads the parts of one file.
class TorchFile {
 public:
  TorchFile(std::span<const std::byte> file, std::string_view where) : file_(file), where_(where) {}

  std::vector<TensorView> read() const {
    refuse_lfs_pointer(text_of(file_), where_);
    if (text_of(file_).starts_with(kZipMagic)) return read_archive();
    if (text_of(file_).starts_with(kLegacyMagic)) return read_legacy();
    throw FormatError(
        "'{}': must be a state_dict() written by torch.save, which begins as a ZIP archive or with "
        "PyTorch's magic number; save it again with torch.save or as safetensors",
        where_);
  }

 private:
  std::vector<TensorView> read_archive() const {
    constexpr std::string_view kPickle = "/data.pkl";
    const std::vector<ZipEntry> entries = ZipReader(file_, where_).entries();
    std::map<std::string_view, std::span<const std::byte>> files;
    std::string_view pickle_name;
    for (const ZipEntry& entry : entries) {
      const bool is_new = files.emplace(entry.name, entry.bytes).second;
      const bool is_second_pickle = entry.name.ends_with(kPickle) && !pickle_name.empty();
      if (!is_new || is_second_pickle) refuse_entry(entry.name, "must occur once");
      if (entry.name.ends_with(kPickle)) pickle_name = entry.name;
    }
    throw_if<FormatError>(pickle_name.empty(),
                          "'{}': the archive must contain data.pkl, as torch.save writes it",
                          where_);
    const std::string folder(pickle_name.substr(0, pickle_name.size() - kPickle.size()));
    const auto order = files.find(folder + "/byteorder");
    if (order != files.end() && text_of(order->second) != "little") {
      refuse_entry(order->first, "must be 'little'");
    }
    const Pickle pickle = parse_pickle(text_of(files.at(pickle_name)), where_);
    Storages storages;
    for (const auto& [key, storage] : pickle.storages) {
      const auto found = files.find(folder + "/data/" + std::string(key));
      if (found == files.end()) refuse_entry(key, "is a storage that it lacks");
      check_size(*storage, found->second.size());
      storages[key] = found->second;
    }
    return tensors_of(*pickle.root, storages);
  }

  /// Reads pickles of a version, of the system's properties, of the tensors and of the storages'
  /// keys; then for each key the number of elements and the elements.
  std::vector<TensorView> read_legacy() const {
    std::string_view rest = text_of(file_).substr(kLegacyMagic.size());
    const auto next = [&] {
      Pickle pickle = parse_pickle(rest, where_);
      rest.remove_prefix(pickle.size);
      return pickle;
    };
    if (next().root->integer != 1001) refuse_legacy("has another version than 1001");
    const Pickle system = next();
    for (std::size_t i = 0; i + 1 < system.root->items.size(); i += 2) {
      if (system.root->items[i]->text != "little_endian") continue;
      if (system.root->items[i + 1]->integer == 0) refuse_legacy("is big-endian");
    }
    const Pickle pickle = next();
    const Pickle keys = next();
    Storages storages;
    for (const PickleValue* const key : keys.root->items) {
      const auto storage = pickle.storages.find(key->text);
      if (storage == pickle.storages.end()) refuse_legacy("has a storage without a tensor");
      constexpr std::size_t kCountBytes = 8;
      if (rest.size() < kCountBytes) refuse_legacy("ends early");
      const std::uint64_t count = little_endian(std::as_bytes(std::span(rest).first(kCountBytes)));
      rest.remove_prefix(kCountBytes);
      const std::size_t width = dtype_size(storage->second->dtype);
      if (count > rest.size() / width) refuse_legacy("ends early");
      const std::string_view bytes = rest.substr(0, static_cast<std::size_t>(count) * width);
      check_size(*storage->second, bytes.size());
      storages[key->text] = std::as_bytes(std::span(bytes.data(), bytes.size()));
      rest.remove_prefix(bytes.size());
    }
    if (!rest.empty()) refuse_legacy("has bytes after its last storage");
    return tensors_of(*pickle.root, storages);
  }

  /// PyTorch refuses another size too: with another type of storage the same bytes are other
  /// numbers.
  void check_size(const PickleValue& storage, std::size_t bytes) const {
    const std::size_t width = dtype_size(storage.dtype);
    const auto count = static_cast<std::uint64_t>(storage.integer);
    if (bytes % width == 0 && bytes / width == count) return;
    throw FormatError(
        "'{}': storage '{}' must have {} elements of {}, {} bytes each, got {} bytes; the file "
        "seems to be broken",
        where_, printable(storage.text, 120), count, dtype_name(storage.dtype), width, bytes);
  }

  std::vector<TensorView> tensors_of(const PickleValue& root, const Storages& storages) const {
    throw_if<FormatError>(root.kind != Kind::kDictionary,
                          "'{}': must be a dictionary of tensors, as model.state_dict() is",
                          where_);
    std::vector<TensorView> tensors;
    std::set<std::string_view> names;
    for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
      const PickleValue& value = *root.items[i + 1];
      if (root.items[i]->kind != Kind::kString || value.kind != Kind::kTensor) {
        throw FormatError(
            "'{}': entry '{}' must be a tensor; save only the model's state_dict() with torch.save",
            where_, printable(root.items[i]->text, 120));
      }
      const std::string_view name = root.items[i]->text;
      if (!names.insert(name).second) refuse_entry(name, "must occur once");
      tensors.push_back(view_of(name, value, storages));
    }
    return tensors;
  }

  TensorView view_of(std::string_view name, const PickleValue& tensor,
                     const Storages& storages) const {
    const PickleValue& storage = *tensor.items.front();
    const auto bytes = storages.find(storage.text);
    if (bytes == storages.end()) refuse_entry(name, "does not fit its storage");
    const std::size_t width = dtype_size(storage.dtype);
    const auto most = static_cast<std::int64_t>(bytes->second.size() / width);
    const Shape shape = numbers_of(*tensor.items[1]);
    const std::int64_t count = count_of(shape, most);
    if (count > most || tensor.integer > most - count) {
      refuse_entry(name, "does not fit its storage");
    }
    const Shape strides = numbers_of(*tensor.items[2]);
    throw_if<FormatError>(
        !is_row_major(shape, strides),
        "'{}': tensor '{}' must be row-major, got the shape {} with the strides {}; save "
        "tensor.contiguous()",
        where_, printable(name, 120), shape_text(shape), shape_text(strides));
    return {.name = std::string(name),
            .dtype = storage.dtype,
            .shape = shape,
            .bytes = bytes->second.subspan(static_cast<std::size_t>(tensor.integer) * width,
                                           static_cast<std::size_t>(count) * width)};
  }

  /// The number of elements, or a number above `most`.
  static std::int64_t count_of(const Shape& shape, std::int64_t most) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
      if (size == 0) return 0;
    }
    for (const std::int64_t size : shape) {
      if (size > most / count) return most + 1;
      count *= size;
    }
    return count;
  }

  static bool is_row_major(const Shape& shape, const Shape& strides) {
    std::int64_t stride = 1;
    for (const std::int64_t size : shape) {
      if (size == 0) return true;
    }
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != stride) return false;
      stride *= shape[i];
    }
    return true;
  }

  [[noreturn]] void refuse_entry(std::string_view entry, std::string_view what) const {
    throw FormatError("'{}': '{}' in the file {}; the file seems to be broken", where_,
                      printable(entry, 120), what);
  }
  [[noreturn]] void refuse_legacy(std::string_view what) const {
    throw FormatError("'{}': the file of an early PyTorch {}; save it again with torch.save",
                      where_, what);
  }

  std::span<const std::byte> file_;
  std::string_view where_;
};

}  // namespace

std::vector<TensorView> parse_torch_file(std::span<const std::byte> file, std::string_view where) {
  return TorchFile(file, where).read();
}

}  // namespace lime
