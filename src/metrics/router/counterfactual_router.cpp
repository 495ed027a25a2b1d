// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/counterfactual_router.h"

#include <charconv>
#include <numeric>

#include "core/errors.h"
#include "core/random.h"
#include "core/utf8.h"

namespace lime {
namespace {

using Eigen::Index;

/// Name of a kind, and the smallest number that may follow it, if any.
struct KindName {
  CounterfactualKind kind;
  std::string_view name;
  std::optional<std::int64_t> smallest = {};
};

constexpr std::array<KindName, 11> kKindNames = {{
    {CounterfactualKind::kTrained, "trained"},
    {CounterfactualKind::kIdentity, "identity"},
    {CounterfactualKind::kLast, "last", 1},
    {CounterfactualKind::kFirst, "first", 1},
    {CounterfactualKind::kTop, "top", 1},
    {CounterfactualKind::kUnsigned, "unsigned"},
    {CounterfactualKind::kPermuted, "permuted"},
    {CounterfactualKind::kRandom, "random"},
    {CounterfactualKind::kCut, "cut", 0},
    {CounterfactualKind::kMean, "mean"},
    {CounterfactualKind::kShuffled, "shuffled"},
}};

[[noreturn]] void refuse(std::string_view text) {
  throw InvalidArgument(
      OptionName("router"),
      "expected trained, identity, last-J, first-J, top-K, unsigned, permuted, random, "
      "mean, shuffled or cut-L with J, K >= 1, L >= 0, got '{}'",
      printable(text));
}

/// Returns the scales of a layer's sources, shaped as a target head's weights.
MatrixD scales_of_sources(const HeadScales& scales, const LayerRouter& router) {
  const Index heads = router.num_heads();
  const Index dims = router.num_dims();
  MatrixD result(dims, router.num_sources());
  for (Index source = 0; source < result.cols(); ++source) {
    for (Index dim = 0; dim < dims; ++dim) {
      result(dim, source) = scales(source / heads, source % heads * dims + dim);
    }
  }
  return result;
}

MatrixD weights_of_head(const LayerRouter& router, Index head) {
  MatrixD weights(router.num_dims(), router.num_sources());
  for (Index dim = 0; dim < weights.rows(); ++dim) {
    weights.row(dim) = router.of_dimension(dim).row(head);
  }
  return weights;
}

MatrixD keep_columns(const MatrixD& weights, Index first, Index count) {
  MatrixD kept = MatrixD::Zero(weights.rows(), weights.cols());
  first = std::min(first, weights.cols());
  count = std::min(count, weights.cols() - first);
  kept.middleCols(first, count) = weights.middleCols(first, count);
  return kept;
}

/// Keeps the `count` sources with the largest ||w s||; ties: the earlier column.
MatrixD keep_largest(const MatrixD& weights, const MatrixD& scales, Index count) {
  std::vector<Index> order(static_cast<std::size_t>(weights.cols()));
  std::iota(order.begin(), order.end(), Index{0});
  const Eigen::RowVectorXd size = weights.cwiseProduct(scales).colwise().norm();
  std::ranges::stable_sort(order, [&](Index a, Index b) { return size(a) > size(b); });
  MatrixD kept = MatrixD::Zero(weights.rows(), weights.cols());
  for (Index i = 0; i < std::min(count, weights.cols()); ++i) {
    const Index column = order[static_cast<std::size_t>(i)];
    kept.col(column) = weights.col(column);
  }
  return kept;
}

/// Returns contributions / s, 0 where s is 0.
MatrixD from_contributions(const MatrixD& contributions, const MatrixD& scales) {
  return (scales.array() > 0.0).select(contributions.array() / scales.array(), 0.0);
}

MatrixD permuted(const MatrixD& weights, const MatrixD& scales, Random random) {
  std::vector<Index> order(static_cast<std::size_t>(weights.cols()));
  std::iota(order.begin(), order.end(), Index{0});
  random.shuffle(std::span(order));
  const MatrixD contributions = weights.cwiseProduct(scales);
  MatrixD moved(weights.rows(), weights.cols());
  for (Index column = 0; column < moved.cols(); ++column) {
    moved.col(column) = contributions.col(order[static_cast<std::size_t>(column)]);
  }
  return from_contributions(moved, scales);
}

MatrixD random_weights(const MatrixD& weights, const MatrixD& scales, Random random) {
  MatrixD direction(weights.rows(), weights.cols());
  std::generate_n(direction.data(), direction.size(), [&] { return random.normal(); });
  direction = (scales.array() > 0.0).select(direction.array(), 0.0);
  const double norm = direction.norm();
  if (norm > 0.0) direction *= weights.cwiseProduct(scales).norm() / norm;
  return from_contributions(direction, scales);
}

MatrixD replaced(const MatrixD& weights, const MatrixD& scales, Index head, Index num_heads,
                 const Counterfactual& counterfactual, const Random& random) {
  const Index sources = weights.cols();
  const Index width = counterfactual.number * num_heads;
  switch (counterfactual.kind) {
    case CounterfactualKind::kTrained:
    case CounterfactualKind::kMean:
    case CounterfactualKind::kShuffled: break;
    case CounterfactualKind::kIdentity: {
      MatrixD identity = MatrixD::Zero(weights.rows(), sources);
      identity.col(sources - num_heads + head).setOnes();
      return identity;
    }
    case CounterfactualKind::kLast:
      return keep_columns(weights, std::max<Index>(sources - width, 0), sources);
    case CounterfactualKind::kFirst: return keep_columns(weights, 0, width);
    case CounterfactualKind::kTop: return keep_largest(weights, scales, counterfactual.number);
    case CounterfactualKind::kUnsigned: return weights.cwiseAbs();
    case CounterfactualKind::kPermuted: return permuted(weights, scales, random);
    case CounterfactualKind::kRandom: return random_weights(weights, scales, random);
    case CounterfactualKind::kCut: {
      MatrixD cut = weights;
      if (width < sources) cut.middleCols(width, num_heads).setZero();
      return cut;
    }
  }
  return weights;
}

/// Rescales to the contributions of `before`.
void keep_norm(MatrixD& after, const MatrixD& before, const MatrixD& scales) {
  const double norm = after.cwiseProduct(scales).norm();
  if (norm > 0.0) after *= before.cwiseProduct(scales).norm() / norm;
}

void check_fits(const LayerRouter& trained, const HeadScales& scales, Index layer,
                const Counterfactual& counterfactual) {
  const Index heads = trained.num_heads();
  throw_if(
      trained.num_sources() != (layer + 1) * heads || layer >= scales.rows() ||
          scales.cols() != heads * trained.num_dims(),
      "router: scales must have the shape [layers, {}] and the router of layer {} [{}, {}], got "
      "[{}, {}] and [{}, {}]",
      heads * trained.num_dims(), layer, heads, (layer + 1) * heads, scales.rows(), scales.cols(),
      heads, trained.num_sources());
  throw_if(
      counterfactual.kind == CounterfactualKind::kCut && counterfactual.number >= scales.rows(),
      OptionName("router"), "{} must name a layer from 0 to {}", counterfactual.name(),
      scales.rows() - 1);
}

}  // namespace

Counterfactual Counterfactual::parse(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view word = text.substr(0, dash);
  const auto found = std::ranges::find(kKindNames, word, &KindName::name);
  const bool has_number = dash != std::string_view::npos;
  if (found == kKindNames.end() || found->smallest.has_value() != has_number) refuse(text);
  Counterfactual result{found->kind, 0};
  if (!has_number) return result;
  const std::string_view digits = text.substr(dash + 1);
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, result.number);
  constexpr std::int64_t kLargest = 1'000'000;
  if (parsed.ec != std::errc() || parsed.ptr != end || result.number < *found->smallest ||
      result.number > kLargest) {
    refuse(text);
  }
  return result;
}

