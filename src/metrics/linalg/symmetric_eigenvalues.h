// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/simd/aligned_buffer.h"
#include "metrics/linalg/band_reduction.h"
#include "metrics/linalg/band_to_tridiagonal.h"
#include "metrics/linalg/symmetric_panels.h"

namespace lime::linalg {

/// A symmetric tridiagonal matrix, times 2^exponent.
struct Tridiagonal {
  std::vector<double> diagonal;     ///< [size]
  std::vector<double> subdiagonal;  ///< [size]; the last one is ignored
  int exponent = 0;
};

/// Computes all eigenvalues of symmetric tridiagonal matrices, kLanes matrices at a time.
///
/// The iteration is the root-free QL method, as in LAPACK's dsterf. Its speed is limited by the
/// latency of dependent divisions, so every lane of a register processes a different matrix. A lane
/// performs the same operations whatever the others contain: results are bit-identical for any
/// grouping of matrices. Errors are within a small multiple of n eps ||A||.
///
/// Time about 1.7 n^2 / 2 steps of two divisions each. One object per thread.
/// Sources: Reinsch (1971), "A stable, rational QR algorithm", Numer. Math. 16, in the form of Pal,
/// Walker and Kahan; Parlett, The Symmetric Eigenvalue Problem (1998), section 8.15.
class TridiagonalEigenvalues {
 public:
  /// Replaces each diagonal by the eigenvalues, ascending. Subdiagonals are unchanged.
  ///
  /// @param matrices  finite, of any sizes; most efficient for similar sizes.
  /// @return for each matrix the number of eigenvalues not found within 30 size sweeps, 0 except
  ///         for bugs; the diagonal of such a matrix contains no eigenvalues.
  std::vector<std::int64_t> compute(std::span<Tridiagonal* const> matrices);

 private:
  /// State of the iteration on the matrix of a lane. Rows before `first` are eigenvalues.
  struct Lane {
    std::int64_t size = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;       ///< first..last is an unreduced block; below `first`: unknown
    std::int64_t next_last = 0;  ///< end of the block that starts at last + 1; as above
    std::int64_t sweeps_left = 0;
    int exponent = 0;
    double shift = 0.0;
  };

  void load(int lane, const Tridiagonal& matrix);
  void unload(int lane, Tridiagonal& matrix);
  bool prepare_sweep(int lane);
  std::int64_t end_of_block(int lane, std::int64_t first) const;
  void solve_pair(int lane, std::int64_t row);
  double wilkinson_shift(int lane) const;
  void sweep(std::uint32_t active);

  double& diagonal(int lane, std::int64_t row) { return diagonals_.data()[row * kLanes + lane]; }
  double diagonal(int lane, std::int64_t row) const {
    return diagonals_.data()[row * kLanes + lane];
  }
  /// Returns element (row + 1, row), squared.
  double& squared(int lane, std::int64_t row) { return squares_.data()[row * kLanes + lane]; }
  double squared(int lane, std::int64_t row) const { return squares_.data()[row * kLanes + lane]; }

  Lane lanes_[kLanes];
  AlignedBuffer<double> diagonals_;  ///< [rows, kLanes]
  AlignedBuffer<double> squares_;    ///< [rows, kLanes]
};

/// Computes all eigenvalues of dense symmetric matrices, without eigenvectors.
///
/// Two stages, dense to band to tridiagonal, then root-free QL: nearly all of the 4/3 n^3
/// operations are matrix products. Errors are within a small multiple of n eps ||A||. Starts no
/// threads and is bit-identical on every call. One object per thread.
class SymmetricEigenvalues {
 public:
  /// @param matrix  overwritten.
  /// @return [size], ascending; valid until the next call.
  /// @throws NumericalError  if an element is not finite or the last stage does not converge.
  std::span<const double> compute(SymmetricPanels& matrix);

  /// Runs the first two stages: returns a tridiagonal matrix with the same eigenvalues, for callers
  /// that run the last stage for several matrices at once.
  /// @param matrix  overwritten.
  /// @throws NumericalError  if an element is not finite.
  void reduce(SymmetricPanels& matrix, Tridiagonal& tridiagonal);

 private:
  BandReduction band_reduction_;
  BandToTridiagonal band_to_tridiagonal_;
  TridiagonalEigenvalues tridiagonal_eigenvalues_;
  Tridiagonal tridiagonal_;
};

}  // namespace lime::linalg
