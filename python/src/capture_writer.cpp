// SPDX-License-Identifier: Apache-2.0
#include "store/capture_writer.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "core/files/atomic_file.h"
#include "row_blocks.h"
#include "store/file_names.h"
#include "store/shard_folder.h"
#include "text.h"

namespace lime::python {
namespace {

namespace fs = std::filesystem;

/// Site, layer, dim, hook, and number of heads: > 0 also stores the root mean square of each head.
using Dataset = std::tuple<std::string, int, std::int64_t, std::string, std::int64_t>;

/// A shard whose statistics are those of the rows that it gets.
class RecordedShard {
 public:
  RecordedShard(ShardWriter writer, const CapturePlan& plan, std::vector<std::int64_t> num_heads,
                std::int64_t first_sequence)
      : writer_(std::move(writer)),
        activations_(plan.activations),
        num_heads_(std::move(num_heads)),
        next_(first_sequence) {
    for (const ActivationInfo& one : activations_) {
      blocks_.emplace_back(one, plan.info.storage, memory_);
    }
  }

  void append(std::span<const Sequence> sequences, RowTable rows,
              const std::vector<ConstMatrixRef>& activations) {
    throw_if(activations.size() != blocks_.size(), "record: expected {} activations, got {}",
             blocks_.size(), activations.size());
    writer_->add_sequences(sequences);
    next_ += static_cast<std::int64_t>(sequences.size());
    writer_->append_rows(rows);
    for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i].add(activations[i], taker(i));
  }

  void finish() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].finish(taker(i));
      writer_->set_statistics(activations_[i].site, activations_[i].layer, blocks_[i].statistics(),
                              num_heads_[i]);
    }
    writer_->finish();
    writer_.reset();
  }

  /// Removes the unfinished shard.
  void abandon() { writer_.reset(); }

  bool is_open() const { return writer_.has_value(); }
  /// Returns the number of the next sequence.
  std::int64_t next_sequence() const { return next_; }

 private:
  RowBlocks::Take taker(std::size_t index) {
    return [this, index](const ConstMatrixRef& rows, const std::shared_ptr<const void>& owner) {
      writer_->append(index, rows, owner);
    };
  }

  BlockMemory memory_;
  std::optional<ShardWriter> writer_;
  std::vector<ActivationInfo> activations_;
  std::vector<std::int64_t> num_heads_;
  std::vector<RowBlocks> blocks_;
  std::int64_t next_;
};

/// The writer of a capture, and the heads of its datasets.
struct RecordedCapture {
  CaptureWriter writer;
  std::vector<std::int64_t> num_heads;
};

/// @param info  JSON of CaptureInfo. @param num_shards  0: unknown
void open_writer(RecordedCapture* self, const fs::path& path, const std::string& info,
                 const std::vector<Dataset>& datasets, int num_shards,
                 const std::pair<int, int>& share) {
  CapturePlan plan;
  plan.info = capture_info_from_json(parse_json(info, "record"), "record");
  plan.num_shards = num_shards;
  std::vector<std::int64_t> num_heads;
  for (const auto& [site, layer, dim, hook, heads] : datasets) {
    plan.activations.push_back({.site = site, .layer = layer, .dim = dim, .hook = hook});
    num_heads.push_back(heads);
  }
  const CaptureWriterOptions options = {
      .if_exists = IfExists::kResume, .process = share.first, .num_processes = share.second};
  without_gil([&] {
    new (self) RecordedCapture{CaptureWriter(path, std::move(plan), options), std::move(num_heads)};
  });
}

std::unique_ptr<RecordedShard> begin_shard(RecordedCapture& self, int shard,
                                           std::int64_t first_sequence) {
  return without_gil([&] {
    return std::make_unique<RecordedShard>(self.writer.begin_shard(shard, first_sequence),
                                           self.writer.plan(), self.num_heads, first_sequence);
  });
}

