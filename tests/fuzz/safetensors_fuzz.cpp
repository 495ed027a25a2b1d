// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file: an accepted header references only bytes of the file.
#include <span>

#include "checkpoint/weights/safetensors.h"
#include "fuzz/fuzz_target.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  fuzz::reads_or_refuses([&] {
    std::size_t covered = 0;
    for (const TensorView& tensor : parse_safetensors_header(file, "input").tensors) {
      const std::byte* const end = tensor.bytes.data() + tensor.bytes.size();
      fuzz::require(tensor.bytes.data() >= file.data() && end <= file.data() + file.size(),
                    "tensors lie in the file");
      const auto count = static_cast<std::size_t>(element_count(tensor.shape));
      fuzz::require(tensor.bytes.size() == dtype_size(tensor.dtype) * count,
                    "bytes are those of dtype and shape");
      covered += tensor.bytes.size();
    }
    fuzz::require(covered + 8 <= file.size(), "tensors do not overlap");
  });
  return 0;
}
