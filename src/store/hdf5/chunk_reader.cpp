// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/chunk_reader.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/files/atomic_file.h"
#include "core/half.h"
#include "store/capture_layout.h"
#include "store/hdf5/fletcher32.h"

namespace lime {

using hdf5::Id;
using hdf5::Lock;

namespace {

/// Number of chunks that the system is asked to prefetch.
constexpr std::size_t kReadAhead = 8;

/// HDF5 1.10 needs about 0.1 s to list this many chunks.
constexpr hsize_t kMaxListed = 1024;

constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);

/// Values that are read through HDF5 at once, between two checks for a stop.
constexpr std::int64_t kStepValues = std::int64_t{1} << 24;

/// Returns a file's size, limited so that it can be multiplied by kMaxCompression.
std::int64_t size_of(const std::filesystem::path& path) {
  std::error_code ignored;
  return static_cast<std::int64_t>(std::filesystem::file_size(path, ignored)) & ((1LL << 50) - 1);
}

struct Filter {
  H5Z_filter_t id = H5Z_FILTER_ERROR;
  std::size_t num_values = 1;
  unsigned value = 0;  ///< first client data value
};

Filter filter_at(hid_t properties, unsigned index) {
  Filter filter;
  unsigned flags = 0;
  filter.id = H5Pget_filter2(properties, index, &flags, &filter.num_values, &filter.value, 0,
                             nullptr, nullptr);
  return filter;
}

/// Fills `bytes` from the file. @return true if the read had to wait for the disk.
bool read_fully(int descriptor, std::span<std::byte> bytes, std::uint64_t at,
                const std::filesystem::path& path) {
  bool waited = false;
  int flags = RWF_NOWAIT;
  while (!bytes.empty()) {
    const iovec target = {bytes.data(), bytes.size()};
    const ssize_t got = ::preadv2(descriptor, &target, 1, static_cast<off_t>(at), flags);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && flags != 0) {
      // Not in the page cache, or a file system without RWF_NOWAIT.
      waited = errno == EAGAIN;
      flags = 0;
      continue;
    }
    if (got < 0) {
      throw IoError("store: '{}' cannot be read: {}", path.string(), describe_errno(errno));
    }
    if (got == 0) throw FormatError("store: '{}' is truncated", path.string());
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  return waited;
}

}  // namespace

ChunkReader::ChunkReader(const Hdf5File& file, const std::string& dataset,
                         std::shared_ptr<ChunkCache> cache)
    : file_(file), name_(dataset), cache_(std::move(cache)) {
  const Lock lock;
  dataset_ = hdf5::open_plain_dataset(file, dataset);
  const Id type(H5Dget_type(dataset_.get()), H5Tclose);
  const std::vector<std::int64_t> shape = hdf5::shape_of(dataset_.get());
  throw_if<FormatError>(shape.size() != 2 || H5Tget_class(type.get()) != H5T_FLOAT,
                        "store: '{}': '{}' must contain floating-point numbers, [rows, dim]",
                        file.path().string(), dataset);
  num_rows_ = shape[0];
  dim_ = shape[1];
  storage_ = hdf5::is_half(type.get()) ? StorageType::kFloat16 : StorageType::kFloat32;
  check_size();
  const bool known_type =
      storage_ == StorageType::kFloat16 || H5Tequal(type.get(), H5T_IEEE_F32LE) > 0;
  if (known_type && has_known_layout(dataset_.get())) index_chunks(dataset_.get());
}

ChunkReader::~ChunkReader() {
  if (cache_ != nullptr) cache_->erase(this);
}

/// Checks that the data is no larger than the file, times the maximum compression of deflate.
void ChunkReader::check_size() const {
  const std::int64_t limit = size_of(file_.path()) * hdf5::kMaxCompression /
                             static_cast<std::int64_t>(bytes_per_value(storage_));
  throw_if<FormatError>(
      dim_ < 1 || num_rows_ < 0 || dim_ > limit || num_rows_ > limit / dim_,
      "store: '{}': '{}' declares [{}, {}] values, more than its file can contain",
      file_.path().string(), name_, num_rows_, dim_);
}

