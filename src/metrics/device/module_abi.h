// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Interface between the programs and a module that computes on GPUs (liblime_cuda.so).
///
/// A module is loaded at run time and may come from another build: only plain C types, and a
/// version that both sides compare. It exports one function, lime_device_module(). Nothing here
/// throws. Functions that return a Status set last_error() if it is not kOk.
///
/// A workspace is double-buffered: it computes one batch of sequences while the next is filled. It
/// has 2 * batch slots of pinned memory, for one sequence each. Fill rows_of(slot), upload() the
/// slot, and when all of a batch are uploaded, compute() them. A slot must not be modified from
/// upload() to the end of its compute().
namespace lime::device_abi {

/// Incremented with every change of this interface.
inline constexpr std::int32_t kVersion = 1;

enum Status : std::int32_t { kOk = 0, kOutOfMemory = 1, kFailed = 2 };

struct DeviceInfo {
  char name[256];  ///< "NVIDIA H200", null-terminated
  std::int64_t free_bytes;
  std::int64_t total_bytes;
};

/// Capacity of a workspace.
struct Plan {
  std::int32_t device;             ///< index of the GPU
  std::int32_t clamps;             ///< whether negative elements of Gram matrices are set to 0
  std::int32_t wants_eigenvalues;  ///< else trace and norm only
  std::int32_t reserved;
  std::int64_t batch;         ///< sequences per call, >= 1
  std::int64_t max_rows;      ///< tokens of the longest sequence
  std::int64_t max_cols;      ///< dimensions of the widest one
  std::int64_t max_elements;  ///< the largest rows * columns of one sequence
  std::int64_t max_size;      ///< the largest min(rows, columns)
};

/// An affine map of the rows in a slot, z[r, c] = (x[r, c] - shift[c]) * column_scale[c] *
/// row_scale[r]. A null pointer stands for shift 0 or scale 1; the arrays are copied.
struct Rows {
  std::int64_t num_rows;
  std::int64_t num_cols;
  const double* shift;         ///< [num_cols]
  const double* column_scale;  ///< [num_cols]
  const double* row_scale;     ///< [num_rows]
};

/// Spectrum of the smaller of Z Z^T and Z^T Z, in double.
struct Spectrum {
  double trace;
  double squared_norm;  ///< squared Frobenius norm, after clamping negative elements
  const double*
      eigenvalues;  ///< [min(num_rows, num_cols)], ascending; valid until the next compute()
  std::int32_t unconverged;  ///< 0 if all eigenvalues were found
  std::int32_t reserved;
};

struct Workspace;  ///< defined by the module

struct Module {
  std::int32_t version;  ///< kVersion of the module
  std::int32_t reserved;
  /// Returns the message of the last failed call on this thread, in one line; valid until the next
  /// call.
  const char* (*last_error)();
  Status (*count_devices)(std::int32_t* count);
  Status (*describe_device)(std::int32_t device, DeviceInfo* info);
  /// @param needed_bytes  of GPU memory, also set if it is not available.
  Status (*make_workspace)(const Plan* plan, Workspace** workspace, std::int64_t* needed_bytes);
  void (*destroy_workspace)(Workspace* workspace);
  /// Returns memory for max_elements floats, the rows of a sequence, contiguous. @param slot  < 2 *
  /// batch
  float* (*rows_of)(Workspace* workspace, std::int64_t slot);
  /// Starts the copy of a slot to the GPU. May be called by several threads and during compute().
  Status (*upload)(Workspace* workspace, std::int64_t slot, const Rows* rows);
  /// Computes and waits. Sequences of equal size should be adjacent: their eigenvalues are computed
  /// together. @param spectra  [count] @param count  <= batch
  Status (*compute)(Workspace* workspace, std::int64_t first_slot, std::int64_t count,
                    Spectrum* spectra);
};

/// The only function that a module exports.
using ModuleFn = const Module* (*)();
inline constexpr const char* kModuleSymbol = "lime_device_module";

}  // namespace lime::device_abi
