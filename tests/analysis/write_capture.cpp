// SPDX-License-Identifier: Apache-2.0
#include "analysis/write_capture.h"

#include <numeric>
#include <utility>

#include "core/random.h"
#include "core/running_statistics.h"
#include "store/capture_writer.h"

namespace lime::testing {
namespace {

RowTable row_table(const SmallCapture& capture) {
  RowTable table;
  for (std::size_t sequence = 0; sequence < capture.lengths.size(); ++sequence) {
    for (std::int64_t position = 0; position < capture.lengths[sequence]; ++position) {
      const auto row = static_cast<std::int32_t>(table.sequence.size());
      table.sequence.push_back(static_cast<std::int32_t>(sequence));
      table.position.push_back(capture.positions.empty()
                                   ? static_cast<std::int32_t>(position)
                                   : capture.positions[static_cast<std::size_t>(row)]);
      table.token.push_back(capture.tokens.empty() ? capture.first_token + row
                                                   : capture.tokens[static_cast<std::size_t>(row)]);
      if (capture.class_names.empty()) continue;
      const auto at = static_cast<std::size_t>(row);
      table.class_id.push_back(capture.class_id.empty() ? std::int16_t{0} : capture.class_id[at]);
    }
  }
  return table;
}

}  // namespace

void write_capture(const std::filesystem::path& path, const SmallCapture& capture) {
  CapturePlan plan;
  plan.info.tool = "test";
  plan.info.rows = capture.rows;
  plan.info.input_sha256 = capture.text_sha256;
  plan.info.checkpoint_sha256 = capture.checkpoint_sha256;
  plan.info.tokenizer_sha256 = capture.tokenizer_sha256;
  plan.info.class_names = capture.class_names;
  plan.info.config = capture.config;
  plan.info.extra = capture.extra;
  plan.info.command = capture.command;
  plan.router = capture.router;
  for (const auto& [site, layer, rows] : capture.activations) {
    plan.activations.push_back(
        {site, layer, rows.cols(), "blocks." + std::to_string(layer) + "." + site});
  }
  CaptureWriter writer(path, plan);
  ShardWriter shard = writer.begin_shard(0, 0);
  std::vector<Sequence> sequences(capture.lengths.size());
  for (std::size_t s = 0; s < sequences.size() && capture.num_views > 0; ++s) {
    sequences[s].pair = static_cast<std::int32_t>(s / capture.num_views);
  }
  shard.add_sequences(sequences);
  shard.append_rows(row_table(capture));
  for (std::size_t i = 0; i < capture.activations.size(); ++i) {
    const auto& [site, layer, rows] = capture.activations[i];
    shard.append(i, rows);
    RunningStatistics statistics;
    statistics.add(rows);
    shard.set_statistics(site, layer, statistics, capture.num_heads);
  }
  shard.finish();
  writer.finish();
}

MatrixF random_matrix(std::int64_t num_rows, std::int64_t dim, std::uint64_t seed) {
  Random random(seed);
  return MatrixF::NullaryExpr(num_rows, dim, [&] { return static_cast<float>(random.normal()); });
}

SmallCapture example_capture(std::uint64_t seed) {
  SmallCapture capture;
  capture.lengths = {5, 8, 3};
  const std::int64_t num_rows =
      std::accumulate(capture.lengths.begin(), capture.lengths.end(), std::int64_t{0});
  const Random random(seed);
  std::uint64_t stream = 0;
  for (const auto& [site, dim] : {std::pair("values", 4), std::pair("hidden", 6)}) {
    for (const int layer : {0, 1}) {
      capture.activations.push_back(
          {site, layer, random_matrix(num_rows, dim, random.fork(stream++)())});
    }
  }
  return capture;
}

}  // namespace lime::testing
