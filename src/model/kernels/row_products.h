// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace lime {

/// Pointers to the rows of a wide matrix, wherever each is stored; all have the same length.
template <typename T>
using WideRows = std::vector<T*>;

/// Computes out = left right for few rows and many columns: no packing or copying, each row is read
/// once. Instantiated for float and double.
/// @param left  [out.size(), right.size()], row-major
template <typename T>
void wide_rows_product(const WideRows<T>& out, const std::vector<T>& left,
                       const WideRows<const T>& right, std::int64_t columns);

/// Computes the backward pass of such a product for one factor, in one pass over `gradients`:
///
///   out = left gradients,    dots[r][g] = gradients[r] . rows[g]
///
/// The dots are summed over blocks of columns that depend only on the number of columns: results
/// are bit-identical for any number of threads.
/// @param left  [out.size(), gradients.size()], row-major
/// @return the dots, [gradients.size(), rows.size()], row-major
template <typename T>
std::vector<T> wide_rows_backward(const WideRows<T>& out, const std::vector<T>& left,
                                  const WideRows<const T>& gradients, const WideRows<const T>& rows,
                                  std::int64_t columns);

}  // namespace lime
