// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "metrics/linalg/sliver_matrix.h"

namespace lime::linalg {

/// A reflector H = I - tau v v^T, v[0] = 1, with H x = beta e_0.
struct Reflector {
  double tau = 0.0;    ///< 0: H = I
  double beta = 0.0;   ///< new value of x[0]
  double scale = 0.0;  ///< v[i] = scale * x[i] for i > 0
};

/// Computes the reflector of a vector x.
/// @param first         x[0].
/// @param tail_squared  sum of x[i]^2 for i > 0.
/// Source: Golub & Van Loan, Matrix Computations, 4th ed., section 5.1.3, in LAPACK's sign.
Reflector make_reflector(double first, double tail_squared);

/// Half-bandwidth of the intermediate band matrices: large enough for the first stage to run at the
/// speed of matrix products, small enough to limit the cost of the second, which grows with it.
inline constexpr std::int64_t kBandwidth = 48;
static_assert(kBandwidth % kSliverRows == 0);

/// Reduces a dense symmetric matrix to a band with the same eigenvalues.
///
///   Q^T A Q = B,   B[i, j] = 0 where |i - j| > kBandwidth
///
/// Per block of kBandwidth columns: a QR factorisation I - V T V^T of the part below the band, then
/// the two-sided update  A <- A - V W^T - W V^T,  W = A V T - V T^T (V^T A V) T / 2. Time 4/3 n^3
/// operations, nearly all in matrix products. One object per thread.
/// Sources: Bischof, Lang & Sun (2000), "A framework for symmetric band reduction", ACM TOMS
/// 26(4); block reflectors as in Golub & Van Loan, Matrix Computations, 4th ed., section 5.2.3.
class BandReduction {
 public:
  /// Overwrites `matrix`: its elements within the band are those of B, the others are undefined.
  void reduce(SymmetricSlivers& matrix);

 private:
  void factor_panel(SymmetricSlivers& matrix, std::int64_t first_col);
  void form_triangular_factor();
  void multiply_trailing(const SymmetricSlivers& matrix, std::int64_t first_sliver);
  void form_update();
  void update_trailing(SymmetricSlivers& matrix, std::int64_t first_sliver) const;

  SliverMatrix reflectors_;       ///< [rows, 2 kBandwidth]: V, then W
  SliverMatrix product_;          ///< [rows, kBandwidth]: A V
  AlignedBuffer<double> v_rows_;  ///< V row by row
  AlignedBuffer<double> product_rows_;
  std::int64_t rows_ = 0;
  alignas(64) double tau_[kBandwidth] = {};
  alignas(64) double gram_[kBandwidth * kBandwidth] = {};        ///< V^T V, row by row
  alignas(64) double triangular_[kBandwidth * kBandwidth] = {};  ///< T, row by row
  alignas(64) double correction_[kBandwidth * kBandwidth] = {};  ///< -T^T (V^T A V) T / 2
};

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
  void reduce(const SymmetricSlivers& matrix, std::span<double> diagonal,
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
  void copy_band(const SymmetricSlivers& matrix);
  void start_sweep(Sweep& sweep, std::int64_t col);
  void update_diagonal_block(const Sweep& sweep);
  void chase_bulge(Sweep& sweep);
  void run_sweeps(std::int64_t first, std::int64_t count, std::int64_t size);

  AlignedBuffer<double> buffer_;
  double* band_ = nullptr;
};

}  // namespace lime::linalg
