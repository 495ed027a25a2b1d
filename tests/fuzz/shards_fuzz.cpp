// SPDX-License-Identifier: Apache-2.0
// A capture in two files: the length of the master in 4 bytes, little-endian, then the master, then
// its shard; unchanged and with repaired checksums.
#include <algorithm>
#include <cstring>
#include <string>

#include "fuzz/capture_use.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/hdf5_checksums.h"

using namespace lime;

namespace {

void repair(std::string& file) {
  fuzz::repair_checksums({reinterpret_cast<std::uint8_t*>(file.data()), file.size()});
}

void use(const std::string& master, const std::string& shard) {
  std::filesystem::create_directory(fuzz::scratch_folder() / "capture.shards");
  fuzz::scratch_file("capture.shards/00000.h5", shard);
  fuzz::use_capture(fuzz::scratch_file("capture.h5", master));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint32_t length = 0;
  if (size < sizeof length) return 0;
  std::memcpy(&length, data, sizeof length);
  const std::string_view files = fuzz::text_of(data, size).substr(sizeof length);
  std::string master(files.substr(0, length));
  std::string shard(files.substr(master.size()));
  use(master, shard);
  repair(master);
  repair(shard);
  if (master + shard != files) use(master, shard);
  return 0;
}
