// SPDX-License-Identifier: Apache-2.0
#include "model/passes/generate.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/random.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/rotary.h"

namespace lime {
namespace {

/// Returns the logits of all tokens of a prompt, [tokens, vocab], in the compute type.
at::Tensor logits_of_prompt(const Decoder& decoder, std::span<const std::int64_t> prompt,
                            const ProgressFn& on_progress, HookSet* given) {
  if (prompt.empty())
    throw InvalidArgument("next tokens: the prompt must contain at least one token, got none");
  const at::Tensor ids =
      at::tensor(at::ArrayRef<std::int64_t>(prompt.data(), prompt.size()), at::kLong).view({1, -1});
  HookSet own;
  HookSet& hooks = given != nullptr ? *given : own;
  std::vector<ScopedHook> listeners;
  const int layers = on_progress ? static_cast<int>(decoder.config().num_hidden_layers) : 0;
  for (int layer = 0; layer < layers; ++layer) {
    listeners.push_back(hooks.read({HookKind::kResidPost, layer}, [&, layer](const auto&, auto&) {
      on_progress({.done = layer + 1, .total = layers, .note = ""});
    }));
  }
  if (on_progress) on_progress({.done = 0, .total = layers, .note = ""});
  return decoder.forward(ids, {.hooks = &hooks}).logits[0].to(at::kCPU);
}

/// Returns the log-probabilities of the token after `position`, as doubles.
std::vector<double> log_probabilities_behind(const at::Tensor& logits, std::int64_t position) {
  const at::Tensor row = at::log_softmax(logits[position].to(at::kDouble), -1).contiguous();
  const double* const data = row.data_ptr<double>();
  return {data, data + row.numel()};
}

NextTokens likeliest(const std::vector<double>& log_probabilities, std::int64_t count) {
  NextTokens next;
  for (const double log_probability : log_probabilities) {
    next.entropy -= std::exp(log_probability) * log_probability;
  }
  throw_if<NumericalError>(!std::isfinite(next.entropy),
                           "next tokens: the logits must be finite, got an entropy of {}",
                           next.entropy);
  const std::int64_t kept = std::min(count, std::ssize(log_probabilities));
  for (const std::int64_t id : most_likely(log_probabilities, kept)) {
    next.tokens.push_back({id, log_probabilities[id]});
  }
  return next;
}

/// Reads the tokens of a prompt, and the distributions after those from `first` on.
std::vector<ReadToken> read_from(std::size_t first, const Decoder& decoder,
                                 std::span<const std::int64_t> prompt, std::int64_t count,
                                 const ProgressFn& on_progress, HookSet* hooks) {
  const at::NoGradGuard no_grad;
  const at::Tensor logits = logits_of_prompt(decoder, prompt, on_progress, hooks);
  std::vector<ReadToken> tokens(prompt.size());
  for (std::size_t t = 0; t < prompt.size(); ++t) {
    const std::vector<double> behind =
        log_probabilities_behind(logits, static_cast<std::int64_t>(t));
    tokens[t].id = prompt[t];
    if (t >= first) tokens[t].next = likeliest(behind, count);
    if (t + 1 < prompt.size()) tokens[t + 1].log_probability = behind[prompt[t + 1]];
  }
  return tokens;
}

/// Logits computed at once: about 16 MiB of float32.
constexpr std::int64_t kLogitsAtOnce = std::int64_t{1} << 22;
constexpr std::int64_t kLeastRows = 16;

/// Scores one token, with the exponentials and their sum in double.
template <typename T>
TokenScore score_token(const T* logits, std::int64_t vocab_size, std::int64_t target) {
  const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>> row(logits, vocab_size);
  const auto own = static_cast<double>(logits[target]);
  double other = -std::numeric_limits<double>::infinity();
  for (const auto& part : {row.head(target), row.tail(vocab_size - target - 1)}) {
    if (part.size() > 0) other = std::max(other, static_cast<double>(part.maxCoeff()));
  }
  const double largest = std::max(own, other);
  const double sum = (row.template cast<double>() - largest).exp().sum();
  return {own - largest - std::log(sum), own - other};
}

template <typename T>
void score_on_cpu(const at::Tensor& logits, std::span<const std::int64_t> targets,
                  std::span<TokenScore> out) {
  const std::int64_t vocab_size = logits.size(1);
  const T* const data = logits.data_ptr<T>();
  constexpr std::int64_t kOperationsPerLogit = 16;
  for_each_block(logits.size(0), vocab_size * kOperationsPerLogit,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const auto index = static_cast<std::size_t>(i);
                     out[index] = score_token(data + i * vocab_size, vocab_size, targets[index]);
                   }
                 });
}

