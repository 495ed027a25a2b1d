// SPDX-License-Identifier: Apache-2.0

// Measures writing and reading captures, compressed and uncompressed, against plain files of the
// same size, in one run. bench/store_side_by_side.py adds h5py.

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/timing.h"
#include "core/errors.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/random.h"
#include "core/threads/thread_pool.h"
#include "store/capture_reader.h"
#include "store/capture_tools.h"
#include "store/capture_writer.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

struct BenchOptions {
  fs::path folder = "bench-store";
  fs::path source;
  std::int64_t rows = 32768;
  std::int64_t dim = 768;
  int layers = 8;
  std::int64_t batch = 4096;
  int shards = 2;
  int repeats = 5;
  int threads = 4;
  bool cold = false;
  bool json = false;
  bool keep = false;

  void describe(OptionList& list) {
    list.add("folder", folder, "where the files are written; made if missing");
    list.add("source", source,
             "a capture whose hidden states are written, over and over, with its dimensions and "
             "layers; random numbers if not given, which compress as no model's do");
    list.add("rows", rows, "rows of the capture");
    list.add("dim", dim, "dimensions of a row");
    list.add("layers", layers, "datasets of the capture");
    list.add("batch", batch, "rows handed over at a time");
    list.add("shards", shards, "shards of the capture");
    list.add("repeats", repeats, "runs of each measurement, of which the median is shown");
    list.add("threads", threads, "threads that compress, and of the second way of reading a layer");
    list.add("cold", cold, "drop the files from the page cache before reading; else read twice");
    list.add("json", json, "print one JSON object");
    list.add("keep", keep, "leave the files for another reader");
  }
  std::int64_t bytes_per_layer() const { return rows * dim * 4; }
};

