// SPDX-License-Identifier: Apache-2.0
#include "metrics/device/cuda/kernels.h"

namespace lime {
namespace {

constexpr int kThreads = 256;
/// Maximum number of blocks, several per multiprocessor of the largest GPUs; beyond, each block
/// processes several elements per thread.
constexpr std::int64_t kMostBlocks = 4096;

unsigned blocks_for(std::int64_t count) {
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

__device__ std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ std::int64_t element_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

__global__ void map_rows_kernel(MappedRows rows, double* z) {
  const std::int64_t count = rows.num_rows * rows.num_cols;
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    const std::int64_t row = i / rows.num_cols;
    const std::int64_t col = i - row * rows.num_cols;
    double value = rows.x[i];
    if (rows.shift != nullptr) value -= rows.shift[col];
    if (rows.column_scale != nullptr) value *= rows.column_scale[col];
    if (rows.row_scale != nullptr) value *= rows.row_scale[row];
    z[i] = value;
  }
}

__global__ void clamp_kernel(double* elements, std::int64_t count) {
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    if (elements[i] < 0.0) elements[i] = 0.0;
  }
}

}  // namespace

cudaError_t map_rows(const MappedRows& rows, double* z, cudaStream_t stream) {
  map_rows_kernel<<<blocks_for(rows.num_rows * rows.num_cols), kThreads, 0, stream>>>(rows, z);
  return cudaGetLastError();
}

cudaError_t clamp_elements(double* elements, std::int64_t count, cudaStream_t stream) {
  clamp_kernel<<<blocks_for(count), kThreads, 0, stream>>>(elements, count);
  return cudaGetLastError();
}

}  // namespace lime