ChunkReader::Filters ChunkReader::filters_of(hid_t properties) const {
  const int count = H5Pget_nfilters(properties);
  if (count == 0) return Filters::kNone;
  if (count == 1) {
    const bool is_checksum = filter_at(properties, 0).id == H5Z_FILTER_FLETCHER32;
    return is_checksum ? Filters::kChecksum : Filters::kOther;
  }
  if (count != 3) return Filters::kOther;
  const Filter shuffle = filter_at(properties, 0);
  const bool is_deflate = shuffle.id == H5Z_FILTER_SHUFFLE && shuffle.num_values == 1 &&
                          shuffle.value == bytes_per_value(storage_) &&
                          filter_at(properties, 1).id == H5Z_FILTER_DEFLATE &&
                          filter_at(properties, 2).id == H5Z_FILTER_FLETCHER32;
  return is_deflate ? Filters::kDeflate : Filters::kOther;
}

bool ChunkReader::has_known_layout(hid_t dataset) const {
  const Id properties(H5Dget_create_plist(dataset), H5Pclose);
  const Id file(H5Iget_file_id(dataset), H5Fclose);
  const Id creation(H5Fget_create_plist(file.get()), H5Pclose);
  hsize_t user_block = 0;
  H5Pget_userblock(creation.get(), &user_block);
  if (user_block != 0 || H5Pget_layout(properties.get()) != H5D_CHUNKED) return false;
  std::array<hsize_t, 2> chunk{};
  return H5Pget_chunk(properties.get(), 2, chunk.data()) == 2 &&
         chunk[1] == static_cast<hsize_t>(dim_) && filters_of(properties.get()) != Filters::kOther;
}

void ChunkReader::index_chunks(hid_t dataset) {
  const Id properties(H5Dget_create_plist(dataset), H5Pclose);
  const Id space(H5Dget_space(dataset), H5Sclose);
  std::array<hsize_t, 2> chunk{};
  H5Pget_chunk(properties.get(), 2, chunk.data());
  filters_ = filters_of(properties.get());
  chunk_rows_ = static_cast<std::int64_t>(chunk[0]);
  throw_if<FormatError>(chunk_rows_ < 1, "store: '{}': the chunks of '{}' have no rows",
                        file_.path().string(), name_);
  const auto expected = static_cast<hsize_t>((num_rows_ + chunk_rows_ - 1) / chunk_rows_);
  const std::int64_t most = filters_ == Filters::kDeflate ? hdf5::kMaxCompression : 1;
  const std::int64_t file_values =
      size_of(file_.path()) * most / static_cast<std::int64_t>(bytes_per_value(storage_));
  throw_if<FormatError>(expected > 0 && chunk_rows_ > file_values / dim_,
                        "store: '{}': the chunks of '{}' are larger than the file",
                        file_.path().string(), name_);
  if (expected > 0) {
    value_bytes_ = static_cast<std::size_t>(chunk_rows_ * dim_) * bytes_per_value(storage_);
    stored_bytes_ = value_bytes_ + (filters_ == Filters::kNone ? 0 : kChecksumBytes);
  }
  hsize_t count = 0;
  throw_if<FormatError>(H5Dget_num_chunks(dataset, space.get(), &count) < 0 || count != expected,
                        "store: '{}': '{}' must have {} chunks, got {}", file_.path().string(),
                        name_, expected, count);
  is_direct_ = true;
  good_ = std::vector<std::atomic<char>>(count);
  if (count <= kMaxListed) list_places(dataset);
}

/// Returns true if a chunk may have this stored size.
bool ChunkReader::can_be_chunk(std::uint64_t size, std::uint32_t skipped_filters) const {
  if (filters_ != Filters::kDeflate) return skipped_filters == 0 && size == stored_bytes_;
  if (skipped_filters == kDeflateSkipped) return size == stored_bytes_;
  if (skipped_filters != 0 || size <= kChecksumBytes) return false;
  const std::uint64_t stream = size - kChecksumBytes;
  return stream <= value_bytes_ + value_bytes_ / 512 + 64 &&
         stream * hdf5::kMaxCompression >= value_bytes_;
}

void ChunkReader::list_places(hid_t dataset) {
  const Id space(H5Dget_space(dataset), H5Sclose);
  std::vector<Place> places(good_.size(), {HADDR_UNDEF, 0, 0});
  for (hsize_t i = 0; i < places.size(); ++i) {
    std::array<hsize_t, 2> offset{};
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t size = 0;
    if (H5Dget_chunk_info(dataset, space.get(), i, offset.data(), &mask, &address, &size) < 0) {
      hdf5::fail_reading(file_.path(), fmt::format("the chunks of '{}' cannot be listed", name_));
    }
    const hsize_t index = offset[0] / static_cast<hsize_t>(chunk_rows_);
    // Each chunk must occur exactly once, so that all have a position.
    throw_if<FormatError>(!can_be_chunk(size, mask) || address == HADDR_UNDEF ||
                              index >= places.size() || places[index].address != HADDR_UNDEF,
                          "store: '{}': chunk {} of '{}' is damaged", file_.path().string(), i,
                          name_);
    places[index] = {address, static_cast<std::size_t>(size), mask};
  }
  void* handle = nullptr;
  const Id file(H5Iget_file_id(dataset), H5Fclose);
  if (H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &handle) < 0 || handle == nullptr) return;
  descriptor_ = *static_cast<int*>(handle);
  places_ = std::move(places);
}

