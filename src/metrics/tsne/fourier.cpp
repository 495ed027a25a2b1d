// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/fourier.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

namespace lime::tsne_detail {
namespace {

using linalg::kFloatLanes;
using linalg::load;
using linalg::SimdF;
using linalg::store;

struct Complex {
  SimdF real;
  SimdF imag;
};

inline Complex operator+(const Complex& a, const Complex& b) {
  return {a.real + b.real, a.imag + b.imag};
}
inline Complex operator-(const Complex& a, const Complex& b) {
  return {a.real - b.real, a.imag - b.imag};
}
inline Complex operator*(float factor, const Complex& a) {
  return {SimdF(factor) * a.real, SimdF(factor) * a.imag};
}
/// a times -i.
inline Complex turned(const Complex& a) { return {a.imag, -a.real}; }

inline Complex times_twiddle(const Complex& a, const float* twiddle) {
  const SimdF cos(twiddle[0]);
  const SimdF sin(twiddle[1]);
  return {a.real * cos - a.imag * sin, a.real * sin + a.imag * cos};
}

/// The transforms of 2, 3, 4 and 5 elements.
inline void butterfly(std::array<Complex, 2>& z) {
  const Complex difference = z[0] - z[1];
  z[0] = z[0] + z[1];
  z[1] = difference;
}

inline void butterfly(std::array<Complex, 4>& z) {
  const Complex even_sum = z[0] + z[2];
  const Complex even_difference = z[0] - z[2];
  const Complex odd_sum = z[1] + z[3];
  const Complex odd_turned = turned(z[1] - z[3]);
  z = {even_sum + odd_sum, even_difference + odd_turned, even_sum - odd_sum,
       even_difference - odd_turned};
}

inline void butterfly(std::array<Complex, 3>& z) {
  constexpr float kSin = 0.86602540378443865F;  // of 120 degrees
  const Complex sum = z[1] + z[2];
  const Complex side = turned(kSin * (z[1] - z[2]));
  const Complex middle = z[0] - 0.5F * sum;
  z = {z[0] + sum, middle + side, middle - side};
}

inline void butterfly(std::array<Complex, 5>& z) {
  constexpr float kCos1 = 0.30901699437494742F;  // of 72 degrees
  constexpr float kCos2 = -0.80901699437494742F;
  constexpr float kSin1 = 0.95105651629515357F;
  constexpr float kSin2 = 0.58778525229247313F;
  const Complex outer = z[1] + z[4];
  const Complex inner = z[2] + z[3];
  const Complex outer_difference = z[1] - z[4];
  const Complex inner_difference = z[2] - z[3];
  const Complex a = z[0] + kCos1 * outer + kCos2 * inner;
  const Complex b = z[0] + kCos2 * outer + kCos1 * inner;
  const Complex c = turned(kSin1 * outer_difference + kSin2 * inner_difference);
  const Complex d = turned(kSin2 * outer_difference - kSin1 * inner_difference);
  z = {z[0] + outer + inner, a + c, b + d, b - d, a - c};
}

struct PassShape {
  std::int64_t length;
  std::int64_t stride;
  const float* twiddle;
};

/// One pass: sequences of shape.length elements, shape.stride of them interleaved, are split into
/// kRadix times as many.
template <std::size_t kRadix>
void run_pass(const PassShape& shape, LaneFourier::Lanes from, LaneFourier::Lanes to) {
  constexpr auto kRadixSigned = static_cast<std::int64_t>(kRadix);
  const std::int64_t part = shape.length / kRadixSigned;
  const float* twiddle = shape.twiddle;
  for (std::int64_t p = 0; p < part; ++p, twiddle += 2 * kRadix) {
    for (std::int64_t q = 0; q < shape.stride; ++q) {
      std::array<Complex, kRadix> z;
      for (std::size_t r = 0; r < kRadix; ++r) {
        const std::int64_t at =
            (q + shape.stride * (p + static_cast<std::int64_t>(r) * part)) * kFloatLanes;
        z[r] = {load(from.real + at), load(from.imag + at)};
      }
      butterfly(z);
      for (std::size_t r = 0; r < kRadix; ++r) {
        const std::int64_t at =
            (q + shape.stride * (kRadixSigned * p + static_cast<std::int64_t>(r))) * kFloatLanes;
        const Complex result = r == 0 ? z[0] : times_twiddle(z[r], twiddle + 2 * r);
        store(to.real + at, result.real);
        store(to.imag + at, result.imag);
      }
    }
  }
}

int next_radix(std::int64_t length) {
  for (const int radix : {5, 3, 4, 2}) {
    if (length % radix == 0) return radix;
  }
  assert(false);
  return 1;
}

}  // namespace

LaneFourier::LaneFourier(std::int64_t length) : length_(length) {
  std::int64_t rest = length;
  while (rest > 1) {
    const int radix = next_radix(rest);
    passes_.push_back({radix, rest, length / rest, twiddle_.size()});
    for (std::int64_t p = 0; p < rest / radix; ++p) {
      for (int r = 0; r < radix; ++r) {
        const double angle =
            -2.0 * std::numbers::pi * static_cast<double>(p * r % rest) / static_cast<double>(rest);
        twiddle_.push_back(static_cast<float>(std::cos(angle)));
        twiddle_.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    rest /= radix;
  }
}

LaneFourier::Lanes LaneFourier::transform(Lanes data, Lanes work) const {
  for (const Pass& pass : passes_) {
    const PassShape shape{pass.length, pass.stride, twiddle_.data() + pass.first_twiddle};
    switch (pass.radix) {
      case 2:
        run_pass<2>(shape, data, work);
        break;
      case 3:
        run_pass<3>(shape, data, work);
        break;
      case 4:
        run_pass<4>(shape, data, work);
        break;
      default:
        run_pass<5>(shape, data, work);
    }
    std::swap(data, work);
  }
  return data;
}

std::int64_t LaneFourier::good_length(std::int64_t wanted) {
  std::int64_t best = 0;
  for (const std::int64_t odd : {1, 3, 5}) {
    std::int64_t length = odd;
    while (length < wanted) length *= 2;
    if (best == 0 || length < best) best = length;
  }
  return best;
}

}  // namespace lime::tsne_detail
