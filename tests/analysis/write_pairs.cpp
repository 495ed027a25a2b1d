// SPDX-License-Identifier: Apache-2.0
#include "analysis/write_pairs.h"

#include <algorithm>

#include "analysis/write_capture.h"
#include "core/random.h"
#include "store/capture_writer.h"

namespace lime::testing {
namespace {

std::vector<Sequence> sequences_of(const PairCapture& capture) {
  std::vector<Sequence> sequences;
  std::int32_t pair = 0;
  for (std::size_t task = 0; task < capture.tasks.size(); ++task) {
    for (int i = 0; i < capture.tasks[task].num_pairs; ++i, ++pair) {
      for (const int label : {1, 0}) {
        const std::size_t place = sequences.size();
        Sequence& sequence = sequences.emplace_back();
        sequence.text = "sentence " + std::to_string(place);
        sequence.task = static_cast<std::int16_t>(task);
        const bool is_lost =
            std::find(capture.lost.begin(), capture.lost.end(), place) != capture.lost.end();
        if (!is_lost) {
          sequence.label = static_cast<std::int8_t>(label);
          sequence.pair = pair;
        }
        if (capture.scores.empty()) continue;
        sequence.log_likelihood = capture.scores[place];
        sequence.scored_tokens = 5;
      }
    }
  }
  return sequences;
}

RowTable row_table(std::size_t num_rows) {
  RowTable table;
  for (std::size_t i = 0; i < num_rows; ++i) {
    table.sequence.push_back(static_cast<std::int32_t>(i));
    table.position.push_back(3);
    table.token.push_back(static_cast<std::int32_t>(i % 7));
  }
  return table;
}

}  // namespace

std::size_t PairCapture::num_sentences() const {
  std::size_t count = 0;
  for (const Task& task : tasks) count += 2 * static_cast<std::size_t>(task.num_pairs);
  return count;
}

void write_pairs(const std::filesystem::path& path, const PairCapture& capture) {
  CapturePlan plan;
  plan.info.tool = "test";
  plan.info.rows = capture.rows;
  for (const PairCapture::Task& task : capture.tasks) {
    plan.info.task_names.push_back(task.name);
    plan.info.task_fields.push_back(task.field);
    plan.info.task_terms.push_back(task.term);
  }
  if (!capture.preset.empty()) plan.info.options["blimp_preset"] = capture.preset;
  for (std::size_t layer = 0; layer < capture.layers.size(); ++layer) {
    plan.activations.push_back({"hidden", static_cast<int>(layer), capture.layers[layer].cols(),
                                "blocks." + std::to_string(layer) + ".hook_resid_post"});
  }
  CaptureWriter writer(path, plan);
  ShardWriter shard = writer.begin_shard(0, 0);
  shard.add_sequences(sequences_of(capture));
  if (!capture.layers.empty()) shard.append_rows(row_table(capture.num_sentences()));
  for (std::size_t i = 0; i < capture.layers.size(); ++i) shard.append(i, capture.layers[i]);
  shard.finish();
  writer.finish();
}

PairCapture example_pairs(std::uint64_t seed) {
  PairCapture capture;
  capture.tasks = {{"one", "syntax", "agreement", 12},
                   {"two", "syntax/semantics", "binding", 10},
                   {"three", "syntax_semantics", "agreement", 10}};
  const auto rows = static_cast<std::int64_t>(capture.num_sentences());
  capture.layers = {random_matrix(rows, 4, seed), random_matrix(rows, 4, seed + 1)};
  for (std::int64_t i = 0; i < 24; ++i) {
    capture.layers[1](i, 0) =
        static_cast<float>((i % 2 == 0 ? 10 : -10) + 0.1 * static_cast<double>(i));
  }
  return capture;
}

}  // namespace lime::testing
