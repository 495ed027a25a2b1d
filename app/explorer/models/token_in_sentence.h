// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <Qt>

namespace lime::explorer {

/// A token in its sentence. Without a tokenizer `token` is empty and the sentence is in `before`.
struct TokenInSentence {
  QString before;
  QString token;
  QString after;

  QString text() const { return before + token + after; }
};

/// Role of item models whose cells show a TokenInSentence, for SentenceDelegate.
enum SentenceRole { kSentenceRole = Qt::UserRole, kFirstFurtherRole };

}  // namespace lime::explorer
