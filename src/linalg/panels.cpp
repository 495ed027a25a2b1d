// SPDX-License-Identifier: Apache-2.0
#include "linalg/panels.h"

namespace lime::linalg {

template <typename T>
void pack_panel(T* to, std::int64_t rows, std::int64_t depth, const T* from, std::int64_t row_step,
                std::int64_t column_step) {
  if (row_step != 1) {
    pack_panel(to, rows, depth, [=](std::int64_t r, std::int64_t p) {
      return from[r * row_step + p * column_step];
    });
    return;
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    T* const column = to + p * kPanelRows<T>;
    std::copy_n(from + p * column_step, rows, column);
    std::fill(column + rows, column + kPanelRows<T>, T{0});
  }
}

template void pack_panel(float*, std::int64_t, std::int64_t, const float*, std::int64_t,
                         std::int64_t);
template void pack_panel(double*, std::int64_t, std::int64_t, const double*, std::int64_t,
                         std::int64_t);

}  // namespace lime::linalg
