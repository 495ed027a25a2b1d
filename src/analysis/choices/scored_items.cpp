// SPDX-License-Identifier: Apache-2.0
#include "analysis/choices/scored_items.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Returns the index of the largest value, the first of equal ones.
std::size_t best_of(std::span<const double> values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

/// Returns the sum over the choices of (p - [correct])^2 with p = softmax(log-likelihoods).
double brier_score(std::span<const double> scores, std::size_t gold) {
  const double largest = scores[best_of(scores)];
  double total = 0.0;
  for (const double score : scores) total += std::exp(score - largest);
  double sum = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double error = std::exp(scores[i] - largest) / total - (i == gold ? 1.0 : 0.0);
    sum += error * error;
  }
  return sum;
}

double margin_of(std::span<const double> scores, std::size_t gold) {
  double other = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (i != gold) other = std::max(other, scores[i]);
  }
  return scores[gold] - other;
}

/// Returns the choice (yes or no) that the label means, where 1 is a correct answer.
std::size_t corrected_gold(const EvalSample& sample) {
  const auto label = sample.document.find("label");
  for (std::size_t i = 0; i < sample.continuations.size(); ++i) {
    const bool says_yes = sample.continuations[i].ends_with("yes");
    const bool says_no = sample.continuations[i].ends_with("no");
    if (label == sample.document.end() || says_yes == says_no) break;
    if ((*label == 1 || *label == true) == says_yes) return i;
  }
  throw FormatError(
      "{}: --preset corrected needs the 'label' of MultiRC's 'doc' and choices that end with yes "
      "and no",
      sample.where);
}

/// Returns the identity of an item, equal for all models.
std::string identity_of(const EvalSample& sample) {
  Json parts = {sample.doc_id, sample.gold};
  for (const std::string& text : sample.continuations) parts.push_back(text);
  if (sample.is_text()) parts.push_back(sample.target);
  return dump_json(parts);
}

/// Divides each score by the characters (code points) or bytes of its choice.
std::vector<double> per_length(std::span<const double> scores, const EvalSample& item,
                               bool by_bytes) {
  std::vector<double> quotients;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string choice = item.choice(i);
    const auto count = std::ranges::count_if(choice, [&](char c) {
      return by_bytes || (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    });
    quotients.push_back(scores[i] / static_cast<double>(count));
  }
  return quotients;
}

constexpr const char* kMeasures[] = {"acc",    "acc_norm",       "acc_bytes",   "brier",
                                     "margin", "log_likelihood", "exact_match", "probe"};

/// Returns a measure of an item, none if it is undefined; `layer` reads the scores of that layer.
std::optional<double> value_of(std::string_view measure, const EvalSample& item,
                               std::optional<std::size_t> layer) {
  if (item.is_text()) {
    return measure == "exact_match" ? std::optional(item.exact_match.value_or(0.0)) : std::nullopt;
  }
  const auto gold = static_cast<std::size_t>(item.gold);
  const auto is_best = [&](std::span<const double> scores) {
    return best_of(scores) == gold ? 1.0 : 0.0;
  };
  throw_if<FormatError>(layer && *layer >= item.layers.size(),
                        "{}: must have the scores of as many layers as the first item, got {}",
                        item.where, item.layers.size());
  if (measure == "probe") {
    if (!layer || item.layers[*layer].probe.empty()) return std::nullopt;
    return is_best(item.layers[*layer].probe);
  }
  const std::vector<double>& scores =
      layer ? item.layers[*layer].log_likelihoods : item.log_likelihoods;
  if (scores.size() == 1) {
    // Samples do not record whether greedy decoding of a layer yields the continuation.
    if (measure == "acc" && !layer) return item.is_greedy.front() ? 1.0 : 0.0;
    return measure == "log_likelihood" ? std::optional(scores.front()) : std::nullopt;
  }
  if (measure == "acc") return is_best(scores);
  if (measure == "brier") return brier_score(scores, gold);
  if (measure == "margin") return margin_of(scores, gold);
  // The choices of WinoGrande differ in their contexts only.
  const auto& texts = item.continuations;
  const bool has_lengths = std::ranges::count(texts, texts.front()) < std::ssize(texts);
  if (!has_lengths || !measure.starts_with("acc_")) return std::nullopt;
  return is_best(per_length(scores, item, measure == "acc_bytes"));
}

