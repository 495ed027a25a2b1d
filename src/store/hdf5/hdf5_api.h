// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store: the C library's handles, the global lock and error handling.

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.h"
#include "store/hdf5/hdf5_file.h"
#include "store/hdf5/hdf5_writer.h"
#include "store/trailer.h"

namespace lime::hdf5 {

/// Maximum compression ratio of deflate; a larger one is malicious or corrupt.
inline constexpr std::int64_t kMaxCompression = 1032;

/// Held during every call into HDF5, which Debian builds without thread safety. Recursive, so that
/// functions that hold it may call each other. The first lock initialises the library: no error
/// printing, no filter plug-ins, no work at exit.
class Lock {
 public:
  /// @throws IoError  if another version of the library has been loaded in its place.
  Lock();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// Owns a handle and closes it under the lock.
class Id {
 public:
  using Close = herr_t (*)(hid_t);
  Id() = default;
  Id(hid_t id, Close close) : id_(id), close_(close) {}
  ~Id() { reset(); }
  Id(Id&& other) noexcept;
  Id& operator=(Id&& other) noexcept;

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Closes the handle now; returns false if HDF5 reports an error.
  bool reset();

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// HDF5 could not allocate the memory that a file requires.
class OutOfMemory : public FormatError {
 public:
  using FormatError::FormatError;
};

/// Clears HDF5's error stack and throws "store: 'PATH': what: detail": IoError for errors of the
/// system and while writing, else FormatError (OutOfMemory if HDF5 reports it).
[[noreturn]] void fail_reading(const std::filesystem::path& path, std::string_view what);
[[noreturn]] void fail_writing(const std::filesystem::path& path, std::string_view what);

/// Opens an existing file for reading. @throws IoError, FormatError  (missing, foreign, truncated)
Id open_file(const std::filesystem::path& path);
/// Creates a file in the format of HDF5 1.10, whose structures have their own checksums. Equal
/// calls give equal bytes: no times are stored.
/// @param shown  file name for error messages: the final path. @throws IoError
Id create_file(const std::filesystem::path& path, const std::filesystem::path& shown);
/// Closes a file that could not be written; HDF5 would otherwise retry forever to flush the rest.
void discard_file(Id& file);

/// Opens `name`, each part of which must be a hard link: others could lead out of the file.
Id open_object(const Hdf5File& file, const std::string& name);
/// Opens the object, or returns an empty Id if it does not exist.
Id find_object(const Hdf5File& file, const std::string& name);
Id open_dataset(const Hdf5File& file, const std::string& name);
/// Opens a dataset whose data is in this file: no external files, no virtual layout.
Id open_plain_dataset(const Hdf5File& file, const std::string& name);

std::vector<std::int64_t> shape_of(hid_t dataset);
/// Returns binary16 as written by h5py's np.float16.
Id half_type();
bool is_half(hid_t type);

hid_t native_type(NumberType type);

/// Returns creation properties of datasets: no times, so that equal data gives equal bytes.
Id dataset_properties();
/// Creates the missing groups on the path to `name`, and `name` itself if it ends in '/'.
void make_groups(hid_t file, const std::string& name);
/// Creates a dataset, and the missing groups on its path. @throws IoError
Id create_dataset(const Hdf5Writer& file, const std::string& name, hid_t type, const Id& space,
                  const Id& properties);
/// Throws the IoError of the object `what` unless it was written.
void check_written(const Hdf5Writer& file, bool is_written, const std::string& what);

}  // namespace lime::hdf5

namespace lime {

/// Gives src/store access to the handles of the public wrappers.
class Hdf5Access {
 public:
  static hid_t id(const Hdf5File& file);
  static hid_t id(const Hdf5Writer& file);
  /// Returns the path for error messages: the final one.
  static const std::filesystem::path& path(const Hdf5Writer& file);
  /// Returns the descriptor with which threads write to the file without HDF5. @throws IoError
  static int descriptor(const Hdf5Writer& file);
  /// Makes commit() append a trailer; see trailer.h.
  static void append_trailer(Hdf5Writer& file);
  /// Registers bytes that have their own checksum. Waits for a slow disk, so call it without the
  /// lock.
  static void add_data(Hdf5Writer& file, const ChecksummedExtent& extent);
};

}  // namespace lime
