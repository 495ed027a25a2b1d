// SPDX-License-Identifier: Apache-2.0
#include "store/sample_capture.h"

#include <fmt/format.h>

#include <vector>

#include "core/half.h"
#include "core/random.h"

namespace lime::testing {

std::int64_t SampleCapture::rows_of(std::int64_t sequence) const {
  return sequence == 5 ? 0 : 3 + sequence * 7 % 18;
}

std::int64_t SampleCapture::num_rows() const {
  std::int64_t rows = 0;
  for (std::int64_t s = 0; s < num_sequences(); ++s) rows += rows_of(s);
  return rows;
}

CapturePlan SampleCapture::plan() const {
  CapturePlan plan;
  plan.info.tool = "lime-test";
  plan.info.command = "lime-capture --sites values,hidden";
  plan.info.created_utc = "2026-01-02T03:04:05Z";
  plan.info.config = {{"model_type", "llama"}, {"rope_theta", 10000.0}};
  plan.info.options = {{"layers", "all"}, {"seq_len", 20}, {"nested", {{"only", {"is", "are"}}}}};
  plan.info.checkpoint_sha256 = "c0ffee";
  plan.info.input_sha256 = "beef";
  plan.info.storage = storage;
  plan.info.compression = compression;
  plan.info.seed = seed;
  plan.info.prepended = "<s>";
  plan.info.first_ids = {1, 5, 9};
  plan.info.first_tokens = {"<s>", " Once", "\xc3\xa9"};
  if (with_classes) plan.info.class_names = {" is", " are"};
  plan.info.task_names = {"npi", "agreement"};
  plan.info.extra = {{"deviation", 1e-6}};
  for (int layer = 0; layer < num_layers; ++layer) {
    plan.activations.push_back({"values", layer, 8, fmt::format("blocks.{}.attn.hook_v", layer)});
  }
  for (int layer = 0; layer < num_layers; ++layer) {
    plan.activations.push_back(
        {"hidden", layer, 12, fmt::format("blocks.{}.hook_resid_post", layer)});
  }
  for (int layer = 1; layer < num_layers; ++layer) {
    plan.router[layer] = MatrixF::Constant(2, (layer + 1) * 2, 0.5F);
    plan.router[layer](0, 1) = static_cast<float>(layer);
  }
  plan.num_shards = num_shards;
  return plan;
}

RowTable SampleCapture::rows(std::int64_t sequence) const {
  RowTable table;
  for (std::int64_t i = 0; i < rows_of(sequence); ++i) {
    table.sequence.push_back(static_cast<std::int32_t>(sequence));
    table.position.push_back(static_cast<std::int32_t>(i));
    table.token.push_back(static_cast<std::int32_t>(100 * sequence + i));
    if (with_classes) table.class_id.push_back(static_cast<std::int16_t>(i % 2));
  }
  return table;
}

Sequence SampleCapture::sequence(std::int64_t number) const {
  Sequence sequence;
  sequence.text = fmt::format("sequence {} \xe6\x97\xa5", number);
  sequence.label = static_cast<std::int8_t>(number % 2);
  sequence.pair = static_cast<std::int32_t>(number / 2);
  sequence.task = static_cast<std::int16_t>(number % 2);
  return sequence;
}

MatrixF SampleCapture::activations(std::size_t index, std::int64_t sequence) const {
  const std::int64_t dim = plan().activations[index].dim;
  Random random = Random(seed).fork(1000 * index + static_cast<std::uint64_t>(sequence));
  MatrixF matrix(rows_of(sequence), dim);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = static_cast<float>(random.normal());
  }
  return matrix;
}

MatrixF SampleCapture::expected(std::size_t index) const {
  MatrixF all(num_rows(), plan().activations[index].dim);
  Eigen::Index row = 0;
  for (std::int64_t s = 0; s < num_sequences(); ++s) {
    all.middleRows(row, rows_of(s)) = activations(index, s);
    row += rows_of(s);
  }
  if (storage == StorageType::kFloat32) return all;
  const auto size = static_cast<std::size_t>(all.size());
  std::vector<HalfBits> halves(size);
  float_to_half({all.data(), size}, halves);
  half_to_float(halves, {all.data(), size});
  return all;
}

void SampleCapture::write_shard(CaptureWriter& writer, int shard) const {
  const std::int64_t first = std::int64_t{shard} * sequences_per_shard;
  ShardWriter out = writer.begin_shard(shard, first);
  const std::vector<ActivationInfo>& activation_list = writer.plan().activations;
  std::vector<RunningStatistics> statistics(activation_list.size());
  for (std::int64_t s = first; s < first + sequences_per_shard; ++s) {
    const std::vector<Sequence> one = {sequence(s)};
    out.add_sequences(one);
    out.append_rows(rows(s));
    for (std::size_t i = 0; i < activation_list.size(); ++i) {
      const MatrixF values = activations(i, s);
      out.append(i, values);
      statistics[i].add(values);
    }
  }
  for (std::size_t i = 0; i < activation_list.size(); ++i) {
    const ActivationInfo& what = activation_list[i];
    out.set_statistics(what.site, what.layer, statistics[i], what.site == "values" ? 2 : 0);
  }
  out.finish();
}

bool SampleCapture::write(const std::filesystem::path& path, CaptureWriterOptions options) const {
  options.chunk_bytes = chunk_bytes;
  CaptureWriter writer(path, plan(), options);
  for (const int shard : writer.missing_shards()) write_shard(writer, shard);
  return writer.finish();
}

}  // namespace lime::testing
