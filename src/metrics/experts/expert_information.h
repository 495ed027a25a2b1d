// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include "core/threads/thread_pool.h"
#include "metrics/experts/expert_load.h"

namespace lime {

/// Division of tokens into groups, such as documents, domains, classes or token ids. A permutation
/// shuffles the groups of units: of single tokens, or of whole documents if a document as a whole
/// has a group. Then its tokens, which are not independent, stay together.
struct TokenGroups {
  std::string name = {};
  std::vector<std::int32_t> unit_of_row = {};    ///< [num_tokens]; -1: the token is not used
  std::vector<std::int32_t> group_of_unit = {};  ///< [num_units]
  std::int64_t num_groups = 0;
};

struct InformationOptions {
  /// Permutations of the null, >= 0; 0: none.
  std::int64_t permutations = 200;
  std::uint64_t seed = 0;
};

/// Mutual information of the expert and the group of a selection.
struct ExpertInformation {
  double plug_in = 0.0;  ///< nats, from the frequencies; biased upwards
  double null = std::numeric_limits<double>::quiet_NaN();  ///< mean over the permutations
  double p = std::numeric_limits<double>::quiet_NaN();     ///< (1 + #{null >= plug_in}) / (1 + n)
  /// The smaller one of the entropies of expert and group.
  double ceiling = 0.0;
  /// Fraction of the used experts whose own information has p <= 0.05.
  double specialised = std::numeric_limits<double>::quiet_NaN();
};

/// Computes how much the expert of a selection says about the group of its token, and conversely:
///
///   I(E; G) = sum_e P(e) I_e,    I_e = sum_g P(g | e) ln(P(g | e) / P(g))
///
/// over all selections, each token having as many as it selects experts. 0 if experts do not depend
/// on the group. Frequencies overestimate it, by about (E - 1)(G - 1) / (2 selections) if nothing
/// depends on the group; the mean under permutations estimates this bias, also for few tokens.
///
/// @throws InvalidArgument  if no token is used.
/// Deterministic for any number of threads. Cost: permutations x selections.
/// Sources: Cover & Thomas (2006), Elements of Information Theory, ch. 2; I_e: DeWeese & Meister
/// (1999), Network 10, 325-340; bias: Miller (1955); p: Phipson & Smyth (2010),
/// arXiv:1603.05766.
ExpertInformation expert_information(const ExpertRows& experts, std::int64_t num_experts,
                                     const TokenGroups& groups, const InformationOptions& options,
                                     ThreadPool& pool, const std::stop_token& stop = {});

/// Returns the plug-in information without the rows [first, last), for a jackknife.
double information_without(const ExpertRows& experts, std::int64_t num_experts,
                           const TokenGroups& groups, std::int64_t first, std::int64_t last);

/// Returns the bytes that expert_information() needs per thread.
std::int64_t information_bytes(std::int64_t num_experts, std::int64_t num_groups);

}  // namespace lime
