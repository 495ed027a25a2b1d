// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "core/errors.h"
#include "store/capture_layout.h"
#include "store/capture_master.h"
#include "store/capture_tools.h"
#include "store/chunk_reader.h"
#include "store/data_files.h"
#include "store/hdf5_api.h"
#include "store/shard_folder.h"
#include "store/shard_writer_impl.h"

namespace lime {

using hdf5::Id;
using hdf5::Lock;

namespace {

namespace fs = std::filesystem;

/// Runs one check after the other and notes what each has to say.
class Verification {
 public:
  Verification(const fs::path& path, const ProgressFn& on_progress, std::stop_token stop)
      : path_(path), on_progress_(on_progress), stop_(std::move(stop)), file_(path) {
    tables_ = read_attributes(file_);
  }

  std::vector<std::string> run() {
    attempt([&] { check_tables(); });
    if (tables_.shards.empty()) {
      const std::int64_t rows = rows_of(file_);
      progress_.total = bytes_of(rows);
      check_data(file_, rows);
    } else {
      for (const ShardRecord& shard : tables_.shards) progress_.total += bytes_of(shard.num_rows);
      check_master();
      for (const ShardRecord& shard : tables_.shards) check_shard_file(shard);
    }
    return std::move(problems_);
  }

 private:
  void attempt(const std::function<void()>& check) {
    try {
      check();
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      problems_.emplace_back(error.what());
    }
  }

  void require(bool good, const std::string& problem) {
    if (!good) problems_.push_back(problem);
  }

  std::int64_t bytes_of(std::int64_t num_rows) const {
    std::int64_t values = 0;
    for (const ActivationInfo& one : tables_.activations) values += num_rows * one.dim;
    return values * static_cast<std::int64_t>(bytes_per_value(tables_.info.storage));
  }

  std::int64_t rows_of(const Hdf5File& file) {
    std::int64_t rows = 0;
    attempt([&] { rows = file.shape("rows/sequence").at(0); });
    return rows;
  }

  /// Attributes, texts, statistics and routers of the file itself.
  void check_tables() {
    const std::string where = "store: '" + path_.string() + "': ";
    require(file_.string_attribute("attributes_sha256") == attributes_digest(tables_),
            where + "the attributes do not match their digest");
    attempt([&] { check_sequences(file_, where); });
    attempt([&] {
      for (const auto& [site, layer] : list_statistics(file_)) check_statistics(file_, site, layer);
    });
    attempt([&] {
      if (!file_.has("router")) return;
      for (const std::string& name : file_.datasets("router")) file_.read_matrix("router/" + name);
    });
    if (!tables_.info.complete) {
      problems_.push_back(where + "the capture is not complete; resume it to get the rest");
    }
  }

  void check_statistics(const Hdf5File& file, const std::string& site, int layer) {
    attempt([&] {
      read_statistics(file, site, layer);
      const std::string rms = statistics_path(site, layer) + "/rms";
      if (file.has(rms)) file.read<double>(rms);
    });
  }

  void check_sequences(const Hdf5File& file, const std::string& where) {
    const std::vector<Sequence> sequences = read_sequences(file);
    require(file.string_attribute("text_sha256", "sequences") == text_digest(sequences),
            where + "the texts do not match their digest");
    const std::vector<std::int64_t> offsets = file.read<std::int64_t>("sequences/offset");
    require(offsets.size() == sequences.size() + 1,
            where + "there must be one more offset than texts");
  }

  /// The virtual datasets must show every shard once, in order.
  void check_master() {
    for (const char* const column : {"rows/sequence", "rows/position", "rows/token"}) {
      attempt([&] { check_virtual(column); });
    }
    if (!tables_.info.class_names.empty()) attempt([&] { check_virtual("rows/class"); });
    for (const ActivationInfo& one : tables_.activations) {
      attempt([&] { check_virtual(activation_path(one.site, one.layer)); });
    }
  }

