// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/layer_causes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/threads/threads.h"
#include "metrics/collapse/gram_parts.h"
#include "metrics/collapse/intraclass.h"
#include "metrics/collapse/outliers.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/jackknife.h"

namespace lime {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// A covariance below this fraction of the trace consists of rounding errors of float.
constexpr double kRoundingShare = 1e-10;
/// Blocks of sequences of the jackknife of the effective rank; fewer where a Gram matrix is large.
constexpr std::int64_t kBlocks = 8;
constexpr std::int64_t kManyDimensions = 1024;
/// The tokens alone are examined if the intraclass correlation, or the effective rank relative to
/// its threshold, comes this close.
constexpr double kControlFrom = 0.8;

/// Columns of the sums per sequence. `O`: in the outlier dimensions; c: minus the mean of others.
enum Sum : Eigen::Index {
  kOther,
  kOtherO,
  kOtherC,
  kOtherCO,
  kMassive,
  kMassiveO,
  kMassiveC,
  kMassiveCO,
  kIntraclass,
  kResidual = kIntraclass + kIntraclassSums,
  kResidualRest,
  kHasRest,
  kEntropy,
  kEntropyWithout,
  kHasWithout,
  kOne,
  kNumSums
};

std::int64_t num_blocks(std::int64_t sequences, std::int64_t dim) {
  if (sequences < kFewestBlocks) return 1;
  return dim <= kManyDimensions ? std::min(sequences, kBlocks) : kFewestBlocks;
}

/// Squared length of all values and of those in some dimensions.
struct Lengths {
  double all = 0.0;
  double outlier = 0.0;
};

template <typename Vector> Lengths lengths_of(const Vector& x, const std::vector<int>& dimensions) {
  Lengths lengths{x.squaredNorm(), 0.0};
  for (const int dimension : dimensions) lengths.outlier += x[dimension] * x[dimension];
  return lengths;
}

/// Second moments of a block of sequences.
struct BlockMoments {
  explicit BlockMoments(std::int64_t dim)
      : within(dim), massive(dim), massive_sum(VectorD::Zero(dim)) {}

  std::int64_t first = 0;  ///< sequence
  std::int64_t last = 0;
  GramPart within;      ///< of the other rows minus the mean of their sequence
  GramPart massive;     ///< of massive tokens minus the mean of the others
  VectorD massive_sum;  ///< likewise
};

/// What one pass over the rows of a layer accumulates, in the order of the sequences.
class CausePass {
 public:
  CausePass(RowCache& rows, const Outliers& outliers, const std::stop_token& stop)
      : rows_(rows),
        outliers_(outliers),
        sums_(MatrixD::Zero(rows.num_sequences(), kNumSums)),
        between_(MatrixD::Zero(rows.num_sequences(), rows.dim())) {
    find_mean(stop);
    const std::int64_t blocks = num_blocks(rows.num_sequences(), rows.dim());
    for (std::int64_t b = 0; b < blocks; ++b) {
      BlockMoments& block = blocks_.emplace_back(rows.dim());
      block.first = b * rows.num_sequences() / blocks;
      block.last = (b + 1) * rows.num_sequences() / blocks;
      for (std::int64_t s = block.first; s < block.last; ++s) {
        throw_if_stopped(stop);
        add(s, block);
      }
    }
  }

  MatrixD& sums() { return sums_; }
  const std::vector<MassiveToken>& massive() const { return found_; }
  double dimension_tokens() const {
    return static_cast<double>(in_outliers_) /
           static_cast<double>(std::max<std::int64_t>(1, others_));
  }
  std::size_t num_blocks_used() const { return blocks_.size(); }

  /// Returns the effective rank within sequences of the rest, without one block (none: a number
  /// beyond them).
  double effective_rank(std::size_t without, linalg::SymmetricEigenvalues& solver) const {
    GramPart sum(rows_.dim());
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (b != without) sum.add(blocks_[b].within);
    }
    sum.remove_dimensions(outliers_.dimensions);
    return sum.effective_rank(solver);
  }

  struct Participation {
    double all = kNan;
    double without_tokens = kNan;
    double without_dimensions = kNan;
    double rest = kNan;

