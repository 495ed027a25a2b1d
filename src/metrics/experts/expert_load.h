// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix.h"

// How the router of a mixture of experts distributes tokens. Experts are counted from 0. No
// function has shared state, so all are thread-safe.

namespace lime {

/// Numbers of the experts that each token selected, [num_tokens, experts per token].
using ExpertRows = Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Converts captured numbers of experts to integers.
/// @throws InvalidArgument  if a row has more experts than there are, a number that is not a whole
///         number in [0, num_experts), or the same expert twice; names the row.
ExpertRows expert_rows(const ConstMatrixRef& indices, std::int64_t num_experts);

/// Returns how many tokens selected each expert, [num_experts].
VectorD expert_counts(const ExpertRows& experts, std::int64_t num_experts);

/// Computes the entropy of a load in nats: 0 if one expert has all of it, ln(number of experts) if
/// it is balanced. Its exponential is the effective number of experts (Hill 1973, order 1).
/// @param load  counts or weights of the experts, >= 0. @return NaN if all are 0; as the others
double load_entropy(const VectorD& load);

/// Computes MaxVio = max load / mean load - 1; 0 if balanced. Source: Wang et al. (2024),
/// arXiv:2408.15664.
double max_violation(const VectorD& load);

/// Computes the coefficient of variation, standard deviation (ddof 0) / mean; 0 if balanced.
/// Source: Shazeer et al. (2017), arXiv:1701.06538, section 4, who penalise its square.
double load_variation(const VectorD& load);

/// Computes the Gini coefficient, sum_ij |load_i - load_j| / (2 n sum load), in [0, 1 - 1/n].
double load_gini(const VectorD& load);

/// Returns the fraction of experts without load.
double unused_experts(const VectorD& load);

/// Computes the mean fraction of a token's experts that the token before it selected as well.
/// With loads f of independent tokens it is sum_e f_e^2 / k, f_e the fraction of tokens with e.
/// @param positions  of the tokens in their sequence; a pair needs consecutive ones
/// @return NaN without a pair. Source: Jiang et al. (2024), arXiv:2401.04088, section 5.
double consecutive_overlap(const ExpertRows& experts, std::span<const std::int32_t> positions);

/// Returns how many tokens selected both experts, [num_experts, num_experts]; the diagonal is that
/// of expert_counts(). Source: Muennighoff et al. (2024), arXiv:2409.02060, section 5.2.
MatrixD coactivation_counts(const ExpertRows& experts, std::int64_t num_experts);

/// Computes the mean, over selections, of the effective number of partners of an expert: exp of the
/// entropy of the other experts of its tokens. Near 1: experts are selected in fixed pairs; at most
/// num_experts - 1. @param counts  of coactivation_counts(). @return NaN with one expert per token
double effective_partners(const MatrixD& counts);

/// Experts that are among the most loaded ones in nearly all groups of tokens.
struct Committee {
  double size = 0.0;   ///< number of experts
  double share = 0.0;  ///< of the load of all groups
  /// Mean fraction of common experts of two groups' most loaded ones; NaN with one group.
  double overlap = 0.0;
};

/// Returns 1 for the `size` experts with the largest load, else 0; the lower number wins ties.
VectorD most_loaded(const VectorD& load, std::int64_t size);

/// Finds the committee from sums over groups, which can be resampled.
/// @param members     in how many groups each expert is among the most_loaded(), [num_experts]
/// @param load        of all groups, [num_experts]
/// @param num_groups  > 0
/// @param size        of most_loaded()
/// @param fraction    of the groups in which a member must be among them, in (0, 1]
/// The question is that of the "standing committee" of Wang et al. (2026), arXiv:2601.03425; the
/// criterion is ours (docs/experts.md).
Committee committee_of(const VectorD& members, const VectorD& load, double num_groups,
                       std::int64_t size, double fraction);

}  // namespace lime
