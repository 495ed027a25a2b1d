// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/fletcher32.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace lime {
namespace {

constexpr std::uint64_t kModulus = 65535;
constexpr std::size_t kLanes = 64;
constexpr std::size_t kStepBytes = kLanes * sizeof(std::uint16_t);
/// Maximum steps before a lane's second sum may overflow: k (k + 1) / 2 * 65535 < 2^32.
constexpr std::size_t kMaxSteps = 360;

struct Sums {
  std::uint64_t first = 0;   ///< mod 65535
  std::uint64_t second = 0;  ///< mod 65535
  bool any = false;          ///< true if some word is not 0
};

/// Appends `steps * kLanes` words. With K steps, L lanes and word w[k][l]:
///   sum of (K L - (k L + l)) w = L sum_l sum_k (K - k) w - sum_l l sum_k w.
void add_block(Sums& sums, const std::byte* bytes, std::size_t steps) {
  std::array<std::uint32_t, kLanes> first{};
  std::array<std::uint32_t, kLanes> second{};
  for (std::size_t k = 0; k < steps; ++k) {
    std::array<std::uint16_t, kLanes> words;
    std::memcpy(words.data(), bytes + k * kStepBytes, kStepBytes);
    for (std::size_t l = 0; l < kLanes; ++l) {
      first[l] += words[l];
      second[l] += first[l];
    }
  }
  std::uint64_t total = 0;
  std::uint64_t weighted = 0;
  std::uint64_t by_lane = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    total += first[l];
    weighted += second[l];
    by_lane += l * first[l];
  }
  const std::uint64_t count = steps * kLanes;
  sums.any = sums.any || total != 0;
  sums.second =
      (sums.second + sums.first * count + weighted * kLanes + (kModulus - by_lane % kModulus)) %
      kModulus;
  sums.first = (sums.first + total) % kModulus;
}

void add_word(Sums& sums, std::uint16_t word) {
  sums.any = sums.any || word != 0;
  sums.first = (sums.first + word) % kModulus;
  sums.second = (sums.second + sums.first) % kModulus;
}

}  // namespace

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  static_assert(std::endian::native == std::endian::little);
  Sums sums;
  std::size_t at = 0;
  while (bytes.size() - at >= kStepBytes) {
    const std::size_t steps = std::min(kMaxSteps, (bytes.size() - at) / kStepBytes);
    add_block(sums, bytes.data() + at, steps);
    at += steps * kStepBytes;
  }
  for (; at + 1 < bytes.size(); at += 2) {
    add_word(sums, static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) |
                                              std::to_integer<unsigned>(bytes[at + 1]) << 8));
  }
  if (at < bytes.size()) add_word(sums, std::to_integer<std::uint16_t>(bytes[at]));
  // Swapping the bytes of little-endian words multiplies them, and the sums, by 256 modulo 65535.
  const auto finish = [&](std::uint64_t sum) {
    const std::uint64_t swapped = sum * 256 % kModulus;
    return static_cast<std::uint32_t>(swapped == 0 && sums.any ? kModulus : swapped);
  };
  return finish(sums.second) << 16 | finish(sums.first);
}

}  // namespace lime
