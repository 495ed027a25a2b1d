// SPDX-License-Identifier: Apache-2.0
#include "evaluation/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "checkpoint/tokenizer/python_text.h"
#include "core/threads/thread_pool.h"
#include "evaluation/choice_scorer.h"
#include "evaluation/text_generator.h"
#include "metrics/probes/probe.h"

namespace lime {
namespace {

/// Items that are computed together, and again if a run is interrupted among them.
constexpr std::size_t kBlock = 32;

/// Returns the index of the largest score; the first of equal ones.
std::size_t best_of(const std::vector<double>& scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

Json arguments_of(const EvalSample& item, const EvaluationOptions& options) {
  if (item.is_text()) {
    return {{"gen_args_0",
             {{"arg_0", item.contexts.front()},
              {"arg_1",
               {{"until", item.stop_strings},
                {"do_sample", false},
                {"temperature", 0.0},
                {"max_gen_toks", options.max_new_tokens}}}}}};
  }
  Json arguments = Json::object();
  for (std::size_t i = 0; i < item.continuations.size(); ++i) {
    arguments[fmt::format("gen_args_{}", i)] = {{"arg_0", item.contexts[i]},
                                                {"arg_1", item.continuations[i]}};
  }
  return arguments;
}

/// Adds the scores of a probe to each line and layer: the log-probability that a choice is correct
/// given the layer's output at its last token, from the fold that does not train on the item.
void add_probes(std::span<const EvalSample> items,
                const std::vector<std::vector<ChoiceScore>>& scores, std::vector<Json>& lines,
                const std::stop_token& stop) {
  std::map<Json, int> groups;  // the answers of a paragraph of MultiRC stay together
  std::vector<int> classes;
  std::vector<int> group_of;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::optional<MultircQuestion> question = items[i].multirc_question();
    const Json key = question ? question->paragraph : Json(i);
    const int group = groups.try_emplace(key, static_cast<int>(groups.size())).first->second;
    for (std::size_t c = 0; c < scores[i].size(); ++c) {
      classes.push_back(static_cast<std::int64_t>(c) == items[i].gold ? 1 : 0);
      group_of.push_back(group);
    }
  }
  const FoldOptions how{.kind = FoldKind::kGrouped};
  throw_if(std::ssize(groups) < how.num_folds || classes.size() == items.size(),
           OptionName("probes"), "{} must have choices and at least {} items, got {}",
           items.front().task, how.num_folds, groups.size());
  const Folds folds = make_folds(classes, group_of, how);
  const auto dim = std::ssize(scores[0][0].states[0]);
  MatrixF rows(std::ssize(classes), dim);
  ThreadPool pool;
  for (std::size_t l = 0; l < scores[0][0].states.size(); ++l) {
    Eigen::Index row = 0;
    for (const std::vector<ChoiceScore>& item : scores) {
      for (const ChoiceScore& choice : item) {
        rows.row(row++) = Eigen::Map<const Eigen::RowVectorXf>(choice.states[l].data(), dim);
      }
    }
    const ProbeResult probe = cross_validate({rows, classes, 2, group_of}, folds, {}, pool, stop);
    row = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Json& of_layer = lines[i]["layers"][l];
      for (std::size_t c = 0; c < scores[i].size(); ++c) {
        of_layer["probe"].push_back(probe.log_probabilities(row++, 1));
      }
    }
  }
}

/// Computes the lines of the items of one task.
class Evaluation {
 public:
  Evaluation(const EvalTask& task, const Decoder& decoder, const Tokenizer& tokenizer,
             const EvaluationOptions& options, const std::stop_token& stop)
      : task_(task),
        decoder_(decoder),
        tokenizer_(tokenizer),
        options_(options),
        stop_(stop),
        max_length_(options.max_length.value_or(decoder.config().max_position_embeddings)),
        scorer_(decoder, options.layers, options.probes) {
    throw_if(task.answer == Answer::kText && options.max_new_tokens >= max_length_,
             OptionName("max_new_tokens"), "must be below the model's {} positions, got {}",
             max_length_, options.max_new_tokens);
  }

  /// Returns the tokens that were read; of generated text: the new ones.
  std::int64_t tokens() const { return tokens_; }

