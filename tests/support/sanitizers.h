// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lime::testing {

/// True under the address and the thread sanitizer, whose programs need several times the memory
/// and do not support LD_PRELOAD.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

/// Reason why no test reads a tokenizer.model in a process with LibTorch under these sanitizers.
inline constexpr const char* kProtobufClash =
    "sanitizers do not allow RTLD_DEEPBIND, without which SentencePiece would call LibTorch's "
    "protobuf, of another version";

}  // namespace lime::testing