  void check_virtual(const std::string& name) {
    const Lock lock;
    const Id dataset = hdf5::open_dataset(file_, name);
    const Id properties(H5Dget_create_plist(dataset.get()), H5Pclose);
    std::size_t count = 0;
    bool good = H5Pget_virtual_count(properties.get(), &count) >= 0;
    std::size_t mapping = 0;
    std::int64_t row = 0;
    for (const ShardRecord& shard : tables_.shards) {
      if (shard.num_rows == 0) continue;
      good = good && mapping < count && maps_to(properties.get(), mapping, shard, "/" + name, row);
      ++mapping;
      row += shard.num_rows;
    }
    const std::vector<std::int64_t> shape = hdf5::shape_of(dataset.get());
    good = good && mapping == count && !shape.empty() && shape.front() == row;
    require(good, "store: '" + path_.string() + "': the virtual dataset '" + name +
                      "' does not show its shards; resume the capture to write it again");
  }

  static bool maps_to(hid_t properties, std::size_t mapping, const ShardRecord& shard,
                      const std::string& dataset, std::int64_t first_row) {
    const auto text = [&](auto get) {
      std::array<char, 512> buffer{};
      return get(properties, mapping, buffer.data(), buffer.size()) < 0
                 ? std::string()
                 : std::string(buffer.data());
    };
    const Id space(H5Pget_virtual_vspace(properties, mapping), H5Sclose);
    std::array<hsize_t, H5S_MAX_RANK> start{};
    std::array<hsize_t, H5S_MAX_RANK> end{};
    return text(H5Pget_virtual_filename) == shard.file &&
           text(H5Pget_virtual_dsetname) == dataset &&
           H5Sget_select_bounds(space.get(), start.data(), end.data()) >= 0 &&
           start[0] == static_cast<hsize_t>(first_row) &&
           end[0] == static_cast<hsize_t>(first_row + shard.num_rows - 1);
  }

  void check_shard_file(const ShardRecord& record) {
    attempt([&] {
      CaptureTables one;
      one.shards = {record};
      check_shards_exist(path_, one);
      const Hdf5File shard(path_.parent_path() / record.file);
      check_shard(shard, record, tables_.identity_sha256);
      const std::string where = "store: '" + shard.path().string() + "': ";
      attempt([&] { check_sequences(shard, where); });
      attempt([&] {
        for (const auto& [site, layer] : list_statistics(shard)) {
          check_statistics(shard, site, layer);
        }
      });
      check_data(shard, record.num_rows);
    });
  }

  /// Rows and activations of a plain file.
  void check_data(const Hdf5File& file, std::int64_t num_rows) {
    const std::string where = "store: '" + file.path().string() + "': ";
    attempt([&] {
      RowTable rows;
      read_rows_into(file, rows);
      require(rows.size() == num_rows, where + "'rows' has not as many entries as there are rows");
      const std::int64_t first =
          file.has_attribute("first_sequence") ? file.int_attribute("first_sequence") : 0;
      const std::vector<std::int64_t> offsets = file.read<std::int64_t>("sequences/offset");
      const auto end = first + static_cast<std::int64_t>(offsets.size()) - 1;
      const bool in_range = std::all_of(rows.sequence.begin(), rows.sequence.end(),
                                        [&](std::int32_t s) { return s >= first && s < end; });
      require(in_range && sequence_offsets(rows.sequence, first, offsets.size() - 1) == offsets,
              where + "'rows/sequence' and 'sequences/offset' are at odds");
    });
    for (const ActivationInfo& one : tables_.activations) {
      attempt([&] { check_activation(file, one, num_rows); });
    }
  }

  void check_activation(const Hdf5File& file, const ActivationInfo& one, std::int64_t num_rows) {
    const std::string name = activation_path(one.site, one.layer);
    const ChunkReader reader(file, name);
    require(reader.num_rows() == num_rows && reader.dim() == one.dim,
            "store: '" + file.path().string() + "': '" + name + "' is not of the expected shape");
    progress_.note = name;
    reader.verify(problems_, [&](std::int64_t bytes) {
      progress_.done += bytes;
      if (on_progress_) on_progress_(progress_);
      if (stop_.stop_requested()) {
        throw Interrupted("store: verifying '{}' was interrupted", path_.string());
      }
    });
  }

  fs::path path_;
  const ProgressFn& on_progress_;
  std::stop_token stop_;
  Hdf5File file_;
  CaptureTables tables_;
  Progress progress_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify_capture(const fs::path& path, const ProgressFn& on_progress,
                                        std::stop_token stop) {
  return Verification(path, on_progress, std::move(stop)).run();
}

}  // namespace lime
