// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/token_rows.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();

TokenPlace placeIn(const RowTable& table, std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  return {table.sequence[at], table.position[at]};
}

template <typename Value> void sortUnique(std::vector<Value>& values) {
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
}

TokenSelection tokensIn(const RowTable& table, std::string text,
                        std::span<const std::int64_t> rows) {
  TokenSelection tokens{.text = std::move(text)};
  tokens.places.reserve(rows.size());
  for (const std::int64_t row : rows) tokens.places.push_back(placeIn(table, row));
  sortUnique(tokens.places);
  return tokens;
}

}  // namespace

std::string textOf(const CaptureReader& capture) {
  const std::string& hash = capture.info().input_sha256;
  return hash.empty() ? "file:" + capture.path().string() : hash;
}

TokenRows::TokenRows(const std::shared_ptr<const CaptureReader>& capture)
    : TokenRows(textOf(*capture), std::shared_ptr<const RowTable>(capture, &capture->rows()),
                capture->info().rows) {}

TokenRows::TokenRows(std::string text, std::shared_ptr<const RowTable> table, RowKind kind)
    : text_(std::move(text)), table_(std::move(table)), kind_(kind) {
  const auto place = [this](std::int64_t row) { return placeOf(row); };
  const auto rows = std::views::iota(std::int64_t{0}, size());
  if (std::ranges::is_sorted(rows, {}, place)) return;
  order_.resize(static_cast<std::size_t>(size()));
  std::ranges::copy(rows, order_.begin());
  std::ranges::stable_sort(order_, {}, place);
}

std::int64_t TokenRows::rowAt(std::int64_t rank) const {
  return order_.empty() ? rank : order_[static_cast<std::size_t>(rank)];
}

TokenPlace TokenRows::placeOf(std::int64_t row) const { return placeIn(*table_, row); }

std::int64_t TokenRows::firstFrom(const TokenPlace& place) const {
  return *std::ranges::lower_bound(std::views::iota(std::int64_t{0}, size()), place, {},
                                   [this](std::int64_t rank) { return placeOf(rowAt(rank)); });
}

TokenSelection TokenRows::tokensAt(std::span<const std::int64_t> rows) const {
  return tokensIn(*table_, text_, rows);
}

TokenRows::Found TokenRows::find(const TokenSelection& tokens) const {
  Found found;
  if (tokens.empty()) return found;
  found.is_other_text = tokens.text != text_;
  if (found.is_other_text) return found;
  for (const TokenPlace& place : tokens.places) {
    const bool is_mean = kind_ == RowKind::kMean;
    const std::int64_t rank = firstFrom(is_mean ? TokenPlace{place.sequence, kLowest} : place);
    const bool is_here =
        rank < size() &&
        (is_mean ? table_->sequence[static_cast<std::size_t>(rowAt(rank))] == place.sequence
                 : placeOf(rowAt(rank)) == place);
    if (is_here) {
      found.rows.push_back(rowAt(rank));
    } else {
      ++found.absent;
    }
  }
  sortUnique(found.rows);
  return found;
}

TokenSelection tokensAt(const CaptureReader& capture, std::span<const std::int64_t> rows) {
  return tokensIn(capture.rows(), textOf(capture), rows);
}

}  // namespace lime::explorer