/// Adds sequences with these numbers of rows, and all their rows.
void append(RecordedShard& self, const std::vector<nb::bytes>& texts,
            const std::pair<Column<std::int8_t>, Column<std::int32_t>>& labels_and_pairs,
            const Column<std::int64_t>& lengths,
            const std::pair<Column<std::int32_t>, Column<std::int32_t>>& positions_and_tokens,
            const std::vector<RowsF>& activations) {
  throw_if(!self.is_open(), "record: the shard is finished");
  const auto& [labels, pairs] = labels_and_pairs;
  const auto& [positions, tokens] = positions_and_tokens;
  throw_if(labels.size() != lengths.size() || pairs.size() != lengths.size() ||
               texts.size() != lengths.size(),
           "record: texts, labels and pairs must have an entry for each of the {} sequences",
           lengths.size());
  std::vector<Sequence> sequences(lengths.size());
  RowTable rows;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    sequences[i].text.assign(texts[i].c_str(), texts[i].size());
    sequences[i].label = labels.data()[i];
    sequences[i].pair = pairs.data()[i];
    const auto length = static_cast<std::size_t>(std::max<std::int64_t>(lengths.data()[i], 0));
    const auto number = static_cast<std::int32_t>(self.next_sequence() + static_cast<int>(i));
    rows.sequence.insert(rows.sequence.end(), length, number);
  }
  rows.position.assign(positions.data(), positions.data() + positions.size());
  rows.token.assign(tokens.data(), tokens.data() + tokens.size());
  const std::vector<ConstMatrixRef> matrices = matrix_refs(activations);
  without_gil([&] { self.append(sequences, std::move(rows), matrices); });
}

/// Returns token and sequence of each row of a finished shard.
nb::tuple rows_of(const RecordedCapture& self, int shard) {
  RowTable rows = without_gil([&] { return self.writer.read_rows(shard); });
  return nb::make_tuple(to_numpy(std::move(rows.token)), to_numpy(std::move(rows.sequence)));
}

bool finish(RecordedCapture& self, const std::string& extra, bool is_complete) {
  return without_gil([&] {
    const Json more = parse_json(extra, "record");
    return is_complete ? self.writer.finish(more) : self.writer.finish_partial(more) > 0;
  });
}

/// Returns the record of a finished shard, or None.
nb::object finished_shard(const fs::path& capture, int shard) {
  const std::optional<ShardRecord> record =
      without_gil([&] { return ShardFolder(capture).finished(shard); });
  return record ? to_python(to_json(*record)) : nb::none();
}

/// Returns the manifest of the shards of a capture, or None.
nb::object manifest(const fs::path& capture) {
  const std::optional<Json> found =
      without_gil([&] { return ShardFolder(capture).read_manifest(); });
  return found ? to_python(*found) : nb::none();
}

}  // namespace

void bind_capture_writer(nb::module_& module) {
  nb::class_<RecordedShard>(module, "ShardWriter")
      .def("append", append)
      .def("finish",
           [](RecordedShard& self) {
             throw_if(!self.is_open(), "record: the shard is finished");
             without_gil([&] { self.finish(); });
           })
      .def("abandon", [](RecordedShard& self) { without_gil([&] { self.abandon(); }); });
  nb::class_<RecordedCapture>(module, "CaptureWriter")
      .def("__init__", open_writer)
      .def("begin_shard", begin_shard)
      .def("rows", rows_of)
      .def("finish", finish);
  module.def("finished_shard", finished_shard);
  module.def("read_manifest", manifest);
  module.def("remove_capture",
             [](const fs::path& path) { without_gil([&] { remove_capture(path); }); });
  module.def("shard_folder_of", shard_folder_of);
  module.def("write_file", [](const fs::path& path, const nb::bytes& content) {
    const std::string_view text(content.c_str(), content.size());
    without_gil([&] { write_file_atomically(path, text); });
  });
}

}  // namespace lime::python
