// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/router_maps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "core/errors.h"
#include "core/options.h"

namespace lime {
namespace {

using Eigen::Index;

/// Returns |R| s of one layer, shaped as the router: [kv_heads, (layer + 1) * kv_heads].
MatrixD weighted_magnitudes(const Routers& routers, Index layer, const HeadScales& scales) {
  const Index heads = routers.num_key_value_heads;
  MatrixD magnitudes = routers.weights[static_cast<std::size_t>(layer)].cwiseAbs();
  for (Index source = 0; source <= layer; ++source) {
    for (Index head = 0; head < heads; ++head) {
      magnitudes.col(source * heads + head) *= scales(source, head);
    }
  }
  return magnitudes;
}

MatrixD sum_over_source_heads(const MatrixD& magnitudes, Index heads) {
  const Index layers = magnitudes.cols() / heads;
  MatrixD sums(magnitudes.rows(), layers);
  for (Index source = 0; source < layers; ++source) {
    sums.col(source) = magnitudes.middleCols(source * heads, heads).rowwise().sum();
  }
  return sums;
}

void normalize_rows(MatrixD& matrix) {
  for (Index row = 0; row < matrix.rows(); ++row) {
    const double total = matrix.row(row).sum();
    if (total > 0.0) matrix.row(row) /= total;
  }
}

void check_scales(const Routers& routers, const HeadScales& scales) {
  routers.validate();
  throw_if(scales.rows() != routers.num_layers() || scales.cols() != routers.num_key_value_heads,
           "router: scales must have the shape [{}, {}], got [{}, {}]", routers.num_layers(),
           routers.num_key_value_heads, scales.rows(), scales.cols());
}

RouterHeadSummary summarize_head(const MatrixD& magnitudes, const MatrixD& signed_weights,
                                 Index layer, Index head) {
  const Index heads = magnitudes.rows();
  RouterHeadSummary summary;
  summary.layer = layer;
  summary.head = head;
  const double total = magnitudes.row(head).sum();
  if (total <= 0.0) return summary;
  double negative = 0.0;
  for (Index column = 0; column < magnitudes.cols(); ++column) {
    const double share = magnitudes(head, column) / total;
    const Index source = column / heads;
    if (share > 0.0) summary.entropy -= share * std::log(share);
    summary.mean_depth += share * static_cast<double>(layer - source);
    if (source == 0) summary.share_embedding += share;
    if (source <= 1) summary.share_first_two += share;
    if (source == layer - 1) summary.share_previous += share;
    if (source == layer) summary.share_own += share;
    if (signed_weights(head, column) < 0.0) negative += share;
  }
  summary.share_negative = negative;
  summary.effective_sources = std::exp(summary.entropy);
  return summary;
}

bool is_signed(RouterQuantity quantity) {
  return quantity == RouterQuantity::kSigned || quantity == RouterQuantity::kSignedShare;
}

bool is_share(RouterQuantity quantity) {
  return quantity == RouterQuantity::kShare || quantity == RouterQuantity::kSignedShare;
}

const MatrixD& router_of(const Routers& routers, std::int64_t layer) {
  throw_if(layer < 0 || layer >= routers.num_layers(),
           "router: layer {} does not exist, expected 0 to {}", layer, routers.num_layers() - 1);
  return routers.weights[static_cast<std::size_t>(layer)];
}

MatrixD weight_values(const MatrixD& router, RouterQuantity quantity) {
  MatrixD values = is_signed(quantity) ? router : MatrixD(router.cwiseAbs());
  if (!is_share(quantity)) return values;
  for (Index h = 0; h < values.rows(); ++h) {
    const double sum = router.row(h).cwiseAbs().sum();
    if (sum > 0.0) values.row(h) /= sum;
  }
  return values;
}

MatrixD by_head_and_layer(const Eigen::Ref<const Eigen::RowVectorXd>& row, Index heads) {
  MatrixD table(heads, row.size() / heads);
  for (Index j = 0; j < row.size(); ++j) table(j % heads, j / heads) = row(j);
  return table;
}

class StrongestEdges {
 public:
  explicit StrongestEdges(std::int64_t count) : count_(static_cast<std::size_t>(count)) {}

  double floor() const { return floor_; }

  void add(const RouterFlow::Edge& edge) {
    edges_.push_back(edge);
    if (edges_.size() >= 2 * count_ + kSpare) drop_weak();
  }

  std::vector<RouterFlow::Edge> take() {
    drop_weak();
    std::ranges::sort(edges_, is_before);
    return std::move(edges_);
  }

 private:
  static constexpr std::size_t kSpare = 1024;

