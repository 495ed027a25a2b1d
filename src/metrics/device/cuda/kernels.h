// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lime {

/// Rows in GPU memory and their affine map, as device_abi::Rows.
struct MappedRows {
  const float* x;  ///< [num_rows, num_cols], row-major
  std::int64_t num_rows;
  std::int64_t num_cols;
  const double* shift;         ///< [num_cols] or null
  const double* column_scale;  ///< [num_cols] or null
  const double* row_scale;     ///< [num_rows] or null
};

/// Computes z[r, c] = (x[r, c] - shift[c]) * column_scale[c] * row_scale[r], in double.
cudaError_t map_rows(const MappedRows& rows, double* z, cudaStream_t stream);

/// Sets negative elements to 0.
cudaError_t clamp_elements(double* elements, std::int64_t count, cudaStream_t stream);

}  // namespace lime
