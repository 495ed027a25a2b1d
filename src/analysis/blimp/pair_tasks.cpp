// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/pair_tasks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "analysis/engine/capture_rows.h"
#include "core/files/sha256.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

std::string name_at(const std::vector<std::string>& names, std::size_t index) {
  return index < names.size() ? names[index] : "";
}

struct Member {
  std::int64_t pair = 0;
  std::int64_t sequence = 0;
  bool is_good = false;
};

/// Sequences of pairs by task; tasks that have no number of their own are -1.
std::map<int, std::vector<Member>> members_by_task(const std::vector<Sequence>& sequences) {
  std::map<int, std::vector<Member>> members;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const Sequence& sequence = sequences[s];
    if (sequence.pair < 0 || sequence.label < 0) continue;
    members[sequence.task].push_back(
        {sequence.pair, static_cast<std::int64_t>(s), sequence.label == 1});
  }
  return members;
}

std::vector<SentencePair> make_pairs(std::vector<Member> members, const std::string& where) {
  std::ranges::stable_sort(members, {}, &Member::pair);
  const std::int64_t first = members.front().pair;
  std::vector<SentencePair> pairs;
  for (std::size_t i = 0; i < members.size();) {
    std::size_t end = i;
    int num_good = 0;
    SentencePair pair{.number = members[i].pair - first};
    for (; end < members.size() && members[end].pair == members[i].pair; ++end) {
      (members[end].is_good ? pair.good : pair.bad) = members[end].sequence;
      num_good += members[end].is_good ? 1 : 0;
    }
    const int num_bad = static_cast<int>(end - i) - num_good;
    throw_if(
        num_good != 1 || num_bad != 1,
        "{}: pair {} must have one good and one bad sentence, got {} and {}; capture the pairs "
        "again",
        where, pair.number, num_good, num_bad);
    pairs.push_back(pair);
    i = end;
  }
  return pairs;
}

/// Returns the requested names, with `lime-paper` replaced by its tasks.
std::set<std::string> expand(const std::vector<std::string>& names) {
  std::set<std::string> expanded;
  for (const std::string& name : names) {
    if (name == "lime-paper") {
      expanded.insert(lime_paper_tasks().begin(), lime_paper_tasks().end());
    } else {
      expanded.insert(name);
    }
  }
  return expanded;
}

void check_names(const std::set<std::string>& requested, const std::vector<PairTask>& tasks,
                 const CaptureReader& capture) {
  std::vector<std::string> available;
  available.reserve(tasks.size());
  for (const PairTask& task : tasks) available.push_back(task.name);
  for (const std::string& name : requested) {
    if (std::ranges::find(available, name) != available.end()) continue;
    constexpr std::size_t kMaxListed = 12;
    throw InvalidArgument(OptionName("task"), "{} has no task '{}' (its tasks: {})",
                          quoted_path(capture), printable(name),
                          available.size() <= kMaxListed
                              ? join_words(available)
                              : fmt::format("{} others, see lime-capture info", available.size()));
  }
}

}  // namespace

const std::vector<std::string>& lime_paper_tasks() {
  static const std::vector<std::string> kTasks = {"determiner_noun_agreement_with_adj_irregular_1",
                                                  "complex_NP_island",
                                                  "regular_plural_subject_verb_agreement_2",
                                                  "determiner_noun_agreement_with_adj_2",
                                                  "determiner_noun_agreement_1",
                                                  "determiner_noun_agreement_2",
                                                  "irregular_plural_subject_verb_agreement_1",
                                                  "irregular_plural_subject_verb_agreement_2",
                                                  "distractor_agreement_relational_noun",
                                                  "determiner_noun_agreement_with_adjective_1"};
  return kTasks;
}

std::vector<PairTask> read_pair_tasks(const CaptureReader& capture,
                                      const std::vector<std::string>& names) {
  auto members = members_by_task(capture.sequences());
  throw_if(
      members.empty(),
      "{}: contains no minimal pairs (its sequences have no labels and pairs); capture them with "
      "lime-capture --pairs",
      quoted_path(capture));
  const CaptureInfo& info = capture.info();
  std::vector<PairTask> tasks;
  for (auto& [number, list] : members) {
    PairTask& task = tasks.emplace_back();
    const auto index = static_cast<std::size_t>(std::max(number, 0));
    task.name = number < 0 ? "pairs" : name_at(info.task_names, index);
    task.field = number < 0 ? "" : name_at(info.task_fields, index);
    task.term = number < 0 ? "" : name_at(info.task_terms, index);
    std::ranges::replace(task.field, '/', '_');
    task.pairs =
        make_pairs(std::move(list), fmt::format("{}: task '{}'", quoted_path(capture), task.name));
  }
  const std::set<std::string> requested = expand(names);
  if (requested.empty()) return tasks;
  check_names(requested, tasks, capture);
  std::erase_if(tasks, [&](const PairTask& task) { return !requested.contains(task.name); });
  return tasks;
}

PairScores scores_of(const CaptureReader& capture, const PairTask& task) {
  const std::vector<Sequence>& sequences = capture.sequences();
  const auto score = [&](const SentencePair& pair, std::int64_t s) {
    const double value = sequences[static_cast<std::size_t>(s)].log_likelihood;
    if (std::isfinite(value)) return value;
    throw InvalidArgument(
        "log-likelihoods must be finite, got {} for sequence {} (task '{}', pair {}: '{}')", value,
        s, task.name, pair.number, printable(sequences[static_cast<std::size_t>(s)].text));
  };
  PairScores scores;
  for (const SentencePair& pair : task.pairs) {
    scores.good.push_back(score(pair, pair.good));
    scores.bad.push_back(score(pair, pair.bad));
  }
  return scores;
}

std::string pairs_identity(const CaptureReader& capture, const std::vector<PairTask>& tasks) {
  const std::vector<Sequence>& sequences = capture.sequences();
  const auto text_of = [&](std::int64_t s) -> const std::string& {
    return sequences[static_cast<std::size_t>(s)].text;
  };
  Json content = Json::array();
  for (const PairTask& task : tasks) {
    content.push_back(task.name);
    for (const SentencePair& pair : task.pairs) {
      content.push_back({pair.number, text_of(pair.good), text_of(pair.bad)});
    }
  }
  return sha256_of(dump_json(content));
}

std::vector<TaskGroup> task_groups(const std::vector<PairTask>& tasks) {
  std::vector<TaskGroup> groups = {{"all", "all", std::vector<std::size_t>(tasks.size())}};
  std::iota(groups.front().members.begin(), groups.front().members.end(), std::size_t{0});
  for (const auto& [level, member] :
       {std::pair("field", &PairTask::field), std::pair("linguistics_term", &PairTask::term)}) {
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const std::string& name = tasks[t].*member;
      if (name.empty()) continue;
      auto group = std::ranges::find_if(groups, [&, level = level](const TaskGroup& known) {
        return known.level == level && known.name == name;
      });
      if (group == groups.end()) group = groups.insert(groups.end(), {level, name, {}});
      group->members.push_back(t);
    }
  }
  return groups;
}

}  // namespace lime
