// SPDX-License-Identifier: Apache-2.0
#include "model/next_tokens.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.h"

namespace lime {

NextTokens next_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                       std::int64_t count) {
  if (prompt.empty()) throw InvalidArgument("next tokens: the prompt must hold a token, got none");
  const at::NoGradGuard no_grad;
  const auto length = static_cast<std::int64_t>(prompt.size());
  const at::Tensor ids =
      at::tensor(at::ArrayRef<std::int64_t>(prompt.data(), prompt.size()), at::kLong).view({1, -1});
  const at::Tensor logits = decoder.forward(ids).logits[0].to(at::kCPU, at::kDouble);
  const at::Tensor log_probabilities = at::log_softmax(logits, -1).contiguous();
  const double* const last =
      log_probabilities.data_ptr<double>() + (length - 1) * log_probabilities.size(1);
  const std::int64_t vocab = log_probabilities.size(1);

  NextTokens next;
  for (std::int64_t id = 0; id < vocab; ++id) next.entropy -= std::exp(last[id]) * last[id];
  if (!std::isfinite(next.entropy)) {
    throw NumericalError("next tokens: the logits must be finite, got an entropy of {}",
                         next.entropy);
  }
  if (length > 1) {
    double loss = 0.0;
    for (std::int64_t t = 1; t < length; ++t) {
      loss -= log_probabilities[t - 1][prompt[static_cast<std::size_t>(t)]].item<double>();
    }
    next.prompt_loss = loss / static_cast<double>(length - 1);
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(vocab));
  std::iota(order.begin(), order.end(), 0);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(count, vocab));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      return last[a] > last[b] || (last[a] == last[b] && a < b);
                    });
  order.resize(static_cast<std::size_t>(kept));
  for (const std::int64_t id : order) next.tokens.push_back({id, last[id]});
  return next;
}

}  // namespace lime
