// SPDX-License-Identifier: Apache-2.0
#include "store/chunk_reader.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "core/atomic_file.h"
#include "core/errors.h"
#include "core/half.h"
#include "store/capture_layout.h"
#include "store/fletcher32.h"

namespace lime {

using hdf5::Id;
using hdf5::Lock;

namespace {

/// Chunks that the system is asked to fetch ahead of the one that is read.
constexpr std::size_t kReadAhead = 8;

/// HDF5 1.10 needs about 0.1 s to list so many chunks.
constexpr hsize_t kMaxListed = 1024;

constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);

/// The filters are none, or Fletcher-32 alone.
bool has_plain_filters(hid_t properties, bool& has_checksum) {
  const int count = H5Pget_nfilters(properties);
  has_checksum = false;
  if (count == 0) return true;
  unsigned flags = 0;
  std::size_t values = 0;
  const H5Z_filter_t filter =
      H5Pget_filter2(properties, 0, &flags, &values, nullptr, 0, nullptr, nullptr);
  has_checksum = filter == H5Z_FILTER_FLETCHER32;
  return count == 1 && has_checksum;
}

/// Fills `bytes` from the file. @return true if the disk had to be waited for.
bool read_fully(int descriptor, std::span<std::byte> bytes, std::uint64_t at,
                const std::filesystem::path& path) {
  bool waited = false;
  int flags = RWF_NOWAIT;
  while (!bytes.empty()) {
    const iovec target = {bytes.data(), bytes.size()};
    const ssize_t got = ::preadv2(descriptor, &target, 1, static_cast<off_t>(at), flags);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && flags != 0) {
      // Not in memory, or a file system that cannot tell.
      waited = errno == EAGAIN;
      flags = 0;
      continue;
    }
    if (got < 0) {
      throw IoError("store: '{}' cannot be read: {}", path.string(), describe_errno(errno));
    }
    if (got == 0) throw FormatError("store: '{}' is cut short", path.string());
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  return waited;
}

}  // namespace

ChunkReader::ChunkReader(const Hdf5File& file, const std::string& dataset)
    : file_(file), name_(dataset) {
  const Lock lock;
  dataset_ = hdf5::open_plain_dataset(file, dataset);
  const Id type(H5Dget_type(dataset_.get()), H5Tclose);
  const std::vector<std::int64_t> shape = hdf5::shape_of(dataset_.get());
  if (shape.size() != 2 || H5Tget_class(type.get()) != H5T_FLOAT) {
    throw FormatError("store: '{}': '{}' must hold floating-point numbers, [rows, dim]",
                      file.path().string(), dataset);
  }
  num_rows_ = shape[0];
  dim_ = shape[1];
  storage_ = hdf5::is_half(type.get()) ? StorageType::kFloat16 : StorageType::kFloat32;
  check_size();
  const bool known_type =
      storage_ == StorageType::kFloat16 || H5Tequal(type.get(), H5T_IEEE_F32LE) > 0;
  if (known_type && has_known_layout(dataset_.get())) index_chunks(dataset_.get());
}

/// A file cannot hold more than its size, or than deflate makes of it.
void ChunkReader::check_size() const {
  std::error_code ignored;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(file_.path(), ignored)) &
                     ((1LL << 50) - 1);
  const std::int64_t limit =
      bytes * hdf5::kMaxCompression / static_cast<std::int64_t>(bytes_per_value(storage_));
  if (dim_ < 1 || num_rows_ < 0 || dim_ > limit || num_rows_ > limit / dim_) {
    throw FormatError("store: '{}': '{}' claims [{}, {}] values, more than its file can hold",
                      file_.path().string(), name_, num_rows_, dim_);
  }
}

bool ChunkReader::has_known_layout(hid_t dataset) const {
  const Id properties(H5Dget_create_plist(dataset), H5Pclose);
  const Id file(H5Iget_file_id(dataset), H5Fclose);
  const Id creation(H5Fget_create_plist(file.get()), H5Pclose);
  hsize_t user_block = 0;
  H5Pget_userblock(creation.get(), &user_block);
  if (user_block != 0 || H5Pget_layout(properties.get()) != H5D_CHUNKED) return false;
  std::array<hsize_t, 2> chunk{};
  bool has_checksum = false;
  return H5Pget_chunk(properties.get(), 2, chunk.data()) == 2 &&
         chunk[1] == static_cast<hsize_t>(dim_) &&
         has_plain_filters(properties.get(), has_checksum);
}

