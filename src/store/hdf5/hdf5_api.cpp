// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/hdf5_api.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "core/files/atomic_file.h"
#include "store/hdf5/watched_write.h"

namespace lime::hdf5 {
namespace {

namespace fs = std::filesystem;

/// Checks that the linker did not replace the library by another one of the process, such as that
/// of h5py loaded with RTLD_GLOBAL: of another version, it deadlocks or misreads our structures.
void check_library() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  throw_if<IoError>(major != H5_VERS_MAJOR || minor != H5_VERS_MINOR,
                    "store: this process has loaded HDF5 {}.{}.{} in place of {}.{}.{}; load it "
                    "without RTLD_GLOBAL",
                    major, minor, release, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
}

void set_up_library() {
  H5dont_atexit();  // the first of all calls
  check_library();
  H5open();
  H5PLset_loading_state(0);
}

/// Content of HDF5's error stack: the description closest to the cause, errno if present.
struct ErrorDetail {
  std::string text;
  int code = 0;
  bool out_of_memory = false;
};

herr_t visit_error(unsigned, const H5E_error2_t* entry, void* user) {
  auto& detail = *static_cast<ErrorDetail*>(user);
  const std::string_view text = entry->desc == nullptr ? "" : entry->desc;
  detail.out_of_memory |= entry->maj_num == H5E_RESOURCE || entry->min_num == H5E_NOSPACE ||
                          entry->min_num == H5E_CANTALLOC;
  if (detail.text.empty()) detail.text = text;
  constexpr std::string_view kMark = "errno = ";
  const std::size_t at = text.find(kMark);
  if (at != std::string_view::npos && detail.code == 0) {
    std::from_chars(text.data() + at + kMark.size(), text.data() + text.size(), detail.code);
  }
  return 0;
}

ErrorDetail take_error() {
  ErrorDetail detail;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, visit_error, &detail);
  H5Eclear2(H5E_DEFAULT);
  std::replace(detail.text.begin(), detail.text.end(), '\n', ' ');
  if (detail.text.empty()) detail.text = "HDF5 gives no reason";
  return detail;
}

void check_errno(const fs::path& path, std::string_view what, const ErrorDetail& detail) {
  if (detail.code == 0) return;
  throw IoError("store: '{}': {}: {}", path.string(), what, describe_errno(detail.code));
}

Id access_properties() {
  Id properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(properties.get(), H5F_LIBVER_V110, H5F_LIBVER_V110);
  // Files are written once and unfinished ones have unique names, so locks would only fail.
  H5Pset_file_locking(properties.get(), false, true);
  H5Pset_meta_block_size(properties.get(), hsize_t{32} * 1024);
  // No pool for small data: chunks are then in the order of writing.
  H5Pset_small_data_block_size(properties.get(), 0);
  return properties;
}

/// Returns true if the link `parent/name` leads to an object in the same file.
bool is_hard_link(hid_t parent, const std::string& name) {
  if (H5Lexists(parent, name.c_str(), H5P_DEFAULT) <= 0) return false;
  H5L_info_t info{};
  return H5Lget_info(parent, name.c_str(), &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
}

std::string list_members(const Hdf5File& file, const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::string group = slash == std::string::npos || slash == 0 ? "/" : name.substr(0, slash);
  if (group != "/" && !file.has(group)) return list_members(file, group);
  std::vector<std::string> names = file.groups(group);
  for (std::string& dataset : file.datasets(group)) names.push_back(std::move(dataset));
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < 20; ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > 20) list += ", ...";
  const std::string where = group == "/" ? "the file" : "'" + group + "'";
  return names.empty() ? where + " is empty" : where + " contains " + list;
}

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

/// Checks the size of a chunk: HDF5 allocates memory for it before it looks for its bytes.
void check_chunk_size(const Hdf5File& file, const std::string& name, hid_t dataset,
                      hid_t properties) {
  if (H5Pget_layout(properties) != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const int rank = H5Pget_chunk(properties, H5S_MAX_RANK, chunk.data());
  const Id type(H5Dget_type(dataset), H5Tclose);
  std::error_code ignored;
  const hsize_t limit = fs::file_size(file.path(), ignored) * static_cast<hsize_t>(kMaxCompression);
  hsize_t bytes = H5Tget_size(type.get());
  for (int i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(bytes, chunk[i], &bytes)) bytes = limit + 1;
    if (bytes <= limit) continue;
    throw FormatError("store: '{}': the chunks of '{}' are larger than the file",
                      file.path().string(), name);
  }
}

}  // namespace

