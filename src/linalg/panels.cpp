// SPDX-License-Identifier: Apache-2.0
#include "linalg/panels.h"

#include <cstring>
#include <utility>

namespace lime::linalg {
namespace {

using simd::kLanes;

/// A register with the compiler's shuffles, which std::experimental::simd lacks.
template <typename T> using Register [[gnu::vector_size(sizeof(simd::Vector<T>))]] = T;

/// Exchanges lanes that are kStep apart: of each such pair, `a` keeps the first lane and gets b's
/// first lane in place of the second one, which goes to `b`.
template <std::size_t kStep, typename V, std::size_t... kLane>
[[gnu::always_inline]] inline void exchange(V& a, V& b, std::index_sequence<kLane...>) {
  constexpr std::size_t kCount = sizeof...(kLane);
  const V first =
      __builtin_shufflevector(a, b, (kLane & kStep ? kCount + kLane - kStep : kLane)...);
  b = __builtin_shufflevector(a, b, (kLane & kStep ? kCount + kLane : kLane + kStep)...);
  a = first;
}

/// Transposes a square of kLanes registers in log2(kLanes) rounds of exchanges.
template <typename T, std::size_t kStep = 1>
[[gnu::always_inline]] inline void transpose(Register<T>* rows) {
  constexpr auto kCount = static_cast<std::size_t>(kLanes<T>);
  if constexpr (kStep < kCount) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kCount; ++i) {
      if ((i & kStep) != 0) continue;
      exchange<kStep>(rows[i], rows[i + kStep], std::make_index_sequence<kCount>());
    }
    transpose<T, 2 * kStep>(rows);
  }
}

/// Packs kLanes rows and columns.
template <typename T> void pack_square(T* to, const T* from, std::int64_t row_step) {
  Register<T> rows[kLanes<T>];
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < kLanes<T>; ++i) {
    std::memcpy(&rows[i], from + i * row_step, sizeof(rows[i]));
  }
  transpose<T>(rows);
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < kLanes<T>; ++i) {
    std::memcpy(to + i * kPanelRows<T>, &rows[i], sizeof(rows[i]));
  }
}

/// Packs contiguous rows, kLanes rows at a time: memory is read in so many streams, few enough for
/// the processor to prefetch them.
template <typename T>
void pack_rows(T* to, std::int64_t rows, std::int64_t depth, const T* from, std::int64_t row_step) {
  if (rows < kPanelRows<T>) std::fill_n(to, depth * kPanelRows<T>, T{0});
  const std::int64_t squares_end = depth / kLanes<T> * kLanes<T>;
  for (std::int64_t r = 0; r < rows; r += kLanes<T>) {
    const bool is_whole = r + kLanes<T> <= rows;
    const std::int64_t packed = is_whole ? squares_end : 0;
    for (std::int64_t p = 0; p < packed; p += kLanes<T>) {
      pack_square(to + p * kPanelRows<T> + r, from + r * row_step + p, row_step);
    }
    for (std::int64_t i = r; i < std::min(r + kLanes<T>, rows); ++i) {
      for (std::int64_t p = packed; p < depth; ++p) {
        to[p * kPanelRows<T> + i] = from[i * row_step + p];
      }
    }
  }
}

}  // namespace

template <typename T>
void pack_panel(T* to, std::int64_t rows, std::int64_t depth, const T* from, std::int64_t row_step,
                std::int64_t column_step) {
  if (column_step == 1) {
    pack_rows(to, rows, depth, from, row_step);
    return;
  }
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