void ChunkReader::index_chunks(hid_t dataset) {
  const Id properties(H5Dget_create_plist(dataset), H5Pclose);
  const Id space(H5Dget_space(dataset), H5Sclose);
  std::array<hsize_t, 2> chunk{};
  H5Pget_chunk(properties.get(), 2, chunk.data());
  has_plain_filters(properties.get(), has_checksum_);
  chunk_rows_ = static_cast<std::int64_t>(chunk[0]);
  if (chunk_rows_ < 1) {
    throw FormatError("store: '{}': the chunks of '{}' have no rows", file_.path().string(), name_);
  }
  const auto expected = static_cast<hsize_t>((num_rows_ + chunk_rows_ - 1) / chunk_rows_);
  std::error_code ignored;
  const auto file_values =
      static_cast<std::int64_t>(std::filesystem::file_size(file_.path(), ignored)) /
      static_cast<std::int64_t>(bytes_per_value(storage_));
  if (expected > 0 && chunk_rows_ > file_values / dim_) {
    throw FormatError("store: '{}': the chunks of '{}' are larger than the file",
                      file_.path().string(), name_);
  }
  if (expected > 0) {
    stored_bytes_ = static_cast<std::size_t>(chunk_rows_ * dim_) * bytes_per_value(storage_) +
                    (has_checksum_ ? kChecksumBytes : 0);
  }
  hsize_t count = 0;
  if (H5Dget_num_chunks(dataset, space.get(), &count) < 0 || count != expected) {
    throw FormatError("store: '{}': '{}' must have {} chunks, got {}", file_.path().string(), name_,
                      expected, count);
  }
  is_direct_ = true;
  good_ = std::vector<std::atomic<char>>(count);
  if (count <= kMaxListed) list_addresses(dataset);
}

void ChunkReader::list_addresses(hid_t dataset) {
  const Id space(H5Dget_space(dataset), H5Sclose);
  std::vector<std::uint64_t> addresses(good_.size(), 0);
  for (hsize_t i = 0; i < addresses.size(); ++i) {
    std::array<hsize_t, 2> offset{};
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t size = 0;
    if (H5Dget_chunk_info(dataset, space.get(), i, offset.data(), &mask, &address, &size) < 0) {
      hdf5::fail_reading(file_.path(), fmt::format("the chunks of '{}' cannot be listed", name_));
    }
    const hsize_t index = offset[0] / static_cast<hsize_t>(chunk_rows_);
    if (mask != 0 || size != stored_bytes_ || address == HADDR_UNDEF || index >= addresses.size()) {
      throw FormatError("store: '{}': chunk {} of '{}' is damaged", file_.path().string(), i,
                        name_);
    }
    addresses[index] = address;
  }
  void* handle = nullptr;
  const Id file(H5Iget_file_id(dataset), H5Fclose);
  if (H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &handle) < 0 || handle == nullptr) return;
  descriptor_ = *static_cast<int*>(handle);
  addresses_ = std::move(addresses);
}

void ChunkReader::read(std::int64_t first, std::int64_t count, float* out) const {
  if (!is_direct_) return read_through_hdf5(first, count, out);
  const std::int64_t end = first + count;
  bool from_disk = false;
  auto fetched = static_cast<std::size_t>(first / chunk_rows_) + 1;
  const auto last = static_cast<std::size_t>((end + chunk_rows_ - 1) / chunk_rows_);
  while (first < end) {
    const auto chunk = static_cast<std::size_t>(first / chunk_rows_);
    const std::int64_t chunk_first = static_cast<std::int64_t>(chunk) * chunk_rows_;
    const std::int64_t stop = std::min(end, chunk_first + chunk_rows_);
    const bool waited = stop - first == chunk_rows_
                            ? read_chunk(chunk, out)
                            : read_part(chunk, first - chunk_first, stop - first, out);
    from_disk = from_disk || waited;
    for (; from_disk && fetched < std::min(last, chunk + 1 + kReadAhead); ++fetched) {
      ::posix_fadvise(descriptor_, static_cast<off_t>(addresses_[fetched]),
                      static_cast<off_t>(stored_bytes_), POSIX_FADV_WILLNEED);
    }
    out += (stop - first) * dim_;
    first = stop;
  }
}

bool ChunkReader::read_chunk(std::size_t chunk, float* out) const {
  if (storage_ == StorageType::kFloat16 || !is_listed()) {
    return read_part(chunk, 0, chunk_rows_, out);
  }
  const auto values = static_cast<std::size_t>(chunk_rows_ * dim_);
  const std::span<std::byte> target = std::as_writable_bytes(std::span(out, values));
  const bool waited = load(chunk, target, 0);
  if (!has_checksum_) return waited;
  std::uint32_t stored = 0;
  load(chunk, std::as_writable_bytes(std::span(&stored, 1)), target.size());
  check(chunk, target, stored);
  return waited;
}