Lock::Lock() : lock_(library_mutex()) {
  static const bool ready = (set_up_library(), true);
  (void)ready;
  // Debian's HDF5 has an error stack, and its print setting, per thread.
  thread_local const bool quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  (void)quiet;
}

Id::Id(Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}

Id& Id::operator=(Id&& other) noexcept {
  if (this != &other) {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
  }
  return *this;
}

bool Id::reset() {
  if (id_ < 0) return true;
  const Lock lock;
  return close_(std::exchange(id_, -1)) >= 0;
}

void fail_reading(const fs::path& path, std::string_view what) {
  const ErrorDetail detail = take_error();
  check_errno(path, what, detail);
  constexpr std::string_view kText = "store: '{}': {}: {}";
  if (detail.out_of_memory) throw OutOfMemory(kText, path.string(), what, detail.text);
  throw FormatError(kText, path.string(), what, detail.text);
}

void fail_writing(const fs::path& path, std::string_view what) {
  const ErrorDetail detail = take_error();
  check_errno(path, what, detail);
  throw IoError("store: '{}': {}: {}", path.string(), what, detail.text);
}

Id open_file(const fs::path& path) {
  const Lock lock;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw MissingFile("store: '{}' does not exist", path.string());
  throw_if<IoError>(fs::is_directory(status), "store: '{}' is a folder, expected an HDF5 file",
                    path.string());
  throw_if<IoError>(!fs::is_regular_file(status), "store: '{}' is not a regular file",
                    path.string());
  if (::access(path.c_str(), R_OK) != 0) {
    throw IoError("store: '{}' cannot be read: {}", path.string(), describe_errno(errno));
  }
  if (fs::file_size(path, error) == 0) throw FormatError("store: '{}' is empty", path.string());
  const Id properties = access_properties();
  Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties.get()), H5Fclose);
  if (file) return file;
  const ErrorDetail detail = take_error();
  throw_if<IoError>(detail.code != 0, "store: '{}' cannot be read: {}", path.string(),
                    describe_errno(detail.code));
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    H5Eclear2(H5E_DEFAULT);
    throw FormatError("store: '{}' is not an HDF5 file", path.string());
  }
  if (detail.text.find("truncated file") != std::string::npos) {
    throw FormatError("store: '{}' is truncated: it has {} bytes, fewer than its header declares",
                      path.string(), fs::file_size(path, error));
  }
  throw FormatError("store: '{}' is damaged: {}", path.string(), detail.text);
}

Id create_file(const fs::path& path, const fs::path& shown) {
  const Lock lock;
  const Id access = access_properties();
  const hid_t driver = watched_driver();
  if (driver >= 0) H5Pset_driver(access.get(), driver, nullptr);
  const Id creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);
  Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
  // Before the properties are closed, which would clear HDF5's error.
  if (!file) fail_writing(shown, "cannot be written");
  return file;
}

void discard_file(Id& file) {
  if (!file) return;
  const Lock lock;
  void* handle = nullptr;
  if (H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &handle) >= 0 && handle != nullptr) {
    const int memory = ::memfd_create("lime-discarded", MFD_CLOEXEC);
    if (memory >= 0) {
      ::dup2(memory, *static_cast<int*>(handle));
      ::close(memory);
    }
  }
  file.reset();
  H5Eclear2(H5E_DEFAULT);
}

