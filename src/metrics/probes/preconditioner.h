// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/matrix.h"
#include "metrics/probes/panel_matrix.h"

namespace lime {

class ThreadPool;

namespace probes {

/// Replaces a symmetric positive definite matrix by its inverse.
///
/// Uses the blocked sweep operator: d^3 flops, all in products of blocks, in an order that does not
/// depend on the number of threads. Reads only the lower triangle; writes both.
/// @return false, with undefined `matrix`, if it is not positive definite in this precision.
/// Source: Goodnight (1979), A tutorial on the SWEEP operator, The American Statistician 33(3).
template <typename Matrix> bool invert_positive_definite(Matrix& matrix, ThreadPool& pool);

/// An approximation of the inverse Hessian of logistic regressions on one set of rows:
///
///   P = strength * Z^T Z + I,    Z = (X - mean) / scale
///
/// A Hessian is C Z^T D Z + I with weights p (1 - p) <= 1/4 in D, so strength = C / 10 is a good
/// approximation unless probabilities are near 0 or 1. It need not be exact: it affects the number
/// of iterations, not the result. All folds share one, since they share most of their rows.
class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  /// Computes out[k] = P^-1 in[k]. @param in  [count][padded_cols of the panel]
  virtual void apply(const Columns<double>& in, Columns<double>& out, ThreadPool& pool) = 0;
};

/// Creates preconditioners of several strengths for one set of rows.
class PreconditionerFactory {
 public:
  /// Computes X^T X in float32, or with few rows Z Z^T in float64 (Woodbury's identity).
  /// @param mean, scale  [cols] of the panel's values.
  PreconditionerFactory(const PanelMatrix& panel, VectorD mean, VectorD scale, ThreadPool& pool);

  std::unique_ptr<Preconditioner> make(double strength, ThreadPool& pool) const;

 private:
  const PanelMatrix& panel_;
  VectorD mean_;
  VectorD inverse_scale_;
  MatrixF gram_;      // lower triangle of Z^T Z; empty if the other is used
  MatrixD row_gram_;  // Z Z^T
};

}  // namespace probes
}  // namespace lime
