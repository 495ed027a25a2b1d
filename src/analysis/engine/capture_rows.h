// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/router/value_buffer.h"
#include "metrics/rows.h"
#include "store/capture_reader.h"

namespace lime {

std::string quoted_path(const CaptureReader& capture);

/// Refuses two captures of different tokens. @param why  what needs the same ones, and a remedy
void check_same_tokens(const CaptureReader& a, const CaptureReader& b, std::string_view why);

/// Returns row and column of the first value that is not finite, if there is one.
std::optional<std::pair<Eigen::Index, Eigen::Index>> first_not_finite(const MatrixF& rows);

/// Refuses rows with a value that is not finite; names its place in the capture.
/// @param what    names the rows. @param row_of  returns the row of the capture of one of `rows`
void check_finite(const MatrixF& rows, const CaptureReader& capture, std::string_view what,
                  const std::function<std::int64_t(std::int64_t)>& row_of);

std::int64_t num_tokens(const CaptureReader& capture, std::int64_t sequence);

/// Returns the number of sequences of `capture` to use: all, or the first `max_sequences`.
std::int64_t num_sequences_used(const CaptureReader& capture,
                                std::optional<std::int64_t> max_sequences);

/// Refuses rows that are not whole sequences of tokens, or none.
/// @param metric  names the command in the message, e.g. "geometry". @throws InvalidArgument
void check_whole_sequences(const CaptureReader& capture, std::string_view metric);

/// Sequences of fewer tokens have no entropy, and no direction from one token to the next.
inline constexpr std::int64_t kFewestTokens = 2;

/// Returns how many of the first `count` sequences have fewer than kFewestTokens tokens.
std::int64_t num_short_sequences(const CaptureReader& capture, std::int64_t count);

/// Returns "LIMe: skipped 3 sequences of fewer than 2 tokens". @param what  names one of them
std::string note_of_short(std::string_view label, std::int64_t count,
                          std::string_view what = "sequence");

/// Returns the first `count` sequences of one layer, read on demand. Refers to `capture`.
SequenceSource token_sequences(const CaptureReader& capture, const std::string& site, int layer,
                               std::int64_t count);

/// Returns the number of tokens of the longest of the first `count` sequences.
std::int64_t longest_sequence(const CaptureReader& capture, std::int64_t count);

struct ClassRowsOptions {
  /// Class names as for `lime-capture --only`, with or without the leading space; empty: all rows.
  std::vector<std::string> classes = {};
  /// Maximum number of rows per class (the first ones), > 0; unset: all.
  std::optional<std::int64_t> max_per_class = std::nullopt;
  /// Maximum number of rows, a random sample drawn with `seed`, > 0; unset: all.
  std::optional<std::int64_t> max_rows = std::nullopt;
  std::uint64_t seed = 0;

  /// @throws InvalidArgument
  void validate() const;
};

/// Selected rows of a capture, ascending, with the class of each.
struct ClassRows {
  std::vector<std::int64_t> row;
  std::vector<std::int16_t> class_id;    ///< index into class_names; -1: none
  std::vector<std::string> class_names;  ///< of the capture; "bad", "good" for minimal pairs
  std::int64_t available = 0;            ///< rows before max_rows

  std::int64_t size() const { return std::ssize(row); }
  std::int64_t count(std::int16_t id) const;
  /// Returns "' is' 20, ' are' 12": the classes that have rows.
  std::string counts_text() const;
};

/// Selects rows by class: of tokens the captured classes, of minimal pairs "bad" and "good".
/// @throws InvalidArgument  if a class is unknown (lists those there are), or has no rows.
ClassRows select_class_rows(const CaptureReader& capture, const ClassRowsOptions& options);

/// Keeps the rows for which `keeps(position in rows)` is true.
template <typename Keeps> void keep_rows(ClassRows& rows, const Keeps& keeps) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.row.size(); ++i) {
    if (!keeps(i)) continue;
    rows.row[kept] = rows.row[i];
    rows.class_id[kept++] = rows.class_id[i];
  }
  rows.row.resize(kept);
  rows.class_id.resize(kept);
}

/// Returns how many rows read_class_rows() buffers in addition to those that it returns.
inline constexpr std::int64_t kClassReadRows = 4096;

/// Reads the selected rows of one site and layer, [rows.size(), dim].
/// @throws InvalidArgument  if a value is not finite; names its place.
MatrixF read_class_rows(const CaptureReader& capture, const std::string& site, int layer,
                        const ClassRows& rows);

/// Activations of one site and layer of a capture.
struct SiteLayer {
  std::string site;
  int layer = 0;
};
/// Returns the activations of `site` in layers 0 to `last_layer`.
std::vector<SiteLayer> layers_of_site(const std::string& site, std::int64_t last_layer);

/// Reads the values (or other activations) that one layer's router may read, block by block of
/// whole sequences, so that a capture of any size streams through little memory.
class ValueBlocks {
 public:
  struct Block {
    std::int64_t first_sequence = 0;
    std::int64_t num_sequences = 0;
    std::int64_t first_row = 0;
    std::int64_t num_rows = 0;
  };

  /// @param sources        the layers of the buffer, oldest first
  /// @throws FormatError   if a layer is missing, or its width is no multiple of the heads.
  ValueBlocks(const CaptureReader& capture, std::vector<SiteLayer> sources,
              std::int64_t num_key_value_heads, std::int64_t num_sequences);

  const std::vector<Block>& blocks() const { return blocks_; }
  ValueBuffer make_buffer() const;
  /// Returns the maximum bytes of the buffer, and of reading per thread.
  std::int64_t bytes() const;
  std::int64_t bytes_per_thread() const;

  /// Fills `buffer` with the rows of `block`.
  /// @throws InvalidArgument  if a value is not finite; names the first place of its layer.
  void read(const Block& block, ValueBuffer& buffer, ThreadPool& pool,
            const std::stop_token& stop) const;
  TokenRange tokens_of(const Block& block, std::int64_t sequence) const;

 private:
  const CaptureReader& capture_;
  std::vector<SiteLayer> sources_;
  std::int64_t num_heads_;
  std::int64_t head_dim_;
  std::int64_t largest_block_ = 0;  // rows
  std::vector<Block> blocks_;
};

}  // namespace lime
