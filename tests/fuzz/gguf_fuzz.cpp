// SPDX-License-Identifier: Apache-2.0
// GGUF files: accepted tensors reference only bytes of the file, and config, tensors and tokenizer
// are read or refused.
#include <span>

#include "checkpoint/gguf/gguf_model.h"
#include "checkpoint/gguf/gguf_tokenizer.h"
#include "checkpoint/weights/quantized_blocks.h"
#include "fuzz/fuzz_target.h"

using namespace lime;

namespace {

void check_tensor(const TensorView& tensor, std::span<const std::byte> file) {
  const std::byte* const end = tensor.bytes.data() + tensor.bytes.size();
  fuzz::require(tensor.bytes.data() >= file.data() && end <= file.data() + file.size(),
                "tensors lie in the file");
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  fuzz::require(tensor.bytes.size() == storage_bytes(tensor.dtype, count),
                "bytes are those of dtype and shape");
  if (!is_quantized(tensor.dtype) || count > 1U << 20U) return;
  std::vector<float> values(count);
  convert_blocks(tensor.dtype, tensor.bytes, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  GgufHeader header;
  fuzz::reads_or_refuses([&] { header = parse_gguf(file, "input"); });
  for (const TensorView& tensor : header.tensors) check_tensor(tensor, file);
  fuzz::reads_or_refuses([&] {
    ModelConfig config = gguf_model_config(header, "input");
    locate_gguf_tensors(header.tensors, config, "input");
  });
  fuzz::reads_or_refuses([&] { read_gguf_tokenizer(header, "input")->encode("a text 12"); });
  return 0;
}
