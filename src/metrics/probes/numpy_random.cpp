// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/numpy_random.h"

#include "core/errors.h"

namespace lime {
namespace {

std::uint32_t checked_seed(std::uint64_t seed) {
  throw_if(seed >= std::uint64_t{1} << 32, OptionName("seed"),
           "must be < 2^32 for NumPy's generator, got {}", seed);
  return static_cast<std::uint32_t>(seed);
}

}  // namespace

NumpyRandom::NumpyRandom(std::uint64_t seed) : engine_(checked_seed(seed)) {}

std::uint32_t NumpyRandom::interval(std::uint32_t max) {
  if (max == 0) return 0;
  std::uint32_t mask = max;
  for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
  while (true) {
    const auto value = static_cast<std::uint32_t>(engine_()) & mask;
    if (value <= max) return value;
  }
}

}  // namespace lime