  /// @param on_progress  counts the items of this call
  std::vector<Json> lines_of(std::span<const EvalSample> items, const ProgressFn& on_progress) {
    if (task_.answer == Answer::kText) return text_lines(items, on_progress);
    std::vector<Choices> choices;
    for (const EvalSample& item : items) choices.push_back(encode(item));
    std::vector<std::vector<ChoiceScore>> scores;
    std::vector<Json> lines;
    while (lines.size() < items.size()) {
      throw_if_stopped(stop_);
      const auto rest = std::span<const Choices>(choices).subspan(lines.size());
      for (auto& of_item : scorer_.score(rest.first(scorer_.fitting_one_pass(rest)))) {
        const bool is_cut = std::ranges::any_of(choices[lines.size()], &ChoiceTokens::is_cut);
        lines.push_back(choice_line(items[lines.size()], of_item, is_cut));
        if (options_.probes) scores.push_back(std::move(of_item));
      }
      if (on_progress) on_progress({std::ssize(lines), std::ssize(items), ""});
    }
    if (options_.probes) add_probes(items, scores, lines, stop_);
    return lines;
  }

 private:
  Json line_of(const EvalSample& item, Json target, bool is_cut) const {
    Json line = {{"task", item.task}, {"doc_id", item.doc_id}, {"doc", item.document}};
    line.update(options_.provenance);
    line["truncated"] = is_cut;
    line["target"] = std::move(target);
    line["arguments"] = arguments_of(item, options_);
    return line;
  }

  Choices encode(const EvalSample& item) {
    Choices choices;
    for (std::size_t i = 0; i < item.continuations.size(); ++i) {
      try {
        // Probes also read the last token.
        choices.push_back(encode_choice(tokenizer_, item.contexts[i], item.continuations[i],
                                        max_length_ - (options_.probes ? 1 : 0)));
      } catch (const InvalidArgument& error) {
        throw prefixed(fmt::format("{}, item {}", item.task, item.doc_id), error);
      }
      tokens_ += std::ssize(choices.back().input);
    }
    return choices;
  }

  Json choice_line(const EvalSample& item, const std::vector<ChoiceScore>& scores,
                   bool is_cut) const {
    std::vector<double> sums;
    std::vector<double> per_character;
    Json responses = Json::array();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      sums.push_back(scores[i].log_likelihood);
      per_character.push_back(sums.back() / static_cast<double>(code_points_in(item.choice(i))));
      // As the harness writes a log-likelihood and whether it is greedy.
      responses.push_back({fmt::format("{}", sums.back()), scores[i].is_greedy ? "True" : "False"});
    }
    Json line = line_of(item, std::to_string(item.gold), is_cut);
    line["resps"] = Json::array();
    for (const Json& response : responses) line["resps"].push_back(Json::array({response}));
    line["filtered_resps"] = responses;
    line["filter"] = "none";
    const auto gold = static_cast<std::size_t>(item.gold);
    const bool is_correct =
        task_.answer == Answer::kChoice ? best_of(sums) == gold : scores[0].is_greedy;
    line["acc"] = is_correct ? 1.0 : 0.0;
    if (task_.logs_acc_norm) line["acc_norm"] = best_of(per_character) == gold ? 1.0 : 0.0;
    line["gold"] = item.gold;
    for (std::size_t l = 0; l < options_.layers.size(); ++l) {
      Json of_layer = Json::array();
      for (const ChoiceScore& score : scores) of_layer.push_back(score.layers[l]);
      line["layers"].push_back({{"layer", options_.layers[l]}, {"log_likelihoods", of_layer}});
    }
    return line;
  }

  TextPrompt prompt_of(const EvalSample& item, bool& is_cut) const {
    const std::vector<std::int32_t> ids =
        tokenizer_.with_prefix(tokenizer_.encode(item.contexts.front()));
    TextPrompt prompt{{ids.begin(), ids.end()}, item.stop_strings};
    if (tokenizer_.eos_id()) {
      const std::vector<std::int32_t> end = {*tokenizer_.eos_id()};
      prompt.stop_strings.push_back(tokenizer_.decode(end, {.skip_special_tokens = false}));
    }
    const auto surplus = std::ssize(prompt.ids) - (max_length_ - options_.max_new_tokens);
    is_cut = surplus > 0;
    if (is_cut) prompt.ids.erase(prompt.ids.begin(), prompt.ids.begin() + surplus);
    return prompt;
  }