/// Measurements by name, each run once per round so that a busy period affects all of them.
class StoreBench {
 public:
  explicit StoreBench(const BenchOptions& options) : options_(options), pool_(options.threads) {
    fs::create_directories(options.folder);
    if (options.source.empty()) {
      draw_batch();
    } else {
      read_batches();
    }
    const std::int64_t values = options_.rows * options_.dim;
    layer_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(values));
    std::fill_n(layer_.get(), values, 0.0F);
  }

  void run() {
    for (int round = 0; round < options_.repeats; ++round) {
      write_plain();
      write_capture("f32", StorageType::kFloat32);
      write_capture("f16", StorageType::kFloat16);
      write_capture("f32-deflate", StorageType::kFloat32, Compression::kDeflate);
      write_capture("f16-deflate", StorageType::kFloat16, Compression::kDeflate);
      write_shards("shards in turn", 1);
      write_shards("shards at once", options_.shards);
      if (round == 0) pack_capture(path("f32"), path("packed"));
      read_plain();
      read_capture("f32");
      read_capture("f16");
      read_capture("f32-deflate");
      read_capture("f16-deflate");
      read_capture("packed");
    }
  }

  void print() {
    Json json;
    for (auto& [name, rates] : rates_) {
      std::sort(rates.begin(), rates.end());
      const double median = rates[rates.size() / 2];
      if (options_.json) {
        json[name] = median;
      } else {
        fmt::print("{:<28} {:6.2f} GB/s of float32 (median of {}, {:.2f} to {:.2f})\n", name,
                   median, rates.size(), rates.front(), rates.back());
      }
    }
    for (const auto& [name, bytes] : bytes_) {
      if (options_.json) {
        json["bytes of " + name] = bytes;
      } else {
        fmt::print("{:<28} {:6.2f} MB on disk\n", name, static_cast<double>(bytes) * 1e-6);
      }
    }
    if (options_.json) fmt::print("{}\n", json.dump());
  }

  ~StoreBench() {
    if (options_.keep) return;
    std::error_code ignored;
    for (const char* const name : {"f32", "f16", "f32-deflate", "f16-deflate", "packed"}) {
      fs::remove(path(name), ignored);
      fs::remove_all(options_.folder / (std::string(name) + ".shards"), ignored);
    }
    fs::remove(options_.folder / "plain.bin", ignored);
  }
  StoreBench(const StoreBench&) = delete;
  StoreBench& operator=(const StoreBench&) = delete;

 private:
  fs::path path(const std::string& name) const { return options_.folder / (name + ".h5"); }

  void draw_batch() {
    MatrixF batch(options_.batch, options_.dim);
    Random random(1);
    for (Eigen::Index i = 0; i < batch.size(); ++i) {
      batch.data()[i] = static_cast<float>(random.uniform(-3.0, 3.0));
    }
    batches_.push_back(std::move(batch));
  }

  void read_batches() {
    const CaptureReader reader(options_.source);
    options_.dim = reader.dim("hidden", reader.layers("hidden").front());
    options_.batch = std::min(options_.batch, reader.num_rows());
    for (const int layer : reader.layers("hidden")) {
      batches_.push_back(reader.read_rows("hidden", layer, 0, options_.batch));
    }
    options_.layers = static_cast<int>(batches_.size());
  }

  /// Returns the rows to write for a layer.
  const MatrixF& batch_of(int layer) const {
    return batches_[static_cast<std::size_t>(layer) % batches_.size()];
  }

  void note(const std::string& name, std::int64_t float32_bytes, double seconds) {
    rates_[name].push_back(static_cast<double>(float32_bytes) / seconds * 1e-9);
  }

  /// Writes like dd: blocks of 1 MiB, then fsync.
  void write_plain() {
    const fs::path file = options_.folder / "plain.bin";
    const std::int64_t bytes = options_.bytes_per_layer() * options_.layers;
    fs::remove(file);
    const double seconds = seconds_of([&] {
      const int out = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
      const auto* const source = reinterpret_cast<const char*>(batch_of(0).data());
      const std::int64_t source_bytes = batch_of(0).size() * 4;
      for (std::int64_t done = 0; done < bytes;) {
        const std::int64_t at = done % source_bytes;
        const std::int64_t step =
            std::min({std::int64_t{1} << 20, source_bytes - at, bytes - done});
        if (::write(out, source + at, static_cast<std::size_t>(step)) != step) {
          throw IoError("bench: '{}' cannot be written", file.string());
        }
        done += step;
      }
      ::fsync(out);
      ::close(out);
    });
    note("write plain", bytes, seconds);
  }

  CapturePlan plan_of(StorageType storage, Compression compression) const {
    CapturePlan plan;
    plan.info.storage = storage;
    plan.info.compression = compression;
    for (int layer = 0; layer < options_.layers; ++layer) {
      plan.activations.push_back({"hidden", layer, options_.dim, "hook_resid_post"});
    }
    plan.num_shards = options_.shards;
    return plan;
  }

  std::int64_t rows_per_shard() const { return options_.rows / options_.shards; }
  std::int64_t bytes_of_shards() const {
    return rows_per_shard() * options_.shards * options_.dim * 4 * options_.layers;
  }

  void remove(const std::string& name) const {
    fs::remove(path(name));
    fs::remove_all(options_.folder / (name + ".shards"));
  }

  void write_capture(const std::string& name, StorageType storage,
                     Compression compression = Compression::kNone) {
    remove(name);
    const double seconds = seconds_of([&] {
      CaptureWriter writer(path(name), plan_of(storage, compression),
                           {.threads = options_.threads});
      for (int shard = 0; shard < options_.shards; ++shard) write_shard(writer, shard, nullptr);
      writer.finish();
    });
    note("write capture " + name, bytes_of_shards(), seconds);
    bytes_[name] = summarize_capture(path(name)).bytes_on_disk;
  }

  /// Writes rows that stay in memory, as lime-capture those of a GPU: `at_once` shards at a time,
  /// which share the threads.
  void write_shards(const std::string& name, int at_once) {
    remove(name);
    const std::shared_ptr<const void> owner(&batches_, [](const void*) {});
    const double seconds = seconds_of([&] {
      CaptureWriter writer(path(name), plan_of(StorageType::kFloat32, Compression::kNone),
                           {.threads = std::max(1, options_.threads / at_once)});
      ThreadPool writers(at_once);
      writers.parallel_for(options_.shards, [&](std::int64_t shard) {
        write_shard(writer, static_cast<int>(shard), owner);
      });
      writer.finish();
    });
    note("write " + name, bytes_of_shards(), seconds);
    remove(name);
  }

  void write_shard(CaptureWriter& writer, int shard, const std::shared_ptr<const void>& owner) {
    const std::int64_t num_rows = rows_per_shard();
    ShardWriter out = writer.begin_shard(shard, shard);
    const std::vector<Sequence> sequences(1);
    out.add_sequences(sequences);
    for (std::int64_t first = 0; first < num_rows; first += options_.batch) {
      const std::int64_t count = std::min(options_.batch, num_rows - first);
      RowTable rows;
      rows.sequence.assign(static_cast<std::size_t>(count), shard);
      rows.position.assign(static_cast<std::size_t>(count), 0);
      rows.token.assign(static_cast<std::size_t>(count), 0);
      out.append_rows(rows);
      for (int layer = 0; layer < options_.layers; ++layer) {
        out.append(static_cast<std::size_t>(layer), batch_of(layer).topRows(count), owner);
      }
    }
    out.finish();
  }

  /// Reads as many bytes as one layer has, from the start of the large file.
  void read_plain() {
    const fs::path file = options_.folder / "plain.bin";
    if (options_.cold) drop_from_cache(file);
    const double seconds = seconds_of([&] {
      const int in = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
      auto* target = reinterpret_cast<char*>(layer_.get());
      for (std::int64_t left = options_.bytes_per_layer(); left > 0;) {
        const ssize_t got =
            ::read(in, target, static_cast<std::size_t>(std::min(left, std::int64_t{1} << 20)));
        if (got <= 0) throw IoError("bench: '{}' cannot be read", file.string());
        target += got;
        left -= got;
      }
      ::close(in);
    });
    note("read plain", options_.bytes_per_layer(), seconds);
  }

  /// Drops the files from the page cache, or loads them into it: writing captures bypasses it.
  void prepare_to_read(const std::string& name) {
    if (!options_.cold) {
      const CaptureReader reader(path(name));
      read_layer(reader, 0, reader.num_rows());
      return;
    }
    drop_from_cache(path(name));
    std::error_code ignored;
    for (const auto& entry :
         fs::directory_iterator(options_.folder / (name + ".shards"), ignored)) {
      drop_from_cache(entry.path());
    }
  }

  void read_layer(const CaptureReader& reader, std::int64_t first, std::int64_t count) {
    reader.read_rows("hidden", options_.layers / 2, first, count,
                     std::span(layer_.get() + first * options_.dim,
                               static_cast<std::size_t>(count * options_.dim)));
  }

  void read_capture(const std::string& name) {
    prepare_to_read(name);
    const CaptureReader reader(path(name));
    const std::int64_t bytes = reader.num_rows() * options_.dim * 4;
    note("read layer " + name, bytes,
         seconds_of([&] { read_layer(reader, 0, reader.num_rows()); }));
    prepare_to_read(name);
    const CaptureReader other(path(name));
    constexpr std::int64_t kBlock = 2048;  // rows, as in metrics: one sequence at a time
    note(fmt::format("read layer {}, {} threads", name, options_.threads), bytes, seconds_of([&] {
           pool_.parallel_for((other.num_rows() + kBlock - 1) / kBlock, [&](std::int64_t block) {
             const std::int64_t first = block * kBlock;
             read_layer(other, first, std::min(kBlock, other.num_rows() - first));
           });
         }));
  }

  BenchOptions options_;
  ThreadPool pool_;
  std::vector<MatrixF> batches_;  // of each layer, or one for all
  std::unique_ptr<float[]> layer_;
  std::map<std::string, std::vector<double>> rates_;
  std::map<std::string, std::int64_t> bytes_;  // on disk
};

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  using namespace lime;
  BenchOptions options;
  CommandLine line("lime-bench-store", "Measures writing and reading captures.");
  line.add_options(options);
  line.on_run([&] {
    StoreBench bench(options);
    bench.run();
    bench.print();
    return kExitDone;
  });
  return run_program(line, argc, argv);
}
