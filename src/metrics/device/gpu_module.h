// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Interface between the programs and liblime_gpu.so, the module that computes with LibTorch.
///
/// A module is loaded at run time and may come from another build: only plain C types, and a
/// version that both sides compare. Nothing here throws.
namespace lime::gpu_module {

/// Incremented with every change of this interface.
inline constexpr std::int32_t kVersion = 3;

/// A float matrix in the memory of a device.
struct DeviceRows;

/// Seconds of a batch.
struct GramSeconds {
  double gram = 0.0;         ///< preprocessing, Gram matrices, traces and norms
  double eigenvalues = 0.0;  ///< 0 if they were not computed
};

/// Matrices X of equal shape, and the outputs for the Gram matrices K of
///
///   z[r, c] = (x[r, c] - shift[c]) * column_scale[c] * row_scale[r],
///
/// the smaller of Z Z^T and Z^T Z. Every matrix has its own shift and scales.
struct GramBatch {
  std::int64_t count;                  ///< number of matrices
  std::int64_t num_rows;               ///< of each matrix
  std::int64_t num_cols;               ///< of each matrix
  const DeviceRows* const* rows;       ///< [count], uploaded to the device of the call
  const double* const* shifts;         ///< [count] pointers to [num_cols]; null: 0
  const double* const* column_scales;  ///< [count] pointers to [num_cols]; null: 1
  const double* const* row_scales;     ///< [count] pointers to [num_rows]; null: 1
  std::int32_t clamps;                 ///< whether negative elements of K are set to 0
  double* traces;                      ///< [count]
  double* squared_norms;               ///< squared Frobenius norms, [count]
  double* eigenvalues;   ///< [count, min(num_rows, num_cols)], ascending; null: not computed
  GramSeconds* seconds;  ///< null: not measured
};

/// A function that returns `const char*` returns null, or one line about its failure, which is
/// valid until the next call on this thread. `device` is LibTorch's name of a device ("cuda:0",
/// "cpu").
struct Module {
  std::int32_t version;  ///< kVersion of the module
  /// Returns the number of GPUs that LibTorch can use.
  std::int32_t (*count_gpus)();
  /// Copies a row-major matrix to a device and waits for that copy only. Several threads may copy
  /// different matrices, also while gram_spectra() runs.
  /// @param rows  null, or a matrix of the same device to overwrite.
  const char* (*upload)(const char* device, const float* values, std::int64_t num_rows,
                        std::int64_t num_cols, DeviceRows** rows);
  void (*release)(DeviceRows* rows);
  /// Computes a batch in double and waits.
  const char* (*gram_spectra)(const char* device, const GramBatch* batch);
};

/// The only function that a module exports.
using ModuleFn = const Module* (*)();
inline constexpr const char* kModuleSymbol = "lime_gpu_module";

}  // namespace lime::gpu_module
