// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/matrix.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {

/// Router of one layer: a weight per pair of heads, or one per pair and dimension.
///
///   dimension c of routed head h = sum_j R_c[h, j] * dimension c of buffered head j
///
/// R is [kv_heads, (layer + 1) * kv_heads]: row = target head, column = source_layer * kv_heads +
/// source_head, oldest layer first. Without a weight per dimension all R_c are the same matrix.
class LayerRouter {
 public:
  /// A weight per pair of heads: the matrix is the router, hence not explicit.
  LayerRouter(MatrixD weights);  // NOLINT(google-explicit-constructor)
  /// @param per_dimension  R_c of every dimension of a head, of equal shape.
  /// @throws InvalidArgument  if there is none, or shapes differ.
  explicit LayerRouter(std::vector<MatrixD> per_dimension);
  /// Returns the router whose heads read themselves. @param num_dims  matrices: 1, or head_dim.
  static LayerRouter identity(std::int64_t layer, std::int64_t num_key_value_heads,
                              std::int64_t num_dims = 1);

  std::int64_t num_heads() const { return weights_.front().rows(); }
  std::int64_t num_sources() const { return weights_.front().cols(); }
  /// Returns the number of matrices: 1, or head_dim.
  std::int64_t num_dims() const { return static_cast<std::int64_t>(weights_.size()); }
  bool is_per_dimension() const { return weights_.size() > 1; }

  const MatrixD& of_dimension(std::int64_t dim) const {
    return weights_[is_per_dimension() ? static_cast<std::size_t>(dim) : 0];
  }
  bool is_zero() const;
  bool operator==(const LayerRouter& other) const;

 private:
  std::vector<MatrixD> weights_;
};

/// Values (or keys) of all layers for some tokens, laid out for routing.
///
/// Routing treats each dimension of a head separately: routed value c of a token is R (R_c of a
/// router per dimension) times the c-th dimensions of its buffered heads. So the buffer contains
/// one matrix per dimension, [num_sources, num_tokens], whose rows are the buffered heads in the
/// order of R's columns (oldest layer first): one matrix product per dimension routes all tokens.
class ValueBuffer {
 public:
  /// @throws InvalidArgument  if a size is below 1.
  ValueBuffer(std::int64_t num_layers, std::int64_t num_key_value_heads, std::int64_t head_dim);

  /// Resizes to `num_tokens` tokens; the contents are lost.
  void resize(std::int64_t num_tokens);
  /// Stores rows of one layer, [any, kv_heads * head_dim], from token `first_token` on. Different
  /// layers and tokens may be set from several threads at once.
  /// @throws InvalidArgument  if they do not fit.
  void set_rows(std::int64_t layer, std::int64_t first_token, const ConstMatrixRef& rows);

  std::int64_t num_layers() const { return num_layers_; }
  std::int64_t num_key_value_heads() const { return num_heads_; }
  std::int64_t head_dim() const { return head_dim_; }
  std::int64_t num_sources() const { return num_layers_ * num_heads_; }
  std::int64_t num_tokens() const { return num_tokens_; }
  /// Returns dimension `dim` of the buffered head in column `source` of the routers, [num_tokens].
  const float* source(std::int64_t dim, std::int64_t source) const {
    return data_.data() + (dim * num_sources() + source) * num_tokens_;
  }
  std::int64_t bytes_for(std::int64_t num_tokens) const;

 private:
  std::int64_t num_layers_;
  std::int64_t num_heads_;
  std::int64_t head_dim_;
  std::int64_t num_tokens_ = 0;
  std::vector<float> data_;
};

struct TokenRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Computes routed values, U = R V for every dimension, in double. One object per thread.
class ValueRouter {
 public:
  /// @param router  of one layer; per dimension with head_dim matrices, or with one for all.
  /// @param routed  [head_dim * kv_heads, tokens.count]; row c * kv_heads + h is dimension c of
  ///                target head h. Feature-major: the transpose of routed rows, ordered by
  ///                dimension, then head.
  /// Time head_dim * kv_heads * tokens multiply-adds per buffered head with a non-zero weight.
  /// @throws InvalidArgument  if router and buffer, or tokens and buffer do not match.
  void route(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens,
             MatrixD& routed);