/// Scores the tokens that follow `hidden` [rows, hidden_size].
void score_rows(const Decoder& decoder, const at::Tensor& hidden,
                std::span<const std::int64_t> targets, std::span<TokenScore> out) {
  at::Tensor logits = decoder.logits_of(hidden);
  if (logits.is_cpu()) {
    if (logits.scalar_type() != at::kDouble) logits = logits.to(at::kFloat);
    logits = logits.contiguous();
    if (logits.scalar_type() == at::kDouble) return score_on_cpu<double>(logits, targets, out);
    return score_on_cpu<float>(logits, targets, out);
  }
  const at::Tensor wide = logits.to(at::kDouble);
  const at::Tensor places =
      at::tensor(at::ArrayRef<std::int64_t>(targets.data(), targets.size()), at::kLong)
          .to(wide.device())
          .unsqueeze(1);
  const at::Tensor own = wide.gather(1, places).squeeze(1);
  const at::Tensor result = (own - at::logsumexp(wide, {1})).to(at::kCPU).contiguous();
  const at::Tensor other =
      wide.scatter(1, places, -std::numeric_limits<double>::infinity()).amax(1);
  const at::Tensor difference = (own - other).to(at::kCPU).contiguous();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = {result.data_ptr<double>()[i], difference.data_ptr<double>()[i]};
  }
}

}  // namespace

std::vector<std::int64_t> most_likely(const std::vector<double>& logits, std::int64_t count) {
  std::vector<std::int64_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto by_logit = [&](std::int64_t a, std::int64_t b) {
    const double x = logits[a];
    const double y = logits[b];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), by_logit);
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

NextTokens next_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                       std::int64_t count, const ProgressFn& on_progress, HookSet* hooks) {
  std::vector<ReadToken> tokens =
      read_from(prompt.size() - 1, decoder, prompt, count, on_progress, hooks);
  tokens.back().next.prompt_loss = loss_of(tokens);
  return std::move(tokens.back().next);
}

std::vector<ReadToken> read_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   std::int64_t count, const ProgressFn& on_progress,
                                   HookSet* hooks) {
  return read_from(0, decoder, prompt, count, on_progress, hooks);
}

std::optional<double> loss_of(std::span<const ReadToken> tokens) {
  if (tokens.size() < 2) return std::nullopt;
  double loss = 0.0;
  for (const ReadToken& token : tokens) loss -= token.log_probability.value_or(0.0);
  return loss / static_cast<double>(tokens.size() - 1);
}

std::vector<TokenScore> score_tokens(const Decoder& decoder, const at::Tensor& hidden,
                                     const std::vector<std::int64_t>& rows,
                                     std::span<const std::int64_t> targets) {
  const at::Tensor places = at::tensor(rows, at::kLong).to(hidden.device());
  const auto step =
      static_cast<std::size_t>(std::max(kLeastRows, kLogitsAtOnce / decoder.config().vocab_size));
  std::vector<TokenScore> scores(rows.size());
  for (std::size_t first = 0; first < rows.size(); first += step) {
    const std::size_t size = std::min(step, rows.size() - first);
    const at::Tensor selected = hidden.index_select(
        0, places.narrow(0, static_cast<std::int64_t>(first), static_cast<std::int64_t>(size)));
    score_rows(decoder, selected, targets.subspan(first, size),
               std::span(scores).subspan(first, size));
  }
  return scores;
}

namespace {

/// Returns the logits of the last token, as doubles in CPU memory.
std::vector<double> last_logits(const ForwardResult& result) {
  const at::Tensor logits = result.logits.select(1, -1).to(at::kCPU, at::kDouble).contiguous();
  const double* const data = logits.data_ptr<double>();
  return {data, data + logits.numel()};
}

/// Samples a token that the options allow; the most likely one at temperature 0.
std::int64_t sample(const std::vector<double>& logits, const GenerateOptions& options,
                    Random& random) {
  if (options.temperature == 0.0) return most_likely(logits, 1).front();
  const auto vocab = static_cast<std::int64_t>(logits.size());
  const std::vector<std::int64_t> ids =
      most_likely(logits, options.top_k > 0 ? std::min(options.top_k, vocab) : vocab);
  const double largest = logits[ids.front()];
  std::vector<double> weights;
  for (const std::int64_t id : ids) {
    weights.push_back(std::exp((logits[id] - largest) / options.temperature));
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
  return rotates_differently(config.spec.ropes, length, length + 1);
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
  throw_if(max_new_tokens < 1, OptionName("max_new_tokens"), "must be >= 1, got {}",
           max_new_tokens);
  throw_if(!(temperature >= 0.0) || !std::isfinite(temperature), OptionName("temperature"),
           "must be >= 0 and finite, got {}", temperature);
  if (top_k < 0) throw InvalidArgument(OptionName("top_k"), "must be >= 0, got {}", top_k);
  throw_if(!(top_p > 0.0 && top_p <= 1.0), OptionName("top_p"), "must be in (0, 1], got {}", top_p);
}

std::vector<std::int64_t> generate(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   const GenerateOptions& options, const TokenFn& on_token,
                                   std::stop_token stop) {
  options.validate();
  throw_if(prompt.empty(), "generate: the prompt must contain at least one token, got none");
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
    const auto& stops = options.stop_tokens;
    const bool is_stop = std::ranges::find(stops, token) != stops.end();
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
