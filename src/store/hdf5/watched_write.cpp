// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/watched_write.h"

#include <vector>

#include "store/hdf5/hdf5_api.h"

namespace lime::hdf5 {
namespace {

/// What a WatchedWrite of the lock's owner waits for.
struct Watched {
  const void* data = nullptr;
  bool is_written = true;
  std::optional<std::uint64_t> place;
  std::vector<std::byte> zeros;
};
Watched watched;

/// HDF5's driver for files of the system, "sec2", as it was before watched_write().
const H5FD_class_t* system_driver = nullptr;

herr_t watched_write(H5FD_t* file, H5FD_mem_t type, hid_t transfer, haddr_t place, std::size_t size,
                     const void* data) {
  if (data == watched.data) {
    watched.place = place;
    if (!watched.is_written) return 0;
  }
  return system_driver->write(file, type, transfer, place, size, data);
}

/// Registers the system's driver with watched_write() in place of its write function. Its class is
/// reached through an open file, the only public way.
hid_t register_driver() {
  const Id properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_sec2(properties.get());
  H5FD_t* const opened = H5FDopen("/dev/null", H5F_ACC_RDONLY, properties.get(), HADDR_UNDEF);
  if (opened == nullptr) return H5I_INVALID_HID;
  static H5FD_class_t driver = *opened->cls;
  system_driver = opened->cls;
  H5FDclose(opened);
  driver.write = watched_write;
  return H5FDregister(&driver);
}

}  // namespace

WatchedWrite::WatchedWrite(const void* data) {
  watched.data = data;
  watched.is_written = true;
  watched.place.reset();
}

WatchedWrite::WatchedWrite(std::size_t size) {
  if (watched.zeros.size() < size) watched.zeros.assign(size, std::byte{0});
  watched.data = watched.zeros.data();
  watched.is_written = false;
  watched.place.reset();
}

WatchedWrite::~WatchedWrite() { watched.data = nullptr; }
const void* WatchedWrite::data() const { return watched.data; }
std::optional<std::uint64_t> WatchedWrite::place() const { return watched.place; }

hid_t watched_driver() {
  static const hid_t driver = register_driver();
  return driver;
}

}  // namespace lime::hdf5
