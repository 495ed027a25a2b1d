// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/quantized_blocks.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

#include "core/errors.h"
#include "core/half.h"

namespace lime {
namespace {

/// The fields of a block, in their order in the file.
class BlockReader {
 public:
  explicit BlockReader(const std::byte* at) : at_(reinterpret_cast<const std::uint8_t*>(at)) {}

  const std::uint8_t* bytes(std::size_t count) {
    const std::uint8_t* const field = at_;
    at_ += count;
    return field;
  }

  std::uint32_t integer(std::size_t width) {
    const std::uint8_t* const field = bytes(width);
    std::uint32_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8U | field[i];
    return value;
  }

  float half() {
    const auto bits = static_cast<HalfBits>(integer(2));
    float value = 0.0F;
    half_to_float({&bits, 1}, {&value, 1});
    return value;
  }

 private:
  const std::uint8_t* at_;
};

constexpr std::array<std::int8_t, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};
/// Twice the values of a float with 2 bits of exponent and 1 of mantissa.
constexpr std::array<std::int8_t, 16> kFloat4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                       0, -1, -2, -3, -4, -6, -8, -12};

float as_float(std::uint32_t value) { return static_cast<float>(static_cast<std::int32_t>(value)); }

/// Calls `set(i, q)` for the 4-bit numbers of `size` bytes: the low halves, then the high ones.
template <typename Set> void for_each_nibble(const std::uint8_t* from, int size, const Set& set) {
  for (int i = 0; i < size; ++i) set(i, from[i] & 15U);
  for (int i = 0; i < size; ++i) set(size + i, std::uint32_t{from[i]} >> 4U);
}

void convert_q4_0(BlockReader block, float* to) {
  const float d = block.half();
  for_each_nibble(block.bytes(16), 16,
                  [&](int i, std::uint32_t q) { to[i] = d * (as_float(q) - 8.0F); });
}

void convert_q4_1(BlockReader block, float* to) {
  const float d = block.half();
  const float m = block.half();
  for_each_nibble(block.bytes(16), 16,
                  [&](int i, std::uint32_t q) { to[i] = d * as_float(q) + m; });
}

void convert_q5_0(BlockReader block, float* to) {
  const float d = block.half();
  const std::uint32_t high = block.integer(4);
  for_each_nibble(block.bytes(16), 16, [&](int i, std::uint32_t q) {
    to[i] = d * (as_float(q | (high >> i & 1U) << 4U) - 16.0F);
  });
}

void convert_q5_1(BlockReader block, float* to) {
  const float d = block.half();
  const float m = block.half();
  const std::uint32_t high = block.integer(4);
  for_each_nibble(block.bytes(16), 16, [&](int i, std::uint32_t q) {
    to[i] = d * as_float(q | (high >> i & 1U) << 4U) + m;
  });
}

void convert_q8_0(BlockReader block, float* to) {
  const float d = block.half();
  const std::uint8_t* const q = block.bytes(32);
  for (int i = 0; i < 32; ++i) to[i] = d * static_cast<float>(static_cast<std::int8_t>(q[i]));
}

/// Calls `set(i, part, q)` for 256 numbers of 2 bits; `part`, in [0, 8), counts runs of 32.
template <typename Set> void for_each_pair(const std::uint8_t* from, const Set& set) {
  for (int part = 0; part < 8; ++part) {
    const std::uint8_t* const bytes = from + part / 4 * 32;
    const int shift = part % 4 * 2;
    for (int k = 0; k < 32; ++k) set(part * 32 + k, part, std::uint32_t{bytes[k]} >> shift & 3U);
  }
}

void convert_q2_k(BlockReader block, float* to) {
  const std::uint8_t* const scales = block.bytes(16);
  const std::uint8_t* const pairs = block.bytes(64);
  const float d = block.half();
  const float m = block.half();
  for_each_pair(pairs, [&](int i, int, std::uint32_t q) {
    const std::uint32_t scale = scales[i / 16];
    to[i] = d * as_float(scale & 15U) * as_float(q) - m * as_float(scale >> 4U);
  });
}

void convert_q3_k(BlockReader block, float* to) {
  const std::uint8_t* const high = block.bytes(32);
  const std::uint8_t* const pairs = block.bytes(64);
  const std::uint8_t* const packed = block.bytes(12);
  const float d = block.half();
  std::array<float, 16> scales;
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t low = i < 8 ? packed[i] & 15U : std::uint32_t{packed[i - 8]} >> 4U;
    const std::uint32_t top = std::uint32_t{packed[8 + i % 4]} >> (2 * (i / 4)) & 3U;
    scales[static_cast<std::size_t>(i)] = d * (as_float(low | top << 4U) - 32.0F);
  }
  for_each_pair(pairs, [&](int i, int part, std::uint32_t q) {
    const bool is_high = (std::uint32_t{high[i % 32]} >> part & 1U) != 0;
    to[i] = scales[static_cast<std::size_t>(i / 16)] * (as_float(q) - (is_high ? 0.0F : 4.0F));
  });
}

/// The 8 scales and minima of 6 bits that Q4_K and Q5_K pack into 12 bytes.
struct PackedScales {
  std::array<float, 8> scale;
  std::array<float, 8> minimum;

  PackedScales(const std::uint8_t* bytes, float d, float m) {
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint32_t scale_bits = bytes[i] & 63U;
      std::uint32_t minimum_bits = bytes[i + 4] & 63U;
      if (i >= 4) {
        scale_bits = (bytes[i + 4] & 15U) | (std::uint32_t{bytes[i - 4]} >> 6U) << 4U;
        minimum_bits = std::uint32_t{bytes[i + 4]} >> 4U | (std::uint32_t{bytes[i]} >> 6U) << 4U;
      }
      scale[i] = d * as_float(scale_bits);
      minimum[i] = m * as_float(minimum_bits);
    }
  }
};

