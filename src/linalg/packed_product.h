// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of packed matrices, C (+)= A B^T: the one driver below the metrics and the decoders.

#include <algorithm>
#include <cstdint>

#include "linalg/panels.h"

namespace lime::linalg {

/// Where the product of one panel of A and one of B goes: rows are those of A's panel and
/// contiguous, columns those of B's.
template <typename T> struct ProductBlock {
  T* data = nullptr;
  std::int64_t stride = 0;  ///< elements between adjacent columns
  std::int64_t rows = kPanelRows<T>;
  std::int64_t columns = kPanelRows<T>;
};

enum class Accumulate { kNo, kYes };

/// Which elements of a block the caller needs: on the diagonal of a symmetric product, those above
/// it are computed only as far as a register covers them.
enum class Triangle { kBoth, kLower };

/// Computes a block of C = A B^T, or adds to it: block[r, j] (+)= sum_p a[p, r] b[p, j].
///
/// Each element is one sum in the order of p, which is then added to C: it depends neither on its
/// place in the block nor on the size of the block. Reads whole panels, whose empty rows must be
/// finite, and writes `rows` x `columns` elements.
/// @param a, b  [depth, kPanelRows]
template <typename T>
void multiply_panels(const T* a, const T* b, std::int64_t depth, const ProductBlock<T>& block,
                     Accumulate accumulate, Triangle triangle = Triangle::kBoth);

/// Panels [begin, end) of a slab.
struct PanelRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Panels of B that are used together: with AVX-512 and 128 columns 576 KiB, which stay in the L2
/// cache while panels of A, which stay in the L1 cache, pass.
inline constexpr std::int64_t kPanelsTogether = 24;

/// Computes C (+)= A B^T for some panels of two slabs of equal depth, on the calling thread.
///
/// Callers divide C into ranges for several threads, and the depth into slabs, one call for each.
/// Both divisions change the speed; only the slabs change the rounding.
/// @param block_at  returns the ProductBlock for a panel of A and one of B.
/// @param triangle  kLower: only blocks whose panel of A is not before that of B.
template <typename T, typename BlockAt>
void multiply_slabs(const Slab<T>& a, const PanelRange& of_a, const Slab<T>& b,
                    const PanelRange& of_b, Accumulate accumulate, Triangle triangle,
                    const BlockAt& block_at) {
  const bool is_lower = triangle == Triangle::kLower;
  for (std::int64_t begin = of_b.begin; begin < of_b.end; begin += kPanelsTogether) {
    const std::int64_t end = std::min(begin + kPanelsTogether, of_b.end);
    for (std::int64_t i = is_lower ? std::max(of_a.begin, begin) : of_a.begin; i < of_a.end; ++i) {
      const std::int64_t last = is_lower ? std::min(end, i + 1) : end;
      for (std::int64_t j = begin; j < last; ++j) {
        multiply_panels(a.panel(i), b.panel(j), a.depth, block_at(i, j), accumulate,
                        is_lower && i == j ? Triangle::kLower : Triangle::kBoth);
      }
    }
  }
}

}  // namespace lime::linalg
