// SPDX-License-Identifier: Apache-2.0
// A file of lm-eval --log_samples or of lime-eval.
#include <cmath>

#include "core/errors.h"
#include "evaluation/task_items.h"
#include "fuzz/fuzz_target.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::scratch_file("samples.jsonl", fuzz::text_of(data, size));
  fuzz::reads_or_refuses([&] {
    read_samples_file(path, [](const EvalSample& sample) {
      const auto count = sample.continuations.size();
      fuzz::require(sample.is_text() || sample.gold < static_cast<std::int64_t>(count),
                    "gold is a choice");
      fuzz::require(sample.log_likelihoods.empty() || sample.log_likelihoods.size() == count,
                    "each choice has a score");
      for (const EvalSample::Layer& layer : sample.layers) {
        fuzz::require(layer.log_likelihoods.size() == count, "each choice has a score per layer");
      }
    });
    read_samples(path, std::nullopt);
  });
  return 0;
}
