// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "store/capture_reader.h"

namespace lime {

/// Site of the attention patterns (docs/capture_format.md).
inline constexpr const char* kPatternSite = "attn.hook_pattern";
/// Site of attention_profile() of every query and head, which a capture computes without patterns.
inline constexpr const char* kProfileSite = "attn.hook_profile";

struct AttentionPatterns {
  int layer = 0;
  std::int64_t sequence = 0;
  std::int64_t num_key_value_heads = 0;
  std::vector<MatrixF> patterns;  ///< of each head, [queries, keys], rows sum to 1

  std::int64_t num_heads() const { return std::ssize(patterns); }
  /// Returns the key-value head, and so the routed head, that a head reads.
  std::int64_t routed_head(std::int64_t head) const {
    return head * num_key_value_heads / num_heads();
  }
};

/// Reads attention patterns, or only their profiles, from a capture. The capture must outlive the
/// reader. Thread-safe.
class PatternReader {
 public:
  /// @throws InvalidArgument  if the capture contains pooled rows, selected tokens only or no
  ///                          patterns; the message says how to capture them.
  /// @throws FormatError      if its config is none, or its rows are not those of its heads.
  explicit PatternReader(const CaptureReader& capture);

  const CaptureReader& capture() const { return *capture_; }
  std::int64_t num_heads() const { return num_heads_; }
  /// Returns the site that is read: kPatternSite, or kProfileSite if there are no patterns.
  const char* site() const { return site_; }
  /// Returns attention_profile() of the sequence for each of `heads`, [tokens, measures].
  /// @throws as read()
  std::vector<MatrixD> profiles(int layer, std::int64_t sequence,
                                const std::vector<int>& heads) const;
  /// Reads the patterns of one sequence in one layer.
  /// @throws InvalidArgument  if there are none; lists those that exist.
  AttentionPatterns read(int layer, std::int64_t sequence) const;
  /// Reads the attention of one query to the keys up to it, [heads, query + 1]. @throws as read()
  MatrixF read_query(int layer, std::int64_t sequence, std::int64_t query) const;
  /// Checks the arguments of read() without reading. @throws InvalidArgument
  void check_sequence(std::int64_t sequence) const;

 private:
  void check_layer(int layer) const;
  void check_patterns() const;
  /// Returns the keys of each head in a row of patterns. @throws FormatError
  std::int64_t keys_of(const MatrixF& rows, std::int64_t tokens) const;

  const CaptureReader* capture_;
  const char* site_ = kPatternSite;
  std::int64_t num_heads_ = 0;
  std::int64_t num_key_value_heads_ = 0;
};

/// Averages attention_profile() over the queries from the second on, because the first attends only
/// to itself. A single token is averaged alone.
/// @throws InvalidArgument  if the head does not exist, or as attention_profile().
Eigen::RowVectorXd summarize_head(const AttentionPatterns& attention, std::int64_t head);

/// Attention of one query by buffered layer and key.
struct RoutedAttention {
  MatrixD shares;          ///< [layer + 1, keys], sums to 1
  bool of_values = false;  ///< of the tokens' own values; else of their scales over the text
};

/// Follows one row of a pattern through the layer's router: with the values of all layers up to
/// this one if the capture has them, else with the root mean squares in its statistics.
/// @throws InvalidArgument  if the model has no routers, or head or query do not exist.
RoutedAttention routed_attention_of_query(const CaptureReader& capture,
                                          const AttentionPatterns& attention, std::int64_t head,
                                          std::int64_t query);

}  // namespace lime
