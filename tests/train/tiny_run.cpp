// SPDX-License-Identifier: Apache-2.0
#include "train/tiny_run.h"

namespace lime::testing {
namespace {

ModelOptions tiny_model(DecoderKind decoder) {
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

ModelConfig tiny_config(DecoderKind decoder) { return tiny_model(decoder).config(30, 1, 2); }

ArithmeticRunOptions tiny_run(const std::filesystem::path& folder) {
  ArithmeticRunOptions options;
  options.task = {.operands = {2}, .min_value = 0, .max_value = 20};
  options.train_samples = 64;
  options.test_samples = 8;
  options.seed = 3;
  options.model = tiny_model(DecoderKind::kLime);
  options.training.steps = 12;
  options.training.batch_size = 16;
  options.training.schedule.warmup_steps = 2;
  options.run.output = folder;
  options.run.save_every = 5;
  options.run.log_every = 1;
  options.run.validate_every = 6;
  return options;
}

}  // namespace lime::testing
