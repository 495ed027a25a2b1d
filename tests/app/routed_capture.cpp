// SPDX-License-Identifier: Apache-2.0
#include "app/routed_capture.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/random.h"
#include "core/running_statistics.h"
#include "store/capture_writer.h"

namespace lime::testing {
namespace {

std::int64_t size_of(const Json& config, const char* key) {
  return config.at(key).get<std::int64_t>();
}

std::int64_t width_of(const Json& config) {
  return size_of(config, "num_key_value_heads") * size_of(config, "hidden_size") /
         size_of(config, "num_attention_heads");
}

RowTable row_table(const RoutedCapture& capture) {
  RowTable table;
  for (std::size_t sequence = 0; sequence < capture.lengths.size(); ++sequence) {
    for (std::int64_t position = 0; position < capture.lengths[sequence]; ++position) {
      const auto row = table.sequence.size();
      table.sequence.push_back(static_cast<std::int32_t>(sequence));
      table.position.push_back(static_cast<std::int32_t>(position));
      table.token.push_back(capture.first_token + static_cast<std::int32_t>(row));
      if (!capture.classes.empty()) table.class_id.push_back(capture.classes[row]);
    }
  }
  return table;
}

/// Layout of captures: the dimension is the fastest index.
MatrixF joined_dimensions(const std::vector<MatrixD>& router) {
  const auto dims = static_cast<Eigen::Index>(router.size());
  MatrixF joined(router[0].rows(), router[0].cols() * dims);
  for (Eigen::Index column = 0; column < joined.cols(); ++column) {
    joined.col(column) =
        router[static_cast<std::size_t>(column % dims)].col(column / dims).cast<float>();
  }
  return joined;
}

CapturePlan plan_of(const RoutedCapture& capture, const std::vector<int>& layers) {
  CapturePlan plan;
  plan.info.tool = "test";
  plan.info.config = capture.config;
  plan.info.checkpoint_sha256 = capture.checkpoint_sha256;
  plan.info.rows = capture.pooled ? RowKind::kMean : RowKind::kTokens;
  plan.info.class_names = capture.class_names;
  for (const char* site : {"values", "routed_values"}) {
    for (const int layer : layers) {
      plan.activations.push_back({site, layer, width_of(capture.config), site});
    }
  }
  for (std::size_t layer = 1; layer < capture.routers.size(); ++layer) {
    plan.router[static_cast<int>(layer)] = capture.routers[layer].cast<float>();
  }
  for (std::size_t layer = 1; layer < capture.router_dimensions.size(); ++layer) {
    plan.router_dimensions[static_cast<int>(layer)] =
        joined_dimensions(capture.router_dimensions[layer]);
  }
  return plan;
}

}  // namespace

std::int64_t RoutedCapture::num_rows() const {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

RoutedCapture random_routed_capture(const Json& config, const std::vector<std::int64_t>& lengths,
                                    std::uint64_t seed) {
  RoutedCapture capture;
  capture.config = config;
  capture.lengths = lengths;
  Random random(seed);
  const std::int64_t heads = size_of(config, "num_key_value_heads");
  for (std::int64_t layer = 0; layer < size_of(config, "num_hidden_layers"); ++layer) {
    const double size = 0.5 + random.uniform();
    const auto draw = [&] { return static_cast<float>(size * (0.3 + random.normal())); };
    capture.values.push_back(MatrixF::NullaryExpr(capture.num_rows(), width_of(config), draw));
    capture.keys.push_back(MatrixF::NullaryExpr(capture.num_rows(), width_of(config), draw));
    MatrixD router = MatrixD::NullaryExpr(heads, (layer + 1) * heads, [&] {
      // Rounded like in a capture.
      return static_cast<double>(static_cast<float>(random.normal()));
    });
    if (layer == 0) router.setIdentity();
    capture.routers.push_back(router);
  }
  return capture;
}

MatrixD routed_values(const RoutedCapture& capture, std::size_t layer, const MatrixD& router) {
  const Eigen::Index heads = router.rows();
  const Eigen::Index dim = capture.values[layer].cols() / heads;
  MatrixD routed = MatrixD::Zero(capture.num_rows(), heads * dim);
  for (Eigen::Index target = 0; target < heads; ++target) {
    for (Eigen::Index column = 0; column < router.cols(); ++column) {
      const MatrixF& source = capture.values[static_cast<std::size_t>(column / heads)];
      routed.middleCols(target * dim, dim) +=
          router(target, column) * source.middleCols(column % heads * dim, dim).cast<double>();
    }
  }
  return routed;
}

MatrixD routed_values(const RoutedCapture& capture, std::size_t layer,
                      const std::vector<MatrixD>& router) {
  MatrixD routed(capture.num_rows(), capture.values[layer].cols());
  const auto dims = static_cast<Eigen::Index>(router.size());
  for (Eigen::Index dim = 0; dim < dims; ++dim) {
    const MatrixD all = routed_values(capture, layer, router[static_cast<std::size_t>(dim)]);
    for (Eigen::Index column = dim; column < all.cols(); column += dims) {
      routed.col(column) = all.col(column);
    }
  }
  return routed;
}

void draw_router_dimensions(RoutedCapture& capture, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t heads = size_of(capture.config, "num_key_value_heads");
  const std::int64_t dims = width_of(capture.config) / heads;
  capture.router_dimensions.clear();
  for (std::size_t layer = 0; layer < capture.routers.size(); ++layer) {
    std::vector<MatrixD> router(static_cast<std::size_t>(dims), capture.routers[layer]);
    if (layer > 0) {
      for (MatrixD& part : router) {
        part = part.unaryExpr([&](double weight) {
          return static_cast<double>(static_cast<float>(weight + random.normal()));
        });
      }
    }
    capture.routers[layer].setZero();
    for (const MatrixD& part : router) capture.routers[layer] += part / static_cast<double>(dims);
    capture.router_dimensions.push_back(std::move(router));
  }
}

void write_routed_capture(const std::filesystem::path& path, const RoutedCapture& capture,
                          const std::vector<int>& chosen_layers) {
  std::vector<int> layers = chosen_layers;
  if (layers.empty()) {
    layers.resize(capture.values.size());
    std::iota(layers.begin(), layers.end(), 0);
  }
  const CapturePlan plan = plan_of(capture, layers);
  const std::int64_t heads = size_of(capture.config, "num_key_value_heads");
  CaptureWriter writer(path, plan);
  ShardWriter shard = writer.begin_shard(0, 0);
  shard.add_sequences(std::vector<Sequence>(capture.lengths.size()));
  shard.append_rows(row_table(capture));
  for (std::size_t i = 0; i < plan.activations.size(); ++i) {
    const auto layer = static_cast<std::size_t>(plan.activations[i].layer);
    const bool is_routed = plan.activations[i].site == "routed_values";
    MatrixF rows = capture.values[layer];
    if (is_routed && !capture.routers.empty()) {
      rows = capture.router_dimensions.empty()
                 ? routed_values(capture, layer, capture.routers[layer]).cast<float>()
                 : routed_values(capture, layer, capture.router_dimensions[layer]).cast<float>();
    }
    shard.append(i, rows);
    if (!is_routed) continue;
    RunningStatistics statistics;
    statistics.add(rows);
    shard.set_statistics("routed_values", plan.activations[i].layer, statistics, heads);
  }
  for (std::size_t layer = 0; layer < capture.values.size(); ++layer) {
    for (const bool is_key : {true, false}) {
      RunningStatistics statistics;
      statistics.add(is_key ? capture.keys[layer] : capture.values[layer]);
      shard.set_statistics(is_key ? "keys" : "values", static_cast<int>(layer), statistics, heads);
    }
  }
  shard.finish();
  writer.finish();
}

}  // namespace lime::testing
