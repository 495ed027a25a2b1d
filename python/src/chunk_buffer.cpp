// SPDX-License-Identifier: Apache-2.0
#include "chunk_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/errors.h"
#include "store/hdf5/fletcher32.h"

namespace lime::python {
namespace {

/// Values from here on become infinity when rounded to float16.
constexpr float kHalfOverflow = 65520.0F;
constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr std::uint32_t kInfinity = 0x7f800000;
constexpr std::size_t kChecksumBytes = 4;

}  // namespace

ChunkBuffer::ChunkBuffer(std::string name, std::int64_t chunk_rows, std::int64_t dim, bool is_half)
    : name_(std::move(name)), chunk_rows_(chunk_rows), dim_(dim), is_half_(is_half) {
  if (chunk_rows < 1 || dim < 1) {
    throw InvalidArgument("chunk: sizes must be >= 1, got {} rows of {}", chunk_rows, dim);
  }
  const auto size = static_cast<std::size_t>(chunk_rows * dim);
  values_.resize(size + 1);
  if (is_half) halves_.resize(size * sizeof(HalfBits) + kChecksumBytes);
}

std::int64_t ChunkBuffer::add(const ConstMatrixRef& rows, std::int64_t first) {
  if (rows.cols() != dim_) {
    throw InvalidArgument("record: {} had rows of {} values and now has {}", name_, dim_,
                          rows.cols());
  }
  const std::int64_t end = std::min<std::int64_t>(rows.rows(), first + chunk_rows_ - num_rows_);
  const auto row_bytes = static_cast<std::size_t>(dim_) * sizeof(float);
  float* to = values_.data() + num_rows_ * dim_;
  if (rows.outerStride() == dim_ && end > first) {
    std::memcpy(to, rows.data() + first * dim_, static_cast<std::size_t>(end - first) * row_bytes);
  } else {
    for (std::int64_t r = first; r < end; ++r, to += dim_) {
      std::memcpy(to, rows.data() + r * rows.outerStride(), row_bytes);
    }
  }
  num_rows_ += end - first;
  return end;
}

std::span<const std::byte> ChunkBuffer::finish() {
  const auto filled = static_cast<std::size_t>(num_rows_ * dim_);
  const auto size = static_cast<std::size_t>(chunk_rows_ * dim_);
  statistics_.add(Eigen::Map<const MatrixF>(values_.data(), num_rows_, dim_));
  std::fill(values_.begin() + static_cast<std::ptrdiff_t>(filled),
            values_.begin() + static_cast<std::ptrdiff_t>(size), 0.0F);
  const std::size_t num_bytes = size * (is_half_ ? sizeof(HalfBits) : sizeof(float));
  std::span<std::byte> bytes =
      is_half_ ? std::span(halves_) : std::as_writable_bytes(std::span(values_));
  bytes = bytes.first(num_bytes + kChecksumBytes);
  if (is_half_) convert(size, bytes);
  const std::uint32_t checksum = fletcher32(bytes.first(num_bytes));
  std::memcpy(bytes.data() + num_bytes, &checksum, kChecksumBytes);
  num_rows_ = 0;
  return bytes;
}

void ChunkBuffer::convert(std::size_t num_values, std::span<std::byte> bytes) const {
  // Of numbers that are not negative, the bits are in the same order.
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < num_values; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(values_[i]) & kMagnitude;
    largest = std::max(largest, bits < kInfinity ? bits : 0);
  }
  if (const auto value = std::bit_cast<float>(largest); value >= kHalfOverflow) {
    throw InvalidArgument(
        "record: {} must stay below {:g} to be stored as float16, got {:g}; use "
        "storage=\"float32\"",
        name_, kHalfOverflow, value);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): vectors are aligned for any type
  auto* const halves = reinterpret_cast<HalfBits*>(bytes.data());
  float_to_half({values_.data(), num_values}, {halves, num_values});
}

}  // namespace lime::python
