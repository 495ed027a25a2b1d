// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>

namespace lime {

/// Token ids, [sequences, tokens].
using TokenTable = Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Makes texts that differ from the sequences of a capture in one respect. If all sequences begin
/// with the same token, as with one that marks the beginning, it stays in its place.
class AuditTexts {
 public:
  /// @throws InvalidArgument  if the sequences are of different lengths.
  AuditTexts(const std::filesystem::path& capture, std::uint64_t seed);

  /// Returns the first `length` tokens of each sequence.
  TokenTable first(std::int64_t length) const;
  /// Returns them in random order.
  TokenTable shuffled(std::int64_t length) const;
  /// Returns the first token of each sequence, repeated; one of each sequence, so that sequences
  /// differ. Source: arXiv:2509.25359.
  TokenTable repeated(std::int64_t length) const;

 private:
  TokenTable tokens_;
  Eigen::Index kept_ = 0;  // tokens that stay in their place
  std::uint64_t seed_;
};

/// Writes a .npy file. @throws IoError
void write_token_table(const TokenTable& tokens, const std::filesystem::path& path);

}  // namespace lime
