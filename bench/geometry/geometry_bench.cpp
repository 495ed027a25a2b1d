// SPDX-License-Identifier: Apache-2.0

// Compares the time to read one layer of a capture with the time to measure its geometry;
// compare_geometry.py writes the capture and compares with numpy.

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/timing.h"
#include "core/errors.h"
#include "core/json.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/threads/thread_pool.h"
#include "metrics/geometry/intrinsic_dimension.h"
#include "metrics/geometry/layer_geometry.h"
#include "store/capture_reader.h"
#include "store/capture_tools.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

struct BenchOptions {
  fs::path capture = "capture.h5";
  std::string site = "values";
  int layer = 0;
  std::int64_t neighbor_rows = 10000;
  int threads = 0;
  int repeats = 5;

  void describe(OptionList& list) {
    list.add("capture", capture, "the capture to read");
    list.add("site", site, "site to measure");
    list.add("layer", layer, "layer to measure");
    list.add("neighbor_rows", neighbor_rows, "rows whose neighbours are searched for");
    list.add("threads", threads, "threads; 0: all processors");
    list.add("repeats", repeats, "timed runs, of which the median is shown");
  }
  void validate() const {
    if (repeats < 1 || neighbor_rows < 30) {
      throw InvalidArgument("bench: repeats must be > 0 and neighbor_rows >= 30");
    }
  }
};

LayerGeometryOptions only(bool rank, bool similarity, bool curvature, bool massive) {
  LayerGeometryOptions options;
  options.spectrum_of_rows = rank;
  options.similarity = similarity;
  options.curvature = curvature;
  options.massive = massive;
  return options;
}

class GeometryBench {
 public:
  explicit GeometryBench(const BenchOptions& options)
      : options_(options),
        capture_(options.capture),
        pool_(options.threads),
        dim_(capture_.dim(options.site, options.layer)),
        centre_(capture_.statistics(options.site, options.layer).mean),
        rows_(capture_.num_rows(), dim_) {
    read_layer();
  }

  void run() {
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      drop_from_cache(options_.capture);
      for (const fs::path& shard : summarize_capture(options_.capture).shards) {
        drop_from_cache(shard);
      }
      time("read_cold", [this] { read_layer(); });
      time("read_warm", [this] { read_layer(); });
      time("all_but_neighbours", [this] { measure({}); });
      time("rank", [this] { measure(only(true, false, false, false)); });
      time("similarity", [this] { measure(only(false, true, false, false)); });
      time("curvature", [this] { measure(only(false, false, true, false)); });
      time("massive", [this] { measure(only(false, false, false, true)); });
      time("rank_of_sequences_too", [this] {
        LayerGeometryOptions both = only(true, false, false, false);
        both.spectrum_of_sequences = true;
        measure(both);
      });
      const ConstMatrixRef points =
          rows_.topRows(std::min<Eigen::Index>(options_.neighbor_rows, rows_.rows()));
      time("dimension", [&] { intrinsic_dimension(points, {}, pool_); });
      time("from_file_cold", [this] {
        for (const fs::path& shard : summarize_capture(options_.capture).shards) {
          drop_from_cache(shard);
        }
        drop_from_cache(options_.capture);
        measure_from_file();
      });
    }
  }

  void print() {
    Json line = Json::object();
    for (const auto& [name, seconds] : seconds_) line[name] = median(seconds);
    line["bytes"] = rows_.size() * 4;
    line["threads"] = pool_.num_threads();
    fmt::print("{}\n", line.dump());
  }

 private:
  void time(const std::string& name, const std::function<void()>& work) {
    seconds_[name].push_back(seconds_of(work));
  }

  std::pair<std::int64_t, std::int64_t> range_of(std::int64_t sequence) const {
    const auto i = static_cast<std::size_t>(sequence);
    return {capture_.offsets()[i], capture_.offsets()[i + 1] - capture_.offsets()[i]};
  }

  void read_layer() {
    pool_.parallel_for(capture_.num_sequences(), [this](std::int64_t sequence) {
      const auto [first, count] = range_of(sequence);
      capture_.read_rows(options_.site, options_.layer, first, count,
                         {rows_.data() + first * dim_, static_cast<std::size_t>(count * dim_)});
    });
  }

  void measure(const LayerGeometryOptions& options) {
    const SequenceSource source{capture_.num_sequences(),
                                [this](std::int64_t sequence, MatrixF& rows) {
                                  const auto [first, count] = range_of(sequence);
                                  rows = rows_.middleRows(first, count);
                                }};
    layer_geometry(source, capture_.offsets(), centre_, options, pool_);
  }

  void measure_from_file() {
    const SequenceSource source{
        capture_.num_sequences(), [this](std::int64_t sequence, MatrixF& rows) {
          const auto [first, count] = range_of(sequence);
          rows.resize(count, dim_);
          capture_.read_rows(options_.site, options_.layer, first, count,
                             {rows.data(), static_cast<std::size_t>(rows.size())});
        }};
    layer_geometry(source, capture_.offsets(), centre_, {}, pool_);
  }

  BenchOptions options_;
  CaptureReader capture_;
  ThreadPool pool_;
  std::int64_t dim_;
  VectorD centre_;
  MatrixF rows_;
  std::map<std::string, std::vector<double>> seconds_;
};

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::BenchOptions options;
  lime::CommandLine line("lime-bench-geometry",
                         "Times reading a layer against measuring its geometry.");
  line.add_options(options);
  line.set_examples("lime-bench-geometry --capture capture.h5 --threads 4");
  line.on_run([&] {
    lime::GeometryBench bench(options);
    bench.run();
    bench.print();
    return lime::kExitDone;
  });
  return lime::run_program(line, argc, argv);
}
