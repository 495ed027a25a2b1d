// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace lime::linalg {

/// Memory for doubles that grows but never shrinks, so that one workspace serves many matrices
/// without new page faults. Aligned to cache lines; large buffers ask for huge pages.
class AlignedBuffer {
 public:
  /// Makes room for `size` doubles; what was there is lost if it has to grow.
  double* resize(std::size_t size);
  /// The same, set to zero.
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