bool ChunkReader::read_part(std::size_t chunk, std::int64_t first, std::int64_t count,
                            float* out) const {
  const std::size_t row_bytes = static_cast<std::size_t>(dim_) * bytes_per_value(storage_);
  const std::size_t skip = static_cast<std::size_t>(first) * row_bytes;
  const std::size_t wanted = static_cast<std::size_t>(count) * row_bytes;
  // Untested chunks are read whole. Tested ones need only the rows asked for.
  const bool is_tested = !has_checksum_ || good_[chunk].load(std::memory_order_relaxed) != 0;
  const bool whole = !is_listed() || !is_tested;
  const std::size_t size = whole ? stored_bytes_ : wanted;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(size);
  const std::span<std::byte> bytes(buffer.get(), size);
  const bool waited = whole ? load_whole(chunk, bytes) : load(chunk, bytes, skip);
  widen(bytes.subspan(whole ? skip : 0, wanted), out);
  return waited;
}

bool ChunkReader::load_whole(std::size_t chunk, std::span<std::byte> bytes) const {
  bool waited = false;
  if (is_listed()) {
    waited = load(chunk, bytes, 0);
  } else {
    const Lock lock;
    const std::array<hsize_t, 2> offset = {
        static_cast<hsize_t>(chunk) * static_cast<hsize_t>(chunk_rows_), 0};
    hsize_t size = 0;
    std::uint32_t mask = 0;
    if (H5Dget_chunk_storage_size(dataset_.get(), offset.data(), &size) < 0 ||
        size != bytes.size() ||
        H5Dread_chunk(dataset_.get(), H5P_DEFAULT, offset.data(), &mask, bytes.data()) < 0 ||
        mask != 0) {
      hdf5::fail_reading(file_.path(), fmt::format("chunk {} of '{}' is damaged", chunk, name_));
    }
  }
  if (!has_checksum_) return waited;
  const std::span<std::byte> data = bytes.first(bytes.size() - kChecksumBytes);
  std::uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + data.size(), kChecksumBytes);
  check(chunk, data, stored);
  return waited;
}

bool ChunkReader::load(std::size_t chunk, std::span<std::byte> bytes, std::size_t skip) const {
  return read_fully(descriptor_, bytes, addresses_[chunk] + skip, file_.path());
}

void ChunkReader::check(std::size_t chunk, std::span<const std::byte> data,
                        std::uint32_t stored) const {
  if (fletcher32(data) == stored) {
    good_[chunk].store(1, std::memory_order_relaxed);
    return;
  }
  const std::int64_t first = static_cast<std::int64_t>(chunk) * chunk_rows_;
  throw FormatError(
      "store: '{}': the checksum of '{}', rows {} to {}, is wrong; the file is damaged, restore it "
      "or capture it again",
      file_.path().string(), name_, first, std::min(first + chunk_rows_, num_rows_) - 1);
}

void ChunkReader::widen(std::span<const std::byte> values, float* out) const {
  if (storage_ == StorageType::kFloat32) {
    std::memcpy(out, values.data(), values.size());
    return;
  }
  // Rows have an even number of bytes and the buffer comes from operator new: it is aligned.
  const std::size_t count = values.size() / sizeof(HalfBits);
  half_to_float({reinterpret_cast<const HalfBits*>(values.data()), count}, {out, count});
}

void ChunkReader::verify(std::vector<std::string>& problems,
                         const std::function<void(std::int64_t)>& on_bytes) const {
  const std::int64_t step =
      is_direct_ ? chunk_rows_ : std::max<std::int64_t>(1, (std::int64_t{1} << 20) / dim_);
  std::vector<float> values(static_cast<std::size_t>(std::min(step, num_rows_) * dim_));
  for (std::int64_t first = 0; first < num_rows_; first += step) {
    const std::int64_t count = std::min(step, num_rows_ - first);
    try {
      read(first, count, values.data());
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
    on_bytes(count * dim_ * static_cast<std::int64_t>(bytes_per_value(storage_)));
  }
}

void ChunkReader::read_through_hdf5(std::int64_t first, std::int64_t count, float* out) const {
  const Lock lock;
  const std::array<hsize_t, 2> start = {static_cast<hsize_t>(first), 0};
  const std::array<hsize_t, 2> size = {static_cast<hsize_t>(count), static_cast<hsize_t>(dim_)};
  const Id space(H5Dget_space(dataset_.get()), H5Sclose);
  H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  const Id memory(H5Screate_simple(2, size.data(), nullptr), H5Sclose);
  const auto read = [&](hid_t type, void* target) {
    if (H5Dread(dataset_.get(), type, memory.get(), space.get(), H5P_DEFAULT, target) < 0) {
      hdf5::fail_reading(file_.path(), fmt::format("'{}' cannot be read", name_));
    }
  };
  if (storage_ == StorageType::kFloat32) return read(H5T_NATIVE_FLOAT, out);
  std::vector<HalfBits> halves(static_cast<std::size_t>(count * dim_));
  read(hdf5::half_type().get(), halves.data());
  half_to_float(halves, {out, halves.size()});
}

}  // namespace lime
