// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/counterfactual_router.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/random.h"
#include "core/utf8.h"

namespace lime {
namespace {

using Eigen::Index;
using Row = Eigen::RowVectorXd;

/// A name, and whether a number follows it.
struct KindName {
  CounterfactualKind kind;
  std::string_view name;
  bool takes_number;
  std::int64_t smallest;
};

constexpr std::array<KindName, 9> kKindNames = {{
    {CounterfactualKind::kTrained, "trained", false, 0},
    {CounterfactualKind::kIdentity, "identity", false, 0},
    {CounterfactualKind::kLast, "last", true, 1},
    {CounterfactualKind::kFirst, "first", true, 1},
    {CounterfactualKind::kTop, "top", true, 1},
    {CounterfactualKind::kUnsigned, "unsigned", false, 0},
    {CounterfactualKind::kPermuted, "permuted", false, 0},
    {CounterfactualKind::kRandom, "random", false, 0},
    {CounterfactualKind::kCut, "cut", true, 0},
}};

[[noreturn]] void refuse(std::string_view text) {
  throw InvalidArgument(
      "router: expected trained, identity, last-J, first-J, top-K, unsigned, permuted, random or "
      "cut-L with J, K >= 1, L >= 0, got '{}'",
      printable(text));
}

/// The root mean squares of the heads that `layer` reads, in the order of its columns.
Row scales_of_columns(const HeadScales& scales, Index layer) {
  const Index heads = scales.cols();
  Row row(heads * (layer + 1));
  for (Index source = 0; source <= layer; ++source) {
    row.segment(source * heads, heads) = scales.row(source);
  }
  return row;
}

Row keep_columns(const Row& weights, Index first, Index count) {
  Row kept = Row::Zero(weights.size());
  first = std::min(first, weights.size());
  count = std::min(count, weights.size() - first);
  kept.segment(first, count) = weights.segment(first, count);
  return kept;
}

/// The `count` weights of largest |w| s; at a tie the earlier column.
Row keep_largest(const Row& weights, const Row& scales, Index count) {
  std::vector<Index> order(static_cast<std::size_t>(weights.size()));
  std::iota(order.begin(), order.end(), Index{0});
  const Row size = weights.cwiseAbs().cwiseProduct(scales);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return size(a) > size(b); });
  Row kept = Row::Zero(weights.size());
  for (Index i = 0; i < std::min(count, weights.size()); ++i) {
    const Index column = order[static_cast<std::size_t>(i)];
    kept(column) = weights(column);
  }
  return kept;
}

/// contributions / s, 0 where s is.
Row from_contributions(const Row& contributions, const Row& scales) {
  return (scales.array() > 0.0).select(contributions.array() / scales.array(), 0.0);
}

Row permuted(const Row& weights, const Row& scales, Random random) {
  std::vector<double> contributions;
  for (Index i = 0; i < weights.size(); ++i) contributions.push_back(weights(i) * scales(i));
  random.shuffle(std::span(contributions));
  return from_contributions(Eigen::Map<const Row>(contributions.data(), weights.size()), scales);
}

Row random_weights(const Row& weights, const Row& scales, Random random) {
  Row direction(weights.size());
  for (Index i = 0; i < direction.size(); ++i) direction(i) = random.normal();
  direction = (scales.array() > 0.0).select(direction.array(), 0.0);
  const double norm = direction.norm();
  if (norm > 0.0) direction *= weights.cwiseProduct(scales).norm() / norm;
  return from_contributions(direction, scales);
}

