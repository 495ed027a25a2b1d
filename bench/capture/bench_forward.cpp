// SPDX-License-Identifier: Apache-2.0
// Measures the cost of capturing: times the bare forward pass over a token file and lime-capture
// over the same tokens, alternating in one process, so that disturbances of the machine affect
// both. The device runs the same computation in both, so the time of the bare passes gives its idle
// time during a capture.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "bench/device_timing.h"
#include "capture/capture.h"
#include "capture/input/input_tokens.h"
#include "core/errors.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/threads/thread_pool.h"
#include "model/decoders/decoder.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::filesystem::path checkpoint;
  std::filesystem::path tokens;
  std::filesystem::path output;
  std::string device = "cpu";
  ComputeType dtype = ComputeType::kFloat32;
  std::int64_t batch_size = 8;
  int repeats = 5;
  int threads = 0;
  std::int64_t shards_at_once = 0;

  void describe(OptionList& list) {
    list.add("checkpoint", checkpoint, "folder of the model");
    list.add("tokens", tokens, "2-D .npy of token ids");
    list.add("output", output, "capture to write and remove again; none: only the bare pass");
    list.add("device", device, "auto, cpu, cuda, cuda:I, or several: cuda:0,cuda:1");
    list.add("dtype", dtype, "arithmetic of the forward pass");
    list.add("batch_size", batch_size, "sequences per pass");
    list.add("repeats", repeats, "turns");
    list.add("threads", threads, "0: one per processor");
    list.add("shards_at_once", shards_at_once,
             "files that are written at the same time; 0: as lime-capture");
  }

  void validate() const { parse_devices(device); }
};

/// Tokens per second of each repetition.
struct Rates {
  std::vector<double> whole;   ///< from the first pass to the last byte written
  std::vector<double> passes;  ///< from the end of the first pass to the end of the last
};

/// Device time of the bare passes of a repetition, in seconds.
struct Computing {
  double whole = 0.0;
  double passes = 0.0;  ///< without the first pass
};

/// Fraction of the capture time in which the device was idle; members as in Rates.
struct Idle {
  std::vector<double> whole;
  std::vector<double> passes;
};

/// Records when passes of equal size end.
class PassClock {
 public:
  void start() { start_ = Clock::now(); }
  void pass_ended() {
    if (passes_++ == 0) first_ = Clock::now();
    last_ = Clock::now();
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// From the end of the first pass to the end of the last.
  double seconds_of_passes() const { return std::chrono::duration<double>(last_ - first_).count(); }
  /// Returns the rate for `tokens` in all passes together. Needs two passes.
  double rate_of_passes(std::int64_t tokens) const {
    return static_cast<double>(tokens) * (passes_ - 1) / passes_ / seconds_of_passes();
  }

 private:
  Clock::time_point start_;
  Clock::time_point first_;
  Clock::time_point last_;
  int passes_ = 0;
};

at::Tensor load_ids(const std::filesystem::path& path) {
  NpyIntegers numbers = read_npy_integers(path);
  if (numbers.shape.size() != 2) throw FormatError("'{}': must be 2-D", path.string());
  return at::from_blob(numbers.values.data(), numbers.shape, at::kLong).clone();
}

/// Runs the pass as capture does: ends after the last layer, computes no logits.
Computing run_bare(const Decoder& decoder, const at::Tensor& ids, std::int64_t batch_size,
                   Rates& rates) {
  const at::NoGradGuard no_grad;
  const PassThreads threads;
  Workspace workspace;
  const ForwardOptions forward{
      .stop_after_layer = static_cast<int>(decoder.config().num_hidden_layers) - 1,
      .logits = LogitsFor::kNone,
      .workspace = &workspace};
  DeviceTimer timer(decoder.options().devices.back());
  Computing computing;
  PassClock clock;
  clock.start();
  for (std::int64_t first = 0; first < ids.size(0); first += batch_size) {
    timer.start();
    decoder.forward(ids.narrow(0, first, batch_size), forward);
    const double seconds = timer.stop();
    clock.pass_ended();
    computing.whole += seconds;
    if (first > 0) computing.passes += seconds;
  }
  rates.whole.push_back(static_cast<double>(ids.numel()) / clock.seconds());
  rates.passes.push_back(clock.rate_of_passes(ids.numel()));
  return computing;
}

/// @param computing  of the same tokens; nothing if several devices compute concurrently
void run_captured(const BenchOptions& options, const std::optional<Computing>& computing,
                  Rates& rates, Idle& idle) {
  CaptureOptions capture;
  capture.checkpoint = options.checkpoint;
  capture.tokens = options.tokens;
  capture.output = options.output;
  capture.device = options.device;
  capture.dtype = options.dtype;
  capture.batch_size = options.batch_size;
  capture.threads = options.threads;
  CaptureTuning tuning;
  if (options.shards_at_once > 0) tuning.shards_at_once = options.shards_at_once;
  PassClock clock;
  const CaptureResult result =
      run_capture(capture,
                  {.on_start = [&](const CapturePreview&) { clock.start(); },
                   .on_progress =
                       [&](const Progress& progress) {
                         if (progress.done > 0) clock.pass_ended();
                       }},
                  {}, tuning);
  rates.whole.push_back(static_cast<double>(result.num_tokens) / result.seconds);
  rates.passes.push_back(clock.rate_of_passes(result.num_tokens));
  if (computing) {
    idle.whole.push_back(1.0 - computing->whole / result.seconds);
    idle.passes.push_back(1.0 - computing->passes / clock.seconds_of_passes());
  }
  std::filesystem::remove(options.output);
  std::filesystem::remove_all(std::filesystem::path(options.output).replace_extension(".shards"));
}

int bench_forward(const BenchOptions& options) {
  at::set_num_threads(options.threads > 0 ? options.threads : available_threads());
  const at::Tensor ids = load_ids(options.tokens);
  if (ids.size(0) % options.batch_size != 0 || ids.size(0) < 2 * options.batch_size) {
    throw InvalidArgument("bench: the {} sequences must make up 2 or more passes of {}",
                          ids.size(0), options.batch_size);
  }
  const Decoder decoder =
      load_decoder(Checkpoint::open(options.checkpoint),
                   {.devices = parse_devices(options.device), .dtype = options.dtype});
  Rates bare;
  Rates captured;
  Idle idle;
  const bool has_one_device = decoder.options().devices.size() == 1;
  for (int turn = 0; turn < options.repeats; ++turn) {
    const Computing computing = run_bare(decoder, ids, options.batch_size, bare);
    if (options.output.empty()) continue;
    run_captured(options, has_one_device ? std::optional(computing) : std::nullopt, captured, idle);
  }
  fmt::print(
      "{{\"forward\": {{\"whole\": {}, \"passes\": {}}},\n"
      " \"capture\": {{\"whole\": {}, \"passes\": {}}},\n"
      " \"idle\": {{\"whole\": {}, \"passes\": {}}}}}\n",
      bare.whole, bare.passes, captured.whole, captured.passes, idle.whole, idle.passes);
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::BenchOptions options;
  lime::CommandLine line("lime-bench-forward",
                         "Times the forward pass without capturing, and capturing.");
  line.add_options(options);
  line.on_run([&] { return lime::bench_forward(options); });
  return lime::run_program(line, argc, argv);
}
