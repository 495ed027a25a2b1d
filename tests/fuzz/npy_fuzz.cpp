// SPDX-License-Identifier: Apache-2.0
// A .npy file of token ids.
#include "capture/input/input_tokens.h"
#include "fuzz/fuzz_target.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::scratch_file("ids.npy", fuzz::text_of(data, size));
  fuzz::reads_or_refuses([&] {
    const NpyIntegers integers = read_npy_integers(path);
    std::size_t count = 1;
    for (const std::int64_t length : integers.shape) count *= static_cast<std::size_t>(length);
    fuzz::require(count == integers.values.size(), "values fill the shape");
    fuzz::require(integers.values.size() <= size, "values lie in the file");
  });
  return 0;
}
