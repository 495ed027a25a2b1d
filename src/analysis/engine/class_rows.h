// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/capture_reader.h"

namespace lime {

/// Selects the rows of a capture to use.
struct ClassRowsOptions {
  /// Class names as given to `lime-capture --only`, with or without the leading space. Empty: all
  /// rows.
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

  std::int64_t size() const { return static_cast<std::int64_t>(row.size()); }
  /// Returns the number of rows of one class.
  std::int64_t count(std::int16_t id) const;
};

/// Selects rows by class. Rows of tokens have the captured classes, sentences of minimal pairs
/// "bad" and "good", and other rows none.
/// @throws InvalidArgument  if a class is unknown (lists those there are), or has no rows.
ClassRows choose_class_rows(const CaptureReader& capture, const ClassRowsOptions& options);

/// Keeps the rows for which `keeps(position in rows)` is true.
template <typename Keeps>
void keep_rows(ClassRows& rows, const Keeps& keeps) {
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
MatrixF read_class_rows(const CaptureReader& capture, const std::string& site, int layer,
                        const ClassRows& rows);

}  // namespace lime
