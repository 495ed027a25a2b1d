// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace lime {

/// Caches the ids of earlier words: a table of one megabyte in which a new word replaces
/// the one with the same hash. Not thread-safe: one per thread.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 30;
  static constexpr std::size_t kMostIds = 8;

  WordCache() : slots_(kSlots), counts_(kSlots) {}

  /// A word, padded with zeros, and its length in the last byte.
  using Key = std::array<char, 32>;
  struct Place {
    std::size_t slot = 0;
    Key key{};
  };

  /// Returns the slot of `word`.
  /// @param word  not empty, at most kLongestWord bytes.
  static Place place_of(std::string_view word) {
    Place place;
    std::memcpy(place.key.data(), word.data(), word.size());
    place.key.back() = static_cast<char>(word.size());
    std::array<std::uint64_t, 4> parts{};
    std::memcpy(parts.data(), place.key.data(), sizeof(parts));
    std::uint64_t hash = 0;
    for (const std::uint64_t part : parts) {
      hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 32;
    }
    place.slot = static_cast<std::size_t>(hash) & (kSlots - 1);
    return place;
  }

  /// Returns the ids of the word at `place`; empty if it is not cached.
  std::span<const std::int32_t> find(const Place& place) const {
    const Slot& slot = slots_[place.slot];
    if (slot.key != place.key) return {};
    return {slot.ids.data(), counts_[place.slot]};
  }

  /// Caches `ids` if there are few enough.
  void insert(const Place& place, std::span<const std::int32_t> ids) {
    if (ids.empty() || ids.size() > kMostIds) return;
    Slot& slot = slots_[place.slot];
    slot.key = place.key;
    std::memcpy(slot.ids.data(), ids.data(), ids.size_bytes());
    counts_[place.slot] = static_cast<std::uint8_t>(ids.size());
  }

 private:
  struct Slot {
    Key key{};
    std::array<std::int32_t, kMostIds> ids{};
  };
  static constexpr std::size_t kSlots = std::size_t{1} << 14;
  static_assert(sizeof(Slot) == 64);

  std::vector<Slot> slots_;
  std::vector<std::uint8_t> counts_;
};

}  // namespace lime
