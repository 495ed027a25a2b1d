// SPDX-License-Identifier: Apache-2.0
#include "store/shard_writer.h"

#include <utility>

#include "store/capture_tables.h"

namespace lime {

ShardWriter::Impl::Impl(const ShardFolder& shard_folder, const CapturePlan& capture_plan,
                        const ShardStart& start, const CaptureWriterOptions& options)
    : folder(shard_folder),
      class_names(capture_plan.info.class_names),
      first_sequence(start.first_sequence),
      shard(start.shard) {
  file.emplace(folder.shard_path(shard));
  Hdf5Access::append_trailer(*file);
  tables.info = capture_plan.info;
  file->set_attribute("format", kShardFormat);
  file->set_attribute("schema_version", kCaptureSchemaVersion);
  file->set_attribute("shard", shard);
  file->set_attribute("first_sequence", first_sequence);
  file->set_attribute("identity_sha256", start.identity_sha256);
  if (capture_plan.info.compression == Compression::kDeflate) {
    queue.emplace(options.compress_threads);
  }
  // The queue refers to the writers, so they must not move.
  chunks.reserve(capture_plan.activations.size());
  for (const ActivationInfo& activation : capture_plan.activations) {
    chunks.emplace_back(*file, activation, capture_plan.info.storage, options.chunk_bytes,
                        queue ? &*queue : nullptr);
  }
}

ShardWriter::ShardWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ShardWriter::~ShardWriter() = default;
ShardWriter::ShardWriter(ShardWriter&&) noexcept = default;
ShardWriter& ShardWriter::operator=(ShardWriter&&) noexcept = default;

void ShardWriter::add_sequences(std::span<const Sequence> sequences) {
  auto& all = impl_->tables.sequences;
  all.insert(all.end(), sequences.begin(), sequences.end());
}

void ShardWriter::set_scores(std::int64_t first, std::span<const SequenceScore> scores) {
  std::vector<Sequence>& all = impl_->tables.sequences;
  const auto count = static_cast<std::int64_t>(scores.size());
  const std::int64_t begin = first - impl_->first_sequence;
  throw_if(
      begin < 0 || begin + count > static_cast<std::int64_t>(all.size()),
      "store: scores of sequences {} to {} must be within the shard's {} sequences starting at "
      "{}",
      first, first + count - 1, all.size(), impl_->first_sequence);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Sequence& sequence = all[static_cast<std::size_t>(begin) + i];
    sequence.log_likelihood = scores[i].log_likelihood;
    sequence.scored_tokens = scores[i].scored_tokens;
  }
}

void ShardWriter::append_rows(const RowTable& rows) {
  const std::size_t size = rows.sequence.size();
  const std::size_t classes = impl_->class_names.empty() ? 0 : size;
  throw_if(
      rows.position.size() != size || rows.token.size() != size || rows.class_id.size() != classes,
      "store: positions, tokens{} must match the number of sequences, {}, got {}, {} and {} "
      "classes",
      classes > 0 ? " and classes" : "", size, rows.position.size(), rows.token.size(),
      rows.class_id.size());
  std::int64_t last = impl_->rows.size() > 0 ? impl_->rows.sequence.back() : impl_->first_sequence;
  for (const std::int32_t sequence : rows.sequence) {
    throw_if(sequence < last, "store: rows must be in sequence order, got {} after {}", sequence,
             last);
    last = sequence;
  }
  const auto append = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(impl_->rows.sequence, rows.sequence);
  append(impl_->rows.position, rows.position);
  append(impl_->rows.token, rows.token);
  append(impl_->rows.class_id, rows.class_id);
}

void ShardWriter::append(std::size_t index, const ConstMatrixRef& rows) {
  throw_if(index >= impl_->chunks.size(), "store: the capture has {} activations, got index {}",
           impl_->chunks.size(), index);
  ChunkWriter& chunk = impl_->chunks[index];
  throw_if(rows.cols() != chunk.activation().dim,
           "store: rows of {} in layer {} must have dim {}, got {}", chunk.activation().site,
           chunk.activation().layer, chunk.activation().dim, rows.cols());
  chunk.append(rows);
  impl_->bytes_written +=
      rows.size() * static_cast<std::int64_t>(bytes_per_value(impl_->tables.info.storage));
}

void ShardWriter::set_statistics(const std::string& site, int layer,
                                 const RunningStatistics& statistics, std::int64_t num_heads) {
  throw_if(num_heads > 0 && statistics.mean.size() % num_heads != 0,
           "store: {} of layer {} has {} dimensions, not a multiple of {} heads", site, layer,
           statistics.mean.size(), num_heads);
  impl_->tables.statistics[{site, layer}] = {statistics, num_heads};
}

std::int64_t ShardWriter::num_rows() const { return impl_->rows.size(); }
std::int64_t ShardWriter::bytes_written() const { return impl_->bytes_written; }

void ShardWriter::Impl::check_complete() const {
  for (const ChunkWriter& chunk : chunks) {
    throw_if(chunk.num_rows() != rows.size(),
             "store: {} of layer {} must have the {} announced rows, got {}",
             chunk.activation().site, chunk.activation().layer, rows.size(), chunk.num_rows());
  }
  const auto end = first_sequence + static_cast<std::int64_t>(tables.sequences.size());
  if (rows.size() > 0 && rows.sequence.back() >= end) {
    throw InvalidArgument(
        "store: the last row belongs to sequence {}, but the shard's sequences end at {}",
        rows.sequence.back(), end);
  }
}

void ShardWriter::finish() {
  if (!impl_->file) throw InvalidArgument("store: a shard must be finished only once");
  impl_->check_complete();
  impl_->tables.offsets =
      sequence_offsets(impl_->rows.sequence, impl_->first_sequence, impl_->tables.sequences.size());
  if (impl_->queue) {
    // Compress the last chunks of all datasets concurrently.
    for (ChunkWriter& chunk : impl_->chunks) chunk.end_rows();
  }
  for (ChunkWriter& chunk : impl_->chunks) chunk.finish();
  impl_->chunks.clear();
  write_rows(*impl_->file, impl_->rows, impl_->class_names);
  write_sequences(*impl_->file, impl_->tables);
  write_statistics(*impl_->file, impl_->tables.statistics);
  impl_->file->commit();
  impl_->file.reset();
  ShardRecord record;
  record.shard = impl_->shard;
  record.file = impl_->folder.shard_name(impl_->shard);
  record.first_sequence = impl_->first_sequence;
  record.num_sequences = static_cast<std::int64_t>(impl_->tables.sequences.size());
  record.num_rows = impl_->rows.size();
  record.bytes =
      static_cast<std::int64_t>(std::filesystem::file_size(impl_->folder.shard_path(impl_->shard)));
  impl_->folder.write_record(record);
}

std::vector<std::int64_t> sequence_offsets(const std::vector<std::int32_t>& row_sequences,
                                           std::int64_t first_sequence, std::size_t num_sequences) {
  std::vector<std::int64_t> offsets(num_sequences + 1, 0);
  for (const std::int32_t sequence : row_sequences) {
    ++offsets[static_cast<std::size_t>(sequence - first_sequence) + 1];
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  return offsets;
}

}  // namespace lime
