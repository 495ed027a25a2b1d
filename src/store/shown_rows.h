// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lime {

/// The rows of a capture that are shown: all that are stored, until some are hidden.
///
/// Rows shown are numbered from 0 without gaps, in the stored order. Readers may share an object,
/// but not while rows are hidden.
class ShownRows {
 public:
  /// @param stored  first row of each stored sequence and, last, the number of rows; ascending from
  ///                0. Must outlive this object.
  explicit ShownRows(const std::vector<std::int64_t>& stored) : stored_(stored) {}

  /// Returns the first row shown of each sequence and, last, the number of rows shown.
  const std::vector<std::int64_t>& offsets() const { return hides_any() ? shown_ : stored_; }
  bool hides_any() const { return !shown_.empty(); }

  /// Hides the rows shown now for which `hides` is true, [number of rows shown].
  void hide(const std::vector<bool>& hides);
  /// Hides sequences and their rows: offsets() has none of them. @param hides  [sequences shown]
  void hide_sequences(const std::vector<bool>& hides);

  /// Calls f(first row of the result, stored row, count) for the runs of stored rows that make up
  /// rows [first, first + count) of those shown.
  template <typename F> void for_runs(std::int64_t first, std::int64_t count, const F& f) const;
  /// Removes the hidden rows from a column with a value per stored row.
  template <typename T> void keep_shown(std::vector<T>& column) const;

 private:
  /// Consecutive rows: those shown from `first` on are the stored ones from `stored` on.
  struct Run {
    std::int64_t first = 0;
    std::int64_t stored = 0;
    std::int64_t count = 0;
  };

  const std::vector<std::int64_t>& stored_;
  std::vector<Run> runs_;            ///< ascending; empty if all rows are shown
  std::vector<std::int64_t> shown_;  ///< offsets of the rows shown; empty if all are
};

template <typename F>
void ShownRows::for_runs(std::int64_t first, std::int64_t count, const F& f) const {
  if (!hides_any()) {
    if (count > 0) f(std::int64_t{0}, first, count);
    return;
  }
  auto run = std::ranges::upper_bound(runs_, first, {}, &Run::first);
  if (run != runs_.begin()) --run;
  for (; run != runs_.end() && run->first < first + count; ++run) {
    const std::int64_t begin = std::max(first, run->first);
    const std::int64_t end = std::min(first + count, run->first + run->count);
    if (begin < end) f(begin - first, run->stored + begin - run->first, end - begin);
  }
}

template <typename T> void ShownRows::keep_shown(std::vector<T>& column) const {
  if (!hides_any() || column.empty()) return;
  auto to = column.begin();
  for (const Run& run : runs_) to = std::copy_n(column.begin() + run.stored, run.count, to);
  column.erase(to, column.end());
}

}  // namespace lime
