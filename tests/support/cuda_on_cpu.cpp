// SPDX-License-Identifier: Apache-2.0

// The CUDA functions that liblime_cuda.so calls, implemented synchronously on the CPU. Linked with
// the module's sources they check, without a GPU, that it passes matrices as these libraries expect
// them: column-major, with their leading dimensions and correct offsets.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "metrics/device/cuda/kernels.h"

namespace {

using Matrix = Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

bool scalars_on_device = false;

/// Filled with NaN, to detect reads of uninitialised memory.
cudaError_t allocate(void** pointer, std::size_t bytes) {
  *pointer = std::malloc(bytes);
  std::memset(*pointer, 0xff, bytes);
  return cudaSuccess;
}

double value(const double* vector, std::int64_t index, std::int64_t stride) {
  return vector[index * stride];
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) { return allocate(pointer, bytes); }
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return allocate(pointer, bytes);
}
cudaError_t cudaFree(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t) {
  std::memset(to, byte, bytes);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "CUDA on the CPU");
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = *total_bytes = std::size_t{1} << 30;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

cublasStatus_t cublasCreate(cublasHandle_t*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasDestroy(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t mode) {
  scalars_on_device = mode == CUBLAS_POINTER_MODE_DEVICE;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t) { return "a status"; }

cublasStatus_t cublasDsyrk_64(cublasHandle_t, cublasFillMode_t, cublasOperation_t operation,
                              std::int64_t n, std::int64_t k, const double* alpha, const double* a,
                              std::int64_t lda, const double* beta, double* c, std::int64_t ldc) {
  if (scalars_on_device || *alpha != 1.0 || *beta != 0.0) return CUBLAS_STATUS_INVALID_VALUE;
  const bool transposed = operation == CUBLAS_OP_T;
  if (lda < (transposed ? k : n) || ldc < n) return CUBLAS_STATUS_INVALID_VALUE;
  const ConstMatrix rows(a, transposed ? k : n, transposed ? n : k, Eigen::OuterStride<>(lda));
  const Eigen::MatrixXd product = transposed ? Eigen::MatrixXd(rows.transpose() * rows)
                                             : Eigen::MatrixXd(rows * rows.transpose());
  Matrix(c, n, n, Eigen::OuterStride<>(ldc)).triangularView<Eigen::Lower>() = product;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDasum_64(cublasHandle_t, std::int64_t n, const double* x, std::int64_t stride,
                              double* result) {
  if (!scalars_on_device) return CUBLAS_STATUS_INVALID_VALUE;
  *result = 0.0;
  for (std::int64_t i = 0; i < n; ++i) *result += std::abs(value(x, i, stride));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDdot_64(cublasHandle_t, std::int64_t n, const double* x, std::int64_t x_stride,
                             const double* y, std::int64_t y_stride, double* result) {
  if (!scalars_on_device) return CUBLAS_STATUS_INVALID_VALUE;
  *result = 0.0;
  for (std::int64_t i = 0; i < n; ++i) *result += value(x, i, x_stride) * value(y, i, y_stride);
  return CUBLAS_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t*) { return CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t) { return CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t, cudaStream_t) {
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t*) { return CUSOLVER_STATUS_SUCCESS; }
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t) { return CUSOLVER_STATUS_SUCCESS; }

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                                   cusolverEigMode_t, cublasFillMode_t,
                                                   std::int64_t n, cudaDataType, const void*,
                                                   std::int64_t, cudaDataType, const void*,
                                                   cudaDataType, std::size_t* on_device,
                                                   std::size_t* on_host, std::int64_t batch) {
  // Less for many small matrices than for one large one with the same number of elements.
  *on_device = static_cast<std::size_t>(n * n * 8 + batch);
  *on_host = static_cast<std::size_t>(n);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
                                        cublasFillMode_t, std::int64_t n, cudaDataType, void* a,
                                        std::int64_t lda, cudaDataType, void* eigenvalues,
                                        cudaDataType, void*, std::size_t on_device, void*,
                                        std::size_t on_host, int* info, std::int64_t batch) {
  if (on_device < static_cast<std::size_t>(n * n * 8 + batch) ||
      on_host < static_cast<std::size_t>(n)) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  for (std::int64_t i = 0; i < batch; ++i) {
    Matrix matrix(static_cast<double*>(a) + i * lda * n, n, n, Eigen::OuterStride<>(lda));
    const Eigen::MatrixXd whole = matrix.selfadjointView<Eigen::Lower>();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(whole, Eigen::EigenvaluesOnly);
    std::copy_n(solver.eigenvalues().data(), n, static_cast<double*>(eigenvalues) + i * n);
    std::fill_n(matrix.data(), lda * n, std::nan(""));
    info[i] = 0;
  }
  return CUSOLVER_STATUS_SUCCESS;
}

namespace lime {

cudaError_t map_rows(const MappedRows& rows, double* z, cudaStream_t) {
  for (std::int64_t r = 0; r < rows.num_rows; ++r) {
    for (std::int64_t c = 0; c < rows.num_cols; ++c) {
      double& to = z[r * rows.num_cols + c];
      to = rows.x[r * rows.num_cols + c];
      if (rows.shift != nullptr) to -= rows.shift[c];
      if (rows.column_scale != nullptr) to *= rows.column_scale[c];
      if (rows.row_scale != nullptr) to *= rows.row_scale[r];
    }
  }
  return cudaSuccess;
}

cudaError_t clamp_elements(double* elements, std::int64_t count, cudaStream_t) {
  for (double* element = elements; element != elements + count; ++element) {
    *element = std::max(*element, 0.0);
  }
  return cudaSuccess;
}

}  // namespace lime
