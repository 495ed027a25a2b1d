// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store: the C library's handles, its one lock and its errors.

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.h"
#include "store/hdf5_file.h"
#include "store/trailer.h"

namespace lime::hdf5 {

/// Deflate shrinks by at most 1032; a dataset that claims more than that of its file was not
/// written by anyone honest.
inline constexpr std::int64_t kMaxCompression = 1032;

/// Held around every call into HDF5, which Debian builds without thread safety. Recursive, so that
/// functions that hold it may call each other. The first one made sets the library up: no error
/// printing, no filter plug-ins, no work at exit.
class Lock {
 public:
  Lock();
  /// To be called in the child where this thread has forked under the lock: it is another's there.
  static void renew_after_fork();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// Owns a handle. Closes it under the lock.
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
  /// Closes now; false if HDF5 reports an error.
  bool reset();

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// HDF5 got no memory for what a file asks for.
class OutOfMemory : public FormatError {
 public:
  using FormatError::FormatError;
};

/// Turn HDF5's error stack into an exception "store: 'PATH': what: detail" and clear it: IoError
/// where the operating system refused, else FormatError while reading (OutOfMemory where HDF5 says
/// so), IoError while writing.
[[noreturn]] void fail_reading(const std::filesystem::path& path, std::string_view what);
[[noreturn]] void fail_writing(const std::filesystem::path& path, std::string_view what);

/// Opens an existing file for reading. @throws IoError, FormatError  (missing, foreign, cut short)
Id open_file(const std::filesystem::path& path);
/// Creates a file in the format of HDF5 1.10, whose structures carry checksums of their own.
/// Equal calls give equal bytes: no times are stored.
/// @param shown  its name in errors: what the file is to become. @throws IoError
Id create_file(const std::filesystem::path& path, const std::filesystem::path& shown);
/// Closes a file that could not be written, without writing any further: HDF5 would otherwise try
/// again for ever to flush what did not fit.
void discard_file(Id& file);

/// Opens `name`, each part of which must be a plain (hard) link: others could lead out of the file.
Id open_object(const Hdf5File& file, const std::string& name);
/// The same, but an empty Id if there is no such object.
Id find_object(const Hdf5File& file, const std::string& name);
Id open_dataset(const Hdf5File& file, const std::string& name);
/// The same, but the data must lie in this file: no external files, no virtual layout.
Id open_plain_dataset(const Hdf5File& file, const std::string& name);

std::vector<std::int64_t> shape_of(hid_t dataset);
/// binary16 as h5py's np.float16 writes it.
Id half_type();
bool is_half(hid_t type);

/// Native memory type of T.
template <typename T>
hid_t native_type();

/// Creation properties of datasets: no times, so that equal data give equal bytes.
Id dataset_properties();
/// Makes the groups on the way to `name` that are missing, and `name` itself if it ends in '/'.
void make_groups(hid_t file, const std::string& name);

}  // namespace lime::hdf5

namespace lime {

/// Gives src/store the handles of the public wrappers.
class Hdf5Access {
 public:
  static hid_t id(const Hdf5File& file);
  static hid_t id(const Hdf5Writer& file);
  /// The name to show in errors: the final one.
  static const std::filesystem::path& path(const Hdf5Writer& file);
  /// commit() shall append a trailer; see trailer.h.
  static void want_trailer(Hdf5Writer& file);
  /// Says that these bytes carry a checksum of their own.
  static void add_data(Hdf5Writer& file, const ChecksummedExtent& extent);
};

}  // namespace lime