    /// Returns the factor by which it rises without massive tokens.
    double gain() const {
      const double with_dimensions = without_tokens / all;
      const double without = rest / without_dimensions;
      return std::isfinite(without) ? std::max(with_dimensions, without) : with_dimensions;
    }
  };

  /// Returns the participation ratios without one block.
  Participation participation(std::size_t without) const {
    GramPart others(rows_.dim());
    GramPart all(rows_.dim());
    VectorD massive_sum = VectorD::Zero(rows_.dim());
    std::int64_t count = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (b == without) continue;
      const BlockMoments& block = blocks_[b];
      others.add(block.within);
      others.add(MatrixD(between_.middleRows(block.first, block.last - block.first)));
      all.add(block.massive);
      massive_sum += block.massive_sum;
      count += rows_.first_row(block.last) - rows_.first_row(block.first);
    }
    all.add(others);
    all.add_rank_one(massive_sum, -1.0 / static_cast<double>(count));
    Participation ratios;
    ratios.all = all.participation_ratio();
    ratios.without_tokens = others.participation_ratio();
    all.remove_dimensions(outliers_.dimensions);
    others.remove_dimensions(outliers_.dimensions);
    ratios.without_dimensions = all.participation_ratio();
    ratios.rest = others.participation_ratio();
    return ratios;
  }

 private:
  void find_mean(const std::stop_token& stop) {
    mean_ = VectorD::Zero(rows_.dim());
    for (std::int64_t s = 0; s < rows_.num_sequences(); ++s) {
      throw_if_stopped(stop);
      const MatrixF& rows = rows_.sequence(s);
      for (Eigen::Index r = 0; r < rows.rows(); ++r) {
        if (is_massive(s, r)) continue;
        mean_ += rows.row(r).transpose().cast<double>();
        ++others_;
      }
    }
    mean_ /= static_cast<double>(std::max<std::int64_t>(1, others_));
  }

  bool is_massive(std::int64_t sequence, Eigen::Index row) const {
    return outliers_.is_massive[static_cast<std::size_t>(rows_.first_row(sequence) + row)];
  }

  void add_massive(std::int64_t number, const Eigen::RowVectorXf& row, BlockMoments& block) {
    MassiveToken token{.row = number};
    Eigen::Index dimension = 0;
    row.cwiseAbs().maxCoeff(&dimension);
    token.ratio =
        std::sqrt(outliers_.squared_norm[static_cast<std::size_t>(number)]) / outliers_.median_norm;
    token.dimension = static_cast<int>(dimension);
    token.value = static_cast<double>(row[dimension]);
    found_.push_back(token);
    block.massive.add(MatrixF(row), mean_);
    block.massive_sum += row.transpose().cast<double>() - mean_;
  }

  void add(std::int64_t s, BlockMoments& block) {
    const MatrixF& rows = rows_.sequence(s);
    auto sums = sums_.row(s);
    const auto add_lengths = [&](Eigen::Index first, const Lengths& lengths) {
      sums[first] += lengths.all;
      sums[first + 1] += lengths.outlier;
    };
    std::vector<Eigen::Index> kept;
    VectorD own_mean = VectorD::Zero(rows.cols());
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      const VectorD x = rows.row(r).transpose().cast<double>();
      const Lengths raw = lengths_of(x, outliers_.dimensions);
      const Lengths centred = lengths_of(VectorD(x - mean_), outliers_.dimensions);
      const bool massive = is_massive(s, r);
      add_lengths(massive ? kMassive : kOther, raw);
      add_lengths(massive ? kMassiveC : kOtherC, centred);
      if (massive) {
        add_massive(rows_.first_row(s) + r, rows.row(r), block);
        continue;
      }
      kept.push_back(r);
      own_mean += x;
      in_outliers_ += 2.0 * raw.outlier > raw.all ? 1 : 0;
    }
    sums[kOne] = 1.0;
    sums[kResidual] = residual(rows);
    if (kept.empty()) return;
    own_mean /= static_cast<double>(kept.size());
    add_rest(s, gather_rows(rows, kept), own_mean, block.within);
  }

  /// Adds the rows without massive tokens.
  void add_rest(std::int64_t s, const MatrixF& rows, const VectorD& own_mean, GramPart& within) {
    const auto count = static_cast<double>(rows.rows());
    within.add(rows, own_mean);
    const VectorD shift = own_mean - mean_;
    between_.row(s) = std::sqrt(count) * shift.transpose();
    double inside = 0.0;
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      const Lengths lengths = lengths_of(VectorD(rows.row(r).transpose().cast<double>() - own_mean),
                                         outliers_.dimensions);
      inside += lengths.all - lengths.outlier;
    }
    const Lengths of_mean = lengths_of(shift, outliers_.dimensions);
    const double outside = count * (of_mean.all - of_mean.outlier);
    set_intraclass_sums(sums_.row(s), kIntraclass, count, outside, inside);
    if (!(inside + outside > 0.0)) return;
    sums_(s, kResidualRest) = std::sqrt(inside / (inside + outside));
    sums_(s, kHasRest) = 1.0;
  }

  /// Returns |X - 1 m^T|_F / |X|_F; 0 for zero rows.
  static double residual(const MatrixF& rows) {
    const MatrixD x = rows.cast<double>();
    const double all = x.squaredNorm();
    return all > 0.0 ? std::sqrt((x.rowwise() - x.colwise().mean()).squaredNorm() / all) : 0.0;
  }

  RowCache& rows_;
  const Outliers& outliers_;
  MatrixD sums_;
  MatrixD between_;  ///< sqrt(tokens) (mean token - mean), [num_sequences, dim]
  VectorD mean_;     ///< of the rows without massive tokens
  std::int64_t others_ = 0;
  std::int64_t in_outliers_ = 0;
  std::vector<BlockMoments> blocks_;
  std::vector<MassiveToken> found_;
};

