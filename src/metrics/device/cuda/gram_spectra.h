// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "metrics/device/module_abi.h"

namespace lime {

/// Error of CUDA or one of its libraries.
class CudaError : public std::runtime_error {
 public:
  CudaError(const std::string& what, bool out_of_memory)
      : std::runtime_error(what), out_of_memory_(out_of_memory) {}
  bool out_of_memory() const { return out_of_memory_; }

 private:
  bool out_of_memory_;
};

/// @throws CudaError  if the result is not success; `what` names the call.
void check(cudaError_t result, const char* what);
void check(cublasStatus_t result, const char* what);
void check(cusolverStatus_t result, const char* what);

/// Memory of the GPU (or pinned memory of the host), freed by the destructor.
template <typename T, bool kPinned = false>
class CudaBuffer {
 public:
  CudaBuffer() = default;
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  ~CudaBuffer() { free(); }

  /// @throws CudaError
  void allocate(std::int64_t count) {
    free();
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    void* data = nullptr;
    check(kPinned ? cudaHostAlloc(&data, bytes, cudaHostAllocDefault) : cudaMalloc(&data, bytes),
          kPinned ? "cudaHostAlloc" : "cudaMalloc");
    data_ = static_cast<T*>(data);
  }
  T* get() const { return data_; }

 private:
  void free() {
    kPinned ? cudaFreeHost(data_) : cudaFree(data_);
    data_ = nullptr;
  }

  T* data_ = nullptr;
};

/// Computes spectra of Gram matrices on one GPU: the workspace of the module.
class GramSpectra {
 public:
  /// Returns the bytes of GPU memory for `plan`, without the workspace of cuSOLVER.
  static std::int64_t bytes_for(const device_abi::Plan& plan);

  /// @throws CudaError
  explicit GramSpectra(const device_abi::Plan& plan);
  ~GramSpectra();
  GramSpectra(const GramSpectra&) = delete;
  GramSpectra& operator=(const GramSpectra&) = delete;

  float* rows_of(std::int64_t slot) const;
  void upload(std::int64_t slot, const device_abi::Rows& rows);
  void compute(std::int64_t first_slot, std::int64_t count, device_abi::Spectrum* spectra);
  /// Returns the size of cuSOLVER's workspace.
  std::int64_t solver_bytes() const { return solver_bytes_; }

 private:
  /// Selects the constructor of an empty object, so that the destructor runs if the rest of the
  /// construction fails.
  struct Empty {};
  GramSpectra(const device_abi::Plan& plan, Empty);

  /// A sequence being uploaded or already on the GPU.
  struct Slot {
    std::int64_t num_rows = 0;
    std::int64_t num_cols = 0;
    bool has_shift = false;
    bool has_column_scale = false;
    bool has_row_scale = false;
    cudaEvent_t uploaded = nullptr;
    std::int64_t size() const { return num_rows < num_cols ? num_rows : num_cols; }
  };

  std::int64_t map_size() const { return 2 * plan_.max_cols + plan_.max_rows; }
  void make_room_for_solver(std::int64_t size, std::int64_t count);
  void form_gram(std::int64_t slot_index, double* gram);
  void measure_gram(const double* gram, std::int64_t size, double* sums);
  void solve(double* grams, std::int64_t size, std::int64_t count, double* eigenvalues, int* info);
  void collect(std::int64_t first_slot, std::int64_t count, device_abi::Spectrum* spectra) const;

  const device_abi::Plan plan_;
  cudaStream_t copy_stream_ = nullptr;
  cudaStream_t compute_stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  cusolverDnHandle_t solver_ = nullptr;
  cusolverDnParams_t solver_params_ = nullptr;

  std::vector<Slot> slots_;                ///< [2 batch]
  CudaBuffer<float, true> host_rows_;      ///< [2 batch, max_elements]
  CudaBuffer<double, true> host_maps_;     ///< [2 batch, map_size]: shift, column_scale, row_scale
  CudaBuffer<double, true> host_results_;  ///< eigenvalues [batch, max_size], then sums [batch, 3]
  CudaBuffer<int, true> host_info_;        ///< [batch]
  CudaBuffer<float> rows_;                 ///< as host_rows_
  CudaBuffer<double> maps_;                ///< as host_maps_
  CudaBuffer<double> mapped_;              ///< one sequence in double, [max_elements]
  CudaBuffer<double> grams_;               ///< [batch, max_size, max_size]
  CudaBuffer<double> results_;             ///< as host_results_
  CudaBuffer<int> info_;                   ///< as host_info_
  CudaBuffer<char> solver_memory_;
  std::vector<char> solver_host_memory_;
  std::int64_t solver_bytes_ = 0;
};

}  // namespace lime
