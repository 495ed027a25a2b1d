// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_texts.h"

#include <bit>

#include "analysis/engine/capture_rows.h"
#include "core/files/atomic_file.h"
#include "core/random.h"

namespace lime {

AuditTexts::AuditTexts(const std::filesystem::path& capture, std::uint64_t seed) : seed_(seed) {
  const CaptureReader reader(capture);
  check_whole_sequences(reader, "audit");
  const std::int64_t length = num_tokens(reader, 0);
  tokens_.resize(reader.num_sequences(), length);
  for (std::int64_t s = 0; s < reader.num_sequences(); ++s) {
    throw_if(num_tokens(reader, s) != length,
             "audit: texts need sequences of equal length, but sequence {} of '{}' has {} tokens "
             "instead of {}; pass longer texts",
             s, capture.string(), num_tokens(reader, s), length);
    for (std::int64_t i = 0; i < length; ++i) {
      tokens_(s, i) = reader.rows().token[static_cast<std::size_t>(s * length + i)];
    }
  }
  kept_ = (tokens_.col(0).array() == tokens_(0, 0)).all() ? 1 : 0;
}

TokenTable AuditTexts::first(std::int64_t length) const { return tokens_.leftCols(length); }

TokenTable AuditTexts::shuffled(std::int64_t length) const {
  TokenTable tokens = first(length);
  const Random random(seed_);
  for (Eigen::Index s = 0; s < tokens.rows(); ++s) {
    Random own = random.fork(static_cast<std::uint64_t>(s));
    own.shuffle(std::span(tokens.row(s).data() + kept_, static_cast<std::size_t>(length - kept_)));
  }
  return tokens;
}

TokenTable AuditTexts::repeated(std::int64_t length) const {
  TokenTable tokens = first(length);
  for (Eigen::Index s = 0; s < tokens.rows(); ++s) {
    tokens.row(s).tail(length - kept_).setConstant(tokens(s, kept_));
  }
  return tokens;
}

void write_token_table(const TokenTable& tokens, const std::filesystem::path& path) {
  static_assert(std::endian::native == std::endian::little, "the header says little-endian");
  std::string header =
      fmt::format("{{'descr': '<i4', 'fortran_order': False, 'shape': ({}, {}), }}", tokens.rows(),
                  tokens.cols());
  // The data begins at a multiple of 64 bytes.
  constexpr std::size_t kPreamble = 10;
  header.resize((header.size() + kPreamble + 1 + 63) / 64 * 64 - kPreamble - 1, ' ');
  header += '\n';
  std::string content("\x93NUMPY\x01\x00", 8);
  content += static_cast<char>(header.size() & 0xff);
  content += static_cast<char>(header.size() >> 8);
  content += header;
  content.append(reinterpret_cast<const char*>(tokens.data()),
                 static_cast<std::size_t>(tokens.size()) * sizeof(std::int32_t));
  write_file_atomically(path, content);
}

}  // namespace lime
