// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace lime {

/// Allocates memory for AlignedBuffer. @throws std::bad_alloc
void* allocate_aligned(std::size_t bytes);

/// Memory for numbers that grows but never shrinks, so that one workspace is reused for many
/// matrices without new page faults. Aligned to cache lines; large buffers request huge pages.
template <typename T> class AlignedBuffer {
 public:
  /// Resizes to `size` elements; the contents are lost if it has to grow.
  T* resize(std::size_t size) {
    if (size <= capacity_) return data();
    data_.reset();
    capacity_ = 0;
    data_.reset(static_cast<T*>(allocate_aligned(size * sizeof(T))));
    capacity_ = size;
    return data();
  }
  /// Resizes and sets all elements to zero.
  T* resize_zeroed(std::size_t size) {
    std::fill_n(resize(size), size, T{0});
    return data();
  }

  /// Returns the number of elements that fit into the allocated memory.
  std::size_t capacity() const { return capacity_; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t capacity_ = 0;
};

}  // namespace lime
