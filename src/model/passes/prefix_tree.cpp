// SPDX-License-Identifier: Apache-2.0
#include "model/passes/prefix_tree.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <numeric>

namespace lime {

PrefixTree::PrefixTree(std::span<const Ids> sequences) : last_segment_(sequences.size()) {
  std::vector<std::size_t> sorted(sequences.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::stable_sort(
      sorted, [&](std::size_t a, std::size_t b) { return sequences[a] < sequences[b]; });
  add(sequences, sorted, 0, -1);
}

void PrefixTree::add(std::span<const Ids> sequences, std::span<const std::size_t> sorted,
                     std::int64_t depth, std::int64_t parent) {
  // What the first and the last in sorted order share, all share.
  const Ids& first = sequences[sorted.front()];
  const Ids& last = sequences[sorted.back()];
  const auto [end, other] =
      std::mismatch(first.begin() + depth, first.end(), last.begin() + depth, last.end());
  const std::int64_t shared = end - first.begin();
  if (shared > depth) {
    segments_.push_back({parent, num_rows(), shared - depth, depth});
    ids_.insert(ids_.end(), first.begin() + depth, end);
    for (std::int64_t position = depth; position < shared; ++position) {
      positions_.push_back(position);
    }
    parent = std::ssize(segments_) - 1;
  }
  std::size_t begin = 0;
  while (begin < sorted.size() && std::ssize(sequences[sorted[begin]]) == shared) {
    last_segment_[sorted[begin++]] = parent;
  }
  while (begin < sorted.size()) {
    const auto token_of = [&](std::size_t sequence) {
      return sequences[sequence][static_cast<std::size_t>(shared)];
    };
    std::size_t next = begin + 1;
    while (next < sorted.size() && token_of(sorted[next]) == token_of(sorted[begin])) ++next;
    add(sequences, sorted.subspan(begin, next - begin), shared, parent);
    begin = next;
  }
}

at::Tensor PrefixTree::ids() const { return at::tensor(ids_, at::kLong).unsqueeze(0); }

at::Tensor PrefixTree::positions() const { return at::tensor(positions_, at::kLong); }

std::int64_t PrefixTree::depth() const { return std::ranges::max(positions_) + 1; }

std::vector<std::int64_t> PrefixTree::rows_of(std::size_t sequence) const {
  std::vector<std::int64_t> rows;
  for (std::int64_t s = last_segment_[sequence]; s >= 0;) {
    const Segment& segment = segments_[static_cast<std::size_t>(s)];
    for (std::int64_t i = segment.length - 1; i >= 0; --i) rows.push_back(segment.first_row + i);
    s = segment.parent;
  }
  std::ranges::reverse(rows);
  return rows;
}

at::Tensor PrefixTree::with_ancestors(const at::Tensor& x, const Segment& segment) const {
  std::vector<at::Tensor> parts = {x.narrow(1, segment.first_row, segment.length)};
  for (std::int64_t s = segment.parent; s >= 0;) {
    const Segment& ancestor = segments_[static_cast<std::size_t>(s)];
    parts.push_back(x.narrow(1, ancestor.first_row, ancestor.length));
    s = ancestor.parent;
  }
  if (parts.size() == 1) return parts.front();
  std::ranges::reverse(parts);
  return at::cat(parts, 1);
}

}  // namespace lime
