// SPDX-License-Identifier: Apache-2.0

// Writes a capture of random rows of any size for peak_memory.py: of tokens, of selected words, of
// minimal pairs, or of a decoder with routers.

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/matrix.h"
#include "core/memory.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/random.h"
#include "store/capture_writer.h"

namespace lime {

enum class CaptureKind {
  kTokens,  ///< every token of each sequence
  kWords,   ///< the same rows, each of one of four words
  kPairs,   ///< a row per sentence, good and bad alternating, in tasks of 1,000 pairs
  kRouted,  ///< every token, with routers of 4 heads per layer
};

template <> struct EnumNames<CaptureKind> {
  static constexpr std::array<std::pair<CaptureKind, std::string_view>, 4> kNames = {
      {{CaptureKind::kTokens, "tokens"},
       {CaptureKind::kWords, "words"},
       {CaptureKind::kPairs, "pairs"},
       {CaptureKind::kRouted, "routed"}}};
};

namespace {

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kPairsPerTask = 1000;
constexpr std::int16_t kWords = 4;

struct MakeOptions {
  std::filesystem::path output = "capture.h5";
  CaptureKind kind = CaptureKind::kTokens;
  ByteSize size{std::int64_t{1} << 30};
  int layers = 4;
  std::int64_t tokens = 256;
  std::int64_t dim = 1024;

  void describe(OptionList& list) {
    list.add("output", output, "the capture to write");
    list.add("kind", kind, "what the rows are");
    list.add("size", size, "bytes of activations, rounded to whole sequences");
    list.add("layers", layers, "layers of the one site, values");
    list.add("tokens", tokens, "tokens of a sequence, even; of pairs, sentences written at once");
    list.add("dim", dim, "dimensions of a row, a multiple of 4");
  }
  void validate() const {
    if (layers < 1 || tokens < 2 || dim < 1 || tokens % 2 != 0 || dim % kHeads != 0) {
      throw InvalidArgument("layers, tokens, dim: must be > 0, tokens even, dim a multiple of {}",
                            kHeads);
    }
  }
  /// Returns the number of sequences; for pairs, of blocks of `tokens` sentences.
  std::int64_t blocks() const {
    return std::max<std::int64_t>(1, size.bytes / (4 * layers * tokens * dim));
  }
  bool of_pairs() const { return kind == CaptureKind::kPairs; }
};

/// Returns rows of one block with a spectrum that decays as 1 / sqrt(i), like representations.
MatrixF block_rows(const MakeOptions& options, Random random) {
  MatrixF rows(options.tokens, options.dim);
  for (Eigen::Index j = 0; j < rows.cols(); ++j) {
    const double scale = 1.0 / std::sqrt(1.0 + static_cast<double>(j));
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      rows(i, j) = static_cast<float>(scale * random.normal());
    }
  }
  return rows;
}

RowTable row_table(const MakeOptions& options, std::int64_t block) {
  RowTable table;
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const std::int64_t sequence = options.of_pairs() ? block * options.tokens + i : block;
    table.sequence.push_back(static_cast<std::int32_t>(sequence));
    table.position.push_back(static_cast<std::int32_t>(options.of_pairs() ? 7 : i));
    table.token.push_back(static_cast<std::int32_t>(i % 97));
    if (options.kind == CaptureKind::kWords) {
      table.class_id.push_back(static_cast<std::int16_t>(i % kWords));
    }
  }
  return table;
}

std::vector<Sequence> sequences_of(const MakeOptions& options, std::int64_t block) {
  if (!options.of_pairs()) return std::vector<Sequence>(1);
  std::vector<Sequence> sequences(static_cast<std::size_t>(options.tokens));
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::int64_t sentence = block * options.tokens + static_cast<std::int64_t>(i);
    sequences[i].label = static_cast<std::int8_t>(i % 2 == 0 ? 1 : 0);
    sequences[i].pair = static_cast<std::int32_t>(sentence / 2);
    sequences[i].task = static_cast<std::int16_t>(sentence / 2 / kPairsPerTask);
  }
  return sequences;
}

void add_tasks(const MakeOptions& options, CaptureInfo& info) {
  const std::int64_t pairs = options.blocks() * options.tokens / 2;
  info.rows = RowKind::kMean;
  for (std::int64_t task = 0; task * kPairsPerTask < pairs; ++task) {
    info.task_names.push_back(fmt::format("task_{}", task));
  }
}

void add_routers(const MakeOptions& options, CapturePlan& plan) {
  plan.info.config = {{"model_type", "lime"},
                      {"vocab_size", 97},
                      {"hidden_size", options.dim},
                      {"intermediate_size", options.dim},
                      {"num_hidden_layers", options.layers},
                      {"num_attention_heads", kHeads},
                      {"num_key_value_heads", kHeads}};
  Random random(1);
  for (int layer = 1; layer < options.layers; ++layer) {
    plan.router[layer] = MatrixF::NullaryExpr(kHeads, (layer + 1) * kHeads,
                                              [&] { return static_cast<float>(random.normal()); });
  }
}

CapturePlan plan_of(const MakeOptions& options) {
  CapturePlan plan;
  plan.info.tool = tool_version();
  if (options.kind == CaptureKind::kWords) plan.info.class_names = {"is", "are", "was", "were"};
  if (options.of_pairs()) add_tasks(options, plan.info);
  if (options.kind == CaptureKind::kRouted) add_routers(options, plan);
  for (int layer = 0; layer < options.layers; ++layer) {
    plan.activations.push_back(
        {"values", layer, options.dim, fmt::format("blocks.{}.attn.hook_v", layer)});
  }
  return plan;
}

int make_capture(const MakeOptions& options) {
  CaptureWriter writer(options.output, plan_of(options), {.if_exists = IfExists::kReplace});
  ShardWriter shard = writer.begin_shard(0, 0);
  std::vector<RunningStatistics> statistics(static_cast<std::size_t>(options.layers));
  for (std::int64_t block = 0; block < options.blocks(); ++block) {
    shard.add_sequences(sequences_of(options, block));
    shard.append_rows(row_table(options, block));
    for (std::size_t layer = 0; layer < statistics.size(); ++layer) {
      const MatrixF rows =
          block_rows(options, Random(layer).fork(static_cast<std::uint64_t>(block)));
      shard.append(layer, rows);
      statistics[layer].add(rows);
    }
  }
  for (std::size_t layer = 0; layer < statistics.size(); ++layer) {
    shard.set_statistics("values", static_cast<int>(layer), statistics[layer], kHeads);
  }
  shard.finish();
  writer.finish();
  fmt::print("{}: {} rows\n", options.output.string(), options.blocks() * options.tokens);
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
