// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lime::testing {

/// True under the address and the thread sanitizer, whose programs take several times the memory
/// and cannot have another library loaded before them (LD_PRELOAD).
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

/// Why no test there reads a tokenizer.model in a process that has LibTorch.
inline constexpr const char* kProtobufClash =
    "sanitizers do not allow RTLD_DEEPBIND, without which SentencePiece would call LibTorch's "
    "protobuf, of another version";

}  // namespace lime::testing
