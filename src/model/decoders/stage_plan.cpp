// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/stage_plan.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

#include "checkpoint/parameters.h"

namespace lime {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

std::int64_t DecoderSizes::of(const LayerRange& range) const {
  const auto begin = layers.begin() + range.first;
  std::int64_t sum = std::accumulate(begin, begin + range.count, std::int64_t{0});
  if (range.first == 0) sum += embedding;
  if (range.end() == std::ssize(layers)) sum += head;
  return sum;
}

DecoderSizes decoder_sizes(const ModelConfig& config) {
  DecoderSizes sizes;
  sizes.layers.resize(static_cast<std::size_t>(config.num_hidden_layers));
  for (const ParameterSpec& spec : parameter_specs(config)) {
    std::int64_t& part = spec.layer >= 0               ? sizes.layers[spec.layer]
                         : is_behind_layers(spec.part) ? sizes.head
                                                       : sizes.embedding;
    part += element_count(spec.shape);
  }
  return sizes;
}

std::vector<LayerRange> plan_stages(const DecoderSizes& sizes, int num_stages) {
  const auto num_layers = std::ssize(sizes.layers);
  throw_if(num_stages < 1 || num_stages > num_layers, OptionName("device"),
           "cannot split {} layers among {} devices, each device needs one; use {} or fewer",
           num_layers, num_stages, num_layers);
  const auto index = [&](std::int64_t stages, std::int64_t first) {
    return static_cast<std::size_t>(stages * (num_layers + 1) + first);
  };
  // Layers of the first stage of each best split of the layers from `first` on.
  std::vector<int> counts;
  const auto search = [&](const auto& cost, const auto& join) {
    const std::size_t size = index(num_stages + 1, 0);
    std::vector<double> costs(size, kNever);
    counts.assign(size, 0);
    costs[index(0, num_layers)] = 0.0;
    for (int stages = 1; stages <= num_stages; ++stages) {
      for (int first = static_cast<int>(num_layers) - stages; first >= 0; --first) {
        for (int count = 1; first + count <= num_layers; ++count) {
          const double all = join(cost(static_cast<double>(sizes.of({first, count}))),
                                  costs[index(stages - 1, first + count)]);
          if (all >= costs[index(stages, first)]) continue;
          costs[index(stages, first)] = all;
          counts[index(stages, first)] = count;
        }
      }
    }
    return costs[index(num_stages, 0)];
  };
  // First minimise the largest stage; then, with no stage larger than that, the sum of squares.
  const double largest =
      search([](double size) { return size; }, [](double a, double b) { return std::max(a, b); });
  search([&](double size) { return size <= largest ? size * size : kNever; }, std::plus<>());
  std::vector<LayerRange> stages;
  for (int left = num_stages, first = 0; left > 0; --left) {
    stages.push_back({first, counts[index(left, first)]});
    first = stages.back().end();
  }
  return stages;
}

}  // namespace lime
