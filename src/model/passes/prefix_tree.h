// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lime {

/// Sequences of tokens in which equal beginnings stand once, as one sequence of rows for a pass
/// (ForwardOptions::tree): attention reads a row's ancestors, all else is done for each row alone.
class PrefixTree {
 public:
  /// Adjacent rows, each the predecessor of the next one.
  struct Segment {
    std::int64_t parent = -1;    ///< the segment before it, -1: none
    std::int64_t first_row = 0;  ///< after those of its parent
    std::int64_t length = 0;
    std::int64_t position = 0;  ///< of the first row in its sequences
  };

  /// @param sequences  not empty, nor is any of them
  explicit PrefixTree(std::span<const std::vector<std::int64_t>> sequences);

  std::int64_t num_rows() const { return std::ssize(ids_); }
  /// Returns the length of the longest sequence.
  std::int64_t depth() const;
  const std::vector<Segment>& segments() const { return segments_; }
  /// Returns the tokens as int64 [1, num_rows()].
  at::Tensor ids() const;
  /// Returns the place of each row in its sequences as int64 [num_rows()].
  at::Tensor positions() const;
  /// Returns the row of each token of a sequence.
  std::vector<std::int64_t> rows_of(std::size_t sequence) const;
  /// Returns the rows of x, [1, num_rows(), ...], that a segment's last row reads: those of its
  /// ancestors and its own, [1, position + length, ...].
  at::Tensor with_ancestors(const at::Tensor& x, const Segment& segment) const;

 private:
  using Ids = std::vector<std::int64_t>;
  /// Adds the tokens from `depth` on of sequences that are equal up to there, in sorted order.
  void add(std::span<const Ids> sequences, std::span<const std::size_t> sorted, std::int64_t depth,
           std::int64_t parent);

  std::vector<Segment> segments_;
  Ids ids_;
  Ids positions_;
  std::vector<std::int64_t> last_segment_;  // of each sequence
};

}  // namespace lime
