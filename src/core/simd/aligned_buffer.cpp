// SPDX-License-Identifier: Apache-2.0
#include "core/simd/aligned_buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace lime {

void* allocate_aligned(std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // Only a hint: without huge pages the same code is slightly slower.
  if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
#ifndef NDEBUG
  std::memset(memory, 0xff, rounded);  // NaN, which makes reads of uninitialised memory visible
#endif
  return memory;
}

}  // namespace lime
