// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "metrics/linalg/band_reduction.h"
#include "metrics/linalg/band_to_tridiagonal.h"
#include "metrics/linalg/sliver_matrix.h"
#include "metrics/linalg/tridiagonal_eigenvalues.h"

namespace lime::linalg {

/// Where the time went, in seconds.
struct StageSeconds {
  double band = 0.0;         ///< dense to band
  double tridiagonal = 0.0;  ///< band to tridiagonal
  double eigenvalues = 0.0;  ///< of the tridiagonal matrix
};

/// Computes all eigenvalues of dense symmetric matrices, without eigenvectors.
///
/// Two stages, dense to band to tridiagonal, then root-free QL. Against LAPACK's dsyevd, which
/// spends half of its operations in products of a matrix with one vector, nearly all of them here
/// are products of matrices. Every eigenvalue is within a small multiple of n eps ||A|| of the
/// true one. Own kernels instead of BLAS: they do not start threads, give the same bits on every
/// call, and do not depend on which processors an installed BLAS knows.
///
/// Time 4/3 n^3 operations. Memory: that of one band matrix, kept for the next call. One object
/// per thread.
class SymmetricEigenvalues {
 public:
  /// @param matrix  destroyed.
  /// @return [size], ascending; valid until the next call.
  /// @throws NumericalError  if an element is not finite or the last stage does not converge.
  std::span<const double> compute(SymmetricSlivers& matrix);

  /// The first two stages: a tridiagonal matrix with the same eigenvalues, for those who take the
  /// last stage for several matrices at once.
  /// @param matrix  destroyed.
  /// @throws NumericalError  if an element is not finite.
  void reduce(SymmetricSlivers& matrix, Tridiagonal& tridiagonal);
  /// Stages of the last call.
  const StageSeconds& seconds() const { return seconds_; }

 private:
  BandReduction band_reduction_;
  BandToTridiagonal band_to_tridiagonal_;
  TridiagonalEigenvalues tridiagonal_eigenvalues_;
  Tridiagonal tridiagonal_;
  StageSeconds seconds_;
};

}  // namespace lime::linalg
