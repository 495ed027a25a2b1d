// SPDX-License-Identifier: Apache-2.0
#include "train/tiny_run.h"

#include <fstream>
#include <utility>

namespace lime::testing {
namespace {

ModelOptions tiny_model(const std::string& decoder) {
  ModelOptions options;
  options.decoder = decoder;
  options.num_hidden_layers = 2;
  options.num_attention_heads = 2;
  options.hidden_size = 16;
  options.intermediate_size = 32;
  options.max_position_embeddings = 64;
  return options;
}

}  // namespace

ModelConfig tiny_config(const std::string& decoder) { return tiny_model(decoder).config(30, 1, 2); }

TrainingSetup tiny_setup(const std::filesystem::path& folder) {
  TrainingSetup setup;
  setup.seed = 3;
  setup.model = tiny_model("lime");
  setup.training.steps = 12;
  setup.training.batch_size = 16;
  setup.training.schedule.warmup_steps = 2;
  setup.run.output = folder;
  setup.run.save_every = 5;
  setup.run.log_every = 1;
  setup.run.validate_every = 6;
  return setup;
}

TinyRun tiny_run(const std::filesystem::path& folder) {
  TinyRun run;
  run.data.task = {.operands = {2}, .min_value = 0, .max_value = 20};
  run.data.train_samples = 64;
  run.data.test_samples = 8;
  run.setup = tiny_setup(folder);
  return run;
}

TrainingOutcome train(const TinyRun& run, const ProgressFn& on_progress, std::stop_token stop) {
  return train_on_arithmetic(run.data, run.setup, on_progress, std::move(stop));
}

std::vector<Json> log_lines(const std::filesystem::path& folder, const std::string& event) {
  std::ifstream stream(folder / "training_log.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(stream, line);) {
    Json json = Json::parse(line);
    if (json["event"] == event) lines.push_back(std::move(json));
  }
  return lines;
}

}  // namespace lime::testing