/// Averages over the runs. @param by_run  [run][item]
MeasuredValues averaged(std::string name, const std::vector<std::vector<double>>& by_run,
                        std::vector<std::size_t> clusters) {
  MeasuredValues result{std::move(name), std::vector<double>(by_run.front().size(), 0.0), true,
                        std::move(clusters)};
  for (const std::vector<double>& run : by_run) {
    double sum = 0.0;
    for (std::size_t i = 0; i < run.size(); ++i) {
      result.values[i] += run[i] / static_cast<double>(by_run.size());
      sum += run[i];
      result.is_accuracy = result.is_accuracy && (run[i] == 0.0 || run[i] == 1.0);
    }
    result.run_means.push_back(sum / static_cast<double>(run.size()));
  }
  return result;
}

/// Numbers values from 0, in the order of their first occurrence.
template <typename Value> std::vector<std::size_t> numbered(const std::vector<Value>& values) {
  std::map<Value, std::size_t> numbers;
  std::vector<std::size_t> result;
  for (const Value& value : values) {
    result.push_back(numbers.try_emplace(value, numbers.size()).first->second);
  }
  return result;
}

/// Fraction of groups (questions or paragraphs) whose items are all correct.
/// @param group, cluster  numbers of each item
MeasuredValues all_correct(const char* name, const std::vector<std::size_t>& group,
                           const std::vector<std::size_t>& cluster,
                           const std::vector<std::vector<double>>& by_run) {
  std::vector<std::size_t> clusters;
  std::vector<std::vector<double>> products(by_run.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    const bool is_new = group[i] == clusters.size();
    if (is_new) clusters.push_back(cluster[i]);
    for (std::size_t r = 0; r < by_run.size(); ++r) {
      if (is_new) products[r].push_back(1.0);
      products[r][group[i]] *= by_run[r][i];
    }
  }
  return averaged(name, products, clusters);
}

std::vector<double> shares(const AnsweredTask& task, const auto& choice_of) {
  std::vector<double> counts;
  for (const std::vector<EvalSample>& run : task.runs) {
    for (const EvalSample& item : run) {
      if (item.log_likelihoods.size() < 2) return {};
      counts.resize(std::max(counts.size(), item.log_likelihoods.size()));
      counts[choice_of(item)] += 1.0;
    }
  }
  for (double& count : counts) count /= static_cast<double>(task.runs.size() * task.ids.size());
  return counts;
}

/// First place of a model's tokenizer.
struct SeenTokenizer {
  std::string sha256;
  std::string where;
};

void check_tokenizer(const EvalSample& sample, const std::string& label,
                     std::map<std::string, SeenTokenizer>& seen) {
  if (sample.tokenizer_sha256.empty()) return;
  const SeenTokenizer own = {sample.tokenizer_sha256, sample.where};
  const SeenTokenizer& known = seen.try_emplace(label, own).first->second;
  if (known.sha256 == own.sha256) return;
  throw InvalidArgument(
      OptionName("label"),
      "{} and {} have the label '{}' but tokenizers of different hashes ({:.12} and "
      "{:.12}); give each model its own label",
      known.where, own.where, label, known.sha256, own.sha256);
}

/// Adds a sample to its task, without what takes memory and is not needed.
void add_sample(EvalSample sample, bool is_corrected, AnsweredTask& task) {
  throw_if<FormatError>(!sample.is_text() && sample.log_likelihoods.empty(),
                        "{}: must have 'filtered_resps' with a log-likelihood per choice",
                        sample.where);
  task.ids.push_back(identity_of(sample));
  if (is_corrected && task.name.find("multirc") != std::string::npos) {
    sample.gold = static_cast<std::int64_t>(corrected_gold(sample));
    task.questions.push_back(sample.multirc_question().value_or(MultircQuestion{}));
  }
  sample.contexts = {};
  sample.document = {};
  task.runs.front().push_back(std::move(sample));
}

