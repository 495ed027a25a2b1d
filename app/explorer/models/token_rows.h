// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// What text a capture is of: captures of one text hold the same tokens at the same places. The
/// hash of its tokens; of a capture that has none, which corresponds to itself only, its path.
std::string textOf(const CaptureReader& capture);

/// The rows of tokens in one table, and the tokens of rows: what translates a selection that was
/// made in another capture.
///
/// A row per token stands for the token at its place, and so does the last token of a sequence for
/// its pooled row. A mean over a sequence stands for any of its tokens.
/// Immutable: may be used from any thread.
class TokenRows {
 public:
  /// Those of a capture. Reads its table where nobody has yet. @throws IoError, FormatError
  explicit TokenRows(const std::shared_ptr<const CaptureReader>& capture);
  /// Those of a table, e.g. of the points of a cloud. Time n where its rows ascend, else n log n.
  TokenRows(std::string text, std::shared_ptr<const RowTable> table, RowKind kind);

  const std::string& text() const { return text_; }
  std::int64_t size() const { return table_->size(); }

  /// The tokens at `rows`, each in [0, size()), in any order.
  TokenSelection tokensAt(std::span<const std::int64_t> rows) const;

  /// Where tokens are in this table.
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

/// The same as TokenRows(capture).tokensAt(rows) for a few rows: no search is prepared.
TokenSelection tokensAt(const CaptureReader& capture, std::span<const std::int64_t> rows);

}  // namespace lime::explorer
