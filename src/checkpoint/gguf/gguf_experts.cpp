// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_experts.h"

#include <algorithm>

#include "core/errors.h"

namespace lime {
namespace {

constexpr const char* kUsedCount = "expert_used_count";
constexpr const char* kRecorder =
    "record the model from its Hugging Face folder with lime_toolkit.Recorder in Python";

}  // namespace

bool has_gguf_experts(const GgufMetadata& data) {
  return data.integer("expert_count").value_or(0) > 0;
}

void add_gguf_experts(const GgufMetadata& data, const char* num_experts_key, Json& json) {
  throw_if<FormatError>(
      data.has("blk.0.ffn_gate.0.weight"),
      "{}: must have the experts of a layer in one tensor, but 'blk.0.ffn_gate.0.weight' is that "
      "of one expert, as in files before 2024-04; use a newer file, or the Hugging Face folder",
      data.keys().where());
  json[num_experts_key] = data.required_size("expert_count");
  json["num_experts_per_tok"] = data.required_size(kUsedCount);
}

void add_gguf_expert_width(const GgufMetadata& data, Json& json) {
  const auto width = data.size("expert_feed_forward_length");
  // Without it, feed_forward_length is the width of all experts of a token together.
  json["moe_intermediate_size"] =
      width ? *width
            : data.required_size("feed_forward_length") /
                  std::max<std::int64_t>(data.required_size(kUsedCount), 1);
}

void refuse_granite_variants(const GgufMetadata& data) {
  constexpr const char* kShared = "expert_shared_feed_forward_length";
  const std::int64_t shared = data.size(kShared).value_or(0);
  throw_if<FormatError>(shared != 0,
                        "{}: '{}' must be 0, got {}; shared experts are not supported in "
                        "Granite (granitemoeshared), {}",
                        data.keys().where(), data.key(kShared), shared, kRecorder);
  const std::string rotates = data.key("rope.scaling.finetuned");  // so does llama.cpp read it
  throw_if<FormatError>(!data.keys().boolean(rotates, true),
                        "{}: '{}' must be true, got false; Granite without a rotary embedding is "
                        "not supported, {}",
                        data.keys().where(), rotates, kRecorder);
}

}  // namespace lime