std::vector<AnsweredTask> read_run(const std::filesystem::path& file, const std::string& label,
                                   const ChoicesOptions& options,
                                   std::map<std::string, SeenTokenizer>& tokenizers) {
  std::vector<AnsweredTask> tasks;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  read_samples_file(file, [&](EvalSample sample) {
    const auto& only = options.task;
    if (!only.empty() && std::ranges::find(only, sample.task) == only.end()) return;
    check_tokenizer(sample, label, tokenizers);
    const std::string filter = sample.is_text() ? sample.filter : "";
    const auto [place, is_new] = places.try_emplace({sample.task, filter}, tasks.size());
    if (is_new) tasks.push_back({label, sample.task, filter, {}, {}, {{}}});
    add_sample(std::move(sample), options.preset == ChoicesPreset::kCorrected,
               tasks[place->second]);
  });
  return tasks;
}

}  // namespace

std::vector<AnsweredTask> read_answers(const ChoicesOptions& options,
                                       const std::vector<std::string>& labels) {
  std::vector<AnsweredTask> tasks;
  std::map<std::string, SeenTokenizer> tokenizers;  // by label
  for (std::size_t f = 0; f < options.samples.size(); ++f) {
    for (AnsweredTask& run : read_run(options.samples[f], labels[f], options, tokenizers)) {
      const auto same = std::ranges::find_if(tasks, [&](const AnsweredTask& task) {
        return task.label == run.label && task.name == run.name && task.filter == run.filter;
      });
      if (same == tasks.end()) {
        tasks.push_back(std::move(run));
        continue;
      }
      throw_if(same->ids != run.ids,
               "'{}': the runs of '{}' must have the same items of {} in the same order; evaluate "
               "them with the same data and options",
               options.samples[f].string(), run.label, run.name);
      same->runs.push_back(std::move(run.runs.front()));
    }
  }
  for (const std::string& name : options.task) {
    const bool is_known =
        std::ranges::any_of(tasks, [&](const AnsweredTask& task) { return task.name == name; });
    if (!is_known)
      throw InvalidArgument(OptionName("task"), "no file contains '{}'", printable(name));
  }
  return tasks;
}

std::vector<MeasuredValues> measure_items(const AnsweredTask& task,
                                          std::optional<std::size_t> layer) {
  std::vector<Json> paragraph_of;
  for (const MultircQuestion& question : task.questions) paragraph_of.push_back(question.paragraph);
  const std::vector<std::size_t> paragraphs = numbered(paragraph_of);
  const std::vector<std::size_t> questions = numbered(task.questions);
  std::vector<MeasuredValues> measures;
  for (const std::string_view name : kMeasures) {
    std::vector<std::vector<double>> by_run;
    bool is_defined = true;
    for (const std::vector<EvalSample>& run : task.runs) {
      by_run.emplace_back();
      for (const EvalSample& item : run) {
        const std::optional<double> value = value_of(name, item, layer);
        is_defined = is_defined && value;
        by_run.back().push_back(value.value_or(0.0));
      }
    }
    if (!is_defined) continue;
    measures.push_back(
        averaged(std::string(task.filter.empty() ? name : task.filter), by_run, paragraphs));
    if (paragraphs.empty() || name != "acc") continue;
    measures.push_back(all_correct("question_match", questions, paragraphs, by_run));
    measures.push_back(all_correct("paragraph_match", paragraphs, paragraphs, by_run));
  }
  return measures;
}

std::vector<double> gold_shares(const AnsweredTask& task) {
  return shares(task, [](const EvalSample& item) { return static_cast<std::size_t>(item.gold); });
}

std::vector<double> prediction_shares(const AnsweredTask& task) {
  return shares(task, [](const EvalSample& item) { return best_of(item.log_likelihoods); });
}

}  // namespace lime