double ratio(double part, double all) { return all > 0.0 ? part / all : kNan; }

const Estimate& larger(const Estimate& a, const Estimate& b) {
  return b.value > a.value || std::isnan(a.value) ? b : a;
}

void estimate_shares(const MatrixD& sums, const SummaryOptions& summary, LayerCauses& causes) {
  const auto share = [](Eigen::Index massive, Eigen::Index other) {
    return [=](const VectorD& s) { return ratio(s[massive], s[massive] + s[other]); };
  };
  const auto share_rest = [](Eigen::Index massive, Eigen::Index other) {
    return [=](const VectorD& s) {
      const double part = s[massive] - s[massive + 1];
      return ratio(part, part + s[other] - s[other + 1]);
    };
  };
  const auto mean_of = [](Eigen::Index sum, Eigen::Index count) {
    return [=](const VectorD& s) { return ratio(s[sum], s[count]); };
  };
  const std::vector<std::function<double(const VectorD&)>> functions = {
      share(kMassive, kOther),
      share(kMassiveC, kOtherC),
      share_rest(kMassive, kOther),
      share_rest(kMassiveC, kOtherC),
      [](const VectorD& s) { return ratio(s[kOtherO], s[kOther]); },
      [](const VectorD& s) { return ratio(s[kOtherCO], s[kOtherC]); },
      [](const VectorD& s) {
        return 1.0 - ratio(s[kOtherC] - s[kOtherCO], s[kOther] - s[kOtherO]);
      },
      [](const VectorD& s) { return intraclass_of(s, kIntraclass); },
      mean_of(kResidual, kOne),
      mean_of(kResidualRest, kHasRest),
      mean_of(kEntropy, kOne),
      mean_of(kEntropyWithout, kHasWithout)};
  const std::vector<Estimate> found = resampled(sums, functions, summary);
  causes.massive_share = found[0];
  causes.massive_share_centred = found[1];
  causes.massive_share_rest = larger(found[2], found[3]);
  causes.dimension_share = found[4];
  causes.dimension_share_centred = found[5];
  causes.common_share = found[6];
  causes.intraclass = found[7];
  causes.rank_one_residual = found[8];
  causes.rank_one_residual_rest = found[9];
  causes.entropy = found[10];
  causes.entropy_without_tokens = found[11];
}

