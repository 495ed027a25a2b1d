// SPDX-License-Identifier: Apache-2.0

// Writes a capture of random rows of any size, shard by shard, for peak_memory.py.

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/command_line.h"
#include "core/errors.h"
#include "core/matrix.h"
#include "core/memory.h"
#include "core/program.h"
#include "core/random.h"
#include "store/capture_writer.h"

namespace lime {
namespace {

struct MakeOptions {
  std::filesystem::path output = "capture.h5";
  ByteSize size{std::int64_t{1} << 30};
  int layers = 4;
  std::int64_t tokens = 256;
  std::int64_t dim = 1024;

  void describe(OptionList& list) {
    list.add("output", output, "the capture to write");
    list.add("size", size, "bytes of activations, rounded to whole sequences");
    list.add("layers", layers, "layers of the one site, values");
    list.add("tokens", tokens, "tokens of a sequence");
    list.add("dim", dim, "dimensions of a row");
  }
  void validate() const {
    if (layers < 1 || tokens < 2 || dim < 1) {
      throw InvalidArgument("layers, tokens, dim: must be > 0, with 2 tokens or more");
    }
  }
  std::int64_t sequences() const {
    return std::max<std::int64_t>(1, size.bytes / (4 * layers * tokens * dim));
  }
};

/// Rows of one sequence whose spectrum falls off as 1 / sqrt(i), as representations' does.
MatrixF sequence_rows(const MakeOptions& options, Random random) {
  MatrixF rows(options.tokens, options.dim);
  for (Eigen::Index j = 0; j < rows.cols(); ++j) {
    const double scale = 1.0 / std::sqrt(1.0 + static_cast<double>(j));
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      rows(i, j) = static_cast<float>(scale * random.normal());
    }
  }
  return rows;
}

RowTable rows_of_sequence(std::int64_t sequence, std::int64_t tokens) {
  RowTable table;
  for (std::int64_t i = 0; i < tokens; ++i) {
    table.sequence.push_back(static_cast<std::int32_t>(sequence));
    table.position.push_back(static_cast<std::int32_t>(i));
    table.token.push_back(static_cast<std::int32_t>(i % 97));
  }
  return table;
}

int make_capture(const MakeOptions& options) {
  CapturePlan plan;
  plan.info.tool = tool_version();
  for (int layer = 0; layer < options.layers; ++layer) {
    plan.activations.push_back(
        {"values", layer, options.dim, fmt::format("blocks.{}.attn.hook_v", layer)});
  }
  CaptureWriter writer(options.output, plan, {.if_exists = IfExists::kReplace});
  ShardWriter shard = writer.begin_shard(0, 0);
  std::vector<RunningStatistics> statistics(static_cast<std::size_t>(options.layers));
  for (std::int64_t i = 0; i < options.sequences(); ++i) {
    shard.add_sequences(std::vector<Sequence>(1));
    shard.append_rows(rows_of_sequence(i, options.tokens));
    for (std::size_t layer = 0; layer < statistics.size(); ++layer) {
      const MatrixF rows =
          sequence_rows(options, Random(layer).fork(static_cast<std::uint64_t>(i)));
      shard.append(layer, rows);
      statistics[layer].add(rows);
    }
  }
  for (std::size_t layer = 0; layer < statistics.size(); ++layer) {
    shard.set_statistics("values", static_cast<int>(layer), statistics[layer]);
  }
  shard.finish();
  writer.finish();
  fmt::print("{}: {} sequences\n", options.output.string(), options.sequences());
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::MakeOptions options;
  lime::CommandLine line("lime-bench-capture", "Writes a capture of random rows of any size.");
  line.add_options(options);
  line.on_run([&] { return lime::make_capture(options); });
  return lime::run_program(line, argc, argv);
}