/// The weights of one target head.
Row replaced(const Row& weights, const Row& scales, Index head, Index num_heads,
             const Counterfactual& counterfactual, const Random& random) {
  const Index own = weights.size() - num_heads;
  const Index width = counterfactual.number * num_heads;
  switch (counterfactual.kind) {
    case CounterfactualKind::kTrained:
      break;
    case CounterfactualKind::kIdentity: {
      Row identity = Row::Zero(weights.size());
      identity(own + head) = 1.0;
      return identity;
    }
    case CounterfactualKind::kLast:
      return keep_columns(weights, std::max<Index>(weights.size() - width, 0), weights.size());
    case CounterfactualKind::kFirst:
      return keep_columns(weights, 0, width);
    case CounterfactualKind::kTop:
      return keep_largest(weights, scales, counterfactual.number);
    case CounterfactualKind::kUnsigned:
      return weights.cwiseAbs();
    case CounterfactualKind::kPermuted:
      return permuted(weights, scales, random);
    case CounterfactualKind::kRandom:
      return random_weights(weights, scales, random);
    case CounterfactualKind::kCut: {
      Row cut = weights;
      if (width < weights.size()) cut.segment(width, num_heads).setZero();
      return cut;
    }
  }
  return weights;
}

void check_fits(const Routers& trained, const HeadScales& scales,
                const Counterfactual& counterfactual) {
  if (scales.rows() != trained.num_layers() || scales.cols() != trained.num_key_value_heads) {
    throw InvalidArgument("router: scales must have the shape [{}, {}], got [{}, {}]",
                          trained.num_layers(), trained.num_key_value_heads, scales.rows(),
                          scales.cols());
  }
  if (counterfactual.kind == CounterfactualKind::kCut &&
      counterfactual.number >= trained.num_layers()) {
    throw InvalidArgument("router: {} must name a layer from 0 to {}", counterfactual.name(),
                          trained.num_layers() - 1);
  }
}

MatrixD router_of_layer(const Routers& trained, const HeadScales& scales, Index layer,
                        const Counterfactual& counterfactual,
                        const CounterfactualOptions& options) {
  MatrixD router = trained.weights[static_cast<std::size_t>(layer)];
  if (layer == 0 && counterfactual.kind != CounterfactualKind::kCut) return router;
  const Index heads = trained.num_key_value_heads;
  const Row column_scales = scales_of_columns(scales, layer);
  const Random root(options.seed);
  for (Index head = 0; head < heads; ++head) {
    const Row before = router.row(head);
    const auto stream = static_cast<std::uint64_t>(layer * heads + head);
    Row after = replaced(before, column_scales, head, heads, counterfactual, root.fork(stream));
    const double norm = after.cwiseProduct(column_scales).norm();
    if (options.keep_norm && norm > 0.0) {
      after *= before.cwiseProduct(column_scales).norm() / norm;
    }
    router.row(head) = after;
  }
  return router;
}

}  // namespace

Counterfactual Counterfactual::parse(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view word = text.substr(0, dash);
  const auto found = std::find_if(kKindNames.begin(), kKindNames.end(),
                                  [&](const KindName& entry) { return entry.name == word; });
  const bool has_number = dash != std::string_view::npos;
  if (found == kKindNames.end() || found->takes_number != has_number) refuse(text);
  Counterfactual result{found->kind, 0};
  if (!has_number) return result;
  const std::string_view digits = text.substr(dash + 1);
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, result.number);
  constexpr std::int64_t kLargest = 1'000'000;
  if (parsed.ec != std::errc() || parsed.ptr != end || result.number < found->smallest ||
      result.number > kLargest) {
    refuse(text);
  }
  return result;
}

std::string Counterfactual::name() const {
  for (const KindName& entry : kKindNames) {
    if (entry.kind != kind) continue;
    return entry.takes_number ? fmt::format("{}-{}", entry.name, number) : std::string(entry.name);
  }
  return "unknown";
}

MatrixD counterfactual_router(const Routers& trained, const HeadScales& scales, std::int64_t layer,
                              const Counterfactual& counterfactual,
                              const CounterfactualOptions& options) {
  check_fits(trained, scales, counterfactual);
  return router_of_layer(trained, scales, layer, counterfactual, options);
}

Routers counterfactual_routers(const Routers& trained, const HeadScales& scales,
                               const Counterfactual& counterfactual,
                               const CounterfactualOptions& options) {
  trained.validate();
  check_fits(trained, scales, counterfactual);
  Routers result = trained;
  for (Index layer = 0; layer < trained.num_layers(); ++layer) {
    result.weights[static_cast<std::size_t>(layer)] =
        router_of_layer(trained, scales, layer, counterfactual, options);
  }
  return result;
}

}  // namespace lime
