// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "explorer/models/job_runner.h"

namespace lime::explorer {

/// A value that a job computes, or the reason why there is none.
template <typename Result> struct Answer {
  JobId job = 0;  ///< 0: no job is running
  /// While a job is running, and after it was cancelled: what it has published.
  std::optional<Result> result{};
  QString problem{};  ///< why there is no result, or only a part
  bool is_cancelled = false;
};

/// Declares the signals of JobCache, which as a template cannot.
class JobCacheSignals : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

 Q_SIGNALS:
  /// Emitted when values arrive, are cancelled or are dropped.
  void changed();
};

/// Computes values in jobs, each once per key, and keeps them until they are dropped. Keys are
/// compared with ==. Lives on the GUI thread.
template <typename Key, typename Result> class JobCache : public JobCacheSignals {
 public:
  using Value = Result;
  using Work = std::function<Result(const JobContext&)>;
  /// Work that publishes parts of its result on the way, each a Result of its own.
  using WorkInParts =
      std::function<Result(const JobContext&, const std::function<void(Result)>& publish)>;

  explicit JobCache(JobRunner& jobs) : jobs_(jobs) {
    connect(&jobs, &JobRunner::jobRemoved, this, [this](JobId id) { onJobRemoved(id); });
  }

  /// Starts `work`, unless `key` has an answer or is being computed.
  void request(const Key& key, JobSpec spec, Work work) {
    if (find(key) != nullptr) return;
    entries_.push_back({key, {}});
    entries_.back().answer.job = jobs_.start<Result>(
        this, std::move(spec), std::move(work),
        [this, key](Result result) { finish(key, {.result = std::move(result)}); },
        [this, key](const QString& error) { finish(key, {.problem = error}); });
  }

  /// Starts `work` likewise. Until it is done, the answer is what it published last.
  void requestInParts(const Key& key, JobSpec spec, WorkInParts work) {
    request(key, std::move(spec), [this, key, work = std::move(work)](const JobContext& context) {
      return work(context, [&](Result part) {
        const auto shared = std::make_shared<Result>(std::move(part));
        context.deliver([this, key, shared] { publish(key, std::move(*shared)); });
      });
    });
  }

  /// Returns the answer for `key`, an empty one if it was never requested.
  const Answer<Result>& at(const Key& key) const {
    static const Answer<Result> none;
    const Answer<Result>* const answer = const_cast<JobCache*>(this)->find(key);
    return answer == nullptr ? none : *answer;
  }

  /// Returns whether a key for which `is_meant(key)` holds is being computed; by default, any.
  bool isBusy(const std::function<bool(const Key&)>& is_meant = {}) const {
    return std::ranges::any_of(entries_, [&](const Entry& entry) {
      return entry.answer.job != 0 && (!is_meant || is_meant(entry.key));
    });
  }

  /// Cancels and drops every key for which `is_meant(key)` holds.
  template <typename Predicate> void dropIf(Predicate is_meant) {
    std::vector<JobId> running;
    const std::size_t before = entries_.size();
    entries_.remove_if([&](const Entry& entry) {
      if (!is_meant(entry.key)) return false;
      if (entry.answer.job != 0) running.push_back(entry.answer.job);
      return true;
    });
    if (entries_.size() == before) return;
    for (const JobId job : running) jobs_.cancel(job);
    Q_EMIT changed();
  }
  void clear() { keepOnly(std::nullopt); }
  void keepOnly(const std::optional<Key>& key) {
    dropIf([&](const Key& item) { return key != item; });
  }

 private:
  struct Entry {
    Key key;
    Answer<Result> answer;
  };

  Answer<Result>* find(const Key& key) {
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    return found == entries_.end() ? nullptr : &found->answer;
  }
  void finish(const Key& key, Answer<Result> answer) {
    Answer<Result>* const found = find(key);
    if (found == nullptr) return;
    *found = std::move(answer);
    Q_EMIT changed();
  }
  void publish(const Key& key, Result part) {
    Answer<Result>* const found = find(key);
    if (found == nullptr || found->job == 0) return;
    found->result = std::move(part);
    Q_EMIT changed();
  }
  /// A job that has ended and is still registered was cancelled: its result would have removed it.
  void onJobRemoved(JobId id) {
    const auto found =
        std::ranges::find(entries_, id, [](const Entry& element) { return element.answer.job; });
    if (found == entries_.end()) return;
    // What it published stays.
    found->answer.job = 0;
    found->answer.is_cancelled = true;
    found->answer.problem = u"cancelled; View > Recompute reruns it"_s;
    Q_EMIT changed();
  }

  JobRunner& jobs_;
  std::list<Entry> entries_;
};

}  // namespace lime::explorer
