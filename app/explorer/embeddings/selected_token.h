// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "explorer/models/token_in_sentence.h"

namespace lime::explorer {

/// A token that an embedding shows as a point.
struct SelectedToken {
  int point = 0;  ///< of its embedding
  QString token;
  QString note;  ///< class, or distance
  TokenInSentence sentence;
  int sequence = 0;
  int position = 0;
};

}  // namespace lime::explorer
