// SPDX-License-Identifier: Apache-2.0
#include "capture/window_plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>

#include "model/kernels/rotary.h"

namespace lime {
namespace {

std::string_view id_bytes(std::span<const std::int32_t> ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

std::vector<std::int64_t> find_duplicates(const CaptureInput& input, SequenceRange range,
                                          bool keeps_duplicates) {
  std::unordered_map<std::string_view, std::int64_t> first_of;
  std::vector<std::int64_t> duplicate_of;
  for (std::int64_t s = range.first; s < range.first + range.count; ++s) {
    const std::int64_t first = first_of.try_emplace(id_bytes(input.ids_of(s)), s).first->second;
    duplicate_of.push_back(keeps_duplicates ? s : first);
  }
  return duplicate_of;
}

/// Splits `range` into passes, shortest sequences first.
std::vector<std::vector<std::int64_t>> sorted_batches(const CaptureInput& input,
                                                      SequenceRange range,
                                                      const WindowLimits& limits) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(range.count));
  std::iota(order.begin(), order.end(), range.first);
  std::ranges::stable_sort(order, {}, [&](std::int64_t s) { return input.length(s); });
  std::vector<std::vector<std::int64_t>> batches;
  for (const std::int64_t sequence : order) {
    const auto fits = [&](const std::vector<std::int64_t>& batch) {
      const auto count = static_cast<std::int64_t>(batch.size());
      if (rotates_differently(limits.ropes, input.length(batch.front()), input.length(sequence))) {
        return false;
      }
      if (!limits.tokens || count < limits.batch_size) return count < limits.batch_size;
      return (count + 1) * input.length(sequence) <= *limits.tokens;
    };
    if (batches.empty() || !fits(batches.back())) batches.emplace_back();
    batches.back().push_back(sequence);
  }
  return batches;
}

/// Returns how many sequences from `first` on are rotated as it is, at most `most`.
std::int64_t rotated_alike(const CaptureInput& input, std::int64_t first, std::int64_t most,
                           const std::vector<RopeSpec>& ropes) {
  std::int64_t count = 1;
  while (count < most &&
         !rotates_differently(ropes, input.length(first), input.length(first + count))) {
    ++count;
  }
  return count;
}

}  // namespace

std::vector<CaptureWindow> plan_windows(const CaptureInput& input, SequenceRange shard,
                                        const WindowLimits& limits) {
  const std::int64_t step = limits.sorts_by_length ? limits.sequences : limits.batch_size;
  std::vector<CaptureWindow> windows;
  for (std::int64_t done = 0; done < shard.count;) {
    const std::int64_t first = shard.first + done;
    const std::int64_t most = std::min(step, shard.count - done);
    CaptureWindow& window = windows.emplace_back();
    window.range = {
        first, limits.sorts_by_length ? most : rotated_alike(input, first, most, limits.ropes)};
    window.duplicate_of = find_duplicates(input, window.range, limits.keeps_duplicates);
    if (limits.sorts_by_length) {
      window.batches = sorted_batches(input, window.range, limits);
    } else {
      std::vector<std::int64_t>& batch = window.batches.emplace_back(window.range.count);
      std::iota(batch.begin(), batch.end(), window.range.first);
    }
    done += window.range.count;
  }
  return windows;
}

}  // namespace lime
