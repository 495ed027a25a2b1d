// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"
#include "core/threads/thread_pool.h"
#include "metrics/entropy/matrix_entropy.h"

// Measures of augmented views: several versions of each text, with one row per view, the mean of
// its tokens. All functions take rows [num_texts * num_views, dim], the views of a text one after
// the other, and throw InvalidArgument if there are fewer than 2 texts, 2 views of each, or a value
// is not finite.

namespace lime {

enum class ViewPreset {
  kLayerByLayer,  ///< the Layer by Layer code (Skean et al. 2025), tokens preprocessed likewise
  kPaper,         ///< each measure as in its own paper, of unchanged tokens
};

constexpr auto names_of(ViewPreset) {
  using enum ViewPreset;
  return enum_table<ViewPreset>({{kLayerByLayer, "layer-by-layer"}, {kPaper, "paper"}});
}

struct ViewOptions {
  ViewPreset preset = ViewPreset::kLayerByLayer;
  /// Divisor of DiME and LiDAR in layer-by-layer; N texts, D dimensions.
  EntropyNormalization normalization = EntropyNormalization::kMaxEntropy;
  double temperature = 0.1;        ///< of InfoNCE, > 0
  std::int64_t permutations = 10;  ///< random ones of DiME, in [1, 1000]
  double delta = 1e-4;             ///< added to the diagonal of LiDAR's within-class scatter, > 0

  /// Returns the preset of pooled_token() for the rows.
  EntropyPreset token_preset() const {
    return preset == ViewPreset::kPaper ? EntropyPreset::kRaw : EntropyPreset::kLayerByLayer;
  }
  void describe(OptionList& list);
  void validate() const;
};

/// Computes LiDAR, the effective rank of the linear-discriminant matrix, with texts as classes.
///
///   S_b = sum_c (mu_c - mu)(mu_c - mu)^T / (N - 1)
///   S_w = sum_c sum_i (x_ci - mu_c)(x_ci - mu_c)^T / (N (q - 1)) + delta I
///   p_k = (lambda_k + 1e-8) / sum_j (lambda_j + 1e-8),  lambda of S_w^-1/2 S_b S_w^-1/2
///   LiDAR = exp(-sum p_k ln p_k), the sum over all dim eigenvalues
///
/// layer-by-layer divides S_b by N, S_w by N q, adds nothing to lambda, and divides the entropy by
/// `normalization` in place of the exponential.
/// Source: Thilak et al. (2024), eq. 1 to 3; constants of `paper` as in stable-pretraining.
double lidar(const ConstMatrixRef& rows, std::int64_t num_texts, const ViewOptions& options);

/// Computes InfoNCE of the first two views of each text, in nats:
///
///   -ln(exp(s_ij / t) / sum_{k != i} exp(s_ik / t)),  j the other view of the text, k all views
///
/// averaged over both views. s is the inner product, in `paper` the cosine. Low: a text's views are
/// near each other and far from other texts.
/// @return [num_texts]
/// Source: Chen et al. (2020), SimCLR, eq. 1.
std::vector<double> infonce(const ConstMatrixRef& rows, std::int64_t num_texts,
                            const ViewOptions& options, ThreadPool& pool);

/// Computes the difference of matrix-based entropies of the first two views (DiME):
///
///   S(A o P B P^T) - S(A o B),  S of order 1; A, B Gram matrices of the views, o by element
///
/// for each permutation P, which breaks the relation between the views. High: the views share much
/// information. `paper` uses cosines and nats; layer-by-layer inner products, divided by
/// `normalization`, and with more texts than dimensions Z^T Z in place of Z Z^T.
/// @param permutations  of A's size, min(num_texts, dim) in layer-by-layer, else num_texts.
/// @return one value per permutation; DiME is their mean
/// @throws Interrupted
/// Source: Skean et al. (2023), "DiME", arXiv:2301.08164; github.com/uk-cliplab/representation-itl.
std::vector<double> dime(const ConstMatrixRef& rows, std::int64_t num_texts,
                         const ViewOptions& options,
                         std::span<const std::vector<std::int64_t>> permutations, ThreadPool& pool,
                         const std::stop_token& stop = {});

struct ViewMeasures {
  double lidar = 0.0;
  std::vector<double> infonce;  ///< [num_texts]
  std::vector<double> dime;     ///< [permutations], drawn with the seed
};

/// Computes all three measures. @throws Interrupted
ViewMeasures measure_views(const ConstMatrixRef& rows, std::int64_t num_texts,
                           const ViewOptions& options, std::uint64_t seed, ThreadPool& pool,
                           const std::stop_token& stop = {});

}  // namespace lime
