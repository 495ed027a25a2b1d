// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/matrix.h"

namespace lime {

/// The final norm and the output projection of a decoder.
struct OutputHead {
  enum class Norm { kNone, kRms, kLayerNorm };
  Norm norm = Norm::kRms;
  double eps = 0.0;
  Eigen::RowVectorXf weight, bias;          ///< of the norm; empty: none
  MatrixF projection;                       ///< [vocab, hidden]
  Eigen::RowVectorXf projection_bias = {};  ///< [vocab]; empty: none
  double divisor = 1.0;                     ///< of the logits
  std::optional<double> softcap;            ///< c: the logits become c tanh(logits / c)

  /// Returns the logits of residual streams, [rows, vocab].
  MatrixF logits(MatrixF rows) const;
};

/// Sums over rows of two sites, from which an affine map is fitted.
struct AffineMoments {
  double count = 0.0;
  VectorD x, y;
  MatrixD xx, xy;

  /// @param from, to  [rows, dim]
  void add(const MatrixF& from, const MatrixF& to);
};

/// The affine map X A + b with the least squared error to Y, with a ridge:
///
///   A = (C + ridge tr(C) / dim I)^-1 Xc^T Yc,    C = Xc^T Xc,    Xc, Yc: centred
class AffineMap {
 public:
  AffineMap(const AffineMoments& sums, double ridge);
  MatrixF apply(const MatrixF& rows) const;

 private:
  MatrixD matrix_;
  VectorD offset_;
};

/// Number of measures of a lens per token: KL divergence of the final distribution from the
/// layer's and the entropy of the layer's in nats, agreement of the most probable tokens (1 or 0),
/// loss in nats and rank of the next token.
inline constexpr Eigen::Index kLensMeasures = 5;

/// Returns the measures of a layer's lens, [rows, kLensMeasures].
/// @param logits, final_logits  of the layer and of the decoder, [rows, vocab]
/// @param next                  token after each row
MatrixD lens_measures(const MatrixF& logits, const MatrixF& final_logits,
                      std::span<const std::int32_t> next);

}  // namespace lime
