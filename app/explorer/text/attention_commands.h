// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace lime::explorer {

/// Attention pattern on display, for the copied commands.
struct AttentionCommand {
  std::filesystem::path capture;
  QString label;
  int layer = 0;
  std::int64_t head = 0;  ///< negative: all
  std::int64_t sequence = 0;
  std::optional<std::int64_t> query;  ///< followed through the routers
  std::filesystem::path checkpoint;   ///< of the tokenizer; empty: none was found
  int layer_base = 0;
};
/// Returns the commands that draw the same figures without the explorer.
QStringList attentionCommandLines(const AttentionCommand& command);

}  // namespace lime::explorer