/// Returns f of all blocks with a jackknife interval over the blocks; `f` accepts the block that is
/// left out.
template <typename F>
Estimate over_blocks(const CausePass& pass, double confidence, double least, const F& f) {
  const std::size_t blocks = pass.num_blocks_used();
  Estimate estimate{.value = f(blocks)};
  if (static_cast<std::int64_t>(blocks) < kFewestBlocks) return estimate;
  std::vector<double> without;
  for (std::size_t b = 0; b < blocks; ++b) without.push_back(f(b));
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (!is_finite(estimate.value) || !std::ranges::all_of(without, is_finite)) return estimate;
  const Jackknife interval = jackknife(estimate.value, without, confidence);
  estimate.low = std::max(least, interval.ci_low);
  estimate.high = interval.ci_high;
  return estimate;
}

/// Measures effective rank and participation ratios.
void estimate_ranks(CausePass& pass, double confidence, LayerCauses& causes) {
  const VectorD total = pass.sums().colwise().sum().transpose();
  const auto remaining = static_cast<double>(causes.dim - std::ssize(causes.dimensions));
  causes.rank_ceiling = std::min(total[kIntraclass + 1] - total[kIntraclass], remaining);
  if (total[kIntraclass + 4] > kRoundingShare * (total[kOther] - total[kOtherO])) {
    linalg::SymmetricEigenvalues solver;
    causes.effective_rank = over_blocks(pass, confidence, 1.0, [&](std::size_t without) {
      return pass.effective_rank(without, solver);
    });
  }
  const CausePass::Participation ratios = pass.participation(pass.num_blocks_used());
  causes.participation = ratios.all;
  causes.participation_without_tokens = ratios.without_tokens;
  causes.participation_without_dimensions = ratios.without_dimensions;
  causes.participation_rest = ratios.rest;
  if (causes.massive.empty()) {
    causes.participation_gain = {1.0, 1.0, 1.0};
    return;
  }
  // On a logarithmic scale, on which the jackknife's symmetric interval fits a ratio.
  causes.participation_gain = over_blocks(
      pass, confidence, -std::numeric_limits<double>::infinity(),
      [&](std::size_t without) { return std::log(pass.participation(without).gain()); });
  for (double* end : {&causes.participation_gain.value, &causes.participation_gain.low,
                      &causes.participation_gain.high}) {
    *end = std::exp(*end);
  }
}

/// Computes entropies of all sequences, and again without massive tokens of those that have any.
void measure_entropies(RowCache& rows, const Outliers& outliers, ThreadPool& pool,
                       const std::stop_token& stop, MatrixD& sums) {
  const EntropyOptions options{.preset = EntropyPreset::kRaw};
  std::vector<std::pair<std::int64_t, std::vector<Eigen::Index>>> changed;
  for (std::int64_t s = 0; s < rows.num_sequences(); ++s) {
    std::vector<Eigen::Index> kept;
    const std::int64_t first = rows.first_row(s);
    for (std::int64_t r = first; r < rows.first_row(s + 1); ++r) {
      if (!outliers.is_massive[static_cast<std::size_t>(r)]) kept.push_back(r - first);
    }
    const bool is_changed = std::ssize(kept) < rows.first_row(s + 1) - first;
    sums(s, kHasWithout) = is_changed && kept.size() < 2 ? 0.0 : 1.0;
    if (is_changed && kept.size() >= 2) changed.emplace_back(s, std::move(kept));
  }
  std::mutex mutex;  // of the cache
  const SequenceSource all{rows.num_sequences(), [&](std::int64_t index, MatrixF& out) {
                             const std::lock_guard guard(mutex);
                             out = rows.sequence(index);
                           }};
  const SequenceEntropies entropies =
      sequence_entropies(all, std::nullopt, options, pool, {}, stop);
  sums.col(kEntropy) = entropies.values.col(0);
  sums.col(kEntropyWithout) = entropies.values.col(0).cwiseProduct(sums.col(kHasWithout));
  if (changed.empty()) return;
  const SequenceSource others{
      static_cast<std::int64_t>(changed.size()), [&](std::int64_t index, MatrixF& out) {
        const auto& [sequence, kept] = changed[static_cast<std::size_t>(index)];
        const std::lock_guard guard(mutex);
        out = gather_rows(rows.sequence(sequence), kept);
      }};
  const SequenceEntropies without =
      sequence_entropies(others, std::nullopt, options, pool, {}, stop);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    sums(changed[i].first, kEntropyWithout) = without.values(static_cast<Eigen::Index>(i), 0);
  }
}

