// SPDX-License-Identifier: Apache-2.0
// Times one decoder: passes without gradients, and training steps.

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "bench/device_timing.h"
#include "bench/timing.h"
#include "checkpoint/parse_model_config.h"
#include "core/files/atomic_file.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/random.h"
#include "model/kernels/compute_type.h"
#include "model/kernels/torch_compat.h"
#include "train/batch_source.h"
#include "train/model_options.h"
#include "train/trainer.h"

namespace lime {
namespace {

struct BenchOptions {
  ModelOptions model;
  ComputeOptions compute;
  std::int64_t vocab_size = 4096;
  std::int64_t batch_size = 4;
  std::int64_t seq_len = 256;
  std::int64_t repeats = 20;
  bool no_pass = false;
  std::filesystem::path write_config;
  int threads = 0;

  void describe(OptionList& list) {
    model.describe(list);
    compute.describe(list);
    list.group("Benchmark");
    list.add("vocab_size", vocab_size, "tokens of the vocabulary");
    list.add("batch_size", batch_size, "sequences per pass");
    list.add("seq_len", seq_len, "tokens per sequence");
    list.add("repeats", repeats, "passes and steps of which the median is printed");
    list.add("no_pass", no_pass, "training steps only");
    list.add("write_config", write_config, "only write config.json to this path");
    list.add("threads", threads, "0: one per processor");
  }

  void validate() const { compute.validate(); }
};

/// Random tokens, always the same.
class RandomTokens final : public BatchSource {
 public:
  explicit RandomTokens(const BenchOptions& options) {
    Random random(1);
    batch_.ids = at::empty({options.batch_size, options.seq_len}, at::kLong);
    auto* const ids = batch_.ids.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < batch_.ids.numel(); ++i) {
      ids[i] =
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(options.vocab_size)));
    }
    batch_.targets = batch_.ids.roll(-1, 1);
    batch_.num_targets = batch_.ids.numel();
    batch_.num_tokens = batch_.ids.numel();
  }
  std::int64_t batches_per_epoch() const override { return 1; }
  TokenBatch batch(std::int64_t, std::int64_t) override { return batch_; }

 private:
  TokenBatch batch_;
};

/// Median over the repeats, after one that warms up. Each ends when the device has done it.
double median_seconds(std::int64_t repeats, c10::Device device,
                      const std::function<void()>& action) {
  const auto whole_action = [&] {
    action();
    finish_on(device);
  };
  whole_action();
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < repeats; ++i) seconds.push_back(seconds_of(whole_action));
  return median(seconds);
}

/// Returns the seconds of a pass without gradients.
double time_passes(const Decoder& decoder, RandomTokens& data, const BenchOptions& options) {
  Workspace workspace;
  const at::Tensor ids = data.batch(0, 0).ids;
  return median_seconds(options.repeats, decoder.options().devices.front(), [&] {
    const at::NoGradGuard no_grad;
    const CudaAutocast autocast(options.compute.autocast);
    decoder.forward(ids, {.logits = LogitsFor::kNone, .workspace = &workspace});
  });
}

int bench_step(BenchOptions& options) {
  use_threads(options.threads);
  options.model.max_position_embeddings =
      std::max(options.model.max_position_embeddings, options.seq_len);
  const ModelConfig config = options.model.config(options.vocab_size, 1, 2);
  if (!options.write_config.empty()) {
    write_file_atomically(options.write_config, model_config_to_json(config).dump(2));
    fmt::print("{{}}\n");
    return kExitDone;
  }
  const DecoderOptions place = options.compute.decoder_options();
  const c10::Device device = place.devices.front();
  require_peak_memory(device);
  Decoder decoder(config, 1, place);
  RandomTokens data(options);
  const double pass = options.no_pass ? 0.0 : time_passes(decoder, data, options);
  TrainingOptions training;
  training.steps = 1000000;
  Trainer trainer(decoder, data, training, options.compute);
  const double step = median_seconds(options.repeats, device, [&] { trainer.step(); });
  std::int64_t parameters = 0;
  for (const NamedTensor& parameter : decoder.parameters()) parameters += parameter.tensor.numel();
  fmt::print(
      "{{\"pass_seconds\": {:.6g}, \"step_seconds\": {:.6g}, \"parameters\": {}, "
      "\"peak_memory_bytes\": {}}}\n",
      pass, step, parameters, peak_memory_on(device));
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::BenchOptions options;
  lime::CommandLine line("lime-bench-step", "Times passes and training steps of one decoder.");
  line.add_options(options);
  line.on_run([&] { return lime::bench_step(options); });
  return lime::run_program(line, argc, argv);
}