/// @param high  one more bit of each number, or null (Q4_K).
void convert_4_or_5_bits(const PackedScales& scales, const std::uint8_t* high,
                         const std::uint8_t* nibbles, float* to) {
  for (int pair = 0; pair < 4; ++pair) {
    for_each_nibble(nibbles + pair * 32, 32, [&](int i, std::uint32_t q) {
      const auto part = static_cast<std::size_t>(pair * 2 + i / 32);
      if (high != nullptr) q |= (std::uint32_t{high[i % 32]} >> part & 1U) << 4U;
      to[pair * 64 + i] = scales.scale[part] * as_float(q) - scales.minimum[part];
    });
  }
}

void convert_q4_k(BlockReader block, float* to) {
  const float d = block.half();
  const float m = block.half();
  const PackedScales scales(block.bytes(12), d, m);
  convert_4_or_5_bits(scales, nullptr, block.bytes(128), to);
}

void convert_q5_k(BlockReader block, float* to) {
  const float d = block.half();
  const float m = block.half();
  const PackedScales scales(block.bytes(12), d, m);
  const std::uint8_t* const high = block.bytes(32);
  convert_4_or_5_bits(scales, high, block.bytes(128), to);
}

void convert_q6_k(BlockReader block, float* to) {
  const std::uint8_t* const low = block.bytes(128);
  const std::uint8_t* const high = block.bytes(64);
  const std::uint8_t* const scales = block.bytes(16);
  const float d = block.half();
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int part = i / 32 % 4;
    const std::uint32_t nibble = low[half * 64 + part % 2 * 32 + i % 32];
    const std::uint32_t top = std::uint32_t{high[half * 32 + i % 32]} >> (2 * part) & 3U;
    const std::uint32_t q = (nibble >> (part / 2 * 4) & 15U) | top << 4U;
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(scales[i / 16]));
    to[i] = scale * (as_float(q) - 32.0F);
  }
}

void convert_iq4_nl(BlockReader block, float* to) {
  const float d = block.half();
  for_each_nibble(block.bytes(16), 16,
                  [&](int i, std::uint32_t q) { to[i] = d * static_cast<float>(kIq4Values[q]); });
}

void convert_iq4_xs(BlockReader block, float* to) {
  const float d = block.half();
  const std::uint32_t high = block.integer(2);
  const std::uint8_t* const low = block.bytes(4);
  const std::uint8_t* const nibbles = block.bytes(128);
  for (int part = 0; part < 8; ++part) {
    const std::uint32_t bits =
        (std::uint32_t{low[part / 2]} >> (part % 2 * 4) & 15U) | (high >> (2 * part) & 3U) << 4U;
    const float scale = d * (as_float(bits) - 32.0F);
    for_each_nibble(nibbles + part * 16, 16, [&](int i, std::uint32_t q) {
      to[part * 32 + i] = scale * static_cast<float>(kIq4Values[q]);
    });
  }
}

/// Returns 2^(e - 128), half of what the exponent stands for, as the table has twice the values.
float mxfp4_scale(std::uint32_t e) {
  return std::bit_cast<float>(e < 2 ? std::uint32_t{0x00200000} << e : (e - 1) << 23U);
}

void convert_mxfp4(BlockReader block, float* to) {
  const float scale = mxfp4_scale(block.integer(1));
  for_each_nibble(block.bytes(16), 16, [&](int i, std::uint32_t q) {
    to[i] = scale * static_cast<float>(kFloat4Values[q]);
  });
}

using ConvertBlock = void (*)(BlockReader block, float* to);

ConvertBlock converter_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kQ4_0: return convert_q4_0;
    case Dtype::kQ4_1: return convert_q4_1;
    case Dtype::kQ5_0: return convert_q5_0;
    case Dtype::kQ5_1: return convert_q5_1;
    case Dtype::kQ8_0: return convert_q8_0;
    case Dtype::kQ2_K: return convert_q2_k;
    case Dtype::kQ3_K: return convert_q3_k;
    case Dtype::kQ4_K: return convert_q4_k;
    case Dtype::kQ5_K: return convert_q5_k;
    case Dtype::kQ6_K: return convert_q6_k;
    case Dtype::kIQ4_NL: return convert_iq4_nl;
    case Dtype::kIQ4_XS: return convert_iq4_xs;
    case Dtype::kMXFP4: return convert_mxfp4;
    default: throw InvalidArgument("weights of type {} are not quantised", dtype_name(dtype));
  }
}

}  // namespace

void convert_mxfp4(std::span<const std::byte> exponents, std::span<const std::byte> from,
                   std::span<float> to) {
  constexpr std::size_t kBytes = 16;
  assert(from.size() == exponents.size() * kBytes && to.size() == 2 * from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float scale = mxfp4_scale(std::to_integer<std::uint32_t>(exponents[i / kBytes]));
    const auto pair = std::to_integer<std::uint32_t>(from[i]);
    to[2 * i] = scale * static_cast<float>(kFloat4Values[pair & 15U]);
    to[2 * i + 1] = scale * static_cast<float>(kFloat4Values[pair >> 4U]);
  }
}

void convert_blocks(Dtype dtype, std::span<const std::byte> from, std::span<float> to) {
  assert(storage_bytes(dtype, to.size()) == from.size());
  const ConvertBlock convert = converter_of(dtype);
  const std::size_t bytes = dtype_size(dtype);
  const std::size_t elements = block_elements(dtype);
  const std::size_t blocks = from.size() / bytes;
  for (std::size_t i = 0; i < blocks; ++i) {
    convert(BlockReader(from.data() + i * bytes), to.data() + i * elements);
  }
}

}  // namespace lime
