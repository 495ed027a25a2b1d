// SPDX-License-Identifier: Apache-2.0
#include "model/passes/generate.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.h"
#include "core/random.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/rotary.h"
#include "model/passes/token_scores.h"

namespace lime {
namespace {

/// Returns the logits of the last token, as doubles in CPU memory.
std::vector<double> last_logits(const ForwardResult& result) {
  const at::Tensor logits = result.logits.select(1, -1).to(at::kCPU, at::kDouble).contiguous();
  const double* const data = logits.data_ptr<double>();
  return {data, data + logits.numel()};
}

/// Samples one of the tokens allowed by temperature, top_k and top_p; the most likely one at
/// temperature 0.
std::int64_t sample(const std::vector<double>& logits, const GenerateOptions& options,
                    Random& random) {
  if (options.temperature == 0.0) return most_likely(logits, 1).front();
  const auto vocab = static_cast<std::int64_t>(logits.size());
  const std::vector<std::int64_t> ids =
      most_likely(logits, options.top_k > 0 ? std::min(options.top_k, vocab) : vocab);
  const double largest = logits[static_cast<std::size_t>(ids.front())];
  std::vector<double> weights;
  for (const std::int64_t id : ids) {
    weights.push_back(
        std::exp((logits[static_cast<std::size_t>(id)] - largest) / options.temperature));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::size_t kept = 0;
  double kept_weight = 0.0;
  while (kept < weights.size() && (kept == 0 || kept_weight < options.top_p * total)) {
    kept_weight += weights[kept++];
  }
  double left = random.uniform() * kept_weight;
  for (std::size_t i = 0; i + 1 < kept; ++i) {
    left -= weights[i];
    if (left < 0.0) return ids[i];
  }
  return ids[kept - 1];
}

/// Returns true if the keys of `length` cached tokens do not fit a sequence with one more.
bool rotation_changes(const ModelConfig& config, std::int64_t length) {
  const auto& ropes = config.spec.ropes;
  return std::any_of(ropes.begin(), ropes.end(), [&](const RopeSpec& rope) {
    return rotates_differently(rope, length, length + 1);
  });
}

}  // namespace

void GenerateOptions::describe(OptionList& list) {
  list.add("max_new_tokens", max_new_tokens, "maximum number of tokens to generate, >= 1");
  list.add("temperature", temperature,
           "0 selects the most likely token; otherwise divides the logits before sampling");
  list.add("top_k", top_k, "sample from the k most likely tokens only; 0 for all");
  list.add("top_p", top_p,
           "sample from the smallest set of tokens whose probability reaches this, in (0, 1]");
  list.add("seed", seed, "seed of the sampling");
}

void GenerateOptions::validate() const {
  if (max_new_tokens < 1) {
    throw InvalidArgument("generate: max_new_tokens must be >= 1, got {}", max_new_tokens);
  }
  if (!(temperature >= 0.0) || !std::isfinite(temperature)) {
    throw InvalidArgument("generate: temperature must be >= 0 and finite, got {}", temperature);
  }
  if (top_k < 0) throw InvalidArgument("generate: top_k must be >= 0, got {}", top_k);
  if (!(top_p > 0.0 && top_p <= 1.0)) {
    throw InvalidArgument("generate: top_p must be in (0, 1], got {}", top_p);
  }
}

std::vector<std::int64_t> generate(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   const GenerateOptions& options, const TokenFn& on_token,
                                   std::stop_token stop) {
  options.validate();
  if (prompt.empty()) {
    throw InvalidArgument("generate: the prompt must contain at least one token, got none");
  }
  const at::NoGradGuard no_grad;
  const PassThreads threads;
  Random random(options.seed);
  KeyValueCache cache;
  Workspace workspace;
  const ForwardOptions forward{.hooks = options.hooks,
                               .logits = LogitsFor::kLastToken,
                               .cache = &cache,
                               .workspace = &workspace};

  at::Tensor ids = at::empty({1, static_cast<std::int64_t>(prompt.size())}, at::kLong);
  std::copy(prompt.begin(), prompt.end(), ids.data_ptr<std::int64_t>());
  at::Tensor sequence = ids;
  std::vector<std::int64_t> tokens;
  while (!stop.stop_requested()) {
    const std::int64_t token = sample(last_logits(decoder.forward(ids, forward)), options, random);
    tokens.push_back(token);
    if (on_token) on_token(token);
    const bool is_stop = std::find(options.stop_tokens.begin(), options.stop_tokens.end(), token) !=
                         options.stop_tokens.end();
    if (is_stop || std::ssize(tokens) == options.max_new_tokens) break;
    const at::Tensor next = at::full({1, 1}, token, at::kLong);
    sequence = at::cat({sequence, next}, 1);
    ids = next;
    if (!rotation_changes(decoder.config(), cache.length())) continue;
    cache.clear();
    ids = sequence;
  }
  return tokens;
}

}  // namespace lime