  /// Computes the same with the weights of each token.
  /// @param weights  [kv_heads * width, tokens.count]; row h * width + j is the weight of source j
  ///                 in target head h. width is num_sources(), or num_layers() if a head reads only
  ///                 the same head of each layer.
  void route_tokens(const ValueBuffer& values, const MatrixD& weights, TokenRange tokens,
                    MatrixD& routed);

 private:
  MatrixD sources_;
  MatrixD weights_;
};

/// Converts feature-major routed values to rows as captured, [tokens, kv_heads * head_dim].
MatrixF routed_rows(const MatrixD& routed, std::int64_t num_key_value_heads);

/// Measures the cancellation among the contributions of buffered heads to a target head.
///
///   index = 1 - ||sum_j R_hj v_j|| / sum_j ||R_hj v_j||,   averaged over tokens
///
/// R_hj is a number, or a diagonal matrix for a router per dimension.
///
/// 0: all contributions have the same direction; 1: they cancel completely. m contributions of
/// equal norm in random high-dimensional directions give 1 - 1/sqrt(m). Invariant to the scaling of
/// heads. Accumulates over any number of buffers; not thread-safe.
class CancellationIndex {
 public:
  explicit CancellationIndex(std::int64_t num_key_value_heads);

  /// Adds tokens of `values` under the router of one layer.
  /// @throws InvalidArgument  as ValueRouter::route().
  void add(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens);
  void merge(const CancellationIndex& other);

  /// Returns the mean of each target head, [kv_heads]; NaN for a head without contributions.
  VectorD mean() const;
  std::int64_t count(std::int64_t head) const { return count_(head); }

 private:
  VectorD sum_;
  Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1> count_;
  ValueRouter router_;
  MatrixD routed_;
};

/// Attributes the attention of one query of a routed head to buffered layers:
///
///   s[m, k] = a[k] |sum_j R[h, (m, j)] v_m[k, j]|,    over the sum of all s
///
/// a[k] is the attention weight of key k, R the router of the layer, h its key-value head, v_m[k,
/// j] the value of token k in head j of buffered layer m, before the router. Uses norms, not
/// vectors: opposite contributions of two layers do not cancel.
///
/// @param pattern  a, [num_keys].
/// @param values   of layers 0, 1, ..., [num_keys, kv_heads * head_dim] each.
/// @return [layers, num_keys], sums to 1; all 0 if nothing is read.
/// @throws InvalidArgument  if shapes or the head are invalid.
MatrixD routed_attention(std::span<const double> pattern, const LayerRouter& router,
                         std::int64_t head, std::span<const MatrixF> values);

/// Computes the same without the values: with s[m, k] = a[k] sum_j |R[h, (m, j)]| r_m[j], where r
/// is their root mean square over a text, so the layers are the same for every key. A router per
/// dimension is replaced by the mean of its weights.
///
/// @param scales  r, [layers, kv_heads], >= 0.
MatrixD routed_attention_of_scales(std::span<const double> pattern, const LayerRouter& router,
                                   std::int64_t head, const MatrixD& scales);

struct SpectrumSummary {
  std::vector<double> entropies;  ///< nats, one per order
  double effective_rank = 0.0;    ///< 1 to min(tokens, dim)
};

/// Computes entropy and effective rank of one sequence from one spectrum.
///
///   S_alpha of K = Z Z^T as matrix_renyi_entropy(),
///   effective rank = exp(-sum_i p_i ln p_i),  p_i = sigma_i / sum sigma,  sigma_i^2 = lambda_i(K)
///
/// Keeps its scratch memory: one object per thread. Source: Roy & Vetterli (2007), definition 1.
class SpectrumCalculator {
 public:
  /// @param features         Z^T, [dim, num_tokens], feature-major; standardised in place.
  /// @param standardization  of its rows; none: unchanged.
  /// @param orders           of the entropies, each > 0.
  /// @return nothing if all of Z is zero.
  /// @throws InvalidArgument  if a value is not finite or the standardization has another size.
  std::optional<SpectrumSummary> compute(MatrixD& features,
                                         const std::optional<Standardization>& standardization,
                                         std::span<const double> orders);

 private:
  linalg::GramBuilder gram_builder_;
  linalg::SymmetricSlivers gram_;
  linalg::SymmetricEigenvalues eigenvalues_;
};

}  // namespace lime
