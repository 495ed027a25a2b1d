// SPDX-License-Identifier: Apache-2.0
#include "evaluation/choice_scorer.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "checkpoint/tokenizer/python_text.h"
#include "core/utf8.h"
#include "model/kernels/rotary.h"
#include "model/passes/generate.h"
#include "model/passes/prefix_tree.h"

namespace lime {
namespace {

using Ids = std::vector<std::int64_t>;

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

std::size_t ChoiceScorer::fitting_one_pass(std::span<const Choices> items) const {
  // Enough that reading the weights takes little of a pass.
  constexpr std::size_t kRows = 1024;
  std::size_t rows = 0;
  std::size_t count = 0;
  for (const Choices& item : items) {
    const Ids& first = item.front().input;
    rows += first.size();
    for (const ChoiceTokens& choice : item) {
      rows += choice.input.size() - common_prefix(choice.input, first);
    }
    if (count > 0 && rows > kRows) break;
    ++count;
  }
  return count;
}

std::vector<std::vector<ChoiceScore>> ChoiceScorer::score(std::span<const Choices> items) {
  std::vector<Ids> sequences;
  std::vector<const ChoiceTokens*> choices;
  std::size_t longest = 0;
  for (const Choices& item : items) {
    for (const ChoiceTokens& choice : item) {
      choices.push_back(&choice);
      sequences.push_back(choice.input);
      if (with_states_) sequences.back().push_back(choice.targets.back());
      longest = std::max(longest, sequences.back().size());
    }
  }
  std::vector<ChoiceScore> scores;
  if (!rotates_differently(decoder_.config().spec.ropes, 1, static_cast<std::int64_t>(longest))) {
    scores = score_together(sequences, choices);
  } else {
    // The rotation depends on the length, so every sequence needs a separate pass.
    for (std::size_t i = 0; i < choices.size(); ++i) {
      scores.push_back(score_together({&sequences[i], 1}, {&choices[i], 1}).front());
    }
  }
  std::vector<std::vector<ChoiceScore>> by_item;
  auto next = std::make_move_iterator(scores.begin());
  for (const Choices& item : items) {
    by_item.emplace_back(next, next + std::ssize(item));
    next += std::ssize(item);
  }
  return by_item;
}

std::vector<ChoiceScore> ChoiceScorer::score_together(
    std::span<const Ids> sequences, std::span<const ChoiceTokens* const> choices) {
  const at::NoGradGuard no_grad;
  const PrefixTree tree(sequences);
  std::vector<std::int64_t> rows;
  Ids targets;
  std::vector<std::int64_t> last_rows;  // of the last token of each sequence
  for (std::size_t c = 0; c < choices.size(); ++c) {
    const std::vector<std::int64_t> own = tree.rows_of(c);
    const auto first = own.begin() + static_cast<std::ptrdiff_t>(choices[c]->first_row());
    rows.insert(rows.end(), first, first + std::ssize(choices[c]->targets));
    targets.insert(targets.end(), choices[c]->targets.begin(), choices[c]->targets.end());
    last_rows.push_back(own.back());
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
      tree.ids(),
      {.hooks = &hooks, .logits = LogitsFor::kNone, .tree = &tree, .workspace = &workspace_});
  std::vector<ChoiceScore> scores(choices.size());
  const auto add_scores = [&](const at::Tensor& hidden, const auto& add) {
    const std::vector<TokenScore> tokens = score_tokens(decoder_, hidden, rows, targets);
    std::size_t next = 0;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      for (std::size_t t = 0; t < choices[c]->targets.size(); ++t) add(scores[c], tokens[next++]);
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
