// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace lime::linalg {

/// Memory for doubles that grows but never shrinks, so that one workspace is reused for many
/// matrices without new page faults. Aligned to cache lines; large buffers request huge pages.
class AlignedBuffer {
 public:
  /// Resizes to `size` doubles; the contents are lost if it has to grow.
  double* resize(std::size_t size);
  /// Resizes and sets all elements to zero.
  double* resize_zeroed(std::size_t size);

  double* data() { return data_.get(); }
  const double* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(double* pointer) const;
  };
  std::unique_ptr<double[], Free> data_;
  std::size_t capacity_ = 0;
};

}  // namespace lime::linalg