  std::vector<Json> text_lines(std::span<const EvalSample> items, const ProgressFn& on_progress) {
    std::vector<TextPrompt> prompts;
    std::vector<Json> heads;
    for (const EvalSample& item : items) {
      bool is_cut = false;
      prompts.push_back(prompt_of(item, is_cut));
      heads.push_back(line_of(item, item.target, is_cut));
    }
    const GeneratedTexts generated = generate_texts(
        decoder_, tokenizer_, prompts,
        {options_.max_new_tokens, options_.batch_size, options_.stop_tokens}, on_progress, stop_);
    tokens_ += generated.new_tokens;
    std::vector<Json> lines;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string& text = generated.texts[i];
      for (const char* const filter : {"strict-match", "flexible-extract"}) {
        const std::string answer = filter[0] == 's' ? strict_answer(text) : flexible_answer(text);
        Json line = heads[i];
        line["resps"] = Json::array({Json::array({text})});
        line["filtered_resps"] = Json::array({answer});
        line["filter"] = filter;
        line["exact_match"] = is_exact_match(answer, items[i].target) ? 1.0 : 0.0;
        lines.push_back(std::move(line));
      }
    }
    return lines;
  }

  const EvalTask& task_;
  const Decoder& decoder_;
  const Tokenizer& tokenizer_;
  const EvaluationOptions& options_;
  std::stop_token stop_;
  std::int64_t max_length_;
  ChoiceScorer scorer_;
  std::int64_t tokens_ = 0;
};

/// Refuses a line of an earlier run that is of another item or was computed otherwise.
void check_line(const Json& line, const EvalSample& item, const EvaluationOptions& options,
                const ResumableLines& out) {
  Json before = Json::object();
  Json now = options.provenance;
  now["task"] = item.task;
  now["doc_id"] = item.doc_id;
  now["arguments"] = arguments_of(item, options);
  for (const auto& [key, value] : now.items()) before[key] = line.value(key, Json());
  const auto difference = first_difference(before, now);
  if (!difference) return;
  throw InvalidArgument(
      "'{}': was started with different options, {}; rerun with the original ones, or remove the "
      "file",
      out.part().string(), to_text(*difference));
}

/// Adds a line to the sums of a task.
void count_line(const Json& line, const EvalSample& item, EvaluatedTask& result) {
  const bool is_second = line["filter"] == "flexible-extract";
  if (is_second) {
    *result.normalised_accuracy += line["exact_match"].get<double>();
    return;
  }
  ++result.items;
  result.cut_items += line["truncated"].get<bool>() ? 1 : 0;
  result.accuracy += line[item.is_text() ? "exact_match" : "acc"].get<double>();
  if (line.contains("acc_norm")) *result.normalised_accuracy += line["acc_norm"].get<double>();
  if (item.log_likelihoods.empty()) return;
  std::vector<double> scores;
  double largest = result.largest_difference.value_or(0.0);
  for (const Json& response : line["filtered_resps"]) {
    scores.push_back(std::strtod(response[0].get_ref<const std::string&>().c_str(), nullptr));
    largest = std::max(largest, std::abs(item.log_likelihoods[scores.size() - 1] - scores.back()));
  }
  result.largest_difference = largest;
  const bool is_greedy = line["filtered_resps"][0][1] == "True";
  const bool is_same = scores.size() > 1 ? best_of(item.log_likelihoods) == best_of(scores)
                                         : item.is_greedy[0] == is_greedy;
  result.other_answers += is_same ? 0 : 1;
}

}  // namespace

EvaluatedTask evaluate(const EvalTask& task, const Decoder& decoder, const Tokenizer& tokenizer,
                       const EvaluationOptions& options, ResumableLines& out,
                       const ProgressFn& on_progress, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  Evaluation evaluation(task, decoder, tokenizer, options, stop);
  EvaluatedTask result{.name = task.name};
  const bool is_text = task.answer == Answer::kText;
  if (is_text || task.logs_acc_norm) result.normalised_accuracy = 0.0;
  const std::size_t count = task.items.size();
  const std::size_t block =
      options.probes ? count : std::max(kBlock, static_cast<std::size_t>(options.batch_size));
  const std::size_t lines_per_item = is_text ? 2 : 1;
  for (std::size_t first = 0; first < count; first += block) {
    const auto items = std::span(task.items).subspan(first, std::min(block, count - first));
    std::vector<Json> lines = out.next(items.size() * lines_per_item);
    if (lines.empty()) {
      const Clock::time_point start = Clock::now();
      lines = evaluation.lines_of(items, [&](const Progress& progress) {
        if (on_progress) {
          on_progress({static_cast<std::int64_t>(first) + progress.done, std::ssize(task.items),
                       task.name});
        }
      });
      out.add(lines);
      result.seconds += std::chrono::duration<double>(Clock::now() - start).count();
      result.computed_items += std::ssize(items);
    }
    for (std::size_t l = 0; l < lines.size(); ++l) {
      const EvalSample& item = items[l / lines_per_item];
      check_line(lines[l], item, options, out);
      count_line(lines[l], item, result);
    }
  }
  result.tokens = evaluation.tokens();
  result.accuracy /= static_cast<double>(count);
  if (result.normalised_accuracy) *result.normalised_accuracy /= static_cast<double>(count);
  return result;
}

}  // namespace lime
