// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lime {

/// Describes the token that two neighbouring tokens merge into, and its rank (lower merges first).
struct Merge {
  static constexpr std::int32_t kNone = -1;
  std::int32_t rank = kNone;
  std::int32_t result = kNone;

  bool exists() const { return rank != kNone; }
};

/// The merges of a BPE model by the pair of tokens: a hash table with open addressing, at most half
/// full, because encoding spends its time on look-ups. Thread-safe once filled.
class MergeTable {
 public:
  explicit MergeTable(std::size_t capacity = 0)
      : entries_(std::bit_ceil(2 * capacity + 2)),
        shift_(64 - static_cast<int>(std::bit_width(entries_.size() - 1))) {}

  /// Adds the merge of a pair, or replaces it.
  void insert(std::int32_t left, std::int32_t right, Merge merge) {
    Entry& entry = entries_[slot_of(key_of(left, right))];
    entry = {.key = key_of(left, right), .merge = merge};
  }

  /// @return a merge that does not exist() if the pair does not merge.
  Merge find(std::int32_t left, std::int32_t right) const {
    return entries_[slot_of(key_of(left, right))].merge;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair of ids >= 0 has this key
  struct Entry {
    std::uint64_t key = kEmpty;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
           static_cast<std::uint32_t>(right);
  }

  /// Returns the slot of `key`, or the empty one for it.
  std::size_t slot_of(std::uint64_t key) const {
    const std::uint64_t folded = key ^ (key >> 29);
    std::size_t slot = static_cast<std::size_t>((folded * 0x9E3779B97F4A7C15ULL) >> shift_);
    while (entries_[slot].key != key && entries_[slot].key != kEmpty) {
      slot = (slot + 1) & (entries_.size() - 1);
    }
    return slot;
  }

  std::vector<Entry> entries_;
  int shift_;
};

}  // namespace lime
