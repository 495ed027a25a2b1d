// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/capture_reader.h"

namespace lime {

struct SentencePair {
  std::int64_t number = 0;  ///< in its task, from 0: the line of BLiMP's file
  std::int64_t good = 0;    ///< number of the sequence
  std::int64_t bad = 0;
};

/// The pairs of one task (BLiMP: paradigm), in the order of the capture.
struct PairTask {
  std::string name;   ///< BLiMP's `UID`
  std::string field;  ///< BLiMP's, with '/' as '_': its files spell syntax_semantics both ways
  std::string term;   ///< BLiMP's `linguistics_term`
  std::vector<SentencePair> pairs;
};

const std::vector<std::string>& lime_paper_tasks();

/// Sorts the minimal pairs of a capture by task. Sentences of shards that are missing are left out.
/// @param names  selected tasks; `lime-paper`: lime_paper_tasks(); empty: all.
/// @throws InvalidArgument  if the capture contains no pairs, a pair has not one good and one bad
///                          sentence, or a task is unknown.
std::vector<PairTask> read_pair_tasks(const CaptureReader& capture,
                                      const std::vector<std::string>& names);

/// Returns the log-likelihoods of the good and the bad sentences of a task.
struct PairScores {
  std::vector<double> good;
  std::vector<double> bad;
};
PairScores scores_of(const CaptureReader& capture, const PairTask& task);

/// Returns a hash of the pairs' positions and sentences, the same for any model.
std::string pairs_identity(const CaptureReader& capture, const std::vector<PairTask>& tasks);

struct TaskGroup {
  std::string level;  ///< "all", "field" or "linguistics_term"
  std::string name;
  std::vector<std::size_t> members;  ///< places in the list of tasks
};

/// Returns the groups of all tasks, by field and by linguistics_term, in order of first appearance.
std::vector<TaskGroup> task_groups(const std::vector<PairTask>& tasks);

}  // namespace lime
