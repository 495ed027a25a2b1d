// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "metrics/linalg/symmetric_panels.h"

namespace lime::linalg {

/// Half-bandwidth of the intermediate band matrices: large enough for the first stage to run at the
/// speed of matrix products, small enough to limit the cost of the second, which grows with it.
inline constexpr std::int64_t kBandwidth = 48;
static_assert(kBandwidth % kPanelRows<double> == 0);

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
  void reduce(SymmetricPanels& matrix);

 private:
  void factor_panel(SymmetricPanels& matrix, std::int64_t first_col);
  void form_triangular_factor();
  void multiply_trailing(const SymmetricPanels& matrix, std::int64_t first_panel);
  void form_update();
  void update_trailing(SymmetricPanels& matrix, std::int64_t first_panel) const;

  Panels<double> reflectors_;     ///< [rows, 2 kBandwidth]: V, then W
  Panels<double> product_;        ///< [rows, kBandwidth]: A V
  AlignedBuffer<double> v_rows_;  ///< V row by row
  AlignedBuffer<double> product_rows_;
  std::int64_t rows_ = 0;
  alignas(64) double tau_[kBandwidth] = {};
  alignas(64) double gram_[kBandwidth * kBandwidth] = {};        ///< V^T V, row by row
  alignas(64) double triangular_[kBandwidth * kBandwidth] = {};  ///< T, row by row
  alignas(64) double correction_[kBandwidth * kBandwidth] = {};  ///< -T^T (V^T A V) T / 2
};

}  // namespace lime::linalg
