// SPDX-License-Identifier: Apache-2.0
#include "metrics/experts/expert_information.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/random.h"
#include "metrics/rows.h"

namespace lime {
namespace {

constexpr double kAlpha = 0.05;
/// Sums of the same terms in another order differ by rounding.
constexpr double kRounding = 1e-12;

/// Counts of the selections, and the information of each expert, for any assignment of groups.
class SelectionTable {
 public:
  SelectionTable(const ExpertRows& experts, std::int64_t num_experts, const TokenGroups& groups)
      : experts_(experts),
        groups_(groups),
        cells_(static_cast<std::size_t>(num_experts * groups.num_groups)),
        group_counts_(groups.num_groups),
        expert_counts_(num_experts),
        joint_(num_experts),
        marginal_(num_experts) {}

  /// Computes I_e of each expert without the rows [first, last), [num_experts]; 0 of unused ones.
  const VectorD& measure(const std::vector<std::int32_t>& group_of_unit, std::int64_t first = 0,
                         std::int64_t last = 0) {
    group_counts_.setZero();
    expert_counts_.setZero();
    joint_.setZero();
    marginal_.setZero();
    for_each_row(group_of_unit, first, last, [&](Eigen::Index, std::int64_t group) {
      group_counts_(group) += static_cast<double>(experts_.cols());
    });
    total_ = group_counts_.sum();
    const std::int64_t num_experts = expert_counts_.size();
    for_each_row(group_of_unit, first, last, [&](Eigen::Index row, std::int64_t group) {
      const double log_group = std::log(group_counts_(group));
      for (const std::int32_t expert : experts_.row(row)) {
        std::int32_t& cell = cells_[static_cast<std::size_t>(group * num_experts + expert)];
        // c ln c as a sum of its steps, so that no pass over all cells is needed.
        joint_(expert) += step(cell);
        ++cell;
        expert_counts_(expert) += 1.0;
        marginal_(expert) += log_group;
      }
    });
    for_each_row(group_of_unit, first, last, [&](Eigen::Index row, std::int64_t group) {
      for (const std::int32_t expert : experts_.row(row)) {
        cells_[static_cast<std::size_t>(group * num_experts + expert)] = 0;
      }
    });
    for (Eigen::Index e = 0; e < num_experts; ++e) {
      const double count = expert_counts_(e);
      joint_(e) = count > 0.0 ? (joint_(e) - marginal_(e)) / count - std::log(count / total_) : 0.0;
    }
    return joint_;
  }

  /// Returns sum_e P(e) I_e of the last measure().
  double information() const { return std::max(0.0, joint_.dot(expert_counts_) / total_); }
  double total() const { return total_; }
  const VectorD& expert_counts() const { return expert_counts_; }
  const VectorD& group_counts() const { return group_counts_; }

 private:
  template <typename F>
  void for_each_row(const std::vector<std::int32_t>& group_of_unit, std::int64_t first,
                    std::int64_t last, const F& f) const {
    for (Eigen::Index row = 0; row < experts_.rows(); ++row) {
      const std::int32_t unit = groups_.unit_of_row[static_cast<std::size_t>(row)];
      if (unit < 0 || (row >= first && row < last)) continue;
      f(row, group_of_unit[static_cast<std::size_t>(unit)]);
    }
  }

  /// Returns (c + 1) ln(c + 1) - c ln c.
  double step(std::int32_t count) {
    while (std::ssize(steps_) <= count) {
      const auto c = static_cast<double>(steps_.size());
      steps_.push_back((c + 1.0) * std::log(c + 1.0) - (c > 0.0 ? c * std::log(c) : 0.0));
    }
    return steps_[static_cast<std::size_t>(count)];
  }

  const ExpertRows& experts_;
  const TokenGroups& groups_;
  std::vector<std::int32_t> cells_;  // selections by group and expert; 0 between calls
  std::vector<double> steps_;
  VectorD group_counts_, expert_counts_;
  VectorD joint_, marginal_;
  double total_ = 0.0;
};

/// Information under permutations, and how many of them reach the observed one.
struct PermutationNull {
  std::vector<double> information;
  std::vector<VectorD> of_experts;  ///< of each block: permutations that reach I_e, [num_experts]
};

constexpr std::int64_t kBlock = 8;

PermutationNull permute(const ExpertRows& experts, const TokenGroups& groups,
                        const VectorD& observed, const InformationOptions& options,
                        ThreadPool& pool, const std::stop_token& stop) {
  PermutationNull null;
  null.information.resize(static_cast<std::size_t>(options.permutations));
  null.of_experts.assign(static_cast<std::size_t>((options.permutations + kBlock - 1) / kBlock),
                         VectorD::Zero(observed.size()));
  const Random random(options.seed);
  for_blocks(options.permutations, kBlock, pool, [&](std::int64_t begin, std::int64_t end) {
    SelectionTable table(experts, observed.size(), groups);
    for (std::int64_t r = begin; r < end; ++r) {
      throw_if_stopped(stop);
      std::vector<std::int32_t> shuffled = groups.group_of_unit;
      random.fork(static_cast<std::uint64_t>(r)).shuffle(std::span(shuffled));
      const VectorD& own = table.measure(shuffled);
      null.information[static_cast<std::size_t>(r)] = table.information();
      null.of_experts[static_cast<std::size_t>(begin / kBlock)].array() +=
          (own.array() >= observed.array() - kRounding).cast<double>();
    }
  });
  return null;
}

}  // namespace

ExpertInformation expert_information(const ExpertRows& experts, std::int64_t num_experts,
                                     const TokenGroups& groups, const InformationOptions& options,
                                     ThreadPool& pool, const std::stop_token& stop) {
  SelectionTable table(experts, num_experts, groups);
  const VectorD observed = table.measure(groups.group_of_unit);
  throw_if(!(table.total() > 0.0), "experts: no token has a group of '{}'", groups.name);
  ExpertInformation result;
  result.plug_in = table.information();
  result.ceiling =
      std::min(load_entropy(table.expert_counts()), load_entropy(table.group_counts()));
  if (options.permutations == 0) return result;
  const PermutationNull null = permute(experts, groups, observed, options, pool, stop);
  const auto count = static_cast<double>(options.permutations);
  double sum = 0.0;
  double reached = 1.0;
  for (const double information : null.information) {
    sum += information;
    if (information >= result.plug_in - kRounding) reached += 1.0;
  }
  result.null = sum / count;
  result.p = reached / (count + 1.0);
  VectorD reached_by = VectorD::Ones(num_experts);
  for (const VectorD& block : null.of_experts) reached_by += block;
  double specialised = 0.0;
  double used = 0.0;
  for (Eigen::Index e = 0; e < num_experts; ++e) {
    if (table.expert_counts()(e) == 0.0) continue;
    used += 1.0;
    if (reached_by(e) <= kAlpha * (count + 1.0) + kRounding) specialised += 1.0;
  }
  result.specialised = specialised / used;
  return result;
}

double information_without(const ExpertRows& experts, std::int64_t num_experts,
                           const TokenGroups& groups, std::int64_t first, std::int64_t last) {
  SelectionTable table(experts, num_experts, groups);
  table.measure(groups.group_of_unit, first, last);
  return table.total() > 0.0 ? table.information() : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t information_bytes(std::int64_t num_experts, std::int64_t num_groups) {
  return num_experts * num_groups * 4 + num_groups * 8;
}

}  // namespace lime
