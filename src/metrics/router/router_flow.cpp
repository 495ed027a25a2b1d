// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/router_flow.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "core/errors.h"
#include "core/options.h"

namespace lime {
namespace {

using Eigen::Index;

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

RouterFlow router_flow(const Routers& routers, std::int64_t layer, std::int64_t head,
                       const RouterFlowOptions& options) {
  const MatrixD& router = routers.of(layer);
  const Index heads = router.rows();
  throw_if(head < 0 || head >= heads, "router: head {} does not exist, expected 0 to {}", head,
           heads - 1);
  check_option(options.residual_share >= 0.0 && options.residual_share <= 1.0, "residual_share",
               "in [0, 1]", options.residual_share);
  check_option(options.max_edges >= 0, "max_edges", ">= 0", options.max_edges);
  RouterFlow flow;
  MatrixD shares = router.cwiseAbs();
  const double total = shares.row(head).sum();
  if (total > 0.0) shares.row(head) /= total;
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
