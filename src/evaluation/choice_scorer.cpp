// SPDX-License-Identifier: Apache-2.0
#include "evaluation/choice_scorer.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "checkpoint/tokenizer/python_text.h"
#include "core/utf8.h"
#include "model/kernels/rotary.h"
#include "model/passes/generate.h"

namespace lime {
namespace {

using Ids = std::vector<std::int64_t>;

/// Returns inputs as a tensor [inputs, tokens from `begin` on], padded on the right to one length.
at::Tensor padded_ids(const std::vector<const Ids*>& inputs, std::size_t begin, std::size_t end) {
  const auto width = static_cast<std::int64_t>(end - begin);
  const at::Tensor ids = at::zeros({std::ssize(inputs), width}, at::kLong);
  std::int64_t* row = ids.data_ptr<std::int64_t>();
  for (const Ids* const input : inputs) {
    std::copy(input->begin() + static_cast<std::ptrdiff_t>(begin), input->end(), row);
    row += width;
  }
  return ids;
}

std::size_t common_prefix(const Ids& a, const Ids& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

}  // namespace

ChoiceTokens encode_choice(const Tokenizer& tokenizer, const std::string& context,
                           const std::string& continuation, std::int64_t max_length) {
  const auto encode = [&](const std::string& text, bool with_prefix) {
    std::vector<std::int32_t> ids = tokenizer.encode(text);
    if (with_prefix) ids = tokenizer.with_prefix(std::move(ids));
    return Ids(ids.begin(), ids.end());
  };
  Ids before;
  Ids targets;
  if (context.empty()) {
    const auto first = tokenizer.bos_id() ? tokenizer.bos_id() : tokenizer.eos_id();
    targets = encode(continuation, false);
    if (first && (targets.empty() || targets.front() != *first)) {
      before = {*first};
    } else if (!targets.empty()) {
      before = {targets.front()};
      targets.erase(targets.begin());
    }
  } else {
    const std::string kept = context.substr(0, python_rstrip_size(context));
    before = encode(kept, true);
    const Ids whole = encode(context + continuation, true);
    if (whole.size() > before.size()) {
      targets.assign(whole.begin() + std::ssize(before), whole.end());
    }
  }
  throw_if(targets.empty() || before.empty(),
           "the continuation '{}' has no tokens after its context", printable(continuation));
  throw_if(std::ssize(targets) > max_length,
           "the continuation '{}' must have at most {} tokens, got {}", printable(continuation),
           max_length, targets.size());
  ChoiceTokens tokens{std::move(before), std::move(targets)};
  tokens.input.insert(tokens.input.end(), tokens.targets.begin(), tokens.targets.end());
  const std::int64_t surplus = std::ssize(tokens.input) - max_length - 1;
  tokens.is_cut = surplus > 0;
  if (tokens.is_cut) tokens.input.erase(tokens.input.begin(), tokens.input.begin() + surplus);
  tokens.input.pop_back();
  return tokens;
}

ChoiceScorer::ChoiceScorer(const Decoder& decoder, std::vector<int> layers, bool with_states)
    : decoder_(decoder), layers_(std::move(layers)), with_states_(with_states) {}

bool ChoiceScorer::can_share(std::int64_t shared, std::int64_t longest) const {
  const auto& ropes = decoder_.config().spec.ropes;
  return !rotates_differently(ropes, shared, longest) && !rotates_differently(ropes, 1, longest);
}

void ChoiceScorer::read_shared(const Ids& tokens) {
  const std::size_t reused = common_prefix(cached_, tokens);
  cache_.rewind(static_cast<std::int64_t>(reused));
  cached_ = tokens;
  if (reused == tokens.size()) return;
  decoder_.forward(padded_ids({&tokens}, reused, tokens.size()),
                   {.logits = LogitsFor::kNone, .cache = &cache_, .workspace = &workspace_});
}

std::vector<ChoiceScore> ChoiceScorer::score(std::span<const ChoiceTokens> choices) {
  const at::NoGradGuard no_grad;
  // Choices of one token have the same input, so only distinct inputs are computed.
  std::map<Ids, std::int64_t> places;
  std::vector<const Ids*> inputs;
  std::size_t shared = choices.front().first_row();
  std::size_t longest = 0;
  std::vector<std::int64_t> place_of;
  for (const ChoiceTokens& choice : choices) {
    Ids read = choice.input;
    if (with_states_) read.push_back(choice.targets.back());
    shared = std::min({shared, choice.first_row(),
                       inputs.empty() ? shared : common_prefix(read, *inputs.front())});
    longest = std::max(longest, read.size());
    const auto [place, is_new] = places.try_emplace(std::move(read), std::ssize(inputs));
    if (is_new) inputs.push_back(&place->first);
    place_of.push_back(place->second);
  }
  if (!can_share(static_cast<std::int64_t>(shared), static_cast<std::int64_t>(longest))) {
    // The rotation depends on the length, so every input needs a separate pass.
    if (inputs.size() > 1) {
      std::vector<ChoiceScore> scores;
      for (const ChoiceTokens& choice : choices) scores.push_back(score({&choice, 1}).front());
      return scores;
    }
    shared = 0;
  }
  read_shared(
      {inputs.front()->begin(), inputs.front()->begin() + static_cast<std::ptrdiff_t>(shared)});
  KeyValueCache own =
      cache_.repeated(std::ssize(inputs), static_cast<std::int64_t>(longest - shared));

  std::vector<std::int64_t> rows;
  Ids targets;
  const auto width = static_cast<std::int64_t>(longest - shared);
  std::vector<std::int64_t> last_rows;  // of the last token of each choice
  for (std::size_t c = 0; c < choices.size(); ++c) {
    const Ids& requested = choices[c].targets;
    const std::int64_t first =
        place_of[c] * width + static_cast<std::int64_t>(choices[c].first_row() - shared);
    last_rows.push_back(first + std::ssize(requested));
    for (std::int64_t row = first; row < last_rows.back(); ++row) rows.push_back(row);
    targets.insert(targets.end(), requested.begin(), requested.end());
  }
  HookSet hooks;
  std::vector<ScopedHook> readers;
  std::map<int, at::Tensor> outputs;
  for (const int layer : layers_) {
    readers.push_back(hooks.read({HookKind::kResidPost, layer},
                                 [&](const HookPoint& point, const at::Tensor& hidden) {
                                   outputs[point.layer] = hidden.flatten(0, 1).clone();
                                 }));
  }
  const ForwardResult result = decoder_.forward(
      padded_ids(inputs, shared, longest),
      {.hooks = &hooks, .logits = LogitsFor::kNone, .cache = &own, .workspace = &workspace_});
  std::vector<ChoiceScore> scores(choices.size());
  const auto add_scores = [&](const at::Tensor& hidden, const auto& add) {
    const std::vector<TokenScore> tokens = score_tokens(decoder_, hidden, rows, targets);
    std::size_t next = 0;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      for (std::size_t t = 0; t < choices[c].targets.size(); ++t) add(scores[c], tokens[next++]);
    }
  };
  add_scores(result.hidden.flatten(0, 1), [](ChoiceScore& score, const TokenScore& token) {
    score.log_likelihood += token.log_probability;
    score.is_greedy = score.is_greedy && token.is_greedy();
  });
  for (const int layer : layers_) {
    for (ChoiceScore& score : scores) score.layers.push_back(0.0);
    add_scores(outputs.at(layer), [](ChoiceScore& score, const TokenScore& token) {
      score.layers.back() += token.log_probability;
    });
    for (std::size_t c = 0; with_states_ && c < choices.size(); ++c) {
      const at::Tensor state =
          outputs.at(layer)[last_rows[c]].to(at::kCPU, at::kFloat).contiguous();
      scores[c].states.emplace_back(state.data_ptr<float>(),
                                    state.data_ptr<float>() + state.numel());
    }
  }
  for (const ChoiceScore& score : scores) {
    if (std::isfinite(score.log_likelihood)) continue;
    throw NumericalError("log-likelihoods must be finite, got {}; try --dtype float32",
                         score.log_likelihood);
  }
  return scores;
}

}  // namespace lime
