// SPDX-License-Identifier: Apache-2.0
#include "metrics/device/cuda/gram_spectra.h"

#include <algorithm>
#include <cstring>

#include "metrics/device/cuda/kernels.h"

namespace lime {
namespace {

/// Number of sums over a Gram matrix: of its diagonal, and of the squares of its lower triangle and
/// of its diagonal.
constexpr std::int64_t kSums = 3;
constexpr cudaDataType kDouble = CUDA_R_64F;
constexpr cusolverEigMode_t kValuesOnly = CUSOLVER_EIG_MODE_NOVECTOR;
constexpr cublasFillMode_t kTriangle = CUBLAS_FILL_MODE_LOWER;

void fail(const char* what, const char* why, bool out_of_memory) {
  throw CudaError(std::string(what) + ": " + why, out_of_memory);
}

void copy_async(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
        "cudaMemcpyAsync");
}

}  // namespace

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // reset the error for the next call
  fail(what, cudaGetErrorString(result), result == cudaErrorMemoryAllocation);
}

void check(cublasStatus_t result, const char* what) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  fail(what, cublasGetStatusString(result), result == CUBLAS_STATUS_ALLOC_FAILED);
}

void check(cusolverStatus_t result, const char* what) {
  if (result == CUSOLVER_STATUS_SUCCESS) return;
  const std::string why = "cuSOLVER's status is " + std::to_string(static_cast<int>(result));
  fail(what, why.c_str(), result == CUSOLVER_STATUS_ALLOC_FAILED);
}

std::int64_t GramSpectra::bytes_for(const device_abi::Plan& plan) {
  const std::int64_t slot = plan.max_elements * 4 + (2 * plan.max_cols + plan.max_rows) * 8;
  const std::int64_t result = (plan.max_size * plan.max_size + plan.max_size + kSums) * 8 + 4;
  return plan.batch * (2 * slot + result) + plan.max_elements * 8;
}

GramSpectra::GramSpectra(const device_abi::Plan& plan, Empty) : plan_(plan) {}