bool needs_control(const LayerCauses& causes, const CollapseOptions& options) {
  const double intraclass = std::max(causes.intraclass.value, causes.intraclass.high);
  const double rank = causes.effective_rank.has_interval() ? causes.effective_rank.low
                                                           : causes.effective_rank.value;
  return intraclass > kControlFrom * options.share || !std::isfinite(rank) ||
         kControlFrom * rank < options.rank_share * causes.rank_ceiling;
}

}  // namespace

void CollapseOptions::describe(OptionList& list) {
  list.group("Causes");
  list.add("massive_ratio", massive_ratio,
           "a token is massive from this multiple of the layer's median norm on, > 1");
  list.add("dimension_ratio", dimension_ratio,
           "a dimension is an outlier from this multiple of the median root mean square on, > 1");
  list.add("share", share,
           "a cause is present above this fraction of the trace or variance, in (0, 1)");
  list.add("rank_share", rank_share,
           "dimensional collapse: effective rank below this fraction of its maximum, in (0, 1)");
  summary.describe(list, "intervals over sequences");
}

void CollapseOptions::validate() const {
  check_option(massive_ratio > 1.0, "massive_ratio", "> 1", massive_ratio);
  check_option(dimension_ratio > 1.0, "dimension_ratio", "> 1", dimension_ratio);
  check_option(share > 0.0 && share < 1.0, "share", "in (0, 1)", share);
  check_option(rank_share > 0.0 && rank_share < 1.0, "rank_share", "in (0, 1)", rank_share);
  summary.validate("bootstrap");
}

std::int64_t most_outlier_dimensions(std::int64_t dim) {
  constexpr std::int64_t kFew = 5;
  return std::min(std::max(kFew, dim / 100), dim / 8);
}

LayerCauses measure_causes(const LayerRows& rows, const CollapseOptions& options, ThreadPool& pool,
                           const ProgressFn& on_progress, const std::stop_token& stop) {
  options.validate();
  const auto report = [&](std::int64_t done) {
    if (on_progress) on_progress({done * rows.sequences.count / 4, rows.sequences.count, ""});
  };
  RowCache cache(rows.sequences, rows.offsets, kKeptBytes);
  throw_if(cache.num_rows() < 2, "collapse: expected at least 2 rows, got {}", cache.num_rows());
  const Outliers outliers = find_outliers(cache, options, stop);
  report(1);
  LayerCauses causes;
  causes.rows = cache.num_rows();
  causes.sequences = cache.num_sequences();
  causes.dim = cache.dim();
  causes.dimensions = outliers.dimensions;
  CausePass pass(cache, outliers, stop);
  causes.massive = pass.massive();
  causes.largest_ratio =
      std::sqrt(*std::ranges::max_element(outliers.squared_norm)) / outliers.median_norm;
  causes.dimension_tokens = causes.dimensions.empty() ? 0.0 : pass.dimension_tokens();
  report(2);
  measure_entropies(cache, outliers, pool, stop, pass.sums());
  report(3);
  estimate_shares(pass.sums(), options.summary, causes);
  estimate_ranks(pass, options.summary.confidence, causes);
  if (!rows.tokens.empty() && needs_control(causes, options)) {
    causes.control =
        token_control(rows.tokens.first(static_cast<std::size_t>(causes.rows)),
                      {rows.offsets.data(), static_cast<std::size_t>(causes.sequences) + 1},
                      causes.dim, options.summary.seed);
  }
  report(4);
  return causes;
}

std::int64_t causes_bytes(std::int64_t rows, std::int64_t longest, std::int64_t sequences,
                          std::int64_t dim) {
  const std::int64_t smaller = std::min(longest, dim);
  return std::min(rows * dim * 4, kKeptBytes) + longest * dim * 40 +
         (2 * num_blocks(sequences, dim) + 5) * dim * dim * 4 + smaller * smaller * 24 + rows * 40 +
         sequences * (dim + kNumSums) * 8;
}

}  // namespace lime
