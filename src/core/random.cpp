// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"

#include <cmath>

namespace lime {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint64_t rotate_left(std::uint64_t x, int bits) {
  return (x << bits) | (x >> (64 - bits));
}

}  // namespace

Random::Random(std::uint64_t seed) {
  state_.seed = seed;
  std::uint64_t mixer = seed;
  for (std::uint64_t& word : state_.words) word = splitmix64(mixer);
}

Random::result_type Random::operator()() {
  auto& s = state_.words;
  const std::uint64_t result = rotate_left(s[1] * 5, 7) * 9;
  const std::uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

std::uint64_t Random::below(std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>((*this)()) * bound;
  auto low = static_cast<std::uint64_t>(product);
  if (low < bound) {
    const std::uint64_t threshold = -bound % bound;
    while (low < threshold) {
      product = static_cast<Wide>((*this)()) * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::normal() {
  if (state_.has_spare_normal) {
    state_.has_spare_normal = false;
    return state_.spare_normal;
  }
  double x = 0.0;
  double y = 0.0;
  double radius = 0.0;
  do {
    x = uniform(-1.0, 1.0);
    y = uniform(-1.0, 1.0);
    radius = x * x + y * y;
  } while (radius >= 1.0 || radius == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(radius) / radius);
  state_.spare_normal = y * factor;
  state_.has_spare_normal = true;
  return x * factor;
}

Random Random::fork(std::uint64_t stream) const {
  std::uint64_t mixer = state_.seed;
  const std::uint64_t base = splitmix64(mixer);
  mixer = base ^ (stream * 0xd1342543de82ef95ULL);
  return Random(splitmix64(mixer));
}

}  // namespace lime