GramSpectra::GramSpectra(const device_abi::Plan& plan) : GramSpectra(plan, Empty{}) {
  check(cudaSetDevice(plan.device), "cudaSetDevice");
  const std::int64_t num_slots = 2 * plan.batch;
  const std::int64_t num_results = plan.batch * (plan.max_size + kSums);
  rows_.allocate(num_slots * plan.max_elements);
  maps_.allocate(num_slots * map_size());
  mapped_.allocate(plan.max_elements);
  grams_.allocate(plan.batch * plan.max_size * plan.max_size);
  results_.allocate(num_results);
  info_.allocate(plan.batch);
  host_rows_.allocate(num_slots * plan.max_elements);
  host_maps_.allocate(num_slots * map_size());
  host_results_.allocate(num_results);
  host_info_.allocate(plan.batch);
  check(cudaStreamCreateWithFlags(&copy_stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaStreamCreateWithFlags(&compute_stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  slots_.resize(static_cast<std::size_t>(num_slots));
  for (Slot& slot : slots_) {
    check(cudaEventCreateWithFlags(&slot.uploaded, cudaEventDisableTiming), "cudaEventCreate");
  }
  check(cublasCreate(&blas_), "cublasCreate");
  check(cublasSetStream(blas_, compute_stream_), "cublasSetStream");
  check(cusolverDnCreate(&solver_), "cusolverDnCreate");
  check(cusolverDnSetStream(solver_, compute_stream_), "cusolverDnSetStream");
  check(cusolverDnCreateParams(&solver_params_), "cusolverDnCreateParams");
  if (plan.wants_eigenvalues != 0) make_room_for_solver(plan.max_size, plan.batch);
}

GramSpectra::~GramSpectra() {
  cudaSetDevice(plan_.device);
  for (cudaStream_t stream : {copy_stream_, compute_stream_}) {
    if (stream != nullptr) cudaStreamSynchronize(stream);
  }
  if (solver_params_ != nullptr) cusolverDnDestroyParams(solver_params_);
  if (solver_ != nullptr) cusolverDnDestroy(solver_);
  if (blas_ != nullptr) cublasDestroy(blas_);
  for (const Slot& slot : slots_) {
    if (slot.uploaded != nullptr) cudaEventDestroy(slot.uploaded);
  }
  for (cudaStream_t stream : {copy_stream_, compute_stream_}) {
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
}

float* GramSpectra::rows_of(std::int64_t slot) const {
  return host_rows_.get() + slot * plan_.max_elements;
}

void GramSpectra::upload(std::int64_t index, const device_abi::Rows& rows) {
  check(cudaSetDevice(plan_.device), "cudaSetDevice");
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  slot.num_rows = rows.num_rows;
  slot.num_cols = rows.num_cols;
  slot.has_shift = rows.shift != nullptr;
  slot.has_column_scale = rows.column_scale != nullptr;
  slot.has_row_scale = rows.row_scale != nullptr;
  double* const map = host_maps_.get() + index * map_size();
  const auto put = [](double* to, const double* from, std::int64_t count) {
    if (from != nullptr) std::copy_n(from, count, to);
  };
  put(map, rows.shift, rows.num_cols);
  put(map + plan_.max_cols, rows.column_scale, rows.num_cols);
  put(map + 2 * plan_.max_cols, rows.row_scale, rows.num_rows);
  copy_async(rows_.get() + index * plan_.max_elements, rows_of(index),
             rows.num_rows * rows.num_cols * 4, copy_stream_);
  copy_async(maps_.get() + index * map_size(), map, map_size() * 8, copy_stream_);
  check(cudaEventRecord(slot.uploaded, copy_stream_), "cudaEventRecord");
}

void GramSpectra::compute(std::int64_t first_slot, std::int64_t count,
                          device_abi::Spectrum* spectra) {
  check(cudaSetDevice(plan_.device), "cudaSetDevice");
  double* const sums = results_.get() + plan_.batch * plan_.max_size;
  std::int64_t done = 0;
  double* eigenvalues = results_.get();
  while (done < count) {
    // A run of matrices with equal size.
    const auto size_of = [&](std::int64_t i) {
      return slots_[static_cast<std::size_t>(first_slot + i)].size();
    };
    const std::int64_t size = size_of(done);
    std::int64_t end = done;
    double* const grams = grams_.get();
    for (; end < count && size_of(end) == size; ++end) {
      double* const gram = grams + (end - done) * size * size;
      form_gram(first_slot + end, gram);
      measure_gram(gram, size, sums + end * kSums);
    }
    if (plan_.wants_eigenvalues != 0) {
      solve(grams, size, end - done, eigenvalues, info_.get() + done);
      eigenvalues += (end - done) * size;
    }
    done = end;
  }
  collect(first_slot, count, spectra);
}

/// Computes the lower triangle of K = Z Z^T or Z^T Z; row-major Z is column-major Z^T.
void GramSpectra::form_gram(std::int64_t index, double* gram) {
  const Slot& slot = slots_[static_cast<std::size_t>(index)];
  check(cudaStreamWaitEvent(compute_stream_, slot.uploaded, 0), "cudaStreamWaitEvent");
  const double* const map = maps_.get() + index * map_size();
  const MappedRows rows{.x = rows_.get() + index * plan_.max_elements,
                        .num_rows = slot.num_rows,
                        .num_cols = slot.num_cols,
                        .shift = slot.has_shift ? map : nullptr,
                        .column_scale = slot.has_column_scale ? map + plan_.max_cols : nullptr,
                        .row_scale = slot.has_row_scale ? map + 2 * plan_.max_cols : nullptr};
  check(map_rows(rows, mapped_.get(), compute_stream_), "map_rows");
  const std::int64_t size = slot.size();
  const bool of_tokens = slot.num_rows <= slot.num_cols;
  // The upper triangle must be 0 in sums over all elements.
  check(cudaMemsetAsync(gram, 0, static_cast<std::size_t>(size * size) * 8, compute_stream_),
        "cudaMemsetAsync");
  check(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode");
  const double one = 1.0;
  const double zero = 0.0;
  check(cublasDsyrk_64(blas_, kTriangle, of_tokens ? CUBLAS_OP_T : CUBLAS_OP_N, size,
                       of_tokens ? slot.num_cols : slot.num_rows, &one, mapped_.get(),
                       slot.num_cols, &zero, gram, size),
        "cublasDsyrk");
  if (plan_.clamps != 0) {
    check(clamp_elements(gram, size * size, compute_stream_), "clamp_elements");
  }
}

void GramSpectra::measure_gram(const double* gram, std::int64_t size, double* sums) {
  check(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
  // The diagonal has no negative elements.
  check(cublasDasum_64(blas_, size, gram, size + 1, sums), "cublasDasum");
  check(cublasDdot_64(blas_, size * size, gram, 1, gram, 1, sums + 1), "cublasDdot");
  check(cublasDdot_64(blas_, size, gram, size + 1, gram, size + 1, sums + 2), "cublasDdot");
}

void GramSpectra::make_room_for_solver(std::int64_t size, std::int64_t count) {
  std::size_t on_device = 0;
  std::size_t on_host = 0;
  check(cusolverDnXsyevBatched_bufferSize(solver_, solver_params_, kValuesOnly, kTriangle, size,
                                          kDouble, grams_.get(), size, kDouble, results_.get(),
                                          kDouble, &on_device, &on_host, count),
        "cusolverDnXsyevBatched_bufferSize");
  const bool has_room =
      on_device <= static_cast<std::size_t>(solver_bytes_) && on_host <= solver_host_memory_.size();
  if (has_room) return;
  check(cudaStreamSynchronize(compute_stream_), "cudaStreamSynchronize");
  solver_host_memory_.resize(std::max(on_host, solver_host_memory_.size()));
  solver_bytes_ = std::max(static_cast<std::int64_t>(on_device), solver_bytes_);
  solver_memory_.allocate(solver_bytes_);
}

/// @param grams  overwritten. @param eigenvalues  [count, size], contiguous; @param info  [count]
void GramSpectra::solve(double* grams, std::int64_t size, std::int64_t count, double* eigenvalues,
                        int* info) {
  make_room_for_solver(size, count);
  check(cusolverDnXsyevBatched(solver_, solver_params_, kValuesOnly, kTriangle, size, kDouble,
                               grams, size, kDouble, eigenvalues, kDouble, solver_memory_.get(),
                               static_cast<std::size_t>(solver_bytes_), solver_host_memory_.data(),
                               solver_host_memory_.size(), info, count),
        "cusolverDnXsyevBatched");
}

void GramSpectra::collect(std::int64_t first_slot, std::int64_t count,
                          device_abi::Spectrum* spectra) const {
  const bool solved = plan_.wants_eigenvalues != 0;
  copy_async(host_results_.get(), results_.get(), plan_.batch * (plan_.max_size + kSums) * 8,
             compute_stream_);
  if (solved) copy_async(host_info_.get(), info_.get(), count * 4, compute_stream_);
  check(cudaStreamSynchronize(compute_stream_), "cudaStreamSynchronize");
  const double* eigenvalues = host_results_.get();
  const double* sums = host_results_.get() + plan_.batch * plan_.max_size;
  for (std::int64_t i = 0; i < count; ++i, sums += kSums) {
    spectra[i] = {.trace = sums[0],
                  .squared_norm = 2.0 * sums[1] - sums[2],
                  .eigenvalues = solved ? eigenvalues : nullptr,
                  .unconverged = solved ? host_info_.get()[i] : 0,
                  .reserved = 0};
    eigenvalues += slots_[static_cast<std::size_t>(first_slot + i)].size();
  }
}

}  // namespace lime
