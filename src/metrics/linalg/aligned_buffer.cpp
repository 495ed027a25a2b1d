// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

namespace lime::linalg {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

void AlignedBuffer::Free::operator()(double* pointer) const { std::free(pointer); }

double* AlignedBuffer::resize(std::size_t size) {
  if (size <= capacity_) return data();
  data_.reset();
  capacity_ = 0;
  const std::size_t bytes = size * sizeof(double);
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // Only a hint: without huge pages the same code is slightly slower.
  if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
  data_.reset(static_cast<double*>(memory));
  capacity_ = size;
#ifndef NDEBUG
  // Makes reads of uninitialised memory visible.
  std::fill_n(data(), size, std::numeric_limits<double>::quiet_NaN());
#endif
  return data();
}

double* AlignedBuffer::resize_zeroed(std::size_t size) {
  resize(size);
  std::fill_n(data(), size, 0.0);
  return data();
}

}  // namespace lime::linalg
