// SPDX-License-Identifier: Apache-2.0
#include "model/passes/next_tokens.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.h"

namespace lime {
namespace {

/// Returns the logits of all tokens of a prompt, [tokens, vocab], in the compute type.
at::Tensor logits_of_prompt(const Decoder& decoder, std::span<const std::int64_t> prompt,
                            const ProgressFn& on_progress) {
  if (prompt.empty())
    throw InvalidArgument("next tokens: the prompt must contain at least one token, got none");
  const at::Tensor ids =
      at::tensor(at::ArrayRef<std::int64_t>(prompt.data(), prompt.size()), at::kLong).view({1, -1});
  HookSet hooks;
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
  if (!std::isfinite(next.entropy)) {
    throw NumericalError("next tokens: the logits must be finite, got an entropy of {}",
                         next.entropy);
  }
  std::vector<std::size_t> order(log_probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto kept = std::min(static_cast<std::ptrdiff_t>(count), std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                    [&](std::size_t a, std::size_t b) {
                      const double x = log_probabilities[a];
                      const double y = log_probabilities[b];
                      return x > y || (x == y && a < b);
                    });
  order.resize(static_cast<std::size_t>(kept));
  for (const std::size_t id : order) {
    next.tokens.push_back({static_cast<std::int64_t>(id), log_probabilities[id]});
  }
  return next;
}

}  // namespace

NextTokens next_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                       std::int64_t count, const ProgressFn& on_progress) {
  const at::NoGradGuard no_grad;
  const at::Tensor logits = logits_of_prompt(decoder, prompt, on_progress);
  const auto length = static_cast<std::int64_t>(prompt.size());
  NextTokens next = likeliest(log_probabilities_behind(logits, length - 1), count);
  if (length == 1) return next;
  double loss = 0.0;
  for (std::int64_t t = 1; t < length; ++t) {
    const auto target = static_cast<std::size_t>(prompt[static_cast<std::size_t>(t)]);
    loss -= log_probabilities_behind(logits, t - 1)[target];
  }
  next.prompt_loss = loss / static_cast<double>(length - 1);
  return next;
}

std::vector<ReadToken> read_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   std::int64_t count, const ProgressFn& on_progress) {
  const at::NoGradGuard no_grad;
  const at::Tensor logits = logits_of_prompt(decoder, prompt, on_progress);
  std::vector<ReadToken> tokens(prompt.size());
  for (std::size_t t = 0; t < prompt.size(); ++t) {
    const std::vector<double> behind =
        log_probabilities_behind(logits, static_cast<std::int64_t>(t));
    tokens[t].id = prompt[t];
    tokens[t].next = likeliest(behind, count);
    if (t + 1 < prompt.size()) {
      tokens[t + 1].log_probability = behind[static_cast<std::size_t>(prompt[t + 1])];
    }
  }
  return tokens;
}

std::optional<double> loss_of(std::span<const ReadToken> tokens) {
  if (tokens.size() < 2) return std::nullopt;
  double loss = 0.0;
  for (const ReadToken& token : tokens) loss -= token.log_probability.value_or(0.0);
  return loss / static_cast<double>(tokens.size() - 1);
}

}  // namespace lime
