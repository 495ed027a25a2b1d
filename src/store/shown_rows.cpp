// SPDX-License-Identifier: Apache-2.0
#include "store/shown_rows.h"

#include <utility>

namespace lime {

void ShownRows::hide(const std::vector<bool>& hides) {
  std::vector<Run> next;
  std::vector<std::int64_t> ends = {0};
  const std::vector<std::int64_t>& before = offsets();
  std::int64_t kept = 0;
  for (std::size_t i = 0; i + 1 < before.size(); ++i) {
    for_runs(before[i], before[i + 1] - before[i],
             [&](std::int64_t offset, std::int64_t from, std::int64_t count) {
               for (std::int64_t r = 0; r < count; ++r) {
                 if (hides[static_cast<std::size_t>(before[i] + offset + r)]) continue;
                 const bool goes_on =
                     !next.empty() && next.back().stored + next.back().count == from + r;
                 if (goes_on) {
                   ++next.back().count;
                 } else {
                   next.push_back({kept, from + r, 1});
                 }
                 ++kept;
               }
             });
    ends.push_back(kept);
  }
  runs_ = std::move(next);
  shown_ = std::move(ends);
}

void ShownRows::hide_sequences(const std::vector<bool>& hides) {
  std::vector<bool> rows(static_cast<std::size_t>(offsets().back()), false);
  const std::vector<std::int64_t>& before = offsets();
  for (std::size_t i = 0; i < hides.size(); ++i) {
    if (hides[i]) std::fill_n(rows.begin() + before[i], before[i + 1] - before[i], true);
  }
  hide(rows);
  std::vector<std::int64_t> kept = {0};
  for (std::size_t i = 0; i < hides.size(); ++i) {
    if (!hides[i]) kept.push_back(shown_[i + 1]);
  }
  shown_ = std::move(kept);
}

}  // namespace lime