std::string Counterfactual::name() const {
  for (const KindName& entry : kKindNames) {
    if (entry.kind != kind) continue;
    return entry.smallest ? fmt::format("{}-{}", entry.name, number) : std::string(entry.name);
  }
  return "unknown";
}

LayerRouter counterfactual_router(const LayerRouter& trained, const HeadScales& scales,
                                  std::int64_t layer, const Counterfactual& counterfactual,
                                  const CounterfactualOptions& options) {
  check_fits(trained, scales, layer, counterfactual);
  if (layer == 0 && counterfactual.kind != CounterfactualKind::kCut) return trained;
  const Index heads = trained.num_heads();
  const MatrixD sizes = scales_of_sources(scales, trained);
  const Random root(options.seed);
  std::vector<MatrixD> result(static_cast<std::size_t>(trained.num_dims()),
                              MatrixD(heads, trained.num_sources()));
  for (Index head = 0; head < heads; ++head) {
    const MatrixD before = weights_of_head(trained, head);
    const auto stream = static_cast<std::uint64_t>(layer * heads + head);
    MatrixD after = replaced(before, sizes, head, heads, counterfactual, root.fork(stream));
    if (options.keep_norm) keep_norm(after, before, sizes);
    for (Index dim = 0; dim < after.rows(); ++dim) {
      result[static_cast<std::size_t>(dim)].row(head) = after.row(dim);
    }
  }
  return LayerRouter(std::move(result));
}

MatrixD counterfactual_weights(const ConstMatrixRef& weights, const TokenRouter& router,
                               const Counterfactual& counterfactual,
                               const CounterfactualOptions& options, std::int64_t first_row) {
  const Index width = router.scales.cols();
  const CounterfactualKind kind = counterfactual.kind;
  const Random root(options.seed);
  MatrixD result = weights.cast<double>().transpose();
  if (kind == CounterfactualKind::kShuffled) {
    std::vector<Index> order(static_cast<std::size_t>(weights.rows()));
    std::iota(order.begin(), order.end(), Index{0});
    root.fork(static_cast<std::uint64_t>(router.layer))
        .fork(static_cast<std::uint64_t>(first_row))
        .shuffle(std::span(order));
    for (Index token = 0; token < weights.rows(); ++token) {
      result.col(token) =
          weights.row(order[static_cast<std::size_t>(token)]).cast<double>().transpose();
    }
  }
  if (kind == CounterfactualKind::kMean) result.colwise() = router.mean;
  if (kind == CounterfactualKind::kTrained || kind == CounterfactualKind::kShuffled) return result;
  for (Index head = 0; head < router.scales.rows(); ++head) {
    const MatrixD scales = router.scales.row(head);
    const auto stream =
        root.fork(static_cast<std::uint64_t>(router.layer * router.scales.rows() + head));
    for (Index token = 0; token < weights.rows(); ++token) {
      const MatrixD before = weights.row(token).segment(head * width, width).cast<double>();
      auto own = result.col(token).segment(head * width, width);
      MatrixD after = own.transpose();
      if (kind == CounterfactualKind::kIdentity && router.is_sum) {
        after.setOnes();
      } else if (kind != CounterfactualKind::kMean) {
        after = replaced(before, scales, router.source_heads == 1 ? 0 : head, router.source_heads,
                         counterfactual,
                         kind == CounterfactualKind::kRandom
                             ? stream.fork(static_cast<std::uint64_t>(first_row + token))
                             : stream);
      }
      if (options.keep_norm) keep_norm(after, before, scales);
      own = after.transpose();
    }
  }
  return result;
}

}  // namespace lime
