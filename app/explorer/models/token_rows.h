// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "explorer/models/selection.h"
#include "store/capture_info.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// Returns the id of the text of a capture: the hash of its tokens. Without a hash it is the path,
/// which corresponds to this capture only.
std::string textOf(const CaptureReader& capture);

/// Converts between tokens and the rows of one table, e.g. for a selection made in another capture.
///
/// The row of a token is the one at its place; the pooled row of a sequence is that of its last
/// token, and a mean over a sequence is the row of each of its tokens. Immutable: may be used from
/// any thread.
class TokenRows {
 public:
  /// Indexes the rows of a capture; reads its table on first use. @throws IoError, FormatError
  explicit TokenRows(const std::shared_ptr<const CaptureReader>& capture);
  /// Indexes the rows of a table, e.g. of the points of an embedding. Time n where its rows ascend,
  /// else n log n.
  TokenRows(std::string text, std::shared_ptr<const RowTable> table, RowKind kind);

  const std::string& text() const { return text_; }
  std::int64_t size() const { return table_->size(); }

  /// Returns the tokens at `rows`, each in [0, size()), in any order.
  TokenSelection tokensAt(std::span<const std::int64_t> rows) const;

  /// The rows of tokens in this table.
  struct Found {
    std::vector<std::int64_t> rows = {};  ///< ascending
    std::size_t absent = 0;               ///< tokens of this text that have no row here
    bool is_other_text = false;           ///< then there are no rows: nothing corresponds
  };
  /// Time k log n for k tokens.
  Found find(const TokenSelection& tokens) const;

 private:
  TokenPlace placeOf(std::int64_t row) const;
  std::int64_t rowAt(std::int64_t rank) const;
  /// Ranks of the rows from `place` on.
  std::int64_t firstFrom(const TokenPlace& place) const;

  std::string text_;
  std::shared_ptr<const RowTable> table_;
  RowKind kind_ = RowKind::kTokens;
  std::vector<std::int64_t> order_;  ///< rows by their places; empty: they ascend as they stand
};

/// Equals TokenRows(capture).tokensAt(rows), faster for a few rows: no search is prepared.
TokenSelection tokensAt(const CaptureReader& capture, std::span<const std::int64_t> rows);

}  // namespace lime::explorer