  /// Orders equal edges by descending layer, then by ascending heads, without ties.
  static bool is_before(const RouterFlow::Edge& a, const RouterFlow::Edge& b) {
    return std::tuple(-a.amount, -a.layer, a.head, a.source_layer, a.source_head) <
           std::tuple(-b.amount, -b.layer, b.head, b.source_layer, b.source_head);
  }

  void drop_weak() {
    if (edges_.size() <= count_) return;
    const auto last = edges_.begin() + static_cast<std::ptrdiff_t>(count_);
    std::nth_element(edges_.begin(), last, edges_.end(), is_before);
    // Layers come in descending order: a later equal edge would be dropped.
    floor_ = last->amount;
    edges_.erase(last, edges_.end());
  }

  std::size_t count_;
  double floor_ = 0.0;
  std::vector<RouterFlow::Edge> edges_;
};

/// Distributes the content `each` of every routed head of `layer` to its buffered heads.
/// @param passed  [all buffered heads, as the columns of R]
void pass_on(const MatrixD& router, Index layer, double each, Eigen::RowVectorXd& passed,
             StrongestEdges& strongest) {
  const Index heads = router.rows();
  Eigen::RowVectorXd amounts(router.cols());
  for (Index h = 0; h < heads; ++h) {
    const double sum = router.row(h).cwiseAbs().sum();
    if (!(sum > 0.0)) continue;
    amounts = each * (router.row(h).cwiseAbs() / sum);
    passed.head(amounts.size()) += amounts;
    // Most heads have no edge that is strong enough; comparing the strongest suffices.
    if (!(amounts.maxCoeff() > strongest.floor())) continue;
    for (Index j = 0; j < amounts.size(); ++j) {
      if (!(amounts(j) > strongest.floor())) continue;
      strongest.add({layer, h, j / heads, j % heads, amounts(j)});
    }
  }
}

}  // namespace

void Routers::validate() const {
  throw_if(num_key_value_heads < 1, "router: num_key_value_heads must be >= 1, got {}",
           num_key_value_heads);
  for (Index layer = 0; layer < num_layers(); ++layer) {
    const MatrixD& router = weights[static_cast<std::size_t>(layer)];
    const Index columns = (layer + 1) * num_key_value_heads;
    throw_if(router.rows() != num_key_value_heads || router.cols() != columns,
             "router: layer {} must have the shape [{}, {}], got [{}, {}]", layer,
             num_key_value_heads, columns, router.rows(), router.cols());
    throw_if(!router.allFinite(), "router: layer {} contains a weight that is not finite", layer);
  }
}

Routers Routers::identity(std::int64_t num_layers, std::int64_t num_key_value_heads) {
  Routers routers;
  routers.num_key_value_heads = num_key_value_heads;
  for (Index layer = 0; layer < num_layers; ++layer) {
    MatrixD router = MatrixD::Zero(num_key_value_heads, (layer + 1) * num_key_value_heads);
    router.rightCols(num_key_value_heads).setIdentity();
    routers.weights.push_back(std::move(router));
  }
  return routers;
}

HeadScales unit_scales(const Routers& routers) {
  return HeadScales::Ones(routers.num_layers(), routers.num_key_value_heads);
}

MatrixD router_mean_map(const Routers& routers, const HeadScales& scales) {
  check_scales(routers, scales);
  const Index layers = routers.num_layers();
  MatrixD map = MatrixD::Zero(layers, layers);
  for (Index layer = 0; layer < layers; ++layer) {
    const MatrixD magnitudes = weighted_magnitudes(routers, layer, scales);
    map.row(layer).head(layer + 1) =
        sum_over_source_heads(magnitudes, routers.num_key_value_heads).colwise().sum();
  }
  normalize_rows(map);
  return map;
}

std::vector<MatrixD> router_head_maps(const Routers& routers, const HeadScales& scales) {
  check_scales(routers, scales);
  std::vector<MatrixD> maps;
  for (Index layer = 0; layer < routers.num_layers(); ++layer) {
    maps.push_back(sum_over_source_heads(weighted_magnitudes(routers, layer, scales),
                                         routers.num_key_value_heads));
    normalize_rows(maps.back());
  }
  return maps;
}

std::vector<RouterDrift> router_drift(const Routers& routers) {
  routers.validate();
  const Index heads = routers.num_key_value_heads;
  const MatrixD identity = MatrixD::Identity(heads, heads);
  std::vector<RouterDrift> drifts;
  for (const MatrixD& router : routers.weights) {
    RouterDrift drift;
    drift.own_distance = (router.rightCols(heads) - identity).norm() / identity.norm();
    const MatrixD others = router.leftCols(router.cols() - heads);
    const double start = 1.0 / std::sqrt(static_cast<double>(router.cols()));
    drift.others_ratio = others.size() == 0 ? std::numeric_limits<double>::quiet_NaN()
                                            : std::sqrt(others.array().square().mean()) / start;
    drifts.push_back(drift);
  }
  return drifts;
}

std::vector<RouterHeadSummary> summarize_routers(const Routers& routers, const HeadScales& scales) {
  check_scales(routers, scales);
  std::vector<RouterHeadSummary> summaries;
  for (Index layer = 0; layer < routers.num_layers(); ++layer) {
    const MatrixD magnitudes = weighted_magnitudes(routers, layer, scales);
    for (Index head = 0; head < routers.num_key_value_heads; ++head) {
      summaries.push_back(summarize_head(
          magnitudes, routers.weights[static_cast<std::size_t>(layer)], layer, head));
    }
  }
  return summaries;
}

VectorD router_distance(const Routers& routers, const Routers& reference) {
  routers.validate();
  reference.validate();
  throw_if(routers.num_layers() != reference.num_layers() ||
               routers.num_key_value_heads != reference.num_key_value_heads,
           "router: both routers must have {} layers and {} heads, got {} and {}",
           routers.num_layers(), routers.num_key_value_heads, reference.num_layers(),
           reference.num_key_value_heads);
  VectorD distances(routers.num_layers());
  for (Index layer = 0; layer < routers.num_layers(); ++layer) {
    const MatrixD& weights = routers.weights[static_cast<std::size_t>(layer)];
    const MatrixD& other = reference.weights[static_cast<std::size_t>(layer)];
    const double norm = other.norm();
    distances(layer) = (weights - other).norm() / (norm > 0.0 ? norm : 1.0);
  }
  return distances;
}

MatrixD router_layer_values(const Routers& routers, RouterQuantity quantity) {
  const Index layers = routers.num_layers();
  MatrixD values = MatrixD::Constant(layers, layers, std::numeric_limits<double>::quiet_NaN());
  const RouterQuantity sums =
      is_signed(quantity) ? RouterQuantity::kSigned : RouterQuantity::kMagnitude;
  for (Index l = 0; l < layers; ++l) {
    auto row = values.row(l).head(l + 1);
    row = router_head_values(routers, l, sums).colwise().mean();
    const double whole = router_of(routers, l).cwiseAbs().rowwise().sum().mean();
    if (is_share(quantity) && whole > 0.0) row /= whole;
  }
  return values;
}

MatrixD router_head_values(const Routers& routers, std::int64_t layer, RouterQuantity quantity) {
  const MatrixD values = weight_values(router_of(routers, layer), quantity);
  return sum_over_source_heads(values, values.rows());
}

MatrixD router_block_values(const Routers& routers, std::int64_t layer, std::int64_t source_layer,
                            RouterQuantity quantity) {
  const MatrixD values = weight_values(router_of(routers, layer), quantity);
  throw_if(source_layer < 0 || source_layer > layer,
           "router: layer {} reads layers 0 to {}, got {}", layer, layer, source_layer);
  return values.middleCols(source_layer * values.rows(), values.rows());
}

RouterFlow router_flow(const Routers& routers, std::int64_t layer, std::int64_t head,
                       const RouterFlowOptions& options) {
  const MatrixD& router = router_of(routers, layer);
  const Index heads = router.rows();
  throw_if(head < 0 || head >= heads, "router: head {} does not exist, expected 0 to {}", head,
           heads - 1);
  check_option(options.residual_share >= 0.0 && options.residual_share <= 1.0, "residual_share",
               "in [0, 1]", options.residual_share);
  check_option(options.max_edges >= 0, "max_edges", ">= 0", options.max_edges);
  RouterFlow flow;
  MatrixD shares = router.cwiseAbs();
  normalize_rows(shares);
  flow.direct = by_head_and_layer(shares.row(head), heads);
  flow.signs = by_head_and_layer(router.row(head).cwiseSign(), heads);
  Eigen::RowVectorXd passed = Eigen::RowVectorXd::Zero(heads * (layer + 1));
  StrongestEdges strongest(options.max_edges);
  // Part of the stream before layer m that did not pass through a buffer.
  double carried = 0.0;
  for (Index m = layer; m > 0; --m) {
    const double stream =
        carried + flow.direct.col(m).sum() + passed.segment(m * heads, heads).sum();
    const double each = (1.0 - options.residual_share) * stream / static_cast<double>(heads);
    pass_on(routers.weights[static_cast<std::size_t>(m - 1)], m - 1, each, passed, strongest);
    carried = options.residual_share * stream;
  }
  flow.indirect = by_head_and_layer(passed, heads);
  flow.edges = strongest.take();
  return flow;
}

}  // namespace lime
