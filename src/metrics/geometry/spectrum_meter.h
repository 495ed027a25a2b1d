// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "metrics/geometry/layer_geometry.h"
#include "metrics/geometry/row_moments.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {

/// Measures the spectra of matrices of rows one by one in reused memory; one object per thread.
///
/// If the centred part is below 1e-14 of the squared norm, all rows count as equal.
class SpectrumMeter {
 public:
  SpectrumMeter(Centering centering, const SpectrumOptions& options)
      : centering_(centering), options_(options) {}

  /// Measures moments, for any number of rows. Time dim^3.
  MeasuredSpectrum measure(const RowMoments& moments);
  /// Measures rows, [num_rows, dim], with the smaller Gram matrix.
  MeasuredSpectrum measure(const ConstMatrixRef& rows);

 private:
  MeasuredSpectrum measure_grams(linalg::SymmetricSlivers& raw, linalg::SymmetricSlivers& centred,
                                 std::int64_t rows, std::int64_t dim);

  Centering centering_;
  SpectrumOptions options_;
  linalg::GramBuilder builder_;
  linalg::SymmetricSlivers raw_;
  linalg::SymmetricSlivers centred_;
  linalg::SymmetricEigenvalues solver_;
};

}  // namespace lime
