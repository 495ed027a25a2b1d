// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lime {

// Maps of the `normalizer` of tokenizer.json that change characters one by one. Texts are valid
// UTF-8. Thread-safe.
// Source: `tokenizers` 0.23, normalizers.

/// Returns the text in lower case, each character by itself; U+0130 alone becomes two characters.
std::string lowercase(std::string_view text);

/// Returns the text in upper case, each character by itself; "ß" becomes "SS", other characters
/// whose upper case has several letters stay.
std::string uppercase(std::string_view text);

/// Removes combining marks (StripAccents). Put NFD or NFKD before it for accents to be any.
std::string strip_accents(std::string_view text);

/// Removes control characters and replaces other white space by spaces, like SentencePiece's `nmt`.
std::string normalize_nmt(std::string_view text);

/// BertNormalizer, whose steps are applied in this order.
struct BertNormalization {
  bool clean_text = true;            ///< no control characters; white space is spaces
  bool handle_chinese_chars = true;  ///< spaces around each Chinese character
  bool strip_accents = true;         ///< NFD without nonspacing marks
  bool lowercase = true;
};
std::string normalize_bert(std::string_view text, const BertNormalization& steps);

}  // namespace lime
