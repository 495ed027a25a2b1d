// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/json.h"
#include "explorer/models/job_cache.h"
#include "store/capture_info.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

class Workspace;
struct Document;

/// The place of a token in its text, the same in all captures of the text.
struct TokenPlace {
  std::int32_t sequence = 0;
  std::int32_t position = 0;

  auto operator<=>(const TokenPlace&) const = default;
};

/// Tokens of one text. See TokenRows for their rows in a capture.
struct TokenSelection {
  std::string text = {};                ///< textOf() of the captures that contain it; empty: none
  std::vector<TokenPlace> places = {};  ///< ascending, each once

  bool empty() const { return places.empty(); }
  bool operator==(const TokenSelection&) const = default;
};

/// The selection that all views share. Layers and heads count from 0.
struct Selection {
  std::optional<int> layer = {};
  std::optional<int> head = {};          ///< target head of `layer`
  std::optional<int> source_layer = {};  ///< buffered layer that the head reads
  std::optional<int> source_head = {};
  TokenSelection tokens = {};

  bool operator==(const Selection&) const = default;
};

/// Serialises tokens for sessions: {"text": "...", "places": [sequence, position, ...]}.
Json tokensToJson(const TokenSelection& tokens);
/// @throws FormatError  if `json` is no such object.
TokenSelection tokensFromJson(const Json& json);

/// Stores an interval of an axis, in the units of the axis.
struct AxisWindow {
  double low = 0.0;
  double high = 1.0;

  bool operator==(const AxisWindow&) const = default;
};

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

/// Makes the TokenRows of open captures in jobs, each when first requested. Lives on the GUI
/// thread.
class CaptureRows : public QObject {
  Q_OBJECT

 public:
  CaptureRows(Workspace& workspace, JobRunner& jobs);

  /// Returns null until ready() is emitted, and for good where the table cannot be read.
  const TokenRows* of(const Document& document);
  /// Returns the rows of tokens in a capture; none until they are known. Remembers the last ones.
  const TokenRows::Found& find(const Document& document, const TokenSelection& tokens);

 Q_SIGNALS:
  void ready();

 private:
  JobCache<std::shared_ptr<const CaptureReader>, std::shared_ptr<const TokenRows>> cache_;
  std::shared_ptr<const TokenRows> last_rows_;
  TokenSelection last_tokens_;
  TokenRows::Found last_found_;
};

}  // namespace lime::explorer