void ChunkReader::check_stop(const std::stop_token& stop) const {
  if (stop.stop_requested()) {
    throw Interrupted("store: interrupted while reading '{}'", file_.path().string());
  }
}

void ChunkReader::read(std::int64_t first, std::int64_t count, float* out,
                       const std::stop_token& stop) const {
  if (!is_direct_) return read_through_hdf5(first, count, out, stop);
  const std::int64_t end = first + count;
  bool from_disk = false;
  auto fetched = static_cast<std::size_t>(first / chunk_rows_) + 1;
  const auto last = static_cast<std::size_t>((end + chunk_rows_ - 1) / chunk_rows_);
  while (first < end) {
    check_stop(stop);
    const auto chunk = static_cast<std::size_t>(first / chunk_rows_);
    const std::int64_t chunk_first = static_cast<std::int64_t>(chunk) * chunk_rows_;
    const std::int64_t chunk_end = std::min(end, chunk_first + chunk_rows_);
    const bool waited = chunk_end - first == chunk_rows_
                            ? read_chunk(chunk, out)
                            : read_part(chunk, first - chunk_first, chunk_end - first, out);
    from_disk = from_disk || waited;
    for (; from_disk && fetched < std::min(last, chunk + 1 + kReadAhead); ++fetched) {
      ::posix_fadvise(descriptor_, static_cast<off_t>(places_[fetched].address),
                      static_cast<off_t>(places_[fetched].size), POSIX_FADV_WILLNEED);
    }
    out += (chunk_end - first) * dim_;
    first = chunk_end;
  }
}

bool ChunkReader::read_chunk(std::size_t chunk, float* out) const {
  const bool is_as_stored = storage_ == StorageType::kFloat32 && filters_ != Filters::kDeflate;
  if (!is_as_stored || !is_listed()) return read_part(chunk, 0, chunk_rows_, out);
  const auto values = static_cast<std::size_t>(chunk_rows_ * dim_);
  const std::span<std::byte> target = std::as_writable_bytes(std::span(out, values));
  const bool waited = load(chunk, target, 0);
  if (filters_ == Filters::kNone) return waited;
  std::uint32_t stored = 0;
  load(chunk, std::as_writable_bytes(std::span(&stored, 1)), target.size());
  check(chunk, target, stored);
  return waited;
}

bool ChunkReader::read_part(std::size_t chunk, std::int64_t first, std::int64_t count,
                            float* out) const {
  if (filters_ == Filters::kDeflate) return read_deflated(chunk, first, count, out);
  const std::size_t row_bytes = static_cast<std::size_t>(dim_) * bytes_per_value(storage_);
  const std::size_t skip = static_cast<std::size_t>(first) * row_bytes;
  const std::size_t requested = static_cast<std::size_t>(count) * row_bytes;
  // Unverified chunks are read whole. Verified ones need only the requested rows.
  const bool is_tested =
      filters_ == Filters::kNone || good_[chunk].load(std::memory_order_relaxed) != 0;
  const bool whole = !is_listed() || !is_tested;
  const std::size_t size = whole ? stored_bytes_ : requested;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(size);
  const std::span<std::byte> bytes(buffer.get(), size);
  const bool waited = whole ? load_whole(chunk, bytes) : load(chunk, bytes, skip);
  widen(bytes.subspan(whole ? skip : 0, requested), out);
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
  if (filters_ == Filters::kNone) return waited;
  const std::span<std::byte> data = bytes.first(bytes.size() - kChecksumBytes);
  std::uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + data.size(), kChecksumBytes);
  check(chunk, data, stored);
  return waited;
}

