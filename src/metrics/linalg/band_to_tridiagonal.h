// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "metrics/linalg/band_reduction.h"
#include "metrics/linalg/symmetric_panels.h"

namespace lime::linalg {

/// Reduces a symmetric band matrix to tridiagonal form with the same eigenvalues.
///
/// Sweep j annihilates column j below the subdiagonal by one reflector and chases the resulting
/// bulge down the band, kBandwidth rows per step. Several sweeps closely follow each other, so that
/// a part of the band is in cache for all of them. Time 6 n^2 kBandwidth operations. One object per
/// thread.
/// Sources: Schwarz (1968), "Tridiagonalization of a symmetric band matrix", Numer. Math. 12;
/// Murata & Horikoshi (1975), Bischof, Lang & Sun (2000) for reflectors instead of rotations.
class BandToTridiagonal {
 public:
  /// @param matrix       its elements within kBandwidth of the diagonal are read.
  /// @param diagonal     [size], written.
  /// @param subdiagonal  [size], written; the last one is 0.
  void reduce(const SymmetricPanels& matrix, std::span<double> diagonal,
              std::span<double> subdiagonal);

 private:
  /// Reflector of a sweep and the first row of the block that it is applied to next.
  struct Sweep {
    alignas(64) double v[kBandwidth];
    double tau;
    std::int64_t row;
  };
  /// Doubles per column of the band: kBandwidth below the diagonal and kBandwidth for bulges.
  static constexpr std::int64_t kStride = 2 * kBandwidth;

  double* column(std::int64_t row, std::int64_t col) { return band_ + col * kStride + row - col; }
  void copy_band(const SymmetricPanels& matrix);
  void start_sweep(Sweep& sweep, std::int64_t col);
  void update_diagonal_block(const Sweep& sweep);
  void chase_bulge(Sweep& sweep);
  void run_sweeps(std::int64_t first, std::int64_t count, std::int64_t size);

  AlignedBuffer<double> buffer_;
  double* band_ = nullptr;
};

}  // namespace lime::linalg
