// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What the programs and a module that computes on GPUs (liblime_cuda.so) say to each other.
///
/// A module is loaded while the program runs, so it may come from another build: plain C types
/// only, and a version that both compare. It exports one function, lime_device_module(). Nothing
/// here throws. Functions that return a Status leave a line behind for last_error() where it is not
/// kOk.
///
/// A workspace computes on one batch of sequences while the next is filled in: it has 2 * batch
/// slots of pinned memory, for one sequence each. Fill rows_of(slot), upload() the slot, and when
/// all of a batch are uploaded, compute() them. A slot must be left alone from upload() to the end
/// of its compute().
namespace lime::device_abi {

/// Counts up with every change of what follows.
inline constexpr std::int32_t kVersion = 1;

enum Status : std::int32_t { kOk = 0, kOutOfMemory = 1, kFailed = 2 };

struct DeviceInfo {
  char name[256];  ///< "NVIDIA H200", ends with 0
  std::int64_t free_bytes;
  std::int64_t total_bytes;
};

/// What a workspace must have room for.
struct Plan {
  std::int32_t device;             ///< number of the GPU
  std::int32_t clamps;             ///< whether negative elements of Gram matrices become 0
  std::int32_t wants_eigenvalues;  ///< or trace and norm only
  std::int32_t reserved;
  std::int64_t batch;         ///< sequences that are computed in one call, >= 1
  std::int64_t max_rows;      ///< tokens of the longest sequence
  std::int64_t max_cols;      ///< dimensions of the widest one
  std::int64_t max_elements;  ///< the largest rows * columns of one sequence
  std::int64_t max_size;      ///< the largest min(rows, columns)
};

/// An affine map of the rows in a slot, z[r, c] = (x[r, c] - shift[c]) * column_scale[c] *
/// row_scale[r]. A null pointer stands for shift 0 or scale 1; what it points to is copied.
struct Rows {
  std::int64_t num_rows;
  std::int64_t num_cols;
  const double* shift;         ///< [num_cols]
  const double* column_scale;  ///< [num_cols]
  const double* row_scale;     ///< [num_rows]
};

/// Of the smaller of Z Z^T and Z^T Z, in double.
struct Spectrum {
  double trace;
  double squared_norm;  ///< squared Frobenius norm, after negative elements became 0
  const double*
      eigenvalues;  ///< [min(num_rows, num_cols)], ascending; valid until the next compute()
  std::int32_t unconverged;  ///< 0 where all eigenvalues were found
  std::int32_t reserved;
};

struct Workspace;  ///< the module's own

struct Module {
  std::int32_t version;  ///< kVersion of the module
  std::int32_t reserved;
  /// Of the last call on this thread that failed, in one line; valid until the next call.
  const char* (*last_error)();
  Status (*count_devices)(std::int32_t* count);
  Status (*describe_device)(std::int32_t device, DeviceInfo* info);
  /// @param needed_bytes  of the GPU's memory, also where that has not as much.
  Status (*make_workspace)(const Plan* plan, Workspace** workspace, std::int64_t* needed_bytes);
  void (*destroy_workspace)(Workspace* workspace);
  /// Room for max_elements floats, a sequence's rows one after another. @param slot  < 2 * batch
  float* (*rows_of)(Workspace* workspace, std::int64_t slot);
  /// Starts to copy a slot to the GPU. Several threads may call it at once, also beside compute().
  Status (*upload)(Workspace* workspace, std::int64_t slot, const Rows* rows);
  /// Computes and waits. Sequences of equal size should follow each other: their eigenvalues are
  /// computed together. @param spectra  [count] @param count  <= batch
  Status (*compute)(Workspace* workspace, std::int64_t first_slot, std::int64_t count,
                    Spectrum* spectra);
};

/// The one function that a module exports.
using ModuleFn = const Module* (*)();
inline constexpr const char* kModuleSymbol = "lime_device_module";

}  // namespace lime::device_abi