bool ChunkReader::read_deflated(std::size_t chunk, std::int64_t first, std::int64_t count,
                                float* out) const {
  bool waited = false;
  const auto load = [&] { return load_planes(chunk, waited); };
  // A chunk that is read whole will not be needed again.
  const bool is_kept = cache_ != nullptr && count < chunk_rows_;
  const ChunkCache::Chunk planes =
      is_kept ? cache_->get({this, chunk}, value_bytes_, load) : load();
  const auto skipped = static_cast<std::size_t>(first * dim_);
  const auto values = static_cast<std::size_t>(count * dim_);
  if (storage_ == StorageType::kFloat32) {
    unshuffle(*planes, sizeof(float), skipped, std::as_writable_bytes(std::span(out, values)));
    return waited;
  }
  const auto halves = std::make_unique_for_overwrite<HalfBits[]>(values);
  unshuffle(*planes, sizeof(HalfBits), skipped,
            std::as_writable_bytes(std::span(halves.get(), values)));
  half_to_float({halves.get(), values}, {out, values});
  return waited;
}

ChunkCache::Chunk ChunkReader::load_planes(std::size_t chunk, bool& waited) const {
  StoredChunk stored = load_stored(chunk, waited);
  const std::span<const std::byte> data =
      std::span(stored.bytes).first(stored.bytes.size() - kChecksumBytes);
  std::memcpy(&stored.checksum, stored.bytes.data() + data.size(), kChecksumBytes);
  check(chunk, data, stored.checksum);
  if (stored.skipped_filters == kDeflateSkipped) {
    stored.bytes.resize(data.size());
    return std::make_shared<const std::vector<std::byte>>(std::move(stored.bytes));
  }
  auto planes = std::make_shared<std::vector<std::byte>>(value_bytes_);
  const std::string_view problem = inflate_into(data, *planes);
  if (problem.empty()) return planes;
  throw FormatError(
      "store: '{}': '{}', {}, cannot be inflated: {}; the file is damaged, restore it or capture "
      "it again",
      file_.path().string(), name_, rows_text(chunk), problem);
}

StoredChunk ChunkReader::load_stored(std::size_t chunk, bool& waited) const {
  StoredChunk stored;
  if (is_listed()) {
    stored.bytes.resize(places_[chunk].size);
    stored.skipped_filters = places_[chunk].skipped_filters;
    waited = load(chunk, stored.bytes, 0);
    return stored;
  }
  const Lock lock;
  const std::array<hsize_t, 2> offset = {
      static_cast<hsize_t>(chunk) * static_cast<hsize_t>(chunk_rows_), 0};
  hsize_t size = 0;
  const bool has_size = H5Dget_chunk_storage_size(dataset_.get(), offset.data(), &size) >= 0 &&
                        (can_be_chunk(size, 0) || can_be_chunk(size, kDeflateSkipped));
  if (has_size) stored.bytes.resize(static_cast<std::size_t>(size));
  if (!has_size ||
      H5Dread_chunk(dataset_.get(), H5P_DEFAULT, offset.data(), &stored.skipped_filters,
                    stored.bytes.data()) < 0 ||
      !can_be_chunk(size, stored.skipped_filters)) {
    hdf5::fail_reading(file_.path(), fmt::format("chunk {} of '{}' is damaged", chunk, name_));
  }
  return stored;
}

bool ChunkReader::load(std::size_t chunk, std::span<std::byte> bytes, std::size_t skip) const {
  return read_fully(descriptor_, bytes, places_[chunk].address + skip, file_.path());
}

std::string ChunkReader::rows_text(std::size_t chunk) const {
  const std::int64_t first = static_cast<std::int64_t>(chunk) * chunk_rows_;
  return fmt::format("rows {} to {}", first, std::min(first + chunk_rows_, num_rows_) - 1);
}

void ChunkReader::check(std::size_t chunk, std::span<const std::byte> data,
                        std::uint32_t stored) const {
  if (fletcher32(data) == stored) {
    good_[chunk].store(1, std::memory_order_relaxed);
    return;
  }
  throw FormatError(
      "store: '{}': the checksum of '{}', {}, does not match; the file is damaged, restore it or "
      "capture it again",
      file_.path().string(), name_, rows_text(chunk));
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

void ChunkReader::read_through_hdf5(std::int64_t first, std::int64_t count, float* out,
                                    const std::stop_token& stop) const {
  const std::int64_t step = std::max<std::int64_t>(1, kStepValues / dim_);
  for (std::int64_t done = 0; done < count; done += step) {
    check_stop(stop);
    read_selected(first + done, std::min(step, count - done), out + done * dim_);
  }
}

void ChunkReader::read_selected(std::int64_t first, std::int64_t count, float* out) const {
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
