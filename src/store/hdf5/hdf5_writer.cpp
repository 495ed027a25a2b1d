// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/hdf5_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "store/hdf5/hdf5_api.h"

namespace lime {

using hdf5::Id;
using hdf5::Lock;

struct Hdf5Writer::Impl {
  AtomicFile target;
  Id file;
  bool has_trailer = false;
  std::vector<ChecksummedExtent> data;
  std::uint64_t given = 0;    // bytes of the file whose write-back was started
  std::uint64_t dropped = 0;  // bytes on disk and dropped from the page cache

  explicit Impl(const std::filesystem::path& path)
      : target(path), file(hdf5::create_file(target.temporary(), path)) {}
  ~Impl() { hdf5::discard_file(file); }
};

namespace {

constexpr hsize_t kChunkBytes = 1 << 20;

/// Data is written back in windows of this size: one fills while the previous one is written.
constexpr std::uint64_t kWindowBytes = 64 << 20;

/// Starts the write-back of the last window, waits for the one before it, and drops it from the
/// page cache. So the final sync has little left to do, a slow disk slows the writer instead of
/// filling memory with its backlog, and a large capture does not evict everything else from the
/// page cache. Errors are reported at the sync.
void write_behind(int descriptor, std::uint64_t end, std::uint64_t& given, std::uint64_t& dropped) {
  const auto offset = [](std::uint64_t bytes) { return static_cast<off64_t>(bytes); };
  ::sync_file_range(descriptor, offset(given), offset(end - given), SYNC_FILE_RANGE_WRITE);
  if (given > dropped) {
    ::sync_file_range(
        descriptor, offset(dropped), offset(given - dropped),
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    ::posix_fadvise(descriptor, offset(dropped), offset(given - dropped), POSIX_FADV_DONTNEED);
  }
  dropped = given;
  given = end;
}

/// Returns true if the extent's checksum is at its end. Called while the bytes are still in memory.
bool holds_checksum(int descriptor, const ChecksummedExtent& extent) {
  std::uint32_t stored = 0;
  if (extent.size < sizeof stored) return false;
  const auto place = static_cast<off64_t>(extent.offset + extent.size - sizeof stored);
  return ::pread64(descriptor, &stored, sizeof stored, place) == sizeof stored &&
         stored == extent.checksum;
}

std::vector<hsize_t> to_hsize(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

/// Returns chunks of whole rows, about kChunkBytes each, so that the data can have checksums.
std::vector<hsize_t> chunk_of(std::vector<hsize_t> dims, std::size_t bytes_per_value) {
  const hsize_t row =
      std::accumulate(dims.begin() + 1, dims.end(), hsize_t{bytes_per_value}, std::multiplies<>());
  dims.front() = std::clamp<hsize_t>(kChunkBytes / row, 1, dims.front());
  return dims;
}

Id text_type() {
  Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

std::vector<const char*> text_pointers(std::span<const std::string> texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

/// Writes an attribute of the given type: scalar, or one-dimensional with `count` entries.
void write_attribute(const Hdf5Writer& writer, const std::string& object, const std::string& name,
                     hid_t type, const void* data, const hsize_t* count = nullptr) {
  const Id owner(H5Oopen(Hdf5Access::id(writer), object.c_str(), H5P_DEFAULT), H5Oclose);
  throw_if(!owner, "store: no object '{}' to attach an attribute to", object);
  const Id space(count == nullptr ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, count, nullptr),
                 H5Sclose);
  H5Adelete(owner.get(), name.c_str());
  H5Eclear2(H5E_DEFAULT);
  const Id attribute(
      H5Acreate2(owner.get(), name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (count != nullptr && *count == 0) return;
  hdf5::check_written(writer, H5Awrite(attribute.get(), type, data) >= 0, name);
}

template <typename Matrix, typename Ref>
void write_matrix_as(Hdf5Writer& writer, const std::string& dataset, const Ref& matrix) {
  const Matrix values = matrix;
  writer.write<typename Matrix::Scalar>(dataset,
                                        {values.data(), static_cast<std::size_t>(values.size())},
                                        {values.rows(), values.cols()});
}

}  // namespace

hid_t Hdf5Access::id(const Hdf5Writer& file) { return file.impl_->file.get(); }
const std::filesystem::path& Hdf5Access::path(const Hdf5Writer& file) {
  return file.impl_->target.path();
}

int Hdf5Access::descriptor(const Hdf5Writer& file) {
  const Lock lock;
  void* handle = nullptr;
  const bool is_known = H5Fget_vfd_handle(id(file), H5P_DEFAULT, &handle) >= 0;
  if (!is_known || handle == nullptr) hdf5::fail_writing(path(file), "has no descriptor");
  return *static_cast<int*>(handle);
}

void Hdf5Access::append_trailer(Hdf5Writer& file) { file.impl_->has_trailer = true; }
void Hdf5Access::add_data(Hdf5Writer& file, const ChecksummedExtent& extent) {
  Hdf5Writer::Impl& impl = *file.impl_;
  const int descriptor = Hdf5Access::descriptor(file);
  if (!holds_checksum(descriptor, extent)) return;
  impl.data.push_back(extent);
  const std::uint64_t end = extent.offset + extent.size;
  if (end < impl.given + kWindowBytes) return;
  write_behind(descriptor, end, impl.given, impl.dropped);
}

Hdf5Writer::Hdf5Writer(const std::filesystem::path& path) {
  const Lock lock;
  impl_ = std::make_unique<Impl>(path);
}
Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::make_group(const std::string& name) {
  const Lock lock;
  hdf5::make_groups(impl_->file.get(), name + "/");
  hdf5::check_written(*this, H5Lexists(impl_->file.get(), name.c_str(), H5P_DEFAULT) > 0, name);
}

void Hdf5Writer::write_numbers(const std::string& dataset, NumberType type, Numbers values,
                               const std::vector<std::int64_t>& shape) {
  const Lock lock;
  const std::vector<hsize_t> dims = to_hsize(shape);
  const hsize_t size = std::accumulate(dims.begin(), dims.end(), hsize_t{1}, std::multiplies<>());
  throw_if(size != values.size,
           "store: '{}' must have the number of values of its shape, {}, got {}", dataset, size,
           values.size);
  const Id space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
  const Id properties = hdf5::dataset_properties();
  if (!dims.empty() && size > 0) {
    const std::vector<hsize_t> chunk = chunk_of(dims, type.size);
    H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
    H5Pset_fletcher32(properties.get());
  } else {
    // Stored in the object's header, which has a checksum.
    H5Pset_layout(properties.get(), H5D_COMPACT);
  }
  const hid_t native = hdf5::native_type(type);
  const Id id = hdf5::create_dataset(*this, dataset, native, space, properties);
  if (size == 0) return;
  const bool good = H5Dwrite(id.get(), native, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data) >= 0;
  hdf5::check_written(*this, good && H5Dflush(id.get()) >= 0, dataset);
}

void Hdf5Writer::write_matrix(const std::string& dataset, const ConstMatrixRef& matrix) {
  write_matrix_as<MatrixF>(*this, dataset, matrix);
}

void Hdf5Writer::write_matrix(const std::string& dataset, const ConstMatrixRefD& matrix) {
  write_matrix_as<MatrixD>(*this, dataset, matrix);
}

void Hdf5Writer::write_strings(const std::string& dataset, std::span<const std::string> texts) {
  const Lock lock;
  const hsize_t count = texts.size();
  const Id type = text_type();
  const Id space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Id properties = hdf5::dataset_properties();
  const Id id = hdf5::create_dataset(*this, dataset, type.get(), space, properties);
  if (count == 0) return;
  const bool good = H5Dwrite(id.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                             text_pointers(texts).data()) >= 0;
  hdf5::check_written(*this, good && H5Dflush(id.get()) >= 0, dataset);
}

void Hdf5Writer::set_attribute(const std::string& name, std::string_view text,
                               const std::string& object) {
  const Lock lock;
  const std::string one(text);
  const char* const pointer = one.c_str();
  write_attribute(*this, object, name, text_type().get(), &pointer);
}

void Hdf5Writer::set_attribute(const std::string& name, std::span<const std::string> texts,
                               const std::string& object) {
  const Lock lock;
  const hsize_t count = texts.size();
  write_attribute(*this, object, name, text_type().get(), text_pointers(texts).data(), &count);
}

void Hdf5Writer::set_number(const std::string& name, NumberType type, const void* value,
                            const std::string& object) {
  const Lock lock;
  write_attribute(*this, object, name, hdf5::native_type(type), value);
}

void Hdf5Writer::commit() {
  {
    const Lock lock;
    if (!impl_->file) throw InvalidArgument("store: commit() must be called once");
    if (H5Fflush(impl_->file.get(), H5F_SCOPE_LOCAL) < 0) {
      hdf5::fail_writing(impl_->target.path(), "cannot be written");
    }
    if (!impl_->file.reset()) hdf5::fail_writing(impl_->target.path(), "cannot be closed");
  }
  // Without the lock: other files are written while the disk takes this one.
  if (impl_->has_trailer) append_trailer(impl_->target.temporary(), impl_->data);
  impl_->target.commit();
}

}  // namespace lime
