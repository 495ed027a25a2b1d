// SPDX-License-Identifier: Apache-2.0
#include "capture/row_selection.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace lime {
namespace {

void append_row(RowTable& table, std::int64_t sequence, std::int64_t position, std::int32_t token) {
  table.sequence.push_back(static_cast<std::int32_t>(sequence));
  table.position.push_back(static_cast<std::int32_t>(position));
  table.token.push_back(token);
}

}  // namespace

RowSelection::RowSelection(const CaptureInput& input)
    : input_(input), selects_tokens_(true), num_sequences_(input.num_sequences()) {}

RowSelection::RowSelection(const CaptureInput& input, RowKind rows)
    : input_(input),
      kind_(rows),
      num_rows_(rows == RowKind::kTokens ? input.num_tokens() : input.num_sequences()),
      num_sequences_(input.num_sequences()) {}

RowSelection::RowSelection(const CaptureInput& input, const std::vector<TokenClass>& classes,
                           std::int64_t max_per_class)
    : input_(input),
      selects_tokens_(true),
      num_sequences_(input.num_sequences()),
      rows_per_class_(classes.size(), 0) {
  std::unordered_map<std::int32_t, std::size_t> class_of;
  for (std::size_t c = 0; c < classes.size(); ++c) class_of.emplace(classes[c].id, c);
  std::size_t num_full = 0;
  for (std::int64_t s = 0; s < input.num_sequences(); ++s) {
    const auto ids = input.ids_of(s);
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const auto entry = class_of.find(ids[t]);
      if (entry == class_of.end() || rows_per_class_[entry->second] == max_per_class) continue;
      append_row(selected_, s, static_cast<std::int64_t>(t), ids[t]);
      selected_.class_id.push_back(static_cast<std::int16_t>(entry->second));
      if (++rows_per_class_[entry->second] == max_per_class) ++num_full;
    }
    if (num_full == classes.size()) {
      num_sequences_ = s + 1;
      break;
    }
  }
  num_rows_ = selected_.size();
}

RowTable RowSelection::rows_of(std::int64_t first, std::int64_t count) const {
  RowTable table;
  if (selects_tokens_) {
    const auto begin =
        std::lower_bound(selected_.sequence.begin(), selected_.sequence.end(), first);
    const auto end = std::lower_bound(begin, selected_.sequence.end(), first + count);
    const auto copy = [&](const auto& from, auto& to) {
      to.assign(from.begin() + (begin - selected_.sequence.begin()),
                from.begin() + (end - selected_.sequence.begin()));
    };
    copy(selected_.sequence, table.sequence);
    copy(selected_.position, table.position);
    copy(selected_.token, table.token);
    copy(selected_.class_id, table.class_id);
    return table;
  }
  for (std::int64_t s = first; s < first + count; ++s) {
    const auto ids = input_.ids_of(s);
    const std::size_t start = kind_ == RowKind::kTokens ? 0 : ids.size() - 1;
    for (std::size_t t = start; t < ids.size(); ++t) {
      append_row(table, s, static_cast<std::int64_t>(t), ids[t]);
    }
  }
  return table;
}

}  // namespace lime