Id find_object(const Hdf5File& file, const std::string& name) {
  const Lock lock;
  Id current(H5Oopen(Hdf5Access::id(file), "/", H5P_DEFAULT), H5Oclose);
  if (!current) fail_reading(file.path(), "its root group cannot be read");
  std::size_t start = 0;
  while (start < name.size()) {
    const std::size_t end = std::min(name.find('/', start), name.size());
    const std::string part = name.substr(start, end - start);
    start = end + 1;
    if (part.empty()) continue;
    const bool is_group = H5Iget_type(current.get()) == H5I_GROUP;
    if (part == "." || part == ".." || !is_group || !is_hard_link(current.get(), part)) {
      H5Eclear2(H5E_DEFAULT);
      return {};
    }
    current = Id(H5Oopen(current.get(), part.c_str(), H5P_DEFAULT), H5Oclose);
    if (!current) fail_reading(file.path(), fmt::format("'{}' cannot be read", name));
  }
  return current;
}

Id open_object(const Hdf5File& file, const std::string& name) {
  const Lock lock;
  Id object = find_object(file, name);
  if (object) return object;
  throw FormatError("store: '{}' has no '{}'; {}", file.path().string(), name,
                    list_members(file, name));
}

Id open_dataset(const Hdf5File& file, const std::string& name) {
  const Lock lock;
  Id object = open_object(file, name);
  throw_if<FormatError>(H5Iget_type(object.get()) != H5I_DATASET,
                        "store: '{}': '{}' is a group, expected a dataset", file.path().string(),
                        name);
  return object;
}

Id open_plain_dataset(const Hdf5File& file, const std::string& name) {
  const Lock lock;
  Id dataset = open_dataset(file, name);
  const Id properties(H5Dget_create_plist(dataset.get()), H5Pclose);
  throw_if<FormatError>(H5Pget_layout(properties.get()) == H5D_VIRTUAL,
                        "store: '{}': '{}' is a virtual dataset, expected data in the file itself",
                        file.path().string(), name);
  throw_if<FormatError>(H5Pget_external_count(properties.get()) != 0,
                        "store: '{}': '{}' stores its data in other files, which is not allowed",
                        file.path().string(), name);
  check_chunk_size(file, name, dataset.get(), properties.get());
  return dataset;
}

std::vector<std::int64_t> shape_of(hid_t dataset) {
  const Lock lock;
  const Id space(H5Dget_space(dataset), H5Sclose);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) return {0};
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  return {dims.begin(), dims.begin() + rank};
}

Id half_type() {
  const Lock lock;
  Id type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

bool is_half(hid_t type) {
  const Lock lock;
  return H5Tequal(type, half_type().get()) > 0;
}

hid_t native_type(NumberType type) {
  if (type.is_float) return type.size == sizeof(float) ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  switch (type.size) {
    case 1: return type.is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8;
    case 2: return type.is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16;
    case 4: return type.is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32;
    default: return type.is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  }
}

Id dataset_properties() {
  const Lock lock;
  Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.get(), false);
  return properties;
}

void make_groups(hid_t file, const std::string& name) {
  const Lock lock;
  const Id properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.get(), false);
  for (std::size_t end = name.find('/', 1); end != name.npos; end = name.find('/', end + 1)) {
    const std::string group = name.substr(0, end);
    if (H5Lexists(file, group.c_str(), H5P_DEFAULT) > 0) continue;
    const Id made(H5Gcreate2(file, group.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                  H5Gclose);
    if (!made) return;  // creating an object in it fails next, with the reason
  }
}

Id create_dataset(const Hdf5Writer& file, const std::string& name, hid_t type, const Id& space,
                  const Id& properties) {
  const Lock lock;
  make_groups(Hdf5Access::id(file), name);
  Id dataset(H5Dcreate2(Hdf5Access::id(file), name.c_str(), type, space.get(), H5P_DEFAULT,
                        properties.get(), H5P_DEFAULT),
             H5Dclose);
  check_written(file, static_cast<bool>(dataset), name);
  return dataset;
}

void check_written(const Hdf5Writer& file, bool is_written, const std::string& what) {
  if (is_written) return;
  fail_writing(Hdf5Access::path(file), fmt::format("'{}' cannot be written", what));
}

}  // namespace lime::hdf5
