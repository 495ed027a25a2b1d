// SPDX-License-Identifier: Apache-2.0
// The bare forward pass over a token file: what lime-capture would cost if capturing were free.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "capture/input_npy.h"
#include "core/command_line.h"
#include "core/errors.h"
#include "core/program.h"
#include "core/thread_pool.h"
#include "model/decoder.h"

namespace lime {
namespace {

struct BenchOptions {
  std::filesystem::path checkpoint;
  std::filesystem::path tokens;
  std::int64_t batch_size = 8;
  int threads = 0;

  void describe(OptionList& list) {
    list.add("checkpoint", checkpoint, "folder of the model");
    list.add("tokens", tokens, "2-D .npy of token ids");
    list.add("batch_size", batch_size, "sequences per pass");
    list.add("threads", threads, "0: one per processor");
  }
};

at::Tensor load_ids(const std::filesystem::path& path) {
  NpyIntegers numbers = read_npy_integers(path);
  if (numbers.shape.size() != 2) throw FormatError("'{}': must be 2-D", path.string());
  return at::from_blob(numbers.values.data(), numbers.shape, at::kLong).clone();
}

int bench_forward(const BenchOptions& options) {
  const at::NoGradGuard no_grad;
  at::set_num_threads(options.threads > 0 ? options.threads : available_threads());
  const Decoder decoder = load_decoder(Checkpoint::open(options.checkpoint));
  const at::Tensor ids = load_ids(options.tokens);
  Workspace workspace;
  const ForwardOptions forward{
      .stop_after_layer = static_cast<int>(decoder.config().num_hidden_layers) - 1,
      .logits = LogitsFor::kNone,
      .workspace = &workspace};
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t first = 0; first < ids.size(0); first += options.batch_size) {
    decoder.forward(ids.narrow(0, first, std::min(options.batch_size, ids.size(0) - first)),
                    forward);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{{\"tokens_per_second\": {}, \"peak_memory_bytes\": {}}}\n",
             static_cast<double>(ids.numel()) / seconds, usage.ru_maxrss * 1024);
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::BenchOptions options;
  lime::CommandLine line("lime-bench-forward", "Times the forward pass without capturing.");
  line.add_options(options);
  line.on_run([&] { return lime::bench_forward(options); });
  return lime::run_program(line, argc, argv);
}
