// SPDX-License-Identifier: Apache-2.0
// A packed capture, unchanged and with repaired checksums.
#include <span>
#include <string>

#include "fuzz/capture_use.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/hdf5_checksums.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string file(fuzz::text_of(data, size));
  fuzz::use_capture(fuzz::scratch_file("capture.h5", file));
  fuzz::repair_checksums({reinterpret_cast<std::uint8_t*>(file.data()), file.size()});
  if (file != fuzz::text_of(data, size)) fuzz::use_capture(fuzz::scratch_file("capture.h5", file));
  return 0;
}
